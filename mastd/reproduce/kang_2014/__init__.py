"""Tables of Kang, Lim and Bae (2014): Newton iteration without Jacobian update."""
