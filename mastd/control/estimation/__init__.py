"""State estimation: pose, rates and accelerations of the table from its sensors."""
