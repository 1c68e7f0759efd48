"""``mastd vehicle tyre FILE``: what a tyre property file says, and the curves that follow from it."""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from mastd import units
from mastd.errors import UsageError

if TYPE_CHECKING:
    from mastd.arrays import FloatArray
    from mastd.commands import Subparsers
    from mastd.formats.tyre.tir import TyreProperties

# argparse takes what looks like a negative number for a value, not for an option; here it may have a unit.
_NEGATIVE_QUANTITY = re.compile(r"-\.?[0-9]")
_RATIOS = (0.5, 1.0, 1.5)
"""Of the nominal load: the loads where none are given."""
_GREATEST_DEPTH = 10.0
_PRECISION = 1e-9
_COLUMNS = (
    ("load_n", "load N", 1.0, 0),
    ("depth_m", "depth mm", 1e3, 1),
    ("rolling_radius_m", "rolling mm", 1e3, 1),
    ("peak_friction_x", "mu x", 1.0, 3),
    ("peak_friction_y", "mu y", 1.0, 3),
    ("slip_stiffness_n", "Kx kN", 1e-3, 2),
    ("cornering_stiffness_n_per_rad", "Ky kN/rad", 1e-3, 2),
    ("relaxation_length_x_m", "sigma x m", 1.0, 3),
    ("relaxation_length_y_m", "sigma y m", 1.0, 3),
)
"""Key of the document, heading of the page, factor and decimals there."""


def add_tyre_parser(manoeuvres: Subparsers) -> None:
    """Add the parser of ``tyre``."""
    text = "contents and curves of a tyre property file (.tir)"
    parser = manoeuvres.add_parser("tyre", help=text, description=text[0].upper() + text[1:] + ".")
    parser._negative_number_matcher = _NEGATIVE_QUANTITY
    parser.add_argument("file", type=Path, metavar="FILE", help="property file: PAC2002, MF 5.2 or MF 6.1")
    parser.add_argument(
        "--load",
        nargs="+",
        metavar="FORCE",
        help="wheel loads of the curves, such as 4kN (default: 0.5, 1 and 1.5 times the nominal load)",
    )
    parser.add_argument("--plot", type=Path, metavar="FILE.svg|png|pdf", help="draw the curves")
    parser.add_argument("--json", action="store_true", help="print the result as one JSON document")
    parser.set_defaults(run=run_tyre)


def run_tyre(arguments: argparse.Namespace) -> int:
    """Print, draw or both: a tyre's data, and its key figures at a few loads.

    Raises UsageError for a load that is none or a picture that cannot be written, FormatError for a file
    that cannot be taken.
    """
    loads = _loads(arguments.load or [])
    if arguments.plot:
        from mastd.vehicle.plots.manoeuvre import check_format

        check_format(arguments.plot)
        if not arguments.plot.parent.is_dir():
            raise UsageError(f"{arguments.plot}: cannot be written: No such file or directory")
    from mastd.formats.tyre.tir import read_tir
    from mastd.vehicle.magic_formula.formula import pack

    properties = read_tir(arguments.file)
    loads = loads or [ratio * properties.get("FNOMIN") for ratio in _RATIOS]
    coefficients = pack(properties)
    document = tyre_document(properties, coefficients, loads)
    if arguments.plot:
        from mastd.vehicle.plots.tyre import write_tyre

        title = f"{properties.name} ({properties.format}), nominal load {properties.get('FNOMIN'):.0f} N"
        write_tyre(coefficients, loads, title, arguments.plot)
    if arguments.json:
        print(json.dumps(document, allow_nan=False))
    else:
        print(_page(document))
    return 0


def tyre_document(
    properties: TyreProperties, coefficients: FloatArray, loads: list[float]
) -> dict[str, object]:
    """Return a tyre's data for JSON; ``loads`` in N."""
    from mastd.vehicle.magic_formula.coefficients import GENERAL, VERTICAL
    from mastd.vehicle.magic_formula.formula import rolling_radius

    nominal = properties.get("FNOMIN")
    c = coefficients
    rim = float(c[VERTICAL.RIM_DEPTH])
    free = float(c[VERTICAL.FREE_RADIUS])
    return {
        "name": properties.name,
        "format": properties.format,
        "side": properties.side,
        "nominal_load_n": nominal,
        "load_range_n": [
            float(c[GENERAL.FZMIN_RATIO] / c[GENERAL.INVERSE_FZ0]),
            float(c[GENERAL.FZMAX_RATIO] / c[GENERAL.INVERSE_FZ0]),
        ],
        "free_radius_m": free,
        "rolling_radius_m": float(rolling_radius(c, nominal)),
        "vertical_stiffness_n_per_m": _stiffness(c, _depth(c, nominal)),
        "vertical_damping_n_s_per_m": float(c[VERTICAL.VERTICAL_DAMPING]),
        "bottoming_depth_m": rim if rim < free else None,
        "loads": [_figures(c, load) for load in loads],
        "warnings": list(properties.warnings),
    }


def _loads(texts: list[str]) -> list[float]:
    found: list[float] = []
    problems = []
    for text in texts:
        try:
            value = units.parse(text, units.FORCE)
        except units.UnitError as error:
            problems.append(f"--load: {error}")
            continue
        if not value > 0.0:
            problems.append(f"--load: {text} is not above zero")
        found.append(value)
    if problems:
        raise UsageError("\n".join(problems))
    return found


def _depth(c: FloatArray, load: float) -> float:
    """Return the depth of contact (m) at which a load stands."""
    from mastd.vehicle.magic_formula.formula import normal_load

    low, high = 0.0, _GREATEST_DEPTH
    while high - low > _PRECISION:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if normal_load(c, middle, 0.0) > load else (middle, high)
    return 0.5 * (low + high)


def _stiffness(c: FloatArray, depth: float) -> float:
    from mastd.vehicle.magic_formula.formula import normal_load

    step = 1e-6
    return float((normal_load(c, depth + step, 0.0) - normal_load(c, depth - step, 0.0)) / (2.0 * step))


def _figures(c: FloatArray, load: float) -> dict[str, float]:
    from mastd.vehicle.magic_formula.formula import (
        peak_friction,
        relaxation_lengths,
        rolling_radius,
        slip_stiffness,
    )

    values = (
        load,
        _depth(c, load),
        rolling_radius(c, load),
        *peak_friction(c, load, 0.0),
        *slip_stiffness(c, load, 0.0),
        *relaxation_lengths(c, load, 0.0),
    )
    return {key: float(value) for (key, *_), value in zip(_COLUMNS, values, strict=True)}


def _page(document: dict[str, object]) -> str:
    """Return the document as lines for people."""
    from mastd.commands.vehicle.text import fixed, table_text

    def number(key: str) -> float:
        value = document[key]
        assert isinstance(value, float)
        return value

    loads, warnings, span = document["loads"], document["warnings"], document["load_range_n"]
    assert isinstance(loads, list)
    assert isinstance(warnings, list)
    assert isinstance(span, list)
    deepest = document["bottoming_depth_m"]
    rim = "never bottoms" if deepest is None else f"bottoms at {1e3 * number('bottoming_depth_m'):.1f} mm"
    lines = [
        f"tyre            {document['name']}, {document['format']}, measured on the side: {document['side']}",
        f"nominal load    {number('nominal_load_n'):.0f} N; "
        f"the formula follows the load from {span[0]:.0f} to {span[1]:.0f} N",
        f"radius          free {1e3 * number('free_radius_m'):.1f} mm, "
        f"rolling {1e3 * number('rolling_radius_m'):.1f} mm at the nominal load",
        f"vertical        {1e-3 * number('vertical_stiffness_n_per_m'):.1f} N/mm at the nominal load, "
        f"damping {number('vertical_damping_n_s_per_m'):.0f} N s/m, {rim}",
        "",
        table_text(
            tuple(heading for _, heading, _, _ in _COLUMNS),
            [[fixed(row[key] * factor, decimals) for key, _, factor, decimals in _COLUMNS] for row in loads],
        ),
    ]
    if warnings:
        lines += ["", *(f"note: {warning}" for warning in warnings)]
    return "\n".join(lines)
