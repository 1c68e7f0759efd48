"""Analyses: linearisation, ride modes, coupling with the table."""
