"""Settings of what stands before the gearbox: engine, clutch, converter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, ValidationInfo, field_validator

from mastd.settings.core.base import Problem, Settings, refuse
from mastd.settings.core.quantity import AngularVelocity, Inertia, Moment, Ratio, Time

PositiveInertia = Annotated[Inertia, Field(gt=0)]
PositiveMoment = Annotated[Moment, Field(gt=0)]
PositiveSpeed = Annotated[AngularVelocity, Field(gt=0)]
Pedal = Annotated[Ratio, Field(ge=0, le=1)]
EngineSpeed = Annotated[AngularVelocity, Field(ge=0)]
ROUNDING = 1e-9
TorquePoint = tuple[EngineSpeed, Moment]
FullLoadPoint = tuple[EngineSpeed, Annotated[Moment, Field(ge=0)]]


def not_rising(
    values: Sequence[float], what: str, unit: str, *, minimum: int = 2, column: int | None = None
) -> list[Problem]:
    """Return the problems of values that do not rise; ``column`` is given for rows of several columns."""
    if len(values) < minimum:
        return [((), f"{len(values)} points, it needs at least {minimum}")]
    below = () if column is None else (column,)
    problems: list[Problem] = []
    for k in range(1, len(values)):
        if not values[k] > values[k - 1]:
            this, before = _number(values[k], unit), _number(values[k - 1], unit)
            problems.append(((k, *below), f"{what} {this} does not lie above the {before} before it"))
    return problems


def rpm(speed: float) -> str:
    """Return a speed (rad/s) as text."""
    return f"{speed * 9.549296585513721:.5g} rpm"


def _number(value: float, unit: str) -> str:
    return rpm(value) if unit == "rpm" else f"{value:g} {unit}".strip()


class TorqueMap(Settings):
    """Torque over throttle and speed, linear between the points and held beyond them."""

    throttles: Annotated[tuple[Pedal, ...], Field(max_length=30)]
    """Rising from 0 to 1."""
    speeds: Annotated[tuple[EngineSpeed, ...], Field(max_length=60)]
    """Rising."""
    torques: Annotated[tuple[Annotated[tuple[Moment, ...], Field(max_length=60)], ...], Field(max_length=30)]
    """A row for each throttle with a torque for each speed; the first row is the drag, at most 0."""

    @field_validator("throttles")
    @classmethod
    def _whole_range(cls, throttles: tuple[float, ...]) -> tuple[float, ...]:
        refuse(not_rising(throttles, "throttle", ""))
        if (throttles[0], throttles[-1]) != (0.0, 1.0):
            raise ValueError(f"run from {throttles[0]:g} to {throttles[-1]:g}, they must run from 0 to 1")
        return throttles

    @field_validator("speeds")
    @classmethod
    def _rising(cls, speeds: tuple[float, ...]) -> tuple[float, ...]:
        refuse(not_rising(speeds, "speed", "rpm"))
        return speeds

    @field_validator("torques")
    @classmethod
    def _full(
        cls, rows: tuple[tuple[float, ...], ...], info: ValidationInfo
    ) -> tuple[tuple[float, ...], ...]:
        throttles, speeds = info.data.get("throttles"), info.data.get("speeds")
        problems: list[Problem] = []
        if throttles is not None and len(rows) != len(throttles):
            problems.append(((), f"{len(rows)} rows for {len(throttles)} throttles, each needs one"))
        for k, row in enumerate(rows):
            if speeds is not None and len(row) != len(speeds):
                problems.append(((k,), f"{len(row)} torques for {len(speeds)} speeds, each needs one"))
            elif k == 0:
                problems.extend(_driving_drag(row, (0,)))
            else:
                problems.extend(_falling(rows[k - 1], row, k))
        refuse(problems)
        return rows


def _driving_drag(row: Sequence[float], location: tuple[int, ...]) -> list[Problem]:
    return [
        ((*location, k), f"is {torque:g} N m, without throttle the torque is at most 0 N m")
        for k, torque in enumerate(row)
        if not torque <= 0.0
    ]


def _falling(before: Sequence[float], row: Sequence[float], k: int) -> list[Problem]:
    return [
        ((k, j), f"is {high:g} N m, below the {low:g} N m with less throttle")
        for j, (low, high) in enumerate(zip(before, row, strict=False))
        if not high >= low
    ]


class EngineSettings(Settings):
    """A combustion engine or an electric machine.

    Its torque is given by ``full_load`` and ``drag``, between which the throttle chooses, or by a ``map``.
    A torque below 0 opposes the rotation; beyond the ends of a table the torque is held.
    """

    inertia: PositiveInertia
    """With flywheel, and with clutch cover or converter pump."""
    full_load: Annotated[tuple[FullLoadPoint, ...], Field(max_length=60)] | None = None
    """Points of speed and torque at full throttle."""
    drag: Annotated[
        Annotated[tuple[TorquePoint, ...], Field(max_length=60)] | None, Field(validate_default=True)
    ] = None
    """Points of speed and torque without throttle, torques at most 0."""
    map: Annotated[TorqueMap | None, Field(validate_default=True)] = None
    """Instead of ``full_load`` and ``drag``."""
    idle_speed: PositiveSpeed | None = None
    """Speed that the idle controller holds; no controller if left out."""
    idle_response: Annotated[Time, Field(gt=0)] = 0.2
    """Time in which the idle controller settles."""
    stall_speed: PositiveSpeed | None = None
    """Speed below which the engine goes out and stays out; it does not if left out."""
    limit_speed: PositiveSpeed | None = None
    """Speed above which the limiter takes the throttle back."""

    @field_validator("full_load")
    @classmethod
    def _rising(cls, points: tuple[FullLoadPoint, ...] | None) -> tuple[FullLoadPoint, ...] | None:
        if points is not None:
            refuse(not_rising([speed for speed, _ in points], "speed", "rpm", column=0))
        return points

    @field_validator("drag")
    @classmethod
    def _opposing(
        cls, points: tuple[TorquePoint, ...] | None, info: ValidationInfo
    ) -> tuple[TorquePoint, ...] | None:
        if "full_load" in info.data and (points is None) != (info.data["full_load"] is None):
            raise ValueError("give full_load and drag together, or a map instead of both")
        if points is not None:
            problems = not_rising([speed for speed, _ in points], "speed", "rpm", column=0)
            for k, (_, torque) in enumerate(points):
                if not torque <= 0.0:
                    problems.append(((k, 1), f"is {torque:g} N m, a drag is at most 0 N m"))
            refuse(problems)
        return points

    @field_validator("map")
    @classmethod
    def _one_kind(cls, table: TorqueMap | None, info: ValidationInfo) -> TorqueMap | None:
        if "full_load" in info.data and (table is None) == (info.data["full_load"] is None):
            raise ValueError("give either full_load and drag, or a map")
        return table

    @field_validator("idle_speed")
    @classmethod
    def _strong_enough(cls, idle: float | None, info: ValidationInfo) -> float | None:
        table: TorqueMap | None = info.data.get("map")
        points = info.data.get("full_load")
        if table is not None:
            points = tuple(zip(table.speeds, table.torques[-1], strict=True))
        if idle is not None and points:
            curve = np.array(points)
            torque = float(np.interp(idle, curve[:, 0], curve[:, 1]))
            if not torque > 0.0:
                raise ValueError(f"{rpm(idle)} cannot be held, the torque there is {torque:g} N m at most")
        return idle

    @field_validator("stall_speed")
    @classmethod
    def _below_idle(cls, stall: float | None, info: ValidationInfo) -> float | None:
        idle = info.data.get("idle_speed")
        if stall is not None and idle is not None and not stall < idle:
            raise ValueError(f"is {rpm(stall)}, it must lie below the idle speed, {rpm(idle)}")
        return stall

    @field_validator("limit_speed")
    @classmethod
    def _above_idle(cls, limit: float | None, info: ValidationInfo) -> float | None:
        idle = info.data.get("idle_speed")
        if limit is not None and idle is not None and not limit > idle:
            raise ValueError(f"is {rpm(limit)}, it must lie above the idle speed, {rpm(idle)}")
        return limit


class RigidLaunch(Settings):
    """Engine and gearbox input are one shaft, as in an electric drive."""

    kind: Literal["rigid"]


class ClutchSettings(Settings):
    """A friction clutch: it sticks or slips."""

    kind: Literal["clutch"]
    capacity: PositiveMoment
    """Torque at which it slips when closed."""
    closed_pedal: Pedal = 0.2
    """Pedal up to which it is fully closed."""
    open_pedal: Pedal = 0.8
    """Pedal from which on it is open."""
    closing_speeds: tuple[PositiveSpeed, PositiveSpeed] | None = None
    """Engine speeds between which an automatic clutch closes; the pedal alone if left out."""

    @field_validator("open_pedal")
    @classmethod
    def _behind(cls, pedal: float, info: ValidationInfo) -> float:
        closed = info.data.get("closed_pedal")
        if closed is not None and not pedal > closed:
            raise ValueError(f"is {pedal:g}, the pedal opens behind closed_pedal, {closed:g}")
        return pedal

    @field_validator("closing_speeds")
    @classmethod
    def _rising(cls, speeds: tuple[float, float] | None) -> tuple[float, float] | None:
        if speeds is not None:
            refuse(not_rising(speeds, "speed", "rpm"))
        return speeds


class LockUpSettings(Settings):
    """The clutch that bridges a converter."""

    capacity: PositiveMoment
    speed_ratio: Annotated[Ratio, Field(gt=0, lt=1)] = 0.85
    """Turbine over pump speed from which on it closes."""
    first_gear: Annotated[int, Field(ge=1)] = 2
    """Lowest gear in which it closes."""
    open_speed: PositiveSpeed
    """Turbine speed below which it opens."""
    closing_time: Annotated[Time, Field(gt=0)] = 0.4


ConverterPoint = tuple[
    Annotated[Ratio, Field(ge=0, le=1)], Annotated[Moment, Field(ge=0)], Annotated[float, Field(ge=1)]
]


class ConverterSettings(Settings):
    """A hydrodynamic torque converter."""

    kind: Literal["converter"]
    reference_speed: PositiveSpeed
    """Pump speed that the pump torques are given for; they go with its square."""
    characteristic: Annotated[tuple[ConverterPoint, ...], Field(max_length=40)]
    """Rows of turbine over pump speed (from 0 to 1), pump torque, and turbine over pump torque."""
    lock_up: LockUpSettings | None = None

    @field_validator("characteristic")
    @classmethod
    def _consistent(cls, rows: tuple[ConverterPoint, ...]) -> tuple[ConverterPoint, ...]:
        problems = not_rising([row[0] for row in rows], "speed ratio", "", column=0)
        if not problems and (rows[0][0], rows[-1][0]) != (0.0, 1.0):
            what = f"speed ratios run from {rows[0][0]:g} to {rows[-1][0]:g}, they must run from 0 to 1"
            problems.append(((), what))
        elif not problems and rows[-1][1] != 0.0:
            what = f"is {rows[-1][1]:g} N m, at equal speeds the pump torque is 0 N m"
            problems.append(((len(rows) - 1, 1), what))
        for k, (speeds, _, torques) in enumerate(rows):
            if not speeds * torques <= 1.0 + ROUNDING:
                what = f"is {torques:g}: with speed ratio {speeds:g} its output power exceeds its input"
                problems.append(((k, 2), what))
        refuse(problems)
        return rows


AnyLaunch = Annotated[RigidLaunch | ClutchSettings | ConverterSettings, Field(discriminator="kind")]
