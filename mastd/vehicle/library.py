"""Vehicles by name or file: those that are shipped with the package, and those of the user."""

from __future__ import annotations

from mastd.settings import starter
from mastd.settings.loader import load, load_text, refusal
from mastd.settings.strict_yaml import read_text
from mastd.settings.vehicle import VehicleSettings
from mastd.settings.vehicle_axles import CustomAxle, Hardpoints
from mastd.settings.vehicle_parts import NO_PRODUCTS, BodySettings
from mastd.vehicle.build import ModelError, build
from mastd.vehicle.model import Model


def names() -> list[str]:
    """Return the names of the shipped vehicles, sorted."""
    return starter.names("vehicle")


def settings(name_or_file: str) -> VehicleSettings:
    """Return the settings of a shipped vehicle, or of a file.

    Raise UsageError if there is neither, SettingsError with every problem of the file.
    """
    return load(starter.find("vehicle", name_or_file), VehicleSettings)


def find(name_or_file: str) -> Model:
    """Return the model of a shipped vehicle, or of a file.

    Raise UsageError if there is neither, SettingsError with every problem of the file, each at its place.
    """
    path = starter.find("vehicle", name_or_file)
    text = read_text(path)
    vehicle = load_text(text, str(path), VehicleSettings)
    try:
        return build(vehicle)
    except ModelError as error:
        raise refusal(text, str(path), error.places) from error


def repeated(vehicle: VehicleSettings, axles: int) -> VehicleSettings:
    """Return a vehicle of equal axles, to see how cost grows with their number.

    Every axle is the first one of ``vehicle``, at the distance of its first two. The chassis is made of as
    many equal pieces, each with one axle's share of mass and inertia, its centre of mass above the axle.
    """
    first = vehicle.axles[0].expanded()
    origin = first.hardpoints.wheel_centre[0]
    distance = vehicle.axles[1].hardpoints.wheel_centre[0] - origin
    offsets = [k * distance for k in range(axles)]
    changed = {
        "name": f"{vehicle.name}, {axles} equal axles",
        "chassis": _chassis_of_pieces(vehicle.chassis, len(vehicle.axles), [origin + x for x in offsets]),
        "axles": tuple(
            _shifted(first, x).model_copy(update={"name": f"axle {k + 1}"}) for k, x in enumerate(offsets)
        ),
        "groups": {},
    }
    return vehicle.model_copy(update=changed)


def _chassis_of_pieces(chassis: BodySettings, pieces: int, places: list[float]) -> BodySettings:
    """Return a chassis of one ``pieces``-th of the given one at each place along x."""
    count = len(places)
    middle = sum(places) / count
    spread = chassis.mass / pieces * sum((x - middle) ** 2 for x in places)
    ix, iy, iz = (count / pieces * moment for moment in chassis.inertia)
    products = chassis.products_of_inertia or NO_PRODUCTS
    return BodySettings(
        mass=count / pieces * chassis.mass,
        centre_of_mass=(middle, *chassis.centre_of_mass[1:]),
        inertia=(ix, iy + spread, iz + spread),
        products_of_inertia=(
            count / pieces * products[0],
            count / pieces * products[1],
            count / pieces * products[2],
        ),
    )


def _shifted(axle: CustomAxle, offset: float) -> CustomAxle:
    """Return an axle farther along x."""

    def point(old: tuple[float, float, float]) -> tuple[float, float, float]:
        return old[0] + offset, old[1], old[2]

    def points(old: dict[str, tuple[float, float, float]]) -> dict[str, tuple[float, float, float]]:
        return {name: point(value) for name, value in old.items()}

    def body(old: BodySettings) -> BodySettings:
        return old.model_copy(update={"centre_of_mass": point(old.centre_of_mass)})

    def bodies(old: dict[str, BodySettings]) -> dict[str, BodySettings]:
        return {name: body(value) for name, value in old.items()}

    changed: dict[str, object] = {
        "hardpoints": Hardpoints.model_construct(None, **points(axle.hardpoints.all())),
        "right_hardpoints": points(axle.right_hardpoints),
        "bodies": bodies(axle.bodies),
    }
    if axle.rack is not None:
        changed["rack"] = body(axle.rack)
    if axle.subframe is not None:
        subframe = {
            "hardpoints": points(axle.subframe.hardpoints),
            "bodies": bodies(axle.subframe.bodies),
        }
        changed["subframe"] = axle.subframe.model_copy(update=subframe)
    return axle.model_copy(update=changed)
