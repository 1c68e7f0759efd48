"""What all formats share: measurement, units, time axes, numbers in text."""
