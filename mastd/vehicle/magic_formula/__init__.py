"""Magic Formula tyres."""
