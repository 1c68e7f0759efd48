"""Drives for tests: the sedan with its driver in a cabin on the table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from mastd.arrays import FloatArray
from mastd.loop.payload.virtual_drive import VirtualDrive
from mastd.settings.core.starter import find, names
from mastd.settings.profile.cueing import WashoutSettings
from mastd.settings.profile.oils import OilsSettings, OpenCrgRoad, OperatorDriver

PERIOD = 1e-3
CABIN_SEAT = (0.3, 0.4, 1.5)
KM_PER_H = 1.0 / 3.6
DRIVES = [
    name for name in names("profile") if "\nmode: oils\n" in find("profile", name).read_text(encoding="utf-8")
]
"""Starter profiles in which a vehicle is driven."""
STREAMS = [
    name
    for name in names("profile")
    if "\nmode: stream\n" in find("profile", name).read_text(encoding="utf-8")
]
"""Starter profiles whose motion a rig makes."""
MOTIONS = [name for name in names("profile") if name not in (*DRIVES, *STREAMS)]
"""Starter profiles that play segments."""


def oils(**given: Any) -> OilsSettings:
    """Return the settings of a drive: the sedan at 60 km/h straight on, unless told."""
    settings: dict[str, Any] = {
        "vehicle": "sedan",
        "cabin_seat": CABIN_SEAT,
        "speed": 60.0 * KM_PER_H,
        "duration": 10.0,
        "cueing": WashoutSettings(kind="washout"),
    }
    return OilsSettings(**{**settings, **given})


def drive_of(seed: int = 1, **given: Any) -> VirtualDrive:
    """Return a drive, ready at its start, on a table at neutral."""
    return VirtualDrive.of(oils(**given), seed, PERIOD)


def by_hand(**given: Any) -> VirtualDrive:
    """Return a drive of an operator."""
    return drive_of(driver=OperatorDriver(kind="operator"), **given)


def grid(
    path: Path, left: FloatArray, right: FloatArray, headings: FloatArray | None = None, spacing: float = 0.5
) -> OpenCrgRoad:
    """Write an OpenCRG road 4 m wide with heights (n) along its edges, and return it as a setting.

    ``headings`` (n) of its reference line in rad; None: straight.
    """
    length, half = spacing * (len(left) - 1), 2.0
    bend = "" if headings is None else "D:reference line phi,rad\n"
    head = (
        f"$CT\nroad\n$\n$ROAD_CRG\nREFERENCE_LINE_INCREMENT = {spacing}\nREFERENCE_LINE_START_U = 0.0\n"
        f"REFERENCE_LINE_END_U = {length}\nLONG_SECTION_V_RIGHT = {-half}\n"
        f"LONG_SECTION_V_LEFT = {half}\nLONG_SECTION_V_INCREMENT = {2.0 * half}\n$\n"
        f"$KD_DEFINITION\n#:LRFI\n{bend}D:long section 1,m\nD:long section 2,m\n$\n" + "$" * 80 + "\n"
    )
    columns = [right, left] if headings is None else [headings, right, left]
    rows = "".join("".join(f"{cell:10.5f}" for cell in row) + "\n" for row in np.column_stack(columns))
    path.write_text(head + rows, encoding="ascii")
    return OpenCrgRoad(kind="opencrg", file=str(path))
