"""Song and Kim recomputed: subsystem synthesis in two sets of coordinates.

Its quarter car is not printed; ours is the shipped one, of the same kind (double wishbones, tie rod without
mass), with ball joints between arms and knuckle. The paper leaves the full car and times to later work: these
are the shipped cars, and the sedan with more and more axles.

Its ratio of 1.55 between Cartesian and joint coordinates depends on what a zero of Ψ_z costs. As the kernels
leave zeros out, both sets are nearly alike by count; with a full Ψ_z they are farther apart than the paper's
(``operations``). By time they are far apart as well, since the elimination searches its pivots.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import numpy as np

from mastd.bench.vehicle.axles import with_axles
from mastd.bench.vehicle.timing import interleaved, straight_line
from mastd.reproduce.item import Item, answer
from mastd.reproduce.song_kim import operations
from mastd.reproduce.song_kim.car import Car
from mastd.reproduce.song_kim.operations import PAPER_RATIO, SETS
from mastd.vehicle.model.library import find

VEHICLES: Final = ("quarter_car", "sedan", "mcpherson_hatchback", "transporter_8x8")
SPOKEN_WAYS: Final = {
    "cartesian": "joint and Cartesian coordinates",
    "mixed": "joint coordinates and both by turns",
    "lagrange": "joint coordinates and Lagrange multipliers",
}
STATES: Final = 20
SAME: Final = 1e-9
"""Of the largest acceleration."""

FULL_CAR: Final = "sedan"
AXLES: Final = (2, 3, 4, 6, 8)
ROUNDS: Final = 25
OFF_LINE: Final = 0.15
"""Share by which a time may lie off the straight line over axles."""


def items() -> list[Item]:
    """Return every comparison with Song and Kim."""
    return [*operations.items(), *_accelerations(), *_full_car(), *_axles()]


def _accelerations() -> list[Item]:
    """Return how far the accelerations of random states differ."""
    found = []
    for name in VEHICLES:
        car = Car(find(name))
        # One subsystem alone cannot be mixed.
        largest = {way: 0.0 for way in SPOKEN_WAYS if way != "mixed" or car.subsystems > 1}
        for seed in range(STATES):
            car.move(seed)
            expected = car.accelerations("joint")
            for way, before in largest.items():
                difference = np.max(np.abs(car.accelerations(way) - expected)) / np.max(np.abs(expected))
                largest[way] = float(np.maximum(before, difference))
        for way, difference in largest.items():
            spoken = SPOKEN_WAYS[way]
            what = f"largest relative difference of accelerations by {spoken}, {name}: at most {SAME:g}"
            within = difference <= SAME
            found.append(answer(f"002.accelerations.{name}.{way}", what, difference, "1", within=within))
    return found


def _full_car() -> list[Item]:
    """Return the paper's future work: processor times of both sets on a full car, taken turn by turn."""
    car = Car(find(FULL_CAR))
    car.move(0)
    measures: dict[tuple[str, str], Callable[[], float]] = {}
    for name in SETS:
        measures["solution", name] = partial(car.solution_time, name)
        measures["evaluation", name] = partial(car.evaluation_time, name)
    times = interleaved(measures, ROUNDS)
    spoken = {
        "solution": "from forces to accelerations",
        "evaluation": "a whole evaluation, with closed joints and forces",
    }
    found = []
    for part, told in spoken.items():
        for name, coordinates in SETS.items():
            what = f"section 6, left open: processor time, {FULL_CAR}, {told}, {coordinates}"
            median = float(np.median(times[part, name]))
            found.append(answer(f"002.time.{part}.{name}_us", what, median, "us"))
        over = float(np.median(times[part, "cartesian"] / times[part, "joint"]))
        what = f"processor time, {FULL_CAR}, {told}: Cartesian over joint coordinates, above one"
        paper = PAPER_RATIO if part == "solution" else None
        found.append(Item(f"002.time.{part}.ratio", what, paper, over, "1", over > 1.0))
    return found


def _axles() -> list[Item]:
    """Return what another axle costs, and how straight the line over axles is."""
    sedan = find(FULL_CAR)
    cars = {count: Car(with_axles(sedan, count)) for count in AXLES}
    measures: dict[tuple[str, int], Callable[[], float]] = {}
    for count, car in cars.items():
        car.move(0)
        for name in SETS:
            measures[name, count] = partial(car.solution_time, name)
    times = interleaved(measures, ROUNDS)
    found = []
    for name, coordinates in SETS.items():
        found += axle_items(name, coordinates, [float(np.median(times[name, count])) for count in AXLES])
    return found


def axle_items(name: str, coordinates: str, times: Sequence[float]) -> list[Item]:
    """Return the items of times (µs) from forces to accelerations, one for each of ``AXLES``."""
    slope, farthest = straight_line(AXLES, np.asarray(times, dtype=np.float64))
    where = f"{FULL_CAR} with {AXLES[0]} to {AXLES[-1]} axles, {coordinates}"
    return [
        answer(f"002.axles.{name}.slope_us", f"processor time of another axle, {where}", slope, "us"),
        answer(
            f"002.axles.{name}.off_line",
            f"largest distance from a straight line over axles, {where}: at most {OFF_LINE:g}",
            farthest,
            "1",
            within=farthest <= OFF_LINE,
        ),
    ]
