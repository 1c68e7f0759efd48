"""Vehicles made from others: loaded, equipped, tilted, longer, for tests that need more than one car."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from mastd.vehicle.elements.anti_roll_bar.element import AntiRollBar
from mastd.vehicle.elements.spring_damper.element import SpringDamper
from mastd.vehicle.elements.spring_damper.stop import Stop
from mastd.vehicle.joints.primitive import Primitive
from mastd.vehicle.model.definition import Axle, Body, Corner, Model, Wheel

LINEAR_HATCHBACK = str(Path(__file__).parents[2] / "vehicles" / "linear_hatchback.yaml")
"""The shipped hatchback on linear tyres, with nothing but chassis and axles."""


def with_chassis_moved(model: Model, shift: tuple[float, float, float]) -> Model:
    """Return the vehicle with the chassis' centre of mass moved, m."""
    chassis = replace(model.bodies[0], centre=model.bodies[0].centre + np.array(shift))
    return replace(model, bodies=(chassis, *model.bodies[1:]))


def with_springs(model: Model, share: float) -> Model:
    """Return the vehicle with springs that many times as stiff, of the same force in the design position."""
    springs = []
    for spring in model.springs:
        length = float(np.linalg.norm(spring.point_second - spring.point_first))
        free = length + (spring.free_length - length) / share
        springs.append(replace(spring, stiffness=share * spring.stiffness, free_length=free))
    return replace(model, springs=tuple(springs))


def with_bars(model: Model, stiffness: float) -> Model:
    """Return the vehicle with an anti-roll bar on every axle, at the corners' first bodies."""
    bars, axles = [], []
    for axle in model.axles:
        left, right = (model.springs[model.corners[corner].springs[0]] for corner in axle.corners)
        bars.append(
            AntiRollBar(
                f"{axle.name} bar",
                stiffness,
                left.second,
                right.second,
                left.point_second,
                right.point_second,
            )
        )
        axles.append(replace(axle, bar=len(bars) - 1))
    return replace(model, bars=tuple(bars), axles=tuple(axles))


def with_stops(model: Model, bump_gap: float, rebound_gap: float) -> Model:
    """Return the vehicle with stops that far from the springs' lengths in the design position, m."""
    springs = []
    for spring in model.springs:
        length = float(np.linalg.norm(spring.point_second - spring.point_first))
        springs.append(
            replace(
                spring,
                bump_stop=Stop(length - bump_gap, 150e3, 0.02),
                rebound_stop=Stop(length + rebound_gap, 120e3, np.inf),
            )
        )
    return replace(model, springs=tuple(springs))


def with_damper_tables(model: Model) -> Model:
    """Return the vehicle with dampers by a table, digressive and stronger in rebound."""
    table = np.array([[-1.0, -1900.0], [-0.3, -1000.0], [-0.1, -500.0], [0.0, 0.0]])
    table = np.vstack([table, [[0.1, 900.0], [0.3, 1800.0], [1.0, 3000.0]]])
    springs = tuple(replace(spring, damper_table=table) for spring in model.springs)
    return replace(model, springs=springs)


def equipped(model: Model) -> Model:
    """Return the vehicle with everything: bars, stops that touch at rest, and tables of damper force."""
    return with_damper_tables(with_stops(with_bars(model, 20e3), 0.0, 0.05))


def with_last_axle_repeated(model: Model, shift: float) -> Model:
    """Return the vehicle with a copy of its last axle, moved by ``shift`` (m) along x; drives are shared."""
    source = model.axles[-1]
    corners = [model.corners[index] for index in source.corners]
    old_bodies = [*source.bodies, *(body for corner in corners for body in corner.bodies)]
    old_primitives = [*source.primitives, *(index for corner in corners for index in corner.primitives)]
    old_springs = [*source.springs, *(index for corner in corners for index in corner.springs)]
    offset = np.array([shift, 0.0, 0.0])
    number = len(model.axles)
    body_of = {old: len(model.bodies) + place for place, old in enumerate(old_bodies)} | {0: 0}
    primitive_of = {old: len(model.primitives) + place for place, old in enumerate(old_primitives)}
    spring_of = {old: len(model.springs) + place for place, old in enumerate(old_springs)}

    def body(old: int) -> Body:
        data = model.bodies[old]
        return replace(data, name=f"{number + 1}: {data.name}", centre=data.centre + offset)

    def primitive(old: int) -> Primitive:
        data = model.primitives[old]
        return replace(
            data,
            first=body_of[data.first],
            second=body_of[data.second],
            point_first=data.point_first + offset,
            point_second=data.point_second + offset,
            joint=f"{number + 1}: {data.joint}",
        )

    def spring(old: int) -> SpringDamper:
        data = model.springs[old]
        return replace(
            data,
            name=f"{number + 1}: {data.name}",
            first=body_of[data.first],
            second=body_of[data.second],
            point_first=data.point_first + offset,
            point_second=data.point_second + offset,
        )

    wheels: list[Wheel] = []
    copies: list[Corner] = []
    for corner, side in zip(corners, "lr", strict=True):
        wheel = model.wheels[corner.wheel]
        copies.append(
            Corner(
                name=f"{number + 1}: {corner.name}",
                bodies=tuple(body_of[index] for index in corner.bodies),
                primitives=tuple(primitive_of[index] for index in corner.primitives),
                springs=tuple(spring_of[index] for index in corner.springs),
                wheel=len(model.wheels) + len(wheels),
                axle=number,
            )
        )
        wheels.append(
            replace(
                wheel,
                name=f"{number + 1}{side}",
                carrier=body_of[wheel.carrier],
                centre=wheel.centre + offset,
            )
        )
    axle = Axle(
        name=f"axle {number + 1}",
        bodies=tuple(body_of[index] for index in source.bodies),
        primitives=tuple(primitive_of[index] for index in source.primitives),
        springs=tuple(spring_of[index] for index in source.springs),
        bar=-1,
        corners=tuple(len(model.corners) + place for place in range(len(copies))),
    )
    return replace(
        model,
        bodies=(*model.bodies, *(body(old) for old in old_bodies)),
        primitives=(*model.primitives, *(primitive(old) for old in old_primitives)),
        springs=(*model.springs, *(spring(old) for old in old_springs)),
        wheels=(*model.wheels, *wheels),
        corners=(*model.corners, *copies),
        axles=(*model.axles, axle),
    )
