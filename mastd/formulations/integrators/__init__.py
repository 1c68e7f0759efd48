"""Time integrators of the tree formulations: explicit, implicit Euler, partial Jacobian update."""
