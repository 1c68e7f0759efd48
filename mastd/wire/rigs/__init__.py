"""External rigs: gateway, messages, client, session."""
