"""Joints: kinds of constraint primitives with their model, arrays, force and Jacobian."""
