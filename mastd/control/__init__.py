"""From the reference in pose space to the command of the actuators; pure mathematics."""
