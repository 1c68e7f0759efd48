"""Benches of the vehicle: the shipped sedan at 1 ms beside its peers, in both methods, and with more axles.

Everything is processor time of one thread, driven turn by turn in one run; ratios are medians of what single
rounds gave, and where they differ between the two manoeuvres (bump at 40 km/h, J-turn at 60 km/h) the less
favourable one is reported. A peer that is not there is named on standard error and its figures are left out.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from mastd.arrays import FloatArray
from mastd.bench.registry import Figure, bench, figure, ratio
from mastd.bench.vehicle.peers import ENVIRONMENT, PROGRAMS, Peer, PeerMissingError
from mastd.bench.vehicle.timing import (
    interleaved,
    own_work,
    ratio_of_turns,
    straight_line,
    tail_over_median,
)

if TYPE_CHECKING:
    from mastd.bench.vehicle.car import Car


ROUNDS = 21
AXLE_COUNTS = (2, 4, 6, 8, 12)
EXUDYN_STEPS = 1000
"""The first second has the bump and the steering; all of it would take minutes."""
COMPLETE = ("sedan", "mcpherson_hatchback", "transporter_8x8")
_PEERS = ("prototype", "mujoco", "exudyn")


@bench(
    "vehicle.fast_us",
    "vehicle.exact_us",
    "vehicle.fast_p999_over_median",
    "vehicle.exact_p999_over_median",
    "vehicle.fast_own_p999_over_median",
    "vehicle.exact_own_p999_over_median",
    "vehicle.fast_joint_error_m",
    "vehicle.exact_joint_error_m",
    "vehicle.prototype_us",
    "vehicle.mujoco_us",
    "vehicle.exudyn_us",
    "vehicle.fast_over_prototype",
    "vehicle.exact_over_prototype",
    "vehicle.mujoco_over_fast",
    "vehicle.exudyn_over_fast",
)
def speed() -> dict[str, Figure]:
    """Microseconds of a step of 1 ms in both accuracies, and what the peers take beside them.

    The ratios to the prototype compare like with like while the joint errors stay within its own, 8e-9 m in
    the J-turn and 3e-8 m on the bump. ``own`` tails are those of the car's work: what other load on the
    machine adds to single rounds is left out.
    """
    from mastd.bench.vehicle.car import MANOEUVRES, VEHICLE, Car
    from mastd.vehicle.model.library import find

    model = find(VEHICLE)
    cars = {
        (accuracy, name): Car(model, make(model), accuracy=accuracy)
        for accuracy in ("fast", "exact")
        for name, make in MANOEUVRES.items()
    }
    tails: dict[tuple[str, str], list[FloatArray]] = {key: [] for key in cars}
    measures: dict[tuple[str, str], Callable[[], float]] = {
        key: partial(_drive, car, tails[key]) for key, car in cars.items()
    }
    with ExitStack() as stack:
        for peer in _present_peers(stack):
            steps = EXUDYN_STEPS if peer.name == "exudyn" else 0
            measures |= {(peer.name, name): partial(peer.drive, name, steps) for name in MANOEUVRES}
        times = interleaved(measures, ROUNDS)
    figures = {}
    for accuracy in ("fast", "exact"):
        rounds = [np.array(tails[accuracy, name]) for name in MANOEUVRES]
        passed = figure(np.concatenate([chunks.ravel() for chunks in rounds]), "us")
        figures[f"vehicle.{accuracy}_us"] = passed
        figures[f"vehicle.{accuracy}_p999_over_median"] = tail_over_median(passed)
        figures[f"vehicle.{accuracy}_own_p999_over_median"] = tail_over_median(own_work(rounds))
        error = np.max([cars[accuracy, name].joint_error() for name in MANOEUVRES])
        figures[f"vehicle.{accuracy}_joint_error_m"] = Figure(float(error), "m", 1)
    return figures | _beside_peers(times, list(MANOEUVRES))


def _drive(car: Car, tail: list[FloatArray]) -> float:
    """Drive once in one go, which is the measure of the round, and once more for the tail of single steps."""
    passed = car.drive()
    tail.append(car.drive_in_chunks())
    return passed


def _present_peers(stack: ExitStack) -> list[Peer]:
    """Return the peers that can be measured here; say which ones cannot, and why."""
    present = []
    for name in _PEERS:
        try:
            peer = Peer(name, PROGRAMS, ENVIRONMENT)
        except PeerMissingError as missing:
            sys.stderr.write(f"left out: {missing}\n")
            continue
        stack.callback(peer.close)
        present.append(peer)
    return present


def _beside_peers(times: dict[tuple[str, str], FloatArray], manoeuvres: list[str]) -> dict[str, Figure]:
    """Return the figures of the peers that are in ``times``, their key (name, manoeuvre)."""
    figures = {}
    present = [name for name in _PEERS if (name, manoeuvres[0]) in times]
    for name in present:
        figures[f"vehicle.{name}_us"] = figure(
            np.concatenate([times[name, where] for where in manoeuvres]), "us"
        )

    def ratios(over: str, under: str) -> list[Figure]:
        return [ratio_of_turns(times[over, where], times[under, where]) for where in manoeuvres]

    if "prototype" in present:
        for accuracy in ("fast", "exact"):
            figures[f"vehicle.{accuracy}_over_prototype"] = _max_size(ratios(accuracy, "prototype"))
    for name in ("mujoco", "exudyn"):
        if name in present:
            figures[f"vehicle.{name}_over_fast"] = min(ratios(name, "fast"), key=lambda found: found.median)
    return figures


def _max_size(figures: Iterable[Figure]) -> Figure:
    return max(figures, key=lambda found: found.median)


@bench(
    "vehicle.conventional_us",
    "vehicle.proposed_us",
    "vehicle.proposed_over_conventional",
    "vehicle.proposed_over_conventional_bump",
    "vehicle.proposed_over_conventional_jturn",
)
def proposed_over_conventional() -> dict[str, Figure]:
    """The chord in chassis axes over a fresh matrix each step in inertial axes, both ``exact``."""
    from mastd.bench.vehicle.car import methods

    found = methods(ROUNDS)
    ratios = {
        f"vehicle.proposed_over_conventional_{name}": compared for name, (compared, _, _) in found.items()
    }
    return {
        "vehicle.conventional_us": figure(np.concatenate([times for _, times, _ in found.values()]), "us"),
        "vehicle.proposed_us": figure(np.concatenate([times for _, _, times in found.values()]), "us"),
        "vehicle.proposed_over_conventional": _max_size(ratios.values()),
        **ratios,
    }


@bench(*(f"vehicle.{name}_us" for name in COMPLETE))
def complete() -> dict[str, Figure]:
    """The shipped vehicles with Magic Formula tyres and powertrain, in gear and under throttle.

    Over the bump and in the J-turn at 1 ms, accuracy ``fast``.
    """
    from mastd.bench.vehicle.car import MANOEUVRES, Car, in_gear
    from mastd.vehicle.model.library import find

    cars = {
        (name, manoeuvre): Car(model, in_gear(make(model)))
        for name, model in ((name, find(name)) for name in COMPLETE)
        for manoeuvre, make in MANOEUVRES.items()
    }
    times = interleaved({key: car.drive for key, car in cars.items()}, ROUNDS)
    return {
        f"vehicle.{name}_us": figure(np.concatenate([times[name, where] for where in MANOEUVRES]), "us")
        for name in COMPLETE
    }


@bench(
    *(f"vehicle.axles_{count}_us" for count in AXLE_COUNTS),
    "vehicle.axle_us",
    "vehicle.axles_off_line",
)
def axles() -> dict[str, Figure]:
    """The sedan with 2 to 12 axles, the cost of one axle, and how far from a line that is.

    They drive straight on over flat ground, one iteration a step: over a bump, a car with more axles takes a
    second one more often, and that is not what an axle costs.
    """
    from mastd.bench.vehicle.axles import with_axles
    from mastd.bench.vehicle.car import VEHICLE, Car
    from mastd.roads.ground import Ground
    from mastd.vehicle.manoeuvres.base import bump
    from mastd.vehicle.model.library import find

    sedan = find(VEHICLE)
    models = {count: with_axles(sedan, count) for count in AXLE_COUNTS}
    cars = {count: Car(model, replace(bump(model), ground=Ground.flat())) for count, model in models.items()}
    times = interleaved({count: car.drive for count, car in cars.items()}, ROUNDS)
    medians = np.array([np.median(times[count]) for count in AXLE_COUNTS])
    slope, farthest = straight_line(AXLE_COUNTS, medians)
    return {
        **{f"vehicle.axles_{count}_us": figure(times[count], "us") for count in AXLE_COUNTS},
        "vehicle.axle_us": Figure(slope, "us", ROUNDS),
        "vehicle.axles_off_line": ratio(farthest, ROUNDS),
    }
