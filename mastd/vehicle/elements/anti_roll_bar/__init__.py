"""Anti-roll bars: forces at both ends for a difference in height, each bar's force an unknown of the solver."""
