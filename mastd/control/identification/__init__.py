"""What a record tells about valves, oil, friction and payload: arrays in, findings with uncertainty out."""
