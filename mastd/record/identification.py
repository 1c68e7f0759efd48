"""From the record of a run to what identification looks at: the play on an even grid, and its table."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, TypeAdapter, ValidationError

from mastd.control.identification.measurement import Measurement
from mastd.errors import FormatError
from mastd.record.alignment import find_window
from mastd.record.channels import AXES
from mastd.record.reader import Run
from mastd.settings.payload import NoPayload, RigidPayload
from mastd.settings.table import TableSettings

FloatArray = NDArray[np.float64]
Standing = NoPayload | RigidPayload

LONGEST_BRIDGE: Final = 20
"""Periods without a sample that are bridged by straight lines; a longer gap divides the play."""
SHORTEST_PLAY: Final = 4.0
"""s of the longest undivided stretch that are needed."""
MOST_BRIDGED: Final = 0.02
"""Share of the rows that may be bridged."""
_T = TypeVar("_T")


def table_of(run: Run) -> TableSettings:
    """Return the table as the record's head has it; raise FormatError if it has none that can be read."""
    return _parsed(run, run.metadata.get("table"), TypeAdapter(TableSettings), "table")


def payload_of_run(run: Run) -> Standing:
    """Return what stood on the table as the profile says it; raise FormatError for a simulated vehicle."""
    profile = run.metadata.get("profile")
    payload = profile.get("payload") if isinstance(profile, Mapping) else None
    if isinstance(payload, Mapping) and payload.get("kind") == "vehicle":
        raise FormatError(
            f"{run.path}: a simulated vehicle stood on the table; identify needs a rigid payload"
        )
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


def measurement(run: Run, table: TableSettings) -> Measurement:
    """Return the longest stretch that the profile played without a long gap, a row a period.

    Raises FormatError if there is none that is long enough, or a channel is missing or was not read.
    """
    states = run.metadata.get("states")
    window = find_window(run, [str(name) for name in states]) if isinstance(states, list) else None
    if window is None:
        raise FormatError(f"{run.path}: the profile never played")
    shown = slice(window.first, window.last + 1)
    rows = _stretch(run, run.columns["plant_time"][shown])
    links, sensors = len(table.links), len(table.sensors.accelerometers)

    def evenly(names: list[str]) -> FloatArray:
        values = run.matrix(names)[shown][rows.kept]
        bad = [name for name, column in zip(names, values.T, strict=True) if not np.all(np.isfinite(column))]
        if bad:
            raise FormatError(f"{run.path}: {', '.join(bad)} was not read all the time")
        return np.column_stack([np.interp(rows.even, rows.places, column) for column in values.T])

    def numbered(quantity: str, count: int = links) -> FloatArray:
        return evenly([f"{quantity}.{number + 1}" for number in range(count)])

    chambers = np.stack((numbered("pressure_1"), numbered("pressure_2")), axis=2)
    transducers = [[(one.scale, one.offset) for one in link.pressure_transducers] for link in table.links]
    scale, offset = np.moveaxis(np.array(transducers), 2, 0)
    accelerometers = table.sensors.accelerometers
    return Measurement(
        period=run.period,
        lengths=numbered("length"),
        pressures=scale * chambers + offset,
        spools=numbered("spool"),
        supply=evenly(["supply.supply_pressure", "supply.return_pressure"]),
        accelerometers=numbered("accelerometer", sensors) * [sensor.scale for sensor in accelerometers]
        + [sensor.offset for sensor in accelerometers],
        pose=evenly([f"pose.{axis}" for axis in AXES]),
        length_commands=numbered("command.length"),
        rate_commands=numbered("command.rate"),
        acceleration_commands=numbered("command.acceleration"),
        force_commands=numbered("command.force"),
        trims=numbered("command.trim"),
    )


class _Rows:
    """Which frames of the window are taken, at which places, and the even places that are wanted."""

    def __init__(self, kept: NDArray[np.int64], places: FloatArray) -> None:
        self.kept = kept
        self.places = places
        self.even = np.arange(places[0], places[-1] + 0.5)


def _stretch(run: Run, times: FloatArray) -> _Rows:
    """Return the longest stretch of samples in order, placed in whole periods of the plant's time."""
    places = np.round((times - times[0]) / run.period)
    # A sample that was seen twice counts once: the command of its first cycle answers it.
    fresh = np.flatnonzero(np.diff(places, prepend=places[0] - 1.0) > 0.0)
    breaks = np.flatnonzero(np.diff(places[fresh]) > LONGEST_BRIDGE) + 1
    kept = max(np.split(fresh, breaks), key=len)
    rows = _Rows(kept, places[kept])
    if not len(rows.even) * run.period >= SHORTEST_PLAY:
        raise FormatError(
            f"{run.path}: {len(rows.even) * run.period:.3g} s of undisturbed play, {SHORTEST_PLAY:g} s"
            " are needed"
        )
    bridged = 1.0 - len(kept) / len(rows.even)
    if not bridged <= MOST_BRIDGED:
        raise FormatError(
            f"{run.path}: {bridged:.1%} of its samples are missing, {MOST_BRIDGED:.0%} may be; play it"
            " again on a machine that is less busy, or in lockstep"
        )
    return rows
