"""What an OpenCRG file's own modifiers ($ROAD_CRG_MODS) make of its road, in the order of the standard.

First scales, then cells without a number, then the place. Source: ASAM OpenCRG 1.2, modifiers; the laws are
those of its C library but where that one contradicts the standard (a GRID_NAN_OFFSET that depends on the row
before).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import numpy as np

from mastd.arrays import BoolArray, FloatArray
from mastd.errors import FormatError
from mastd.formats.opencrg.header import Header, Stated
from mastd.formats.opencrg.layout import MIN_SPACING
from mastd.formats.opencrg.surface import StoredRoad

Modifiers = Mapping[str, Stated]

_KEEP, _ZERO, _LAST = 0.0, 1.0, 2.0
_BY_POINT: Final = ("u", "u_fraction", "u_offset", "v", "v_fraction", "v_offset", "x", "y", "z", "phi")
_BY_OFFSET: Final = ("refline_offset_x", "refline_offset_y", "refline_offset_z", "refline_offset_phi")
_ROTATION: Final = ("refline_rotcenter_x", "refline_rotcenter_y")


def scaled(road: StoredRoad, modifiers: Modifiers) -> StoredRoad:
    """Return a road with the scales of its modifiers.

    What is stated of the end of a line whose length, slope or curvature changes counts no more. Raises
    FormatError for a length or width that is not scaled by more than zero.
    """
    for key in ("scale_length", "scale_width"):
        if key in modifiers and not modifiers[key].value > 0.0:
            stated = modifiers[key]
            raise FormatError(
                f"{stated.location}: {key.upper()} is {stated.value:g}, expected a factor above 0"
            )
    if "scale_z_grid" in modifiers:
        road = replace(road, heights=modifiers["scale_z_grid"].value * road.heights)
    if "scale_slope" in modifiers:
        road = replace(road, slopes=modifiers["scale_slope"].value * road.slopes).without_end("z")
    if "scale_banking" in modifiers:
        road = replace(road, banking=modifiers["scale_banking"].value * road.banking)
    if "scale_length" in modifiers:
        spacing = modifiers["scale_length"].value * road.spacing
        if not spacing >= MIN_SPACING:
            raise FormatError(f"{modifiers['scale_length'].location}: SCALE_LENGTH gives {spacing:g} m a row")
        road = replace(road, spacing=spacing).without_end("x", "y", "z")
    if "scale_width" in modifiers:
        road = replace(road, across=modifiers["scale_width"].value * road.across)
    if "scale_curvature" in modifiers and not road.straight:
        # Files have headings between −π and π, so that they jump where a road turns on.
        turns = np.unwrap(np.append(road.heading, road.headings))[1:] - road.heading
        headings = road.heading + modifiers["scale_curvature"].value * turns
        road = replace(road, headings=headings).without_end("x", "y")
    return road


def filled(road: StoredRoad, header: Header) -> StoredRoad:
    """Return a road with values for its missing cells, by GRID_NAN_MODE.

    0: none gets one, so that a road with such cells is refused. 1: all get GRID_NAN_OFFSET. 2: they get the
    number to their right, those at the right edge the one to their left, plus GRID_NAN_OFFSET. Not stated: as
    2 from either edge of v up to the first number; between two numbers they are refused. Raises FormatError
    for the first cell that stays without.
    """
    modifiers = header.modifiers or {}
    missing = np.isnan(road.heights)
    mode, offset = modifiers.get("grid_nan_mode"), modifiers.get("grid_nan_offset")
    if mode is not None and mode.value not in (_KEEP, _ZERO, _LAST):
        raise FormatError(f"{mode.location}: GRID_NAN_MODE is {mode.value:g}, expected 0, 1 or 2")
    if not missing.any():
        return road
    add = 0.0 if offset is None else offset.value
    if mode is not None and mode.value == _KEEP:
        heights = road.heights
    elif mode is not None and mode.value == _ZERO:
        heights = np.where(missing, add, road.heights)
    else:
        heights = _from_neighbours(road.heights, missing, add)
        if mode is None:
            heights[missing & ~_at_edges(missing)] = np.nan
    _check_filled(road, heights, header, mode)
    return replace(road, heights=heights)


def placed(
    road: StoredRoad, line: FloatArray, heights: FloatArray, modifiers: Modifiers, warnings: list[str]
) -> tuple[FloatArray, FloatArray]:
    """Return line (n, 2) and absolute heights (n, m) at the position of REFPOINT_… or REFLINE_….

    A point of the road, by default the start of its line, comes to REFPOINT_X, _Y, _Z with the heading
    REFPOINT_PHI, each 0 where another is stated. Without any of these the road is turned about the start of
    its line, or REFLINE_ROTCENTER, by REFLINE_OFFSET_PHI, and shifted by the other offsets.
    """
    by_point = [key for key in _BY_POINT if f"refpoint_{key}" in modifiers]
    by_offset = [key for key in (*_BY_OFFSET, *_ROTATION) if key in modifiers]
    if by_point and by_offset:
        stated = modifiers[by_offset[0]]
        warnings.append(f"{stated.location}: {by_offset[0].upper()} and REFPOINT_…: REFPOINT_… is used")
    if by_point:
        u = _point(road.start, road.length, "u", road.start, modifiers)
        v = _point(float(road.across[0]), float(np.ptp(road.across)), "v", 0.0, modifiers)
        centre, heading = _point_on_line(road, line, u, v)
        turn = _value(modifiers, "refpoint_phi") - heading
        x, y, z = (_value(modifiers, f"refpoint_{key}") for key in "xyz")
        shift, rise = np.array([x, y]) - centre, z - _height(road, heights, u, v)
    else:
        centre = np.array([_value(modifiers, key, line[0, k]) for k, key in enumerate(_ROTATION)])
        dx, dy, rise, turn = (_value(modifiers, key) for key in _BY_OFFSET)
        shift = np.array([dx, dy])
    if turn != 0.0:
        cosine, sine = math.cos(turn), math.sin(turn)
        line = centre + (line - centre) @ np.array([[cosine, sine], [-sine, cosine]])
    return line + shift, heights + rise if rise != 0.0 else heights


def _value(modifiers: Modifiers, key: str, default: float = 0.0) -> float:
    return modifiers[key].value if key in modifiers else default


def _from_neighbours(heights: FloatArray, missing: BoolArray, offset: float) -> FloatArray:
    """Return heights with those to the right of missing ones, or to the left where there is none."""
    positions = np.where(missing, -1, np.arange(heights.shape[1]))
    positions = np.maximum.accumulate(positions, axis=1)
    first = np.argmin(missing, axis=1)
    positions = np.where(positions < 0, first[:, np.newaxis], positions)
    taken = np.take_along_axis(heights, positions, axis=1)
    return np.where(missing, taken + offset, heights)


def _at_edges(missing: BoolArray) -> BoolArray:
    """Return which cells have none with a number between themselves and an edge of v."""
    right = np.logical_and.accumulate(missing, axis=1)
    left = np.logical_and.accumulate(missing[:, ::-1], axis=1)[:, ::-1]
    return np.asarray(right | left)


def _check_filled(road: StoredRoad, heights: FloatArray, header: Header, mode: Stated | None) -> None:
    missing = np.isnan(heights)
    if not missing.any():
        return
    row, column = (int(k) for k in np.argwhere(missing)[0])
    if missing[row].all():
        why = "and no neighbour has one"
    elif mode is None:
        why = "which without a GRID_NAN_MODE only cells at the edges of v may be"
    else:
        why = f"and GRID_NAN_MODE = {mode.value:g} leaves it so, which is no ground"
    raise FormatError(
        f"{header.path}: data row {row + 1}, u = {road.start + row * road.spacing:g} m, v = "
        f"{road.across[column]:g} m: no finite number, {why}"
    )


def _point(begin: float, length: float, axis: str, default: float, modifiers: Modifiers) -> float:
    """Return u or v of the point that is put somewhere."""
    absolute, fraction, offset = (
        modifiers.get(f"refpoint_{axis}{end}") for end in ("", "_fraction", "_offset")
    )
    if absolute is not None and fraction is not None:
        name = f"REFPOINT_{axis.upper()}"
        raise FormatError(f"{fraction.location}: {name}_FRACTION and {name}, expected only one of them")
    if absolute is not None:
        return absolute.value
    if fraction is None and offset is None:
        return default
    ratio = 0.0 if fraction is None else fraction.value
    base = default if fraction is None else begin + ratio * length
    return base + (0.0 if offset is None else offset.value)


def _point_on_line(road: StoredRoad, line: FloatArray, u: float, v: float) -> tuple[FloatArray, float]:
    """Return x and y of a point, and the heading of the line there.

    Between two rows a point lies on the line from one's place beside the first to the other's, each on the
    bisector of the chords that meet there, so that it is v beside the chord.
    """
    row = (u - road.start) / road.spacing
    k = int(min(max(row, 0.0), len(line) - 2))
    chords = np.diff(line[max(k - 1, 0) : k + 3], axis=0)
    here = min(k, 1)
    normal = _normal(chords[here])
    sides = []
    for near in (chords[max(here - 1, 0)], chords[min(here + 1, len(chords) - 1)]):
        bisector = _normal(chords[here] + near)
        sides.append(bisector / max(float(bisector @ normal), 1e-10))
    begin, end = line[k] + v * sides[0], line[k + 1] + v * sides[1]
    outside = road.heading if u <= road.start else float(road.headings[k])
    return begin + (row - k) * (end - begin), outside


def _normal(chord: FloatArray) -> FloatArray:
    length = math.hypot(*chord)
    return np.array([-chord[1], chord[0]]) / max(length, 1e-300)


def _height(road: StoredRoad, heights: FloatArray, u: float, v: float) -> float:
    """Return the height at a point, level beyond ends and edges."""
    weight = min(max((u - road.start) / road.spacing, 0.0), len(heights) - 1.0)
    k = min(int(weight), len(heights) - 2)
    near, far = (float(np.interp(v, road.across, heights[row])) for row in (k, k + 1))
    return near + (weight - k) * (far - near)
