"""Benches of the vehicle, and its peers."""
