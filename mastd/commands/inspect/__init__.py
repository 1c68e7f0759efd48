"""`mastd inspect`."""
