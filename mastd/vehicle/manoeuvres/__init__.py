"""Manoeuvres and their figures."""
