"""Access: keys, roles, sessions, audit log."""
