"""Identify valves, oil, friction and payload from a record: arrays in, findings with uncertainty out."""
