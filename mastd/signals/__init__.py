"""Filters, spectra and metrics."""
