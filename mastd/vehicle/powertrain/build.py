"""From powertrain settings to the powertrain."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from mastd.arrays import FloatArray
from mastd.settings.vehicle.engine import (
    AnyLaunch,
    ClutchSettings,
    ConverterSettings,
    EngineSettings,
    RigidLaunch,
)
from mastd.settings.vehicle.powertrain import (
    ChangeSettings,
    GearboxSettings,
    LimitedSlip,
    LockedDifferential,
    PowertrainSettings,
)
from mastd.vehicle.powertrain.model import (
    ChangeMap,
    Clutch,
    Converter,
    Differential,
    Engine,
    Gearbox,
    LockUp,
    Powertrain,
)


def powertrain_of(settings: PowertrainSettings, axles: Mapping[str, tuple[int, int]]) -> Powertrain:
    """Return the powertrain of checked settings.

    ``axles``: numbers of the left and right wheel of each axle by its name; those that are driven must be
    there (``PowertrainSettings.axle_problems``).
    """
    return Powertrain(
        engine=_engine(settings.engine),
        launch=_launch(settings.launch),
        gearbox=_gearbox(settings.gearbox),
        stiffness=settings.shaft.stiffness,
        damping=settings.shaft.damping,
        driveline=_differential(settings, settings.first(), axles),
    )


def _engine(settings: EngineSettings) -> Engine:
    throttles, speeds, torques = _torque_table(settings)
    return Engine(
        inertia=settings.inertia,
        throttles=throttles,
        speeds=speeds,
        torques=torques,
        idle_speed=settings.idle_speed or 0.0,
        idle_response=settings.idle_response,
        limit_speed=math.inf if settings.limit_speed is None else settings.limit_speed,
        stall_speed=settings.stall_speed or 0.0,
    )


def _torque_table(settings: EngineSettings) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return throttles (n), speeds (m) and torques (n, m); two curves become the map of two throttles."""
    if settings.map is not None:
        table = settings.map
        return np.array(table.throttles), np.array(table.speeds), np.array(table.torques)
    drag, full = np.array(settings.drag), np.array(settings.full_load)
    speeds = np.union1d(drag[:, 0], full[:, 0])
    rows = [np.interp(speeds, curve[:, 0], curve[:, 1]) for curve in (drag, full)]
    return np.array([0.0, 1.0]), speeds, np.array(rows)


def _launch(settings: AnyLaunch) -> Clutch | Converter | None:
    if isinstance(settings, RigidLaunch):
        return None
    if isinstance(settings, ClutchSettings):
        return Clutch(settings.capacity, settings.closed_pedal, settings.open_pedal, settings.closing_speeds)
    return _converter(settings)


def _converter(settings: ConverterSettings) -> Converter:
    rows = np.array(settings.characteristic)
    lock = settings.lock_up
    return Converter(
        speed_ratios=rows[:, 0],
        factors=rows[:, 1] / settings.reference_speed**2,
        torque_ratios=rows[:, 2],
        lock_up=None
        if lock is None
        else LockUp(lock.capacity, lock.speed_ratio, lock.first_gear, lock.open_speed, lock.closing_time),
    )


def _gearbox(settings: GearboxSettings) -> Gearbox:
    return Gearbox(
        forward=settings.forward,
        reverse=settings.reverse,
        efficiency=settings.efficiency,
        input_inertia=settings.input_inertia,
        output_inertia=settings.output_inertia,
        synchroniser_torque=settings.synchroniser_torque,
        changes=None if settings.changes is None else _changes(settings.changes),
    )


def _changes(settings: ChangeSettings) -> ChangeMap:
    rows = np.array(settings.map)
    return ChangeMap(
        throttles=rows[:, 0],
        up=rows[:, 1],
        down=rows[:, 2],
        duration=settings.duration,
        throttle_share=settings.throttle_share,
        hold=settings.hold,
    )


def _differential(
    settings: PowertrainSettings, name: str, axles: Mapping[str, tuple[int, int]]
) -> Differential:
    part = settings.differentials[name]
    first: int | Differential
    second: int | Differential
    if part.drives is not None:
        first, second = (_differential(settings, driven, axles) for driven in part.drives)
    else:
        assert part.axle is not None
        first, second = axles[part.axle]
    preload, torque_share = 0.0, 0.0
    if isinstance(part.lock, LimitedSlip):
        preload, torque_share = part.lock.preload, part.lock.torque_share
    elif isinstance(part.lock, LockedDifferential):
        preload = math.inf if part.lock.capacity is None else part.lock.capacity
    return Differential(
        name=name,
        first=first,
        second=second,
        ratio=part.ratio,
        efficiency=part.efficiency,
        torque_split=0.5 if part.shares is None else part.shares[0],
        preload=preload,
        torque_share=torque_share,
        hub_ratio=part.hub_ratio,
    )
