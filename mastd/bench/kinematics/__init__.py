"""Benches of the kinematics."""
