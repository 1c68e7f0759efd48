"""The loop as a process: start, installation, operators, status, end."""
