"""What of a run with the operator in the loop cannot be: settings that each are right, but not together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from mastd.errors import SettingsError
from mastd.settings.core.base import Problem, dotted
from mastd.settings.core.loader import refusal
from mastd.settings.profile.oils import (
    Cruise,
    EmergencyStop,
    KerbRoad,
    LaneChange,
    OilsSettings,
    RandomDriver,
)
from mastd.vehicle.model.definition import Model
from mastd.vehicle.payload import road_ahead

_ALONG = 0
"""The motion along the road among those of ``Model.held``."""


class DriveError(SettingsError):
    """A vehicle cannot be driven as the settings say; ``locations``: where below ``oils``, and what."""

    def __init__(self, name: str, locations: Sequence[Problem]) -> None:
        super().__init__([f"{name}: {dotted(location)}: {what}" for location, what in locations])
        self.locations = list(locations)


@contextmanager
def placed(path: Path, text: str) -> Iterator[None]:
    """Turn a DriveError into the error that tells the places in the profile's file, which holds ``text``."""
    try:
        yield
    except DriveError as error:
        problems = [(("oils", *location), what) for location, what in error.locations]
        raise refusal(text, str(path), problems) from error


def refuse_kerb(oils: OilsSettings, model: Model) -> None:
    """Raise DriveError, with all that is wrong, for a kerb that the wheels cannot roll over."""
    if list(_of_kerb(oils, model)):
        refuse(oils, model, math.inf)


def refuse(oils: OilsSettings, model: Model, way: float) -> None:
    """Raise DriveError with all that is wrong, if anything is; ``way``: to the end of the road, m."""
    found = [*_of_vehicle(oils, model), *_of_driver(oils, model), *_of_kerb(oils, model), *_of_way(oils, way)]
    if found:
        raise DriveError("oils", found)


def _of_vehicle(oils: OilsSettings, model: Model) -> Iterator[Problem]:
    names = [seat.name for seat in model.seats]
    if not names:
        yield ("vehicle",), f"{model.name} has no seats, its file needs one (seats:)"
    elif oils.seat is not None and oils.seat not in names:
        yield ("seat",), f"{model.name} has no seat {oils.seat!r}, it has {', '.join(names)}"
    if _ALONG in model.held:
        yield ("vehicle",), f"{model.name} is held along the road (held: surge), it cannot be driven"


def _of_driver(oils: OilsSettings, model: Model) -> Iterator[Problem]:
    driver = oils.driver
    if isinstance(driver, LaneChange | RandomDriver) and not model.drives:
        yield ("driver", "kind"), f"{model.name} has no rack to steer with, cruise and brake need none"
    has_brakes = any(wheel.brake_torque > 0.0 for wheel in model.wheels)
    if isinstance(driver, EmergencyStop) and driver.pedal is not None and not has_brakes:
        yield ("driver", "pedal"), f"{model.name} has no brakes; give deceleration instead"
    if isinstance(driver, RandomDriver) and not oils.speed <= driver.top_speed:
        yield ("speed",), f"{oils.speed:g} m/s is above the driver's top_speed, {driver.top_speed:g} m/s"


def _of_kerb(oils: OilsSettings, model: Model) -> Iterator[Problem]:
    road = oils.road
    radius = road_ahead.min_radius(model)
    if isinstance(road, KerbRoad) and not road.height < radius:
        yield (
            ("road", "height"),
            f"{1e3 * road.height:g} mm; the wheels roll over kerbs below their radius, {1e3 * radius:.0f} mm",
        )


def _of_way(oils: OilsSettings, way: float) -> Iterator[Problem]:
    asked = _driven(oils)
    if not asked <= way:
        yield (
            ("duration",),
            f"{oils.duration:g} s at {oils.speed:g} m/s are {asked:.0f} m, the road ends after {way:.0f} m",
        )


def _driven(oils: OilsSettings) -> float:
    """Return how far a driver goes who keeps the speed, m; 0 of others, who do as they like."""
    if isinstance(oils.driver, Cruise | LaneChange):
        return oils.speed * oils.duration
    if isinstance(oils.driver, EmergencyStop):
        return oils.speed * min(oils.driver.start, oils.duration)
    return 0.0
