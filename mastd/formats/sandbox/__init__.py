"""Sandboxed reader: foreign libraries read files in a process of bounded time and memory."""
