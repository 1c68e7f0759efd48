"""The simulated plant: hydraulics, supply, table body, sensors, servo drive."""
