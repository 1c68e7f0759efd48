"""Roads put before a vehicle that stands at x = 0 heading along x: they begin at height zero, heading ahead.

What lies before a road is level and belongs to it.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Final

from mastd.roads.entries import EXTENT
from mastd.roads.ground import Ground, RoadOfFile
from mastd.roads.iso8608 import RoadClass
from mastd.vehicle.model.definition import Model

RUN_UP: Final = 1.0
"""From the foremost wheel to the beginning of a road, m."""
FADE: Final = 10.0
"""Over which a measured road rises to its unevenness, m."""


def front(model: Model) -> float:
    """Return x of the foremost wheels' centres, m."""
    return max(float(wheel.centre[0]) for wheel in model.wheels)


def min_radius(model: Model) -> float:
    """Return the radius of the smallest wheel, m."""
    return min(float(wheel.tyre.free_radius) for wheel in model.wheels)


def class_road(model: Model, road_class: RoadClass, length: float = 1000.0, seed: int = 0) -> Ground:
    """Return a random road of a class of ISO 8608 before the vehicle, ``length`` long (m).

    Its tracks are as far apart as the wheels on average.
    """
    ground = Ground.tracks(road_class, _track_width(model), start=_start(model), length=length, seed=seed)
    return ground.with_run_up(_behind(model))


def measured_road(model: Model, path: Path) -> Ground:
    """Return the measured road of a CSV file before the vehicle.

    Raises FormatError for a file that holds none.
    """
    radius = min_radius(model)
    ground = Ground.profile(path, _track_width(model), start=_start(model), fade=FADE, radius=radius)
    return ground.with_run_up(_behind(model))


def opencrg_road(model: Model, path: Path) -> RoadOfFile:
    """Return the road of an OpenCRG file before the vehicle.

    Raises FormatError for a file that holds none.
    """
    road = Ground.crg(path, start=(_start(model), 0.0))
    return road._replace(ground=road.ground.with_run_up(_behind(model)))


def way_to_end(ground: Ground, model: Model) -> float:
    """Return how far (m) the vehicle can drive along a road until its foremost wheels come to its end.

    For roads of this module; infinite for a ground without an end.
    """
    half = float(ground.values[EXTENT + 2])
    return 2.0 * half - _behind(model) + RUN_UP if math.isfinite(half) else half


def _start(model: Model) -> float:
    return front(model) + RUN_UP


def _behind(model: Model) -> float:
    return _start(model) - min(float(wheel.centre[0]) for wheel in model.wheels) + RUN_UP


def _track_width(model: Model) -> float:
    return 2.0 * sum(abs(float(wheel.centre[1])) for wheel in model.wheels) / len(model.wheels)
