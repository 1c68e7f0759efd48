"""From the settings of powertrain, air, straps, chocks, held motions, seats to their parts of the model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mastd.arrays import FloatArray
from mastd.settings.core.axes import AXES
from mastd.settings.vehicle.equipment import wheel_name
from mastd.settings.vehicle.vehicle import VehicleSettings
from mastd.vehicle.model.definition import Aerodynamics, Chock, Seat, TieDown, Wheel
from mastd.vehicle.powertrain.build import powertrain_of
from mastd.vehicle.powertrain.model import Powertrain


def driven_by(settings: VehicleSettings, wheels: Sequence[Wheel]) -> Powertrain | None:
    """Return the powertrain, on the wheels of its axles."""
    if settings.powertrain is None:
        return None
    numbers = {wheel.name: index for index, wheel in enumerate(wheels)}
    axles = {
        axle.name: (numbers[wheel_name(k, "left")], numbers[wheel_name(k, "right")])
        for k, axle in enumerate(settings.axles)
        if axle.side is None
    }
    return powertrain_of(settings.powertrain, axles)


def aerodynamics_of(settings: VehicleSettings) -> Aerodynamics | None:
    """Return the forces of the air; lift acts between the wheels of first and last axle by default."""
    air = settings.aerodynamics
    if air is None:
        return None
    first, last = (_middle(settings, axle) for axle in (0, -1))
    return Aerodynamics(
        air.density,
        air.drag_area,
        np.array(air.centre),
        air.front_lift_area,
        air.rear_lift_area,
        first if air.front is None else np.array(air.front),
        last if air.rear is None else np.array(air.rear),
    )


def tie_downs_of(settings: VehicleSettings) -> tuple[TieDown, ...]:
    """Return the straps to the ground in the order of the file."""
    return tuple(
        TieDown(
            name.replace("_", " "),
            np.array(strap.point),
            np.array(strap.anchor),
            strap.stiffness,
            strap.damping,
            strap.preload,
        )
        for name, strap in settings.tie_downs.items()
    )


def chocks_of(settings: VehicleSettings, wheels: Sequence[Wheel]) -> tuple[Chock, ...]:
    """Return the chocks, one for each wheel that has them, in the order of the wheels."""
    chocks = settings.chocks
    if chocks is None:
        return ()
    return tuple(
        Chock(index, chocks.gap, chocks.stiffness, chocks.damping)
        for index, wheel in enumerate(wheels)
        if wheel.name in chocks.wheels
    )


def held_of(settings: VehicleSettings) -> tuple[int, ...]:
    """Return the numbers of the held motions, rising."""
    return tuple(sorted(AXES.index(motion) for motion in settings.held))


def seats_of(settings: VehicleSettings) -> tuple[Seat, ...]:
    """Return the seats in the order of the file.

    Assembly moves every body but the chassis, so their places on it are those of the file.
    """
    centre = np.array(settings.chassis.centre_of_mass)
    return tuple(Seat(name, np.array(seat.position) - centre) for name, seat in settings.seats.items())


def _middle(settings: VehicleSettings, axle: int) -> FloatArray:
    x, y, z = settings.axles[axle].hardpoints.wheel_centre
    return np.array([x, y if settings.axles[axle].side is not None else 0.0, z])
