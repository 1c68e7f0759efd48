"""Profile to spline: segments, recorded motion, random motion, time line."""
