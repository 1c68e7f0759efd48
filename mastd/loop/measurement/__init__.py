"""Measurement: the frame of a cycle and the sensing of a sample."""
