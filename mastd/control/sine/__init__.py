"""Corrected sine tests: harmonics of reference and feedback."""
