"""Pages: a run, a fault, a comparison of runs, an iteration."""
