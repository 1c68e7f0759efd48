"""`mastd identify`."""
