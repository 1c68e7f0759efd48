"""`mastd vehicle`."""
