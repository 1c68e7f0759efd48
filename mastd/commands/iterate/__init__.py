"""`mastd iterate`."""
