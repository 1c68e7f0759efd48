"""Tables of Song and Kim: subsystem synthesis."""
