"""Vehicles by name or file: those that are shipped with the package, and those of the user."""

from __future__ import annotations

from pathlib import Path

from mastd.settings.core import starter
from mastd.settings.core.foreign import VEHICLE, refuse_foreign
from mastd.settings.core.loader import load_text, refusal
from mastd.settings.core.strict_yaml import read_text
from mastd.settings.vehicle.vehicle import VehicleSettings
from mastd.vehicle.model.build import ModelError, build
from mastd.vehicle.model.definition import Model


def names() -> list[str]:
    """Return the names of the shipped vehicles, sorted."""
    return starter.names("vehicle")


def settings(name_or_file: str) -> VehicleSettings:
    """Return the settings of a shipped vehicle, or of a file.

    Raise UsageError if there is neither or it is no vehicle, SettingsError with every problem of the file.
    """
    path = starter.find("vehicle", name_or_file)
    return load_text(_text(path), str(path), VehicleSettings)


def find(name_or_file: str) -> Model:
    """Return the model of a shipped vehicle, or of a file.

    Raise UsageError if there is neither or it is no vehicle, SettingsError with every problem of the file,
    each at its place.
    """
    path = starter.find("vehicle", name_or_file)
    text = _text(path)
    vehicle = load_text(text, str(path), VehicleSettings)
    try:
        return build(vehicle)
    except ModelError as error:
        raise refusal(text, str(path), error.locations) from error


def _text(path: Path) -> str:
    text = read_text(path)
    refuse_foreign(text, path, "vehicle", VEHICLE)
    return text
