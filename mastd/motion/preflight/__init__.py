"""Check before motion: envelope, limits, verdict."""
