"""Subsystem synthesis: effective inertia of each suspension on the chassis (Song and Kim)."""
