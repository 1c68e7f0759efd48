"""Settings of a vehicle."""
