"""Strict YAML to frozen, checked settings objects."""
