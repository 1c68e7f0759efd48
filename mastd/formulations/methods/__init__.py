"""Equations over the tree: Lagrange multipliers, coordinate partitioning, independent coordinates."""
