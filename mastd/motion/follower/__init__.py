"""Pose follower: a stream of poses inside a box of limits."""
