"""Spanning tree of a vehicle: topology, joints, recursion of velocities and accelerations."""
