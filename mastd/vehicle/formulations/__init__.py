"""Other formulations of the same vehicle: independent coordinates, subsystem synthesis, partial Jacobian."""
