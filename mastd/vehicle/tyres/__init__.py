"""Tyres in the equations: contact, linear law, Magic Formula."""
