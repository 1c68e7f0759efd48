"""Tyre property files (.tir)."""
