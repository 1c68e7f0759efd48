"""From the settings of a vehicle to its model: sides mirrored, joints taken apart, wheels merged, assembled.

All that the settings could not check by themselves is checked here: whether the joints close and let every
part move as it should (``mastd/vehicle/model/assembly.py``, ``mastd/vehicle/model/mobility.py``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from mastd.arrays import FloatArray
from mastd.errors import SettingsError
from mastd.settings.core.base import Problem, dotted
from mastd.settings.vehicle.axles import CustomAxle, GroupSettings
from mastd.settings.vehicle.equipment import wheel_name
from mastd.settings.vehicle.forces import AntiRollBarSettings
from mastd.settings.vehicle.parts import CHASSIS, RACK, BodySettings, RackSettings, WheelSettings
from mastd.settings.vehicle.vehicle import VehicleSettings
from mastd.vehicle.elements.anti_roll_bar.element import AntiRollBar
from mastd.vehicle.elements.spring_damper.element import SpringDamper, spring_damper_of
from mastd.vehicle.joints.composition import Ends, Side, primitives_of, prismatic
from mastd.vehicle.joints.primitive import Primitive
from mastd.vehicle.magic_formula.tyre import MagicTyre
from mastd.vehicle.model.assembly import assembled
from mastd.vehicle.model.definition import Axle, Body, Corner, Drive, Model, Wheel
from mastd.vehicle.model.equipment import (
    aerodynamics_of,
    chocks_of,
    driven_by,
    held_of,
    seats_of,
    tie_downs_of,
)
from mastd.vehicle.model.mobility import Finding, findings
from mastd.vehicle.tyres.linear_tyre import Tyre
from mastd.vehicle.tyres.settings import AxleTyre, tyres_of

Location = tuple[str | int, ...]
"""Path in the settings."""


class ModelError(SettingsError):
    """A vehicle with joints that do not close or let it move; ``locations``: where in the settings, what."""

    def __init__(self, name: str, locations: Sequence[Problem]) -> None:
        super().__init__([f"{name}: {dotted(location)}: {what}" for location, what in locations])
        self.locations = list(locations)


@dataclass
class _Parts:
    """The model while it is put together; lists grow axle by axle."""

    bodies: list[Body] = field(default_factory=list)
    primitives: list[Primitive] = field(default_factory=list)
    springs: list[SpringDamper] = field(default_factory=list)
    bars: list[AntiRollBar] = field(default_factory=list)
    wheels: list[Wheel] = field(default_factory=list)
    corners: list[Corner] = field(default_factory=list)
    axles: list[Axle] = field(default_factory=list)
    drives: list[Drive] = field(default_factory=list)
    body_locations: list[Location] = field(default_factory=list)
    """Where each body stands in the settings."""
    primitive_locations: list[Location] = field(default_factory=list)
    """Where the joint of each primitive stands."""

    def add_body(self, body: Body, location: Location) -> int:
        """Add a body; return its index."""
        self.bodies.append(body)
        self.body_locations.append(location)
        return len(self.bodies) - 1

    def add_joint(self, primitives: list[Primitive], location: Location) -> None:
        """Add the primitives of a joint."""
        self.primitives += primitives
        self.primitive_locations += [location] * len(primitives)

    def location(self, finding: Finding) -> Location:
        """Return where a finding belongs: its first joint, else its first body."""
        if finding.primitives:
            return self.primitive_locations[finding.primitives[0]]
        return self.body_locations[finding.bodies[0]]

    def model(self, settings: VehicleSettings) -> Model:
        """Return what has been put together."""
        return Model(
            settings.name,
            settings.gravity,
            tuple(self.bodies),
            tuple(self.primitives),
            tuple(self.springs),
            tuple(self.bars),
            tuple(self.wheels),
            tuple(self.corners),
            tuple(self.axles),
            tuple(self.drives),
            powertrain=driven_by(settings, self.wheels),
            aerodynamics=aerodynamics_of(settings),
            tie_downs=tie_downs_of(settings),
            chocks=chocks_of(settings, self.wheels),
            held=held_of(settings),
            seats=seats_of(settings),
        )

    def counts(self) -> tuple[int, int, int]:
        """Return how many bodies, primitives and springs there are so far."""
        return len(self.bodies), len(self.primitives), len(self.springs)

    def since(self, counts: tuple[int, int, int]) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """Return the indices of the bodies, primitives and springs that came after ``counts``."""
        bodies, primitives, springs = (
            tuple(range(old, new)) for old, new in zip(counts, self.counts(), strict=True)
        )
        return bodies, primitives, springs


def build(settings: VehicleSettings) -> Model:
    """Return the model of a vehicle, assembled.

    Raise ModelError with all tyre files that cannot be used, or else with all joints that do not close, or
    else with all units whose equations do not leave the freedom that is expected.
    """
    parts = _put_together(settings)
    model, found = assembled(parts.model(settings))
    found = found or findings(model)
    if found:
        raise ModelError(settings.name, [(parts.location(finding), finding.what) for finding in found])
    return model


def _put_together(settings: VehicleSettings) -> _Parts:
    parts = _Parts()
    tyres, problems = tyres_of(settings)
    if problems:
        raise ModelError(settings.name, problems)
    parts.add_body(_body(CHASSIS, settings.chassis, Side({})), (CHASSIS,))
    for number, (axle, tyre) in enumerate(zip(settings.axles, tyres, strict=True)):
        _add_axle(parts, number, axle.expanded(), tyre)
    for name, group in settings.groups.items():
        start = parts.counts()
        _add_group(parts, _text(name), group, ("groups", name))
        parts.axles.append(Axle(_text(name), *parts.since(start), bar=-1, corners=()))
    return parts


def spin_axis(toe: float, camber: float, right: bool) -> FloatArray:
    """Return the unit vector (3) of a wheel's spin axis, pointing left, for toe-in and camber in rad."""
    left = np.array([math.sin(toe) * math.cos(camber), math.cos(toe) * math.cos(camber), -math.sin(camber)])
    return left * np.array([-1.0, 1.0, -1.0]) if right else left


def carrier_with_wheel(carrier: Body, wheel: Wheel) -> Body:
    """Return the carrier with the wheel in it, except for the wheel's inertia about its spin axis."""
    mass = carrier.mass + wheel.mass
    centre = (carrier.mass * carrier.centre + wheel.mass * wheel.centre) / mass
    across = wheel.transverse_inertia * (np.eye(3) - np.outer(wheel.axis, wheel.axis))
    inertia = (
        carrier.inertia
        + across
        + carrier.mass * _spread(carrier.centre - centre)
        + wheel.mass * _spread(wheel.centre - centre)
    )
    return Body(carrier.name, mass, centre, inertia)


def _spread(offset: FloatArray) -> FloatArray:
    """Return the (3, 3) inertia of a unit mass at an offset."""
    spread: FloatArray = float(offset @ offset) * np.eye(3) - np.outer(offset, offset)
    return spread


def _add_axle(parts: _Parts, number: int, axle: CustomAxle, tyre: AxleTyre) -> None:
    start = parts.counts()
    location: Location = ("axles", number)
    known = {CHASSIS: 0}
    if axle.rack is not None:
        known[RACK] = _add_rack(parts, f"{axle.name} {RACK}", axle.rack, location)
    if axle.subframe is not None:
        known |= _add_group(parts, axle.name, axle.subframe, (*location, "subframe"))
    own = parts.since(start)
    corners = tuple(_add_corner(parts, number, axle, side, known, tyre) for side in axle.sides)
    bar = -1
    if axle.anti_roll_bar is not None:
        bar = len(parts.bars)
        parts.bars.append(_bar(axle, axle.anti_roll_bar, corners[0][1], corners[1][1]))
    indices = tuple(index for index, _ in corners)
    parts.axles.append(Axle(axle.name, *own, bar=bar, corners=indices))


def _add_rack(parts: _Parts, name: str, rack: RackSettings, location: Location) -> int:
    """Add a rack: a slide on the chassis along y, whose last row the drive moves."""
    body = _body(name, rack, Side({}))
    index = parts.add_body(body, (*location, RACK))
    left = np.array([0.0, 1.0, 0.0])
    ends = Ends(f"{name} guide", 0, index, (body.centre, body.centre), (left, left))
    parts.add_joint(prismatic(ends, drive=len(parts.drives)), (*location, RACK))
    parts.drives.append(Drive(name, rack.travel_per_turn or 0.0, rack.limit))
    return index


def _add_group(parts: _Parts, name: str, group: GroupSettings, location: Location) -> dict[str, int]:
    """Add bodies that are not mirrored, with their joints and springs; return their indices by name."""
    side = Side(group.hardpoints)
    own = _add_bodies(parts, name, group.bodies, side, location)
    _add_connections(parts, name, group, side, {CHASSIS: 0} | own, location)
    return own


def _add_corner(
    parts: _Parts,
    number: int,
    axle: CustomAxle,
    which: str,
    axle_bodies: dict[str, int],
    tyre: AxleTyre,
) -> tuple[int, dict[str, int]]:
    """Add one side of an axle; return the corner's index and its bodies' indices by name."""
    start = parts.counts()
    name = f"{axle.name} {which}"
    location: Location = ("axles", number)
    side = Side(axle.hardpoints.all(), which == "right")
    own = _add_bodies(parts, name, axle.bodies, side, location)
    _add_connections(parts, name, axle, side, axle_bodies | own, location)
    carrier = own[axle.carrier]
    brake = 0.0 if axle.brakes is None else axle.brakes.torque
    wheel = _wheel(wheel_name(number, which), carrier, axle.wheel, tyre.on(which), side, brake)
    parts.bodies[carrier] = carrier_with_wheel(parts.bodies[carrier], wheel)
    index = len(parts.corners)
    parts.corners.append(Corner(name, *parts.since(start), wheel=len(parts.wheels), axle=number))
    parts.wheels.append(wheel)
    return index, own


def _add_bodies(
    parts: _Parts, name: str, bodies: dict[str, BodySettings], side: Side, location: Location
) -> dict[str, int]:
    return {
        key: parts.add_body(
            _body(name if _text(key) == name else f"{name} {_text(key)}", settings, side),
            (*location, "bodies", key),
        )
        for key, settings in bodies.items()
    }


def _add_connections(
    parts: _Parts,
    name: str,
    owner: CustomAxle | GroupSettings,
    side: Side,
    known: dict[str, int],
    location: Location,
) -> None:
    for key, joint in owner.joints.items():
        bodies = known[joint.bodies[0]], known[joint.bodies[1]]
        primitives = primitives_of(joint, f"{name} {_text(key)}", bodies, side)
        parts.add_joint(primitives, (*location, "joints", key))
    for key, spring in owner.springs.items():
        bodies = known[spring.bodies[0]], known[spring.bodies[1]]
        points = side.point(spring.points[0]), side.point(spring.points[1])
        parts.springs.append(spring_damper_of(f"{name} {_text(key)}", bodies, points, spring))


def _text(key: str) -> str:
    return key.replace("_", " ")


def _body(name: str, settings: BodySettings, side: Side) -> Body:
    mirror = np.diag(side.mirrored((1.0, 1.0, 1.0)))
    centre = side.mirrored(settings.centre_of_mass)
    return Body(name, settings.mass, centre, mirror @ settings.tensor() @ mirror)


def _wheel(
    name: str, carrier: int, wheel: WheelSettings, tyre: Tyre | MagicTyre, side: Side, brake_torque: float
) -> Wheel:
    return Wheel(
        name,
        carrier,
        side.point("wheel_centre"),
        spin_axis(wheel.toe, wheel.camber, side.right),
        wheel.mass,
        wheel.axial_inertia,
        wheel.transverse_inertia,
        tyre,
        brake_torque,
    )


def _bar(
    axle: CustomAxle, bar: AntiRollBarSettings, left: dict[str, int], right: dict[str, int]
) -> AntiRollBar:
    points = [Side(axle.hardpoints.all(), which == "right").point(bar.point) for which in axle.sides]
    name = f"{axle.name} anti-roll bar"
    return AntiRollBar(name, bar.stiffness, left[bar.body], right[bar.body], points[0], points[1])
