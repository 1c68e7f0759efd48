"""Everything that knows ZeroMQ or MessagePack."""
