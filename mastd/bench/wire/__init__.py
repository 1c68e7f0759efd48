"""Benches of gateways, telemetry and rigs."""
