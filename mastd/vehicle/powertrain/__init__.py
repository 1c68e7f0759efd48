"""Powertrain: engine, clutch, gearbox, differentials."""
