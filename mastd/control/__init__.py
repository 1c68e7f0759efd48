"""From the reference in pose space to the command of the links; pure mathematics."""
