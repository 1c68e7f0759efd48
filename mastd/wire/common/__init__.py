"""What all sockets share: addresses, shared blocks, layout of binary blocks, gateway process."""
