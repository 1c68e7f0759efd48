"""Tables of Jin, Na and Jeon (2012): kinematics of the shaking table."""
