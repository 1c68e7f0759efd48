"""A vehicle as payload: on the table and on the road."""
