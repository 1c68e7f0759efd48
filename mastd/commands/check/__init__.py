"""``mastd check``: what is verified before any motion."""
