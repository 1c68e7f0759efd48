"""Service log: the JSON lines of a service, with throttling and statistics."""
