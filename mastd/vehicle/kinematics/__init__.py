"""Suspension kinematics and wheel rates."""
