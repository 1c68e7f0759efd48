"""Operators: gateway, messages, client, telemetry."""
