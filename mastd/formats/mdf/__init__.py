"""ASAM MDF 4 measurement files."""
