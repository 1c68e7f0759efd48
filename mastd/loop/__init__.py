"""The fixed-rate process."""
