"""The actuators of a table: geometry, inverse, forward, workspace; pure functions."""
