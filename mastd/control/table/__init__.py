"""Table control: reference to actuator commands."""
