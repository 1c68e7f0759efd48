"""`mastd drive`."""
