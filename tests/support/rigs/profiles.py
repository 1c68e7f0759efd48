"""Profiles of the rigs' tests: a vehicle simulated here or by a rig, and the pose that a rig gives."""

from __future__ import annotations

SEDAN_BODY = "mass: 1526 kg, centre_of_gravity: [0 m, 0 m, 1.1 m], inertia: [0.6 t m2, 2.4 t m2, 2.6 t m2]"
"""The benchmark sedan as a rigid body."""


def shaking(duration: str) -> str:
    """Return the segments of a motion in heave and roll."""
    axes = "{heave: {amplitude: 8 mm}, roll: {amplitude: 0.2 deg}}"
    return f"segments: [{{kind: sine, frequency: 1.2 Hz, duration: {duration}, axes: {axes}}}]\n"


def vehicle_here(motion: str) -> str:
    """Return a profile whose vehicle the daemon simulates."""
    return f"name: inside\npayload: {{kind: vehicle, vehicle: benchmark_sedan}}\n{motion}"


def vehicle_of_rig(motion: str, body: str = SEDAN_BODY) -> str:
    """Return a profile whose vehicle the rig ``car`` simulates."""
    return f"name: outside\npayload: {{kind: rig, rig: car, {body}}}\n{motion}"


def heave(travel: str) -> str:
    """Return the limits of a stream's heave."""
    return f"  heave: {{travel: {travel}, velocity: 0.15 m/s, acceleration: 2.5 m/s2, jerk: 160 m/s3}}\n"


def pose_stream(duration: str, axes: str) -> str:
    """Return a profile that follows the pose of the rig ``source``."""
    return f"name: pose\nmode: stream\nstream:\n  kind: pose\n  rig: source\n  duration: {duration}\n{axes}"
