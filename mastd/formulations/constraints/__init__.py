"""Loop closure: cut-joint constraints, coordinate partitioning, evaluation of a state."""
