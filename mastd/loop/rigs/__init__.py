"""Rigs in the loop: conditioning of their values and their signals."""
