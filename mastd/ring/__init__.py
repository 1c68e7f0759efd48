"""Frames in memory that processes share: one writes, one takes, others may look on."""
