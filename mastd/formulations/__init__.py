"""Vehicle formulations over a spanning tree, loaded by name of solver."""
