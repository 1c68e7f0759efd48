"""Static equilibrium: settling of a vehicle under its weight."""
