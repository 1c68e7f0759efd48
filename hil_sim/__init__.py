"""The simulated world of the shaking table: plant, faults, rigs and soak test."""
