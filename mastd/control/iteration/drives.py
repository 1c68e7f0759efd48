"""Drives as RPC III files, and profiles that play them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import yaml

from mastd.arrays import FloatArray
from mastd.errors import UsageError
from mastd.formats.core.files import replacing
from mastd.formats.core.measurement import Channel, Measurement, Series
from mastd.formats.mts import rpc3
from mastd.motion.profile.drive_motion import resting, spline_at_knots
from mastd.motion.profile.timeline import KNOT_SPACING
from mastd.settings.core.axes import AXES
from mastd.settings.core.strict_yaml import parse, read_text
from mastd.settings.profile.profile import ProfileSettings
from mastd.settings.table.payload import VehiclePayload

STEPS: Final = (1, 2, 4, 5, 8, 10)
"""Knots from value to value of a drive's file, of which the best is taken."""
MAX_LOST: Final = 1e-3
"""Ratio of a drive's acceleration (rms) that a file may lose."""
_AXIS_UNITS: Final = ("m",) * 3 + ("rad",) * 3
_KEPT: Final = ("payload", "rigs", "limits")
"""What a profile that plays a drive takes over from the one it is made of."""


@dataclass(frozen=True)
class Step:
    """How a drive is written: knots from value to value, and the ratio of its acceleration that is lost."""

    knots: int
    lost: float


def best_step(poses: FloatArray) -> Step:
    """Return the step at which a file of the poses (k, 6) loses the smallest part.

    float32 has 7 digits: the rounding of a displacement, differentiated twice at 1 kHz, is up to 0.1 % of the
    acceleration. With values further apart it falls with the square of their step, but the spline through
    them follows high frequencies less well.
    """
    return min((Step(knots, _lost(poses, knots)) for knots in STEPS), key=lambda step: step.lost)


def as_played(poses: FloatArray, knots: int) -> FloatArray:
    """Return the poses as they are played from a file with a value every so many knots; rest is added to come
    to an integer multiple of them."""
    kept = _spaced(poses, knots).astype(np.float32).astype(np.float64)
    return resting(spline_at_knots(kept, knots * KNOT_SPACING))


def write_drive(path: Path, poses: FloatArray, notes: Mapping[str, str]) -> Step:
    """Write poses (k, 6) of C, one a knot, from rest to rest, as an RPC III file of six channels, at the step
    that loses the smallest part; UsageError if that is more than MAX_LOST."""
    step = best_step(poses)
    if not step.lost <= MAX_LOST:
        raise UsageError(f"{path}: rounding to 32 bits would lose {step.lost:.2%} of the acceleration")
    spaced = _spaced(poses, step.knots)
    channels = tuple(
        Channel(name, unit, spaced[:, axis])
        for axis, (name, unit) in enumerate(zip(AXES, _AXIS_UNITS, strict=True))
    )
    series = Series(channels, step.knots * KNOT_SPACING)
    layout = rpc3.Layout(time_type="DRIVE")
    rpc3.write_rpc3(path, Measurement("rpc3", (series,), dict(notes)), layout)
    return step


def write_series(path: Path, names: Sequence[str], units: Sequence[str], values: FloatArray) -> None:
    """Write responses or their target (k, r), one a knot, as an RPC III file."""
    channels = tuple(
        Channel(name, unit, values[:, k]) for k, (name, unit) in enumerate(zip(names, units, strict=True))
    )
    rpc3.write(path, Measurement("rpc3", (Series(channels, KNOT_SPACING),)))


def read_series(path: Path) -> FloatArray:
    """Return the values (k, r) of a file that ``write_series`` has written."""
    return rpc3.read(path).series[0].matrix()


def read_drive(path: Path, knots: int) -> FloatArray:
    """Return the poses (knots, 6) of a drive's file that ``write_drive`` has written, as they are played."""
    (series,) = rpc3.read(path).series
    assert series.step is not None
    return resting(spline_at_knots(series.matrix(), series.step))[:knots]


def _spaced(poses: FloatArray, step: int) -> FloatArray:
    more = -(len(poses) - 1) % step
    return np.pad(poses, ((0, more), (0, 0)), mode="edge")[::step]


def _lost(poses: FloatArray, knots: int) -> float:
    """Return the ratio of the acceleration that a file with a value every so many knots loses."""
    played = as_played(poses, knots)[: len(poses)]
    wanted = np.diff(poses, 2, axis=0)
    size = np.sqrt(np.mean(wanted**2, axis=0))
    error = np.sqrt(np.mean((np.diff(played, 2, axis=0) - wanted) ** 2, axis=0))
    # What an axis loses that hardly moves is no loss: lengths and angles at a metre count alike.
    return float(np.max(error / np.maximum(size, 0.02 * np.max(size)), initial=0.0)) if np.max(size) else 0.0


def drive_segment(file: str, band: tuple[float, float]) -> dict[str, Any]:
    """Return the segment that plays a drive's file and is judged in a band (Hz), as plain data."""
    return {"kind": "drive", "file": file, "band": tuple(f"{frequency:.9g} Hz" for frequency in band)}


def derived_profile(
    profile: Path, settings: ProfileSettings, name: str, segments: Sequence[Mapping[str, Any]]
) -> str:
    """Return the text of a profile with other segments on what ``profile``, whose settings these are, has on
    the table, within its limits."""
    root, _ = parse(read_text(profile))
    plain = root.plain() if root is not None else {}
    assert isinstance(plain, dict)
    kept: dict[str, Any] = {key: _lists(plain[key]) for key in _KEPT if key in plain}
    if isinstance(settings.payload, VehiclePayload):
        kept["payload"]["vehicle"] = str(Path(settings.payload.vehicle).resolve())
    document = {
        "name": name,
        "seed": settings.seed,
        **kept,
        "point": "C",
        "segments": _lists(tuple(segments)),
    }
    return "# Made by mastd iterate.\n" + yaml.safe_dump(
        document, sort_keys=False, allow_unicode=True, width=110
    )


def write_text(path: Path, text: str) -> None:
    """Write a text whole or not at all."""
    with replacing(path) as file:
        file.write(text.encode())


def _lists(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _lists(one) for key, one in value.items()}
    return [_lists(one) for one in value] if isinstance(value, tuple) else value
