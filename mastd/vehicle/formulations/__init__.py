"""Other formulations of the vehicle: relative coordinates on a spanning tree, loops cut."""
