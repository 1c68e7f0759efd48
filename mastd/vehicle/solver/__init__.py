"""Newton solver and generalised-alpha integrator, compiled."""
