"""Recorder, recovery, reading back, report."""
