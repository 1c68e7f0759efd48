"""Small compiled algebra: vectors, rotations, fields of blocks."""
