"""Simulation: a vehicle stepped in time."""
