"""`mastd table`."""
