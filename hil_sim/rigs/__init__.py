"""Rigs: programs that join a running table through its rigs' socket, one module each."""
