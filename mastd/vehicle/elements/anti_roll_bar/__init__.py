"""Anti-roll bars: forces for a difference in height, each bar's an unknown of the solver."""
