"""Figures of KR patent 10-1310276: partial Jacobian update."""
