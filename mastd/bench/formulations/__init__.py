"""Benches of the vehicle formulations."""
