"""From the record of a run to what the calibration of offsets looks at: a raised table that moves slowly."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final

import numpy as np
from pydantic import ValidationError

from mastd.arrays import IntArray
from mastd.control.identification.length_offsets import SlowMotion
from mastd.errors import FormatError
from mastd.kinematics.geometry import Geometry
from mastd.kinematics.workspace import lengths_at
from mastd.record.reader import Run
from mastd.settings.core.axes import AXES
from mastd.settings.table.table import TableSettings

PLAYED: Final = ("RUNNING",)
RAISED: Final = ("READY", "ARMED", "RUNNING", "HOLD", "STOPPING")
SETTLING: Final = 2.0
"""s in which the balance comes to rest, at the beginning."""
SHORTEST: Final = 0.5
"""s of a raised table that are needed."""
_QUANTITIES: Final = ("state", "pose.", "reference.", "length.", "force.", "command.length.")


def wanted(channel: str) -> bool:
    """Return whether a channel of a record is needed here."""
    return channel.startswith(_QUANTITIES)


def table_of(run: Run) -> TableSettings:
    """Return the table as the record's head has it; raise FormatError if it has none that can be read."""
    try:
        return TableSettings.model_validate_json(json.dumps(run.metadata.get("table")))
    except ValidationError as error:
        raise FormatError(
            f"{run.path}: its table settings cannot be read: written by another version, or not the "
            "record of a run"
        ) from error


def balance_limit(run: Run) -> float:
    """Return the run's maximum actuator trim in m, 0 where its settings have none."""
    value: object = run.metadata.get("daemon")
    for key in ("control", "balance", "limit"):
        value = value.get(key) if isinstance(value, dict) else None
    return float(value) if isinstance(value, int | float) else 0.0


def slow_motion(run: Run, geometry: Geometry) -> SlowMotion:
    """Return the samples of the playing profile, or else those of the raised table.

    Raises FormatError where there are too few of either.
    """
    names = [str(name) for name in states] if isinstance(states := run.metadata.get("states"), list) else []
    played = _rows(run, names, PLAYED)
    rows = played if len(played) * run.period > 2.0 * SETTLING else _rows(run, names, RAISED)
    if len(rows) * run.period > 2.0 * SETTLING:
        rows = rows[round(SETTLING / run.period) :]
    if len(rows) * run.period < SHORTEST:
        raise FormatError(f"{run.path}: the table is not at rest and raised for {SHORTEST:g} s in it")
    poses = run.matrix([f"pose.{axis}" for axis in AXES])[rows]
    reference = run.matrix([f"reference.{axis}" for axis in AXES])[rows]
    lengths, forces, commands = (
        run.matrix(run.numbered(name))[rows] for name in ("length", "force", "command.length")
    )
    if lengths.shape[1] != geometry.actuators:
        raise FormatError(
            f"{run.path}: {lengths.shape[1]} lengths, but the table has {geometry.actuators} actuators"
        )
    return SlowMotion(poses, lengths, forces, commands - lengths_at(geometry, reference))


def _rows(run: Run, names: list[str], states: Iterable[str]) -> IntArray:
    """Return the numbers of the frames in these states."""
    numbers = [names.index(state) for state in states if state in names]
    return np.asarray(np.flatnonzero(np.isin(run.columns["state"], numbers)))
