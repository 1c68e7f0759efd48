"""Random states and random orders of a vehicle's parts, for tests that hold in any of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
from scipy.spatial.transform import Rotation

from mastd.arrays import FloatArray
from mastd.vehicle.model.definition import Model
from mastd.vehicle.state.inputs import InputLayout
from mastd.vehicle.state.motion import State, design_state

Item = TypeVar("Item")

PLACE = np.array([40.0, -25.0, 0.0])
"""Where the vehicles of ``anywhere`` drive, m."""
YAW = 2.2
"""Their heading, rad."""


def anywhere(model: Model, seed: int, speed: float = 9.0) -> State:
    """Return the car far from the origin, turned and tilted, at ``speed`` (m/s) along its own x axis.

    Every body is a little off its place and moves on its own, the joints are torn apart; accelerations,
    multipliers and bars' forces are at random too.
    """
    random = np.random.default_rng(seed)
    state, bodies, wheels = design_state(model), len(model.bodies), len(model.wheels)
    car = Rotation.from_rotvec([0.015, -0.012, YAW])
    turns = car * Rotation.from_rotvec(0.1 * random.standard_normal((bodies, 3)))
    radius = model.wheels[0].tyre.rolling_radius
    return replace(
        state,
        position=car.apply(state.position) + PLACE + 0.01 * random.standard_normal((bodies, 3)),
        attitude=np.roll(turns.as_quat(), 1, axis=1),
        velocity=car.apply([speed, 0.5, 0.1]) + 0.3 * random.standard_normal((bodies, 3)),
        angular_velocity=random.standard_normal((bodies, 3)),
        spin=speed / radius + 3.0 * random.standard_normal(wheels),
        acceleration=3.0 * random.standard_normal((bodies, 3)),
        angular_acceleration=5.0 * random.standard_normal((bodies, 3)),
        spin_acceleration=10.0 * random.standard_normal(wheels),
        deflection=np.zeros((wheels, 2)),
        multipliers=1e3 * random.standard_normal(model.rows),
        bar_forces=1e3 * random.standard_normal(len(model.bars)),
    )


def any_inputs(model: Model, seed: int) -> FloatArray:
    """Return a row of inputs with something in each column: drives in cm, torques and wrench in hundreds; the
    first wheel's brake holds, the others slip."""
    layout = InputLayout.of(model)
    row = 300.0 * np.random.default_rng(seed).standard_normal(layout.width)
    row[: 3 * layout.drives] *= 3e-5
    capacities = np.abs(row[layout.brake_capacity])
    capacities[:1] = 1e7
    row[layout.brake_capacity] = capacities
    row[layout.driver] = [0.4, 0.3, 0.0, 1.0]
    return row


def renumbered(model: Model, seed: int, within: bool = True) -> Model:
    """Return the same vehicle with all its parts in another order, ``within`` each corner and axle too."""
    random = np.random.default_rng(seed)

    def order(count: int, fixed: int = 0) -> list[int]:
        return [*range(fixed), *(fixed + random.permutation(count - fixed)).tolist()]

    def places(chosen: list[int]) -> dict[int, int]:
        return {-1: -1} | {old: new for new, old in enumerate(chosen)}

    def shuffled(items: Sequence[int], place: dict[int, int]) -> tuple[int, ...]:
        chosen = order(len(items)) if within else range(len(items))
        return tuple(place[items[k]] for k in chosen)

    bodies, primitives = order(len(model.bodies), 1), order(len(model.primitives))
    springs, bars, wheels = order(len(model.springs)), order(len(model.bars)), order(len(model.wheels))
    corners, axles, drives = order(len(model.corners)), order(len(model.axles)), order(len(model.drives))
    body, wheel, axle = places(bodies), places(wheels), places(axles)
    return replace(
        model,
        bodies=_taken(model.bodies, bodies),
        primitives=tuple(
            replace(p, first=body[p.first], second=body[p.second], drive=places(drives)[p.drive])
            for p in _taken(model.primitives, primitives)
        ),
        springs=tuple(
            replace(s, first=body[s.first], second=body[s.second]) for s in _taken(model.springs, springs)
        ),
        bars=tuple(
            replace(bar, body_left=body[bar.body_left], body_right=body[bar.body_right])
            for bar in _taken(model.bars, bars)
        ),
        wheels=tuple(replace(w, carrier=body[w.carrier]) for w in _taken(model.wheels, wheels)),
        corners=tuple(
            replace(
                c,
                bodies=shuffled(c.bodies, body),
                primitives=shuffled(c.primitives, places(primitives)),
                springs=shuffled(c.springs, places(springs)),
                wheel=wheel[c.wheel],
                axle=axle[c.axle],
            )
            for c in _taken(model.corners, corners)
        ),
        axles=tuple(
            replace(
                a,
                bodies=shuffled(a.bodies, body),
                primitives=shuffled(a.primitives, places(primitives)),
                springs=shuffled(a.springs, places(springs)),
                bar=places(bars)[a.bar],
                corners=shuffled(a.corners, places(corners)),
            )
            for a in _taken(model.axles, axles)
        ),
        drives=_taken(model.drives, drives),
    )


def _taken(items: Sequence[Item], chosen: list[int]) -> tuple[Item, ...]:
    return tuple(items[index] for index in chosen)
