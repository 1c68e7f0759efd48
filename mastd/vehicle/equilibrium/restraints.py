"""Tie-downs and chocks: put on a car that stands settled, where it stands.

External forces are evaluated once a step, at its prediction: one that is too stiff for the step alternates.
Those are refused (``problems``); a new external force needs such a bound of its own.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from mastd.vehicle.blocks.fields import STRAP, WHEEL
from mastd.vehicle.blocks.rotation import rotation_matrix
from mastd.vehicle.equilibrium.settle import wheel_frames
from mastd.vehicle.model.definition import Model
from mastd.vehicle.state.arrays import Layout
from mastd.vehicle.state.motion import State

LONG_STRETCH: Final = 1e4
"""m: so far stretched, a strap's pull changes by 1e-4 of it for a metre."""
MAX_SPRING: Final = 1.36
MAX_DAMPER: Final = 0.93


def problems(model: Model, step: float) -> list[str]:
    """Return why tie-downs and chocks are too stiff for a step (s); nothing if they are not.

    They are taken once a step. With the implicit formula as shipped a spring alone is stable up to
    k h² / m = 1.36 and a damper alone up to d h / m = 0.93, m being what they act on.
    """
    straps = model.tie_downs
    found = [
        (
            "tie_downs: together they are",
            sum(strap.stiffness for strap in straps),
            sum(strap.damping for strap in straps),
            model.bodies[0].mass,
        )
    ]
    for chock in model.chocks:
        wheel = model.wheels[chock.wheel]
        mass = model.bodies[wheel.carrier].mass
        found.append((f"chocks: that of {wheel.name} is", chock.stiffness, chock.damping, mass))
    return [
        f"{model.name}: {what} too stiff for a step of {1e3 * step:g} ms: with {mass:.4g} kg that they act "
        f"on, stiffness h² / m = {stiffness * step**2 / mass:.3g} and damping h / m = "
        f"{damping * step / mass:.3g}; stable are {MAX_SPRING:g} and {MAX_DAMPER:g}, one without the other"
        for what, stiffness, damping, mass in found
        if not stiffness * step**2 / (MAX_SPRING * mass) + damping * step / (MAX_DAMPER * mass) <= 1.0
    ]


def pull(layout: Layout) -> None:
    """Write straps that pull with their preloads, however far the car goes."""
    for row, strap in zip(layout.arrays.straps, layout.model.tie_downs, strict=True):
        row[STRAP.stiffness], row[STRAP.damping] = strap.preload / LONG_STRETCH, 0.0
        row[STRAP.free_length] = -LONG_STRETCH


def put_on(layout: Layout, state: State) -> None:
    """Write straps at their preloads, and chocks, for a car that stands in ``state``, on ground whose axes
    are the inertial ones."""
    model, car = layout.model, layout.arrays
    turn = rotation_matrix(state.attitude[0])
    for row, strap in zip(car.straps, model.tie_downs, strict=True):
        position = state.position[0] + turn @ (strap.point - model.bodies[0].centre)
        row[STRAP.stiffness], row[STRAP.damping] = strap.stiffness, strap.damping
        row[STRAP.free_length] = np.linalg.norm(strap.anchor - position) - strap.preload / strap.stiffness
    centres, _ = wheel_frames(model, state)
    for chock in model.chocks:
        item, lane = layout.wheel[chock.wheel]
        values = car.wheels[item, :, lane]
        values[WHEEL.chock_clearance], values[WHEEL.chock_stiffness] = chock.clearance, chock.stiffness
        values[WHEEL.chock_damping] = chock.damping
        values[WHEEL.chock_centre : WHEEL.chock_centre + 3] = centres[chock.wheel]
