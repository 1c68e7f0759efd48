"""Settings of a test profile."""
