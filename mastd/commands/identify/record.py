"""From the record of a run to what identification looks at: the play on an even grid, and its table."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, TypeVar

import numpy as np
from pydantic import Field, TypeAdapter, ValidationError
from scipy.interpolate import CubicSpline

from mastd.arrays import FloatArray, IntArray
from mastd.control.identification.measurement import Measurement
from mastd.errors import FormatError
from mastd.record.alignment import find_window
from mastd.record.reader import Run
from mastd.settings.core.axes import AXES
from mastd.settings.table.payload import SIMULATED, NoPayload, RigidPayload
from mastd.settings.table.table import TableSettings

Standing = NoPayload | RigidPayload

MAX_BRIDGE: Final = 20
"""Periods without a sample that are bridged; a longer gap divides the play."""
MIN_PLAY: Final = 4.0
"""s of the longest undivided stretch that are needed."""
MAX_BRIDGED: Final = 0.5
"""Fraction of the rows that may be bridged."""
_T = TypeVar("_T")


def table_of(run: Run) -> TableSettings:
    """Return the table as the record's head has it; raise FormatError if it has none that can be read."""
    return _parsed(run, run.metadata.get("table"), TypeAdapter(TableSettings), "table")


def payload_of_run(run: Run) -> Standing:
    """Return the payload of the run's profile; raise FormatError for a simulated vehicle."""
    profile = run.metadata.get("profile")
    payload = profile.get("payload") if isinstance(profile, Mapping) else None
    if isinstance(payload, Mapping) and payload.get("kind") in SIMULATED:
        raise FormatError(f"{run.path}: the payload was a simulated vehicle; identify needs a rigid payload")
    kinds: TypeAdapter[Standing] = TypeAdapter(Annotated[Standing, Field(discriminator="kind")])
    return _parsed(run, payload, kinds, "payload")


def _parsed(run: Run, data: object, kind: TypeAdapter[_T], name: str) -> _T:
    try:
        return kind.validate_json(json.dumps(data))
    except ValidationError as error:
        raise FormatError(
            f"{run.path}: its {name} cannot be read, {error.error_count()} problems: it was made by another"
            " version, or it is not the record of a run"
        ) from error


def sha256_of(path: Path) -> str:
    """Return the digest of a record's file; raise FormatError if it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise FormatError(f"{path}: cannot be read: {error.strerror}") from error


@dataclass(frozen=True, eq=False)
class Play:
    """The play on an even grid; ``bridged`` is the fraction of its rows without a sample of their own."""

    measurement: Measurement
    bridged: float


def play_of(run: Run, table: TableSettings) -> Play:
    """Return the longest part of the profile's run without a long gap, a row a period.

    Samples stand at the plant's time, commands at the loop's periods, which a stale sample repeats; the
    median of their difference ties the two together. Raises FormatError if there is no stretch that is long
    enough, or a channel is missing or was not read.
    """
    states = run.metadata.get("states")
    window = find_window(run, [str(name) for name in states]) if isinstance(states, list) else None
    if window is None:
        raise FormatError(f"{run.path}: the profile never ran")
    shown = slice(window.first, window.last + 1)
    rows = _Rows.of(run, shown)
    actuators, sensors = len(table.links), len(table.sensors.accelerometers)

    def sampled(names: list[str]) -> FloatArray:
        values = run.matrix(names)[shown][rows.fresh]
        bad = [name for name, column in zip(names, values.T, strict=True) if not np.all(np.isfinite(column))]
        if bad:
            raise FormatError(f"{run.path}: {', '.join(bad)} has missing values")
        return np.asarray(CubicSpline(rows.samples, values, axis=0)(rows.even))

    def commanded(quantity: str) -> FloatArray:
        values = run.matrix(_numbered(f"command.{quantity}", actuators))[shown]
        return np.column_stack([np.interp(rows.even, rows.commands, column) for column in values.T])

    chambers = np.stack([sampled(_numbered(f"pressure_{chamber}", actuators)) for chamber in (1, 2)], axis=2)
    transducers = [
        [(one.scale, one.offset) for one in actuator.pressure_transducers or ()] for actuator in table.links
    ]
    scale, offset = np.moveaxis(np.array(transducers), 2, 0)
    accelerometers = table.sensors.accelerometers
    measured = Measurement(
        period=run.period,
        lengths=sampled(_numbered("length", actuators)),
        pressures=scale * chambers + offset,
        spools=sampled(_numbered("spool", actuators)),
        supply=np.stack([sampled(_of_supplies(name, table)) for name in ("supply", "return")], axis=2),
        accelerometers=sampled(_numbered("accelerometer", sensors))
        * [sensor.scale for sensor in accelerometers]
        + [sensor.offset for sensor in accelerometers],
        pose=sampled([f"pose.{axis}" for axis in AXES]),
        length_commands=commanded("length"),
        rate_commands=commanded("rate"),
        acceleration_commands=commanded("acceleration"),
        force_commands=commanded("force"),
        trims=commanded("trim"),
    )
    return Play(measured, rows.bridged)


def _of_supplies(line: str, table: TableSettings) -> list[str]:
    """Return the channel of a line's pressure for the supply of each actuator."""
    name = f"supply.{line}_pressure"
    return [
        f"{name}.{k + 1}" if table.supply is None and len(table.packs) > 1 else name for k in table.fed_by
    ]


def _numbered(quantity: str, count: int) -> list[str]:
    return [f"{quantity}.{number + 1}" for number in range(count)]


@dataclass(frozen=True, eq=False)
class _Rows:
    """Where samples and commands of a window stand, in periods of the plant's time."""

    fresh: IntArray
    """Frames of the window whose sample is taken, of one stretch."""
    samples: FloatArray
    """Their places."""
    commands: FloatArray
    """Places of the commands of all frames of the window."""
    even: FloatArray
    """The whole places that are wanted."""

    @property
    def bridged(self) -> float:
        return 1.0 - len(self.samples) / len(self.even)

    @classmethod
    def of(cls, run: Run, shown: slice) -> _Rows:
        """Return the longest stretch of samples without a gap."""
        times = run.columns["plant_time"][shown]
        positions = np.rint((times - times[0]) / run.period)
        periods = np.rint((run.times[shown] - run.times[shown][0]) / run.period)
        # The command of the frame in which a sample is seen first answers it.
        newest = np.maximum.accumulate(positions)
        newer = np.flatnonzero(np.diff(newest, prepend=newest[0] - 1.0) > 0.0)
        breaks = np.flatnonzero(np.diff(newest[newer]) > MAX_BRIDGE) + 1
        kept = max(np.split(newer, breaks), key=lambda part: newest[part[-1]] - newest[part[0]])
        samples = newest[kept]
        rows = cls(
            kept,
            samples,
            periods + np.rint(np.median(positions - periods)),
            np.arange(samples[0], samples[-1] + 0.5),
        )
        seconds = len(rows.even) * run.period
        if not seconds >= MIN_PLAY:
            raise FormatError(f"{run.path}: {seconds:.3g} s of undisturbed run, {MIN_PLAY:g} s are needed")
        if not rows.bridged <= MAX_BRIDGED:
            raise FormatError(
                f"{run.path}: {rows.bridged:.0%} of its samples are missing, maximum {MAX_BRIDGED:.0%}: "
                "repeat the run on a less busy machine, or in lockstep"
            )
        return rows
