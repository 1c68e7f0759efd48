"""States, faults and limits."""
