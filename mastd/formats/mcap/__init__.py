"""MCAP files: our own records and those of others."""
