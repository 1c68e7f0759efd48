"""One cycle: supervisor, control, limits, profile slots."""
