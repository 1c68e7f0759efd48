"""The ground of a manoeuvre as an option: flat, a random road of a class, a road of a file."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from mastd.errors import UsageError

if TYPE_CHECKING:
    from mastd.roads.ground import Ground
    from mastd.roads.iso8608 import RoadClass
    from mastd.vehicle.model import Model

RUN_UP: Final = 1.0
"""From the foremost wheel to the beginning of a road, m."""
FADE: Final = 10.0
"""Over which a measured road rises to its unevenness, m."""
_CLASS: Final = re.compile(r"class:([A-H])(?::([0-9]{1,9}))?")


def add_ground_options(parser: argparse.ArgumentParser) -> None:
    """Add ``--road``."""
    parser.add_argument(
        "--road",
        default="flat",
        metavar="flat|class:A…H[:SEED]|FILE.crg|FILE.csv",
        help="what is driven on: flat, a random road of a class of ISO 8608 (1 km), an OpenCRG road, or a "
        "measured one of x_m and z_m, or x_m, left_m and right_m, as the car's wheels feel it. A road begins "
        f"{RUN_UP:g} m before the foremost wheel, at height zero and heading ahead (default: flat)",
    )


def ground_of(arguments: argparse.Namespace, model: Model) -> Ground:
    """Return the ground that ``--road`` names, for a model that starts at x = 0 heading along x.

    The tracks are as far apart as its wheels on average; what lies before the road is level and belongs to
    it. Raises UsageError for what names no ground, FormatError for a file that holds none.
    """
    from mastd.roads.ground import Ground

    text: str = arguments.road
    if text == "flat":
        return Ground.flat()
    start = max(float(wheel.centre[0]) for wheel in model.wheels) + RUN_UP
    behind = start - min(float(wheel.centre[0]) for wheel in model.wheels) + RUN_UP
    track_width = 2.0 * sum(abs(float(wheel.centre[1])) for wheel in model.wheels) / len(model.wheels)
    found = _CLASS.fullmatch(text)
    if found:
        road_class, seed = cast("RoadClass", found.group(1)), int(found.group(2) or 0)
        ground = Ground.tracks(road_class, track_width, start=start, seed=seed)
        return ground.with_run_up(behind)
    path = Path(text)
    if path.suffix.lower() == ".crg":
        return Ground.crg(path, start=(start, 0.0)).with_run_up(behind)
    if path.suffix.lower() == ".csv":
        radius = min(float(wheel.tyre.free_radius) for wheel in model.wheels)
        ground = Ground.profile(path, track_width, start=start, fade=FADE, radius=radius)
        return ground.with_run_up(behind)
    raise UsageError(
        f"--road: {text!r} is no ground, due is flat, class:A to class:H with :SEED if need be, FILE.crg or "
        "FILE.csv"
    )
