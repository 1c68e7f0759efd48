"""Settings of a table."""
