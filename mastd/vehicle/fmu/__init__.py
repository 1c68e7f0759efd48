"""A vehicle as an FMU."""
