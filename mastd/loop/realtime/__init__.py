"""Real-time rights, clock, lock and notification of the service manager."""
