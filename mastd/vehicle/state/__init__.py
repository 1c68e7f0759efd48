"""State and constants of a vehicle as arrays of lanes."""
