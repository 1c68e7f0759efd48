"""Settings of external rigs."""
