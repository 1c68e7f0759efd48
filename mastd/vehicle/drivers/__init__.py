"""Drivers: course, pedals, gears, steering."""
