"""Model of a vehicle: from settings to plain data."""
