"""Reference: the motion of the table now and ahead, with master gain and time scaling."""
