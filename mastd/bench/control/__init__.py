"""Benches of the table control."""
