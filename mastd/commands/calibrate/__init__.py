"""`mastd calibrate`."""
