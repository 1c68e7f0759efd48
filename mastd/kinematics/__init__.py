"""The seven actuators of Jin 2012: geometry, inverse, forward, workspace; pure functions."""
