"""Plots of manoeuvres and tyres."""
