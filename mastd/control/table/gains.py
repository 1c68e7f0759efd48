"""Gains from the table's data: length loops and pressure damping of the drive, acceleration feedback.

A gain that the settings state stays. The figure is the damping of the least damped oscillation of
``stability``: the pressure damping of each type of actuators leaves most of it, length gain and acceleration
feedback are the largest ones that leave a given part.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from mastd.arrays import FloatArray, IntArray
from mastd.control.table.closed_loop import ClosedLoop, Gains, Plant
from mastd.control.table.stability import THIN, least_damping, loops
from mastd.dynamics.table_model import TableModel
from mastd.kinematics.geometry import Geometry
from mastd.settings.core.axes import AXES
from mastd.settings.daemon.control import AxisGainSettings
from mastd.settings.daemon.daemon import DaemonSettings
from mastd.settings.table.hydraulics import DriveGainSettings
from mastd.settings.table.payload import NoPayload
from mastd.settings.table.table import TableSettings

DAMPING_GRID = (0.0, 3.0, 5.0, 7.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0, 80.0)
"""Pressure damping that is tried, 1/s."""
FIRST_DAMPING = 10.0
"""Of the other types while the first one's is searched."""
SWEEPS = 2
"""How often the types of actuators take turns: each one's best depends on the others'."""
LENGTH_GRID = (15.0, 12.0, 10.0, 8.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0)
"""Length gain that is tried, 1/s, from the largest one on; above, it costs fidelity (control study)."""
LENGTH_KEPT = 0.6
"""Part of the damping with the lowest length gain that a larger one leaves."""
FEEDBACK_KEPT = 0.5
"""Part of the damping without acceleration feedback that the feedback leaves."""
TIE = 1e-4
"""Difference of damping, over critical, below which another length gain decides."""
MADE_PERIOD = 1e-3
"""s, of a daemon; what the drive does with a length does not depend on it."""
HALVINGS = 6
HARDEST = 5
"""Loops that are looked at while the gain of one axis is searched."""
LOWERED, LOWERINGS = 0.85, 16
"""Ratio by which all axes are lowered while together they leave too little damping, and how often."""


class DriveGains(NamedTuple):
    """Gains of the drive for one type of actuators, 1/s; None are free."""

    length: float | None
    pressure_damping: float | None


def linear_plant(table: TableSettings, period: float, balance: float) -> Plant:
    """Return what the closed loops of ``table`` are made of."""
    bare = TableModel.from_settings(table, NoPayload()).mass_matrix
    return Plant(table, Geometry.from_settings(table), bare, period, balance)


def gains_of(table: TableSettings, acceleration: Sequence[float] = (0.0,) * 6) -> Gains:
    """Return the gains of a table that has all of its drive's, with those of the acceleration feedback."""
    length, damping = zip(
        *((type_.length_gain, type_.pressure_damping) for type_ in table.types), strict=True
    )
    return Gains(np.array(length), np.array(damping), np.array(acceleration))


def with_drive_gains(table: TableSettings) -> TableSettings:
    """Return the table with the gains of its drive, computed where it states none."""
    names = [link.actuator or "" for link in table.links]
    stated = {
        name: DriveGains(type_.gains.length_gain, type_.stated_damping)
        for name, type_ in zip(names, table.types, strict=True)
    }
    if not any(None in gains for gains in stated.values()):
        return table
    found, _ = loops(linear_plant(table, MADE_PERIOD, 0.0))
    return _changed(table, drive_gains(found, names, stated))


def drive_gains(
    found: Sequence[ClosedLoop], names: Sequence[str], stated: Mapping[str, DriveGains]
) -> dict[str, DriveGains]:
    """Return the gains of the drive for each type, those that are free computed for the loops ``found``.

    ``names`` (n,) of the actuators' types.
    """
    chosen = {
        name: DriveGains(
            LENGTH_GRID[-1] if length is None else length, FIRST_DAMPING if damping is None else damping
        )
        for name, (length, damping) in stated.items()
    }

    def left(tried: Mapping[str, DriveGains]) -> float:
        length, damping = (np.array([tried[name][k] for name in names], dtype=float) for k in range(2))
        return float(np.min(least_damping(found, Gains(length, damping, np.zeros(6)))))

    free = [name for name in stated if stated[name].length is None]

    def faster(tried: Mapping[str, DriveGains], length: float) -> dict[str, DriveGains]:
        return {**tried, **{name: tried[name]._replace(length=length) for name in free}}

    for name in [name for _ in range(SWEEPS) for name in stated if stated[name].pressure_damping is None]:
        tried = [{**chosen, name: chosen[name]._replace(pressure_damping=value)} for value in DAMPING_GRID]
        damped = [left(gains) for gains in tried]
        best = [gains for gains, value in zip(tried, damped, strict=True) if value >= max(damped) - TIE]
        # Where length gains are low, the least damped oscillation may be that of another type.
        chosen = max(best, key=lambda gains: left(faster(gains, LENGTH_GRID[0]))) if best[1:] else best[0]
    slowest = left(chosen)
    for length in LENGTH_GRID if free else ():
        if left(faster(chosen, length)) >= LENGTH_KEPT * slowest:
            return faster(chosen, length)
    return chosen


def _changed(table: TableSettings, chosen: Mapping[str, DriveGains]) -> TableSettings:
    """Return the table with the drive's gains for each type by name, "" where all are of one."""

    def changed(name: str) -> dict[str, float | None]:
        return {"length_gain": chosen[name].length, "pressure_damping": chosen[name].pressure_damping}

    if "" in chosen:
        return table.model_copy(update={"drive": table.drive.model_copy(update=changed(""))})

    def own(name: str, stated: DriveGainSettings) -> DriveGainSettings:
        # No more than the gains of the table's drive, so that a record of it reads back as the same.
        gains = {field: getattr(stated, field) for field in DriveGainSettings.model_fields}
        return DriveGainSettings(**{**gains, **changed(name)})

    types, electric = (
        {
            name: actuator.model_copy(update={"drive": own(name, actuator.drive or table.drive)})
            for name, actuator in kinds.items()
            if name in chosen
        }
        for kinds in (table.actuators, table.electric_actuators)
    )
    return table.model_copy(
        update={
            "actuators": {**table.actuators, **types},
            "electric_actuators": {**table.electric_actuators, **electric},
        }
    )


def with_feedback_gains(table: TableSettings, daemon: DaemonSettings) -> DaemonSettings:
    """Return the settings with the acceleration feedback's gain of each axis, computed if none is stated.

    ``table``: with the gains of its drive; axes that its guides hold get 0.
    """
    feedback = daemon.control.acceleration
    if feedback.gain is not None or feedback.gains is not None:
        return daemon
    period = 1e-9 * daemon.period_ns
    plant = linear_plant(table, period, daemon.control.balance.gain)
    late = replace(plant, late=(daemon.round_trip.fade - 1) * period)
    gains = feedback_gains(loops(plant)[0], loops(late)[0], gains_of(table), feedback.maximum_gain)
    made = AxisGainSettings(**dict(zip(AXES, (gains * plant.geometry.freedoms).tolist(), strict=True)))
    control = daemon.control.model_copy(update={"acceleration": feedback.model_copy(update={"gains": made})})
    return daemon.model_copy(update={"control": control})


def feedback_gains(
    found: Sequence[ClosedLoop], late: Sequence[ClosedLoop], drive: Gains, maximum: float
) -> FloatArray:
    """Return the largest gains (6,) in 1/s, at most ``maximum``, with which the loop stays damped.

    They leave ``FEEDBACK_KEPT`` of the damping of the loops ``found`` without feedback, and ``THIN`` of those
    whose samples are as ``late`` as the feedback is used at all. Each axis by itself, then all are lowered
    until they do so together; 0 where the loop is not stable without. Below the maximum they are whole
    numbers, so that the rounding errors of a machine decide nothing.
    """
    every = [*found, *late]
    least = float(np.min(least_damping(found, drive)))
    if not least > 0.0:
        return np.zeros(6)
    wanted = np.repeat([FEEDBACK_KEPT * least, THIN], [len(found), len(late)])

    def spare(gains: FloatArray, of: IntArray) -> FloatArray:
        left = least_damping([every[index] for index in of], drive._replace(acceleration=gains))
        return np.asarray(left - wanted[of])

    everywhere = np.arange(len(every))
    gains = np.full(6, maximum)
    if np.all(spare(gains, everywhere) >= 0.0):
        return gains
    for axis in range(6):
        alone = np.where(np.arange(6) == axis, maximum, 0.0)
        hardest = np.argsort(spare(alone, everywhere))[:HARDEST]
        gains[axis] *= _largest(partial(_suffices, spare, alone, hardest))
    for _ in range(LOWERINGS):
        gains = np.asarray(np.floor(gains))
        if np.all(spare(gains, everywhere) >= 0.0):
            return gains
        gains *= LOWERED
    return np.zeros(6)


def gains_text(gains: Mapping[str, float]) -> str:
    """Return the gains of the axes by their names as words: one where they are alike."""
    if len(set(gains.values())) == 1:
        return f"{next(iter(gains.values())):g} 1/s"
    return ", ".join(f"{axis} {gain:g}" for axis, gain in gains.items()) + " 1/s"


def free_gains(table: TableSettings, gains: Sequence[float]) -> dict[str, float]:
    """Return those of the gains (6,) that belong to an axis which no guides hold, by its name."""
    return {axis: gain for axis, gain in zip(AXES, gains, strict=True) if axis in table.freedoms}


def _suffices(
    spare: Callable[[FloatArray, IntArray], FloatArray], gains: FloatArray, of: IntArray, part: float
) -> bool:
    return bool(np.all(spare(part * gains, of) >= 0.0))


def _largest(does: Callable[[float], bool]) -> float:
    """Return the largest share from 0 to 1 that does, found by halving."""
    if does(1.0):
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if does(middle) else (low, middle)
    return low
