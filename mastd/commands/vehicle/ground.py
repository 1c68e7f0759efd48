"""The ground of a manoeuvre as an option: flat, a random road of a class, a road of a file."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from mastd.errors import UsageError, printable

if TYPE_CHECKING:
    from mastd.roads.ground import Ground
    from mastd.roads.iso8608 import RoadClass
    from mastd.vehicle.model.definition import Model

_CLASS: Final = re.compile(r"class:([A-H])(?::([0-9]{1,9}))?")


def add_ground_options(parser: argparse.ArgumentParser) -> None:
    """Add ``--road``."""
    parser.add_argument(
        "--road",
        default="flat",
        metavar="flat|class:A…H[:SEED]|FILE.crg|FILE.csv",
        help="road: flat, a random road of a class of ISO 8608 (1 km), an OpenCRG road, or a "
        "measured one of x_m and z_m, or x_m, left_m and right_m, as the car's wheels feel it. A road begins "
        "1 m before the foremost wheel, at height zero and heading ahead (default: flat)",
    )


def ground_of(arguments: argparse.Namespace, model: Model) -> Ground:
    """Return the ground that ``--road`` names, for a model that starts at x = 0 heading along x.

    The tracks are as far apart as its wheels on average; what lies before the road is level and belongs to
    it. What is odd about an OpenCRG file goes to the standard error, a line each. Raises UsageError for what
    names no ground, FormatError for a file that holds none.
    """
    from mastd.roads.ground import Ground
    from mastd.vehicle.payload import road_ahead

    text: str = arguments.road
    if text == "flat":
        return Ground.flat()
    found = _CLASS.fullmatch(text)
    if found:
        road_class, seed = cast("RoadClass", found.group(1)), int(found.group(2) or 0)
        return road_ahead.class_road(model, road_class, seed=seed)
    path = Path(text)
    if path.suffix.lower() == ".crg":
        ahead = road_ahead.opencrg_road(model, path)
        for warning in ahead.warnings:
            print(printable(warning, keep=""), file=sys.stderr)
        return ahead.ground
    if path.suffix.lower() == ".csv":
        return road_ahead.measured_road(model, path)
    raise UsageError(
        f"--road: {text!r} is not a road, expected flat, class:A to class:H with optional :SEED, FILE.crg or "
        "FILE.csv"
    )
