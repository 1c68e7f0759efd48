"""Washout: motion cueing of a seat inside the strokes of the table."""
