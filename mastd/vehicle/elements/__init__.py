"""Force elements: each kind with its model, arrays, force and Jacobian in a folder of its own."""
