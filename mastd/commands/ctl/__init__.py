"""`mastd ctl`."""
