"""Manoeuvres along a line: braking, standing start, lane change, kerb and road, and what they tell."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.errors import UsageError
from mastd.roads.ground import Ground, Side
from mastd.vehicle.drivers.base import Driver, PathFollower
from mastd.vehicle.drivers.brake import Braking
from mastd.vehicle.drivers.car import Car
from mastd.vehicle.drivers.controls import hands_off
from mastd.vehicle.drivers.course import Course, double_lane_change, straight
from mastd.vehicle.drivers.pedals import Stop, hold
from mastd.vehicle.drivers.standstill import creep, standstill
from mastd.vehicle.magic_formula.tyre import MagicTyre
from mastd.vehicle.manoeuvres.base import KM_PER_H, Manoeuvre
from mastd.vehicle.manoeuvres.summary import Finding
from mastd.vehicle.model.definition import Model
from mastd.vehicle.state.trace import ACCELERATION, ANGLES, POSITION, VELOCITY, Trace

_DEGREES: Final = 180.0 / math.pi
ALONG: Final = 0
"""The motion along the road among those of ``Model.held``."""
_BRAKE_START: Final = 0.5
"""s."""
_STAY: Final = 3.0
"""s that nothing of a braked car moves before the manoeuvre ends."""
_LOCKED: Final = 0.1
"""Fraction of the car's speed under which the rim of a wheel counts as locked."""
_MARKS: Final = (30.0, 50.0, 80.0, 100.0)
"""km/h of a standing start."""


def brake(
    model: Model,
    *,
    speed: float = 80.0 * KM_PER_H,
    pedal: float | None = None,
    deceleration: float | None = None,
    duration: float | None = None,
    friction: tuple[float, float] = (1.0, 1.0),
    steered: bool = False,
) -> Manoeuvre:
    """Return straight braking from a speed to standstill, from 0.5 s on, and three seconds of standing.

    ``pedal``: share of the vehicle's brakes (1 by default); or ``deceleration`` (m/s²), which a foot holds,
    by the brakes of the vehicle or by torques on its wheels where it has none. ``friction``: factors on the
    tyres' friction left and right of y = 0. ``steered``: hands keep the car on its line, else they hold the
    wheel straight. Raises UsageError, one line each.
    """
    if ALONG in model.held:
        raise UsageError(f"brake: {model.name} is held along the road (held: surge), nothing can stop it")
    problems = []
    has_brakes = any(wheel.brake_torque > 0.0 for wheel in model.wheels)
    if pedal is not None and deceleration is not None:
        problems.append("--deceleration: give it or --pedal, not both")
    if deceleration is None and not has_brakes:
        problems.append(
            f"--pedal: {model.name} has no brakes (brake_torque of its wheels); give --deceleration instead"
        )
    if not speed > 0.0:
        problems.append("--speed: braking needs a speed above zero")
    if problems:
        raise UsageError("\n".join(problems))
    car = Car.of(model)
    minimum = min(1.0, *friction) * (3.0 if deceleration is None else deceleration)
    lasting = _BRAKE_START + 1.5 * speed / minimum + 5.0 if duration is None else duration
    ratio = (1.0 if pedal is None else pedal) if deceleration is None else None

    def drivers() -> tuple[Driver, ...]:
        foot = Braking(model, car.torques, speed, pedal=ratio, deceleration=deceleration, start=_BRAKE_START)
        hands = (PathFollower(model, car.track, straight()),) if steered else ()
        return (foot, *hands, Stop(_BRAKE_START, _STAY))

    return Manoeuvre(
        "brake",
        speed,
        lasting,
        Ground.flat().with_friction(*friction),
        hands_off(model),
        drivers=drivers,
        gear=car.rolling_gear(speed),
        findings=lambda trace: braking(car, trace, _BRAKE_START, friction, speed, scaled=ratio is not None),
    )


def start(
    model: Model, *, throttle: float = 1.0, duration: float = 15.0, friction: tuple[float, float] = (1.0, 1.0)
) -> Manoeuvre:
    """Return the standing start: clutch and gears by the driver, ``throttle`` (0…1) from 0.5 s on.

    Raises UsageError for a vehicle without a powertrain.
    """
    if model.powertrain is None:
        raise UsageError(f"start: {model.name} has no powertrain (powertrain:) to start with")
    car = Car.of(model)
    return Manoeuvre(
        "start",
        0.0,
        duration,
        Ground.flat().with_friction(*friction),
        hands_off(model),
        drivers=lambda: car.throttled(throttle, _BRAKE_START),
        gear=1,
        findings=lambda trace: getting_away(trace, _BRAKE_START),
    )


def lane_change(
    model: Model,
    *,
    speed: float = 60.0 * KM_PER_H,
    offset: float = 3.5,
    preview: float = 0.6,
    duration: float | None = None,
    course: Course | None = None,
) -> Manoeuvre:
    """Return a double lane change (or another course) at a held speed, steered by the path follower.

    Raises UsageError, one line each.
    """
    if not speed > 0.0:
        raise UsageError("--speed: a course needs a speed above zero")
    car = Car.of(model)
    track = car.track
    way = double_lane_change(float(car.position[0]) + 10.0, offset) if course is None else course
    begin, _ = way.nearest(float(car.position[0]), float(car.position[1]), 0.0)
    lasting = (float(way.length[-1]) - begin) / speed if duration is None else duration
    return Manoeuvre(
        "lane-change",
        speed,
        lasting,
        Ground.flat(),
        hands_off(model),
        drivers=lambda: (
            *car.pedals(hold(speed), speed),
            PathFollower(model, track, way, preview=preview),
        ),
        gear=car.gear_for(speed),
        findings=lambda trace: following(car, way, trace),
    )


def kerb(
    model: Model,
    *,
    speed: float = 30.0 * KM_PER_H,
    height: float = 0.1,
    distance: float = 5.0,
    length: float = math.inf,
    duration: float = 2.5,
    side: Side = "both",
) -> Manoeuvre:
    """Return the run over a kerb ``height`` m high at x = ``distance``, rolling freely.

    Raises UsageError, one line each.
    """
    radius = min(wheel.tyre.free_radius for wheel in model.wheels)
    if not 0.0 < height < radius:
        raise UsageError(
            f"--height: {height * 1e3:g} mm; a wheel rolls over kerbs above 0 mm and below its radius, "
            f"{radius * 1e3:g} mm"
        )
    ground = Ground.kerb(distance, height, radius, length, side)
    return Manoeuvre("kerb", speed, duration, ground, hands_off(model), findings=shaken)


def road(
    model: Model, ground: Ground, *, speed: float = 80.0 * KM_PER_H, duration: float = 10.0
) -> Manoeuvre:
    """Return a road driven at a held speed, straight along x where there is a rack to steer with."""
    car = Car.of(model)

    def drivers() -> tuple[Driver, ...]:
        hands = (PathFollower(model, car.track, straight()),) if model.drives and speed > 0.0 else ()
        return (*car.pedals(hold(speed), speed), *hands)

    return Manoeuvre(
        "road",
        speed,
        duration,
        ground,
        hands_off(model),
        drivers=drivers,
        gear=car.gear_for(speed),
        findings=shaken,
    )


def braking(
    car: Car, trace: Trace, begin: float, friction: tuple[float, float], asked: float, *, scaled: bool
) -> tuple[Finding, ...]:
    """Return distance and time to standstill, deceleration, and how straight the car went.

    Distance and time end where the tyres stand. Until the pedal goes down the car rolls and becomes a little
    slower than the speed ``asked`` for (m/s): ``scaled``, they are told for that speed, with its square and
    itself. A foot that holds a deceleration goes by that speed already. The mean deceleration is that between
    80 and 10 % of the first speed, (v₁² − v₂²) / 2 Δs (UN Regulation 13-H, mean fully developed
    deceleration); the closed distance v² / (2 µ g) takes the tyres' peak friction at their loads at rest.
    """
    first = int(np.searchsorted(trace.time, begin - 1e-9))
    speed = np.hypot(trace.chassis[:, VELOCITY][:, 0], trace.chassis[:, VELOCITY][:, 1])
    initial = float(speed[first])
    positions = trace.chassis[:, POSITION]
    way = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(positions[:, :2], axis=0).T))])
    more = asked / initial if scaled else 1.0
    stood = standstill(trace, first)
    note, distance, lasting, crept = "", math.nan, math.nan, math.nan
    end = len(trace) - 1
    if stood is not None:
        end = stood
        distance = more**2 * float(way[end] - way[first])
        lasting = more * float(trace.time[end] - trace.time[first])
        crept = creep(trace, end)
    else:
        note = f"still at {speed[-1] * 3.6:.1f} km/h: a longer --duration, or more --pedal"
    mu = peak_friction_of(car)
    limit = None if mu is None else asked**2 / (mu * sum(friction) * car.model.gravity)
    rims = trace.spin * np.array([wheel.tyre.rolling_radius for wheel in car.model.wheels])
    taken = (speed > 2.0) & (np.arange(len(trace)) >= first) & (np.arange(len(trace)) <= end)
    locked = (np.abs(rims) < _LOCKED * speed[:, None])[taken].mean(axis=0) if taken.any() else np.zeros(1)
    return (
        Finding("braking_distance_m", "distance", distance, "m", 1.0, 2, limit, note),
        Finding("braking_time_s", "time", lasting, "s", 1.0, 3),
        Finding("mean_deceleration_ms2", "deceleration", _developed(speed, way, initial), "m/s2", 1.0, 3),
        Finding("locked_share", "locked", float(np.max(locked)), "of the time, the wheel that most was"),
        Finding("yaw_change_rad", "yaw", _yaw_change(trace, first), "deg", _DEGREES, 2),
        Finding("sideways_m", "sideways", float(positions[end, 1] - positions[first, 1]), "m", 1.0, 3),
        Finding("creep_m", "creep", crept, "mm after standstill", 1e3, 4),
    )


def peak_friction_of(car: Car) -> float | None:
    """Return the mean of the tyres' peak friction along their direction, weighed by the loads at rest.

    None for linear tyres, which have no limit.
    """
    values = []
    for wheel, load in zip(car.model.wheels, car.loads, strict=True):
        if not isinstance(wheel.tyre, MagicTyre):
            return None
        from mastd.vehicle.magic_formula.formula import peak_friction

        values.append(float(peak_friction(wheel.tyre.coefficients, float(load), 0.0)[0]))
    return float(np.average(values, weights=car.loads))


def _developed(speed: FloatArray, way: FloatArray, initial: float) -> float:
    """Return the mean fully developed deceleration."""
    upper, lower = 0.8 * initial, 0.1 * initial
    high = np.flatnonzero(speed <= upper)
    low = np.flatnonzero(speed <= lower)
    if not len(high) or not len(low):
        return math.nan
    stretch = way[low[0]] - way[high[0]]
    return float((speed[high[0]] ** 2 - speed[low[0]] ** 2) / (2.0 * stretch)) if stretch > 0.0 else math.nan


def _yaw_change(trace: Trace, first: int) -> float:
    yaw = np.unwrap(trace.chassis[:, ANGLES][:, 2])
    return float(yaw[-1] - yaw[first])


def getting_away(trace: Trace, begin: float) -> tuple[Finding, ...]:
    """Return the times from the start to round speeds, and where the run ends."""
    speed = trace.chassis[:, VELOCITY][:, 0]
    found = []
    for mark in _MARKS:
        reached = np.flatnonzero(speed >= mark * KM_PER_H)
        value = float(trace.time[reached[0]]) - begin if len(reached) else math.nan
        found.append(Finding(f"time_to_{mark:.0f}_kmh_s", f"to {mark:.0f} km/h", value, "s", 1.0, 2))
    found.append(Finding("end_speed_ms", "end speed", float(speed[-1]), "km/h", 3.6, 2))
    way = float(trace.chassis[-1, 0] - trace.chassis[0, 0])
    found.append(Finding("way_m", "way", way, "m", 1.0, 2))
    backwards = float(trace.chassis[0, 0] - trace.chassis[:, 0].min())
    found.append(Finding("rolled_back_m", "rolled back", backwards, "mm", 1e3, 2))
    return tuple(found)


def following(car: Car, course: Course, trace: Trace) -> tuple[Finding, ...]:
    """Return how well a course was followed and what it took."""
    guess, _ = course.nearest(float(trace.chassis[0, 0]), float(trace.chassis[0, 1]), 0.0)
    beside = []
    for row in trace.chassis[::10, POSITION]:
        guess, off = course.nearest(float(row[0]), float(row[1]), guess)
        beside.append(abs(off))
    velocity = trace.chassis[:, VELOCITY]
    slip = np.arctan2(velocity[:, 1], np.maximum(velocity[:, 0], 0.1))
    return (
        Finding("largest_deviation_m", "off course", float(np.max(beside)), "m at most"),
        Finding("rms_deviation_m", "", float(np.sqrt(np.mean(np.square(beside)))), "m rms"),
        Finding(
            "largest_lateral_acceleration_ms2",
            "lateral",
            float(np.abs(trace.chassis[:, ACCELERATION][:, 1]).max()),
            "m/s2 at most",
        ),
        Finding("largest_sideslip_rad", "sideslip", float(np.abs(slip).max()), "deg at most", _DEGREES, 2),
        Finding(
            "largest_roll_rad",
            "roll",
            float(np.abs(trace.chassis[:, ANGLES][:, 0]).max()),
            "deg at most",
            _DEGREES,
            2,
        ),
        Finding(
            "speed_error_ms", "speed", float(np.abs(velocity[:, 0] - velocity[0, 0]).max()), "m/s off at most"
        ),
    )


def shaken(trace: Trace) -> tuple[Finding, ...]:
    """Return what a road does to car and wheels: rms of acceleration, dynamic loads, time off the ground."""
    acceleration = trace.chassis[:, ACCELERATION]
    mean = trace.wheel_loads.mean(axis=0)
    dynamic = trace.wheel_loads.std(axis=0) / np.maximum(mean, 1.0)
    aloft = (trace.wheel_loads <= 0.0).mean(axis=0)
    return (
        Finding(
            "rms_vertical_acceleration_ms2",
            "vertical rms",
            float(np.sqrt(np.mean(acceleration[:, 2] ** 2))),
            "m/s2",
        ),
        Finding(
            "largest_dynamic_load_share",
            "dynamic load",
            float(dynamic.max()),
            "% rms of the mean load",
            100.0,
            1,
        ),
        Finding("largest_time_aloft_share", "off ground", float(aloft.max()), "% of the time", 100.0, 1),
        Finding("largest_travel_m", "travel", float(np.ptp(trace.wheel_travel, axis=0).max()), "mm", 1e3, 1),
    )
