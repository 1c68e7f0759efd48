"""Strict YAML, quantities with units, loading and error messages."""
