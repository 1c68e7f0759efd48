"""What an OpenCRG file's options ($ROAD_CRG_OPTS) ask of whoever drives on its road, and what a grid honours.

| option | honoured |
|---|---|
| BORDER_SMOOTH_UBEG, _UEND | heights rise from those of the reference line's end over this length |
| BORDER_MODE_U, _V | 2 (keep): level beyond, as all roads here; 0 (none), 1 (zero), 3 and 4 (again): told |
| BORDER_OFFSET_U, _V | no: told where it is not 0 |
| REFLINE_CONTINUATION | 0 (straight on); 1 (closed track): told |
| REFLINE_SEARCH_… | need no attention: u and v of a point are looked for in the whole road |
| CHECK_…, WARN_CURV_… | need none: a road that turns inside its edges is refused as a ground, always |
| WARN_MSGS, LOG_… | need none: they are for the messages of other programs |

Source: ASAM OpenCRG 1.2, options.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.errors import FormatError
from mastd.formats.opencrg.header import Stated

Options = Mapping[str, Stated]

_KEEP: Final = 2.0
_BORDERS: Final = {0.0: "no road", 1.0: "height zero", 3.0: "the road again", 4.0: "the road mirrored"}
_SIDES: Final = {"u": "ends", "v": "edges"}


def ignored_options(options: Options) -> list[str]:
    """Return the ignored options, one line each.

    Raises FormatError, one line, for an option that has no such value.
    """
    warnings = []
    for axis, sides in _SIDES.items():
        level = f"is not applied: beyond the {sides} the ground continues level"
        mode, offset = (options.get(f"border_{key}_{axis}") for key in ("mode", "offset"))
        if mode is not None and mode.value != _KEEP:
            if mode.value not in _BORDERS:
                raise FormatError(
                    f"{mode.location}: BORDER_MODE_{axis.upper()} is {mode.value:g}, expected 0 to 4"
                )
            asked = f"BORDER_MODE_{axis.upper()} = {mode.value:g} ({_BORDERS[mode.value]})"
            warnings.append(f"{mode.location}: {asked} {level}")
        if offset is not None and offset.value != 0.0:
            warnings.append(f"{offset.location}: BORDER_OFFSET_{axis.upper()} = {offset.value:g} m {level}")
    closed = options.get("refline_continuation")
    if closed is not None and closed.value != 0.0:
        if closed.value != 1.0:
            raise FormatError(f"{closed.location}: REFLINE_CONTINUATION is {closed.value:g}, expected 0 or 1")
        asked = "REFLINE_CONTINUATION = 1 (a closed track)"
        warnings.append(
            f"{closed.location}: {asked} is not applied: the road ends at the end of its reference line"
        )
    return warnings


def smoothed(heights: FloatArray, levels: FloatArray, spacing: float, options: Options) -> FloatArray:
    """Return absolute heights (n, m) that rise over BORDER_SMOOTH_UBEG and _UEND (m) from the level of the
    line at that end (the first and last of ``levels``, n); where both lengths overlap the end's counts.

    Raises FormatError for a length below zero.
    """
    positions = spacing * np.arange(len(heights))
    row, base = np.ones(len(heights)), np.zeros(len(heights))
    for key, way, level in (
        ("border_smooth_ubeg", positions, levels[0]),
        ("border_smooth_uend", positions[::-1], levels[-1]),
    ):
        stated = options.get(key)
        if stated is None or stated.value == 0.0:
            continue
        if not stated.value > 0.0:
            raise FormatError(f"{stated.location}: {key.upper()} is {stated.value:g} m, expected a length")
        inside = way < stated.value
        row[inside], base[inside] = way[inside] / stated.value, level
    if (row == 1.0).all():
        return heights
    return np.where((row < 1.0)[:, np.newaxis], (base + row * (heights.T - base)).T, heights)
