"""Rig that runs an FMU."""
