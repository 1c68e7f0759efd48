"""Frames of our own records in MCAP: how channels stand in a schema and numbers in a message.

Message encoding ``float64le``: a message is a plain little-endian float64 array, one number per channel; the
channels stand in the schema, a JSON object (see ``mastd.record.writer`` for the whole record). Written here,
because the record's reader and the format of files both need it.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from mcap.records import Channel, Schema
from numpy.typing import NDArray

from mastd.arrays import FloatArray, IntArray
from mastd.errors import FormatError
from mastd.formats.mcap.chunks import Messages, one_line

FRAME_ENCODING: Final = "float64le"
FRAME_TOPIC: Final = "frame"
EVENT_TOPIC: Final = "events"
METADATA_NAME: Final = "mastd"
END_NAME: Final = "mastd.end"
RECOVERY_NAME: Final = "mastd.recovery"
PROFILE_NAME: Final = "mastd"
"""Of the file's header."""
_NANOSECONDS: Final = 1_000_000_000
_HALF_SEQUENCE: Final = 1 << 31
_MAX_CHANNELS: Final = 20_000
_MAX_RATE: Final = 1e9


@dataclass(frozen=True, eq=False)
class FrameSeries:
    """Channels of one rate: ``times`` (k,) in s, ascending frame ``numbers`` (k,), ``values`` (k, channels).

    ``repeated`` frames stood in the file once more, ``misplaced`` ones after one with a higher number.
    """

    times: FloatArray
    numbers: IntArray
    values: FloatArray
    names: tuple[str, ...]
    units: tuple[str, ...]
    meanings: tuple[str, ...]
    rate_hz: float
    repeated: int = 0
    misplaced: int = 0

    @property
    def step(self) -> float:
        """Time from frame to frame in s: an integer number of nanoseconds where the rate is one of those."""
        nanoseconds = round(_NANOSECONDS / self.rate_hz)
        return (
            nanoseconds / _NANOSECONDS
            if math.isclose(nanoseconds * self.rate_hz, _NANOSECONDS, rel_tol=1e-12)
            else 1.0 / self.rate_hz
        )

    @property
    def abscissae(self) -> IntArray:
        """Whole steps (k,) from the first frame to each, missed and lost ones included."""
        positions: IntArray = np.rint((self.times - self.times[0]) * self.rate_hz).astype(np.int64)
        return positions


class Frames:
    """Collects the frames of one MCAP channel, decoded with nothing but its schema, chunk by chunk.

    ``wanted`` says by its name which number is kept, all if left out. Raises FormatError for a schema that
    cannot be read.
    """

    def __init__(
        self,
        path: Path,
        channel: Channel,
        schemas: Mapping[int, Schema],
        wanted: Callable[[str], bool] | None = None,
    ) -> None:
        self.topic = one_line(channel.topic)
        self._path = path
        try:
            document = json.loads(schemas[channel.schema_id].data)
            channels = document["channels"]
            self._names = tuple(str(item["name"]) for item in channels)
            self._units = tuple(str(item["unit"]) for item in channels)
            self._meanings = tuple(str(item.get("meaning", "")) for item in channels)
            self._rate = float(document["rate_hz"])
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            raise FormatError(f"{path}: the schema of channel {self.topic} cannot be read") from error
        if not 1.0 / _MAX_RATE <= self._rate <= _MAX_RATE:
            raise FormatError(f"{path}: channel {self.topic} has a rate of {self._rate:g} Hz")
        if not 0 < len(self._names) <= _MAX_CHANNELS:
            raise FormatError(f"{path}: the schema of channel {self.topic} names {len(self._names)} channels")
        kept = [index for index, name in enumerate(self._names) if wanted is None or wanted(name)]
        self._kept = None if len(kept) == len(self._names) else np.array(kept, dtype=np.int64)
        self._times: list[NDArray[np.uint64]] = []
        self._numbers: list[IntArray] = []
        self._values: list[FloatArray] = []

    def add(self, messages: Messages) -> None:
        """Add the messages of this channel in a chunk; FormatError where their size is another."""
        size = 8 * len(self._names)
        found = messages.stops - messages.starts
        if np.any(found != size):
            raise FormatError(
                f"{self._path}: {self.topic}: a message has {found[found != size][0]} bytes, {size} would be"
                " right"
            )
        values = messages.rows().view("<f8")
        self._values.append(values if self._kept is None else values[:, self._kept])
        self._times.append(messages.times_ns)
        self._numbers.append(messages.sequences)

    def series(self) -> FrameSeries:
        """Return all that came, in the order of their numbers, each frame once."""
        numbers = continued(np.concatenate(self._numbers))
        times, values = np.concatenate(self._times) / 1e9, np.concatenate(self._values)
        places, misplaced = in_order(numbers)
        if places is not None:
            times, numbers, values = times[places], numbers[places], values[places]
        return FrameSeries(
            times,
            numbers,
            values.astype(np.float64, copy=False),
            self._of_kept(self._names),
            self._of_kept(self._units),
            self._of_kept(self._meanings),
            self._rate,
            sum(map(len, self._numbers)) - len(numbers),
            misplaced,
        )

    def _of_kept(self, texts: tuple[str, ...]) -> tuple[str, ...]:
        return texts if self._kept is None else tuple(texts[index] for index in self._kept)


def continued(numbers: IntArray) -> IntArray:
    """Return numbers (k,) that were cut to 32 bits as they were, as far as their steps are below 2³¹."""
    steps = (np.diff(numbers, prepend=numbers[:1]) + _HALF_SEQUENCE) % (2 * _HALF_SEQUENCE) - _HALF_SEQUENCE
    whole: IntArray = np.cumsum(steps) + (numbers[0] if len(numbers) else 0)
    return whole


def in_order(numbers: IntArray) -> tuple[IntArray | None, int]:
    """Return the places at which numbers (k,) stand in ascending order, each once, None where they do so
    already; and how many of them stand after a higher one."""
    if np.all(np.diff(numbers) > 0):
        return None, 0
    newest = np.maximum.accumulate(numbers)
    ordered, places = np.unique(numbers, return_index=True)
    misplaced = int(np.count_nonzero(newest[places] > ordered))
    return places, misplaced


def plain_metadata(texts: Mapping[str, str]) -> dict[str, object]:
    """Return metadata values, each of which is JSON text, as data; other text stays text."""
    plain: dict[str, object] = {}
    for key, text in texts.items():
        try:
            plain[key] = json.loads(text)
        except (ValueError, RecursionError):
            plain[key] = text
    return plain


def provenance(metadata: Mapping[str, object]) -> dict[str, str]:
    """Return the provenance in a record's header as notes."""
    texts, profile = _mapping(metadata.get("settings_text")), _mapping(metadata.get("profile"))
    plant, versions = _mapping(metadata.get("plant")), _mapping(metadata.get("versions"))
    notes = {
        "profile": _text(metadata.get("name")),
        "description": _text(profile.get("description")),
        "profile_sha256": _sha256(texts.get("profile")),
        "settings_sha256": _text(metadata.get("settings_sha256")),
        "duration": _text(metadata.get("duration"), " s"),
        "software": " ".join(("mastd", _text(versions.get("mastd")))) if "mastd" in versions else "",
        "plant": _plant(plant),
        "started": _moment(metadata.get("started_unix")),
    }
    return {key: text for key, text in notes.items() if text}


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _text(value: object, unit: str = "") -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:.15g}{unit}" if abs(value) < 1e300 else ""
    return " ".join(value.split()) if isinstance(value, str) else ""


def _sha256(text: object) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest() if isinstance(text, str) else ""


def _plant(plant: Mapping[str, object]) -> str:
    simulated = plant.get("simulated")
    kind = ("simulated" if simulated else "real") if isinstance(simulated, bool) else ""
    return ", ".join(text for text in (_text(plant.get("name")), kind, _text(plant.get("mode"))) if text)


def _moment(unix: object) -> str:
    """Return a wall time in UTC to the millisecond, "" for what is none."""
    if isinstance(unix, bool) or not isinstance(unix, int | float) or not 0 <= unix < 1e11:
        return ""
    moment = datetime.datetime.fromtimestamp(round(unix, 3), datetime.UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
