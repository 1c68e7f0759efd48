"""What a driven vehicle would make its driver feel on the table: told by ``mastd check`` in advance."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mastd.settings.core.axes import AXES
from mastd.settings.profile.oils import OperatorDriver
from mastd.vehicle.payload.fallbacks import FAILED

if TYPE_CHECKING:
    from mastd.settings.profile.profile import ProfileSettings

LONGEST: Final = 30.0
"""s of a drive that are played at most."""
PERIOD: Final = 1e-3
"""s: of the loop as it is shipped; the cue hardly depends on it."""


def cue_document(profile: ProfileSettings, path: Path, text: str) -> dict[str, Any] | None:
    """Return commanded and given cue of the first seconds of a drive, SI; None without a driver.

    Raises SettingsError, with the places in the profile's file, which holds ``text``, for what cannot be
    driven.
    """
    from mastd.loop.payload.virtual_drive import VirtualDrive, play
    from mastd.vehicle.payload.checks import placed

    oils = profile.oils
    if oils is None:
        return None
    with placed(path, text):
        drive = VirtualDrive.of(oils, profile.seed, PERIOD)
    if isinstance(oils.driver, OperatorDriver):
        return None
    played = play(drive, LONGEST)
    error = played.cue_error
    return {
        "played_s": float(played.time[-1]),
        "axes": {
            name: {
                "asked_rms": float(error.asked[axis]),
                "missed_rms": float(error.missed[axis]),
                "against": float(error.against[axis]),
                "largest": float(abs(played.motion[:, 0, axis]).max()),
            }
            for axis, name in enumerate(AXES)
        },
        "conditions": [condition.text for condition in played.conditions],
        "failed": any(condition.name in FAILED for condition in played.conditions),
    }


def cue_text(document: dict[str, Any]) -> str:
    """Return the document as a table to read."""
    lines = [
        f"the first {document['played_s']:.1f} s of the drive, at the seat on the table:",
        f"{'axis':<6}{'ref. rms':>12}{'error rms':>12}{'false cue':>12}{'':8}{'C moves':>9}",
    ]
    for axis, (name, values) in enumerate(document["axes"].items()):
        unit, factor, unit_of_position = ("m/s2", 1e3, "mm") if axis < 3 else ("rad/s", 1e3, "mrad")
        row = "".join(f"{values[key]:12.4f}" for key in ("asked_rms", "missed_rms", "against"))
        lines.append(f"{name:<6}{row}  {unit:<6}{factor * values['largest']:9.2f} {unit_of_position}")
    phrase = "exceeds a limit" if document["failed"] else "warning"
    lines.extend(f"{phrase}: {text}" for text in document["conditions"])
    return "\n".join(lines)
