"""Manoeuvres of handling: the rack moves by a law, a driver holds the speed; ramp-steer and sine-steer."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.errors import UsageError
from mastd.roads.ground import Ground
from mastd.vehicle.drivers.car import Car
from mastd.vehicle.drivers.controls import ControlLaw, Controls, no_controls
from mastd.vehicle.drivers.pedals import hold
from mastd.vehicle.manoeuvres.base import KM_PER_H, Manoeuvre
from mastd.vehicle.manoeuvres.summary import Finding
from mastd.vehicle.model.definition import Model
from mastd.vehicle.state.trace import ACCELERATION, ANGLES, ANGULAR_VELOCITY, VELOCITY, Trace

_DEGREES: Final = 180.0 / math.pi
_ROUNDING_IN: Final = 1.0
"""s over which a ramp takes up its rate."""
_LINEAR: Final = (0.5, 3.0)
"""m/s² of lateral acceleration between which gradients are taken: the tyres are still linear there."""
_MIN_SPAN: Final = 1.0
"""m/s² that a gradient needs at least."""
_AIM: Final = 4.0
"""m/s² at which a ramp of the default rack ends."""


def ramp_steer(
    model: Model,
    *,
    speed: float = 80.0 * KM_PER_H,
    duration: float = 20.0,
    rack: float | None = None,
    ramp_start: float = 1.0,
) -> Manoeuvre:
    """Return the slow ramp of the first rack at a held speed, to ``rack`` (m, left positive) at the end.

    Further racks move with it as the steering's geometry has it.
    By default the rack goes to where the linear single track turns left with 4 m/s². Raises UsageError, one
    line each.
    """
    car = Car.of(model)
    table = car.track.steered
    drive = model.drives[table.drive]
    ratios = car.track.drive_ratios(len(model.drives))
    if rack is None:
        _refuse_standstill(speed)
        aim = float(car.track.racks(_AIM / speed**2, speed, len(model.drives))[table.drive])
        rack = math.copysign(min(abs(aim), 0.9 * drive.limit), aim)
    problems = rack_problems(model, table.drive, rack, ratios)
    if not ramp_start + _ROUNDING_IN < duration:
        problems.append(
            f"--duration: {duration:g} s leaves no time for the ramp after --ramp-start, {ramp_start:g} s; "
            f"expected more than {ramp_start + _ROUNDING_IN:g} s"
        )
    if not speed > 0.0:
        problems.append("--speed: a turn needs a speed above zero")
    if problems:
        raise UsageError("\n".join(problems))

    def law(times: FloatArray) -> Controls:
        controls = no_controls(model, times)
        controls.drives[:] = ratios[:, None] * slow_ramp(times, rack, ramp_start, duration)[:, None, :]
        return controls

    return Manoeuvre(
        "ramp-steer",
        speed,
        duration,
        Ground.flat(),
        law,
        drivers=lambda: car.pedals(hold(speed), speed),
        gear=car.gear_for(speed),
        findings=lambda trace: steady_turn(car, trace, law, ramp_start),
    )


def sine_steer(
    model: Model,
    *,
    speed: float = 80.0 * KM_PER_H,
    rack: float | None = None,
    frequency: float = 0.5,
    periods: int = 4,
    start: float = 0.5,
    duration: float | None = None,
) -> Manoeuvre:
    """Return ``periods`` sines of the first rack with an amplitude of ``rack`` (m) from ``start`` (s) on.

    Further racks move with it.
    The first and the last quarter of a period swell and fade, so that the rack moves without a jolt. By
    default the amplitude is that of a steady turn of 2 m/s². Raises UsageError, one line each.
    """
    car = Car.of(model)
    table = car.track.steered
    ratios = car.track.drive_ratios(len(model.drives))
    if rack is None:
        _refuse_standstill(speed)
        rack = float(car.track.racks(0.5 * _AIM / speed**2, speed, len(model.drives))[table.drive])
    problems = rack_problems(model, table.drive, rack, ratios)
    if not speed > 0.0:
        problems.append("--speed: a turn needs a speed above zero")
    if not periods >= 1:
        problems.append(f"--periods: {periods} is less than one")
    end = start + periods / frequency
    lasting = end + 1.0 if duration is None else duration
    if not lasting >= end:
        problems.append(f"--duration: {lasting:g} s, but the last period ends at {end:g} s")
    if problems:
        raise UsageError("\n".join(problems))

    def law(times: FloatArray) -> Controls:
        controls = no_controls(model, times)
        sine = swelling_sine(times, rack, frequency, periods, start)
        controls.drives[:] = ratios[:, None] * sine[:, None, :]
        return controls

    return Manoeuvre(
        "sine-steer",
        speed,
        lasting,
        Ground.flat(),
        law,
        drivers=lambda: car.pedals(hold(speed), speed),
        gear=car.gear_for(speed),
        findings=lambda trace: frequency_response(car, trace, law, (frequency, periods, start, speed)),
    )


def rack_problems(model: Model, first: int, rack: float, ratios: FloatArray) -> list[str]:
    """Return a line for each drive that does not travel as far as ``rack`` (m) of the first one asks."""
    problems = []
    for index, (drive, ratio) in enumerate(zip(model.drives, ratios, strict=True)):
        if not abs(rack * ratio) <= drive.limit:
            asked = "" if index == first else f" requires {rack * ratio * 1e3:g} mm, which"
            problems.append(
                f"--rack: {rack * 1e3:g} mm{asked} is beyond the travel of {drive.name}, "
                f"±{drive.limit * 1e3:g} mm"
            )
    return problems


def _refuse_standstill(speed: float) -> None:
    if not speed > 0.0:
        raise UsageError("--speed: a turn needs a speed above zero")


def slow_ramp(times: FloatArray, rack: float, start: float, end: float) -> FloatArray:
    """Return displacement, rate and acceleration (n, 3) of a ramp that takes up its rate in one second.

    From ``start`` the rate rises as 3 u² − 2 u³ over that second, then stays until ``rack`` is reached at
    ``end``.
    """
    rate = rack / (end - start - 0.5 * _ROUNDING_IN)
    u = np.clip((times - start) / _ROUNDING_IN, 0.0, 1.0)
    beyond = np.maximum(times - start - _ROUNDING_IN, 0.0)
    return np.column_stack(
        (
            rate * (_ROUNDING_IN * (u**3 - 0.5 * u**4) + beyond),
            rate * (3.0 * u**2 - 2.0 * u**3),
            rate * 6.0 * (u - u**2) / _ROUNDING_IN,
        )
    )


def swelling_sine(
    times: FloatArray, amplitude: float, frequency: float, periods: int, start: float
) -> FloatArray:
    """Return displacement, rate and acceleration (n, 3) of g(t) · amplitude · sin ω (t − start).

    g rises as 10 u³ − 15 u⁴ + 6 u⁵ over the first quarter of a period and falls so over the last one.
    """
    omega = 2.0 * np.pi * frequency
    quarter = 0.25 / frequency
    end = start + periods / frequency
    t = np.clip(times, start, end)
    up, down = (t - start) / quarter, (end - t) / quarter
    u = np.minimum(np.minimum(up, down), 1.0)
    sign = np.where(up < down, 1.0, -1.0) / quarter
    g = u**3 * (10.0 - 15.0 * u + 6.0 * u**2)
    g1 = sign * 30.0 * u**2 * (1.0 - u) ** 2
    g2 = sign**2 * 60.0 * u * (1.0 - u) * (1.0 - 2.0 * u)
    sine, cosine = np.sin(omega * (t - start)), omega * np.cos(omega * (t - start))
    return amplitude * np.column_stack(
        (g * sine, g1 * sine + g * cosine, g2 * sine + 2.0 * g1 * cosine - g * omega**2 * sine)
    )


def steady_turn(car: Car, trace: Trace, law: ControlLaw, start: float) -> tuple[Finding, ...]:
    """Return gradients of a slow ramp: understeer, roll, sideslip, over the lateral acceleration v r.

    Understeer gradient: slope of δ − l r / v over v r (ISO 4138), where δ is the mean steer angle of the
    first steered axle by the suspension's kinematics and l its distance from the pole of the turn.
    """
    table, length = car.track.steered, car.track.wheelbase
    steer = table.angle(law(trace.time).drives[:, table.drive, 0])
    speed, rate = trace.chassis[:, VELOCITY][:, 0], trace.chassis[:, ANGULAR_VELOCITY][:, 2]
    across = speed * rate
    low, high = _LINEAR
    size = np.abs(across)
    # The ramp rises: what comes after the first crossing of the upper bound is another range.
    beyond = np.flatnonzero(size > high)
    until = int(beyond[0]) if len(beyond) else len(trace)
    taken = np.flatnonzero((size[:until] >= low) & (trace.time[:until] > start))
    maximum = float(size.max())
    roll = trace.chassis[:, ANGLES][:, 0]
    slip = trace.chassis[:, VELOCITY][:, 1] / np.maximum(speed, 0.1)
    note = ""
    if len(taken) < 3 or not np.ptp(across[taken]) >= _MIN_SPAN:
        note = f"turn reaches {maximum:.2f} m/s2, expected {low + _MIN_SPAN:g}: increase --rack or --speed"
        gradients = [math.nan] * 3
    else:
        beyond_rolling = steer - length * rate / np.maximum(speed, 0.1)
        gradients = [
            float(np.polyfit(across[taken], values[taken], 1)[0]) for values in (beyond_rolling, roll, slip)
        ]
    return (
        Finding(
            "understeer_gradient_rad_per_ms2",
            "understeer",
            gradients[0],
            "deg/(m/s2)",
            _DEGREES,
            4,
            car.track.understeer_gradient,
            note,
        ),
        Finding("roll_gradient_rad_per_ms2", "roll gradient", gradients[1], "deg/(m/s2)", _DEGREES, 4),
        Finding("sideslip_gradient_rad_per_ms2", "sideslip", gradients[2], "deg/(m/s2)", _DEGREES, 4),
        Finding("largest_lateral_acceleration_ms2", "turn", maximum, "m/s2 at most"),
        Finding("speed_error_ms", "speed", float(np.abs(speed - speed[0]).max()), "m/s off at most"),
    )


def frequency_response(
    car: Car, trace: Trace, law: ControlLaw, sine: tuple[float, int, float, float]
) -> tuple[Finding, ...]:
    """Return gain and phase of yaw rate and lateral acceleration against the steer angle.

    ``sine``: frequency (Hz), periods, start (s), speed (m/s). Sine and cosine are fitted to the inner periods
    of three or more, to all of fewer; the closed values are those of the linear single track.
    """
    frequency, periods, start, speed = sine
    margin = 1.0 / frequency if periods >= 3 else 0.0
    taken = (trace.time >= start + margin) & (trace.time <= start + periods / frequency - margin)
    table = car.track.steered
    steer = table.angle(law(trace.time).drives[:, table.drive, 0])
    amplitude = _amplitude(trace.time[taken], steer[taken], frequency)
    note = "" if periods >= 3 else "of fewer than three periods, with what swells and fades"
    found = []
    for key, label, values, formula, unit in (
        (
            "yaw_rate",
            "yaw rate",
            trace.chassis[:, ANGULAR_VELOCITY][:, 2],
            car.track.response(frequency, speed)[0],
            "1/s",
        ),
        (
            "lateral_acceleration",
            "lateral acc.",
            trace.chassis[:, ACCELERATION][:, 1],
            car.track.response(frequency, speed)[1],
            "m/s2 per rad",
        ),
    ):
        ratio = _amplitude(trace.time[taken], values[taken], frequency) / amplitude
        suffix = "per_s" if key == "yaw_rate" else "ms2_per_rad"
        found.append(
            Finding(f"{key}_gain_{suffix}", f"{label} gain", abs(ratio), unit, 1.0, 4, abs(formula), note)
        )
        found.append(
            Finding(
                f"{key}_phase_rad",
                f"{label} phase",
                float(np.angle(ratio)),
                "deg",
                _DEGREES,
                2,
                float(np.angle(formula)),
            )
        )
    return tuple(found)


def _amplitude(times: FloatArray, values: FloatArray, frequency: float) -> complex:
    """Return the complex amplitude at a frequency by least squares beside a constant and a slope."""
    phase = 2.0 * np.pi * frequency * times
    basis = np.column_stack((np.cos(phase), np.sin(phase), np.ones_like(times), times - times.mean()))
    cosine, sine, _, _ = np.linalg.lstsq(basis, values, rcond=None)[0]
    return complex(cosine, -sine)
