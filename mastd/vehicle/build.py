"""From the settings of a vehicle to its model: sides mirrored, joints taken apart, wheels merged, assembled."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from mastd.settings.vehicle import VehicleSettings
from mastd.settings.vehicle_axles import CustomAxle, GroupSettings
from mastd.settings.vehicle_parts import (
    CHASSIS,
    RACK,
    BodySettings,
    MassSettings,
    RackSettings,
    SpringSettings,
    StopSettings,
    TyreSettings,
    WheelSettings,
)
from mastd.vehicle.joint_primitives import Ends, Side, primitives_of, prismatic
from mastd.vehicle.model import (
    AntiRollBar,
    Axle,
    Body,
    Corner,
    Drive,
    Model,
    Primitive,
    SpringDamper,
    Stop,
    Tyre,
    Vector,
    Wheel,
)

SIDES = ("left", "right")


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
    """Return the model of a vehicle."""
    parts = _Parts([_body(CHASSIS, settings.chassis, Side({}))])
    for number, axle in enumerate(settings.axles):
        _add_axle(parts, number, axle.expanded())
    for name, group in settings.groups.items():
        start = parts.counts()
        _add_group(parts, name, group, {CHASSIS: 0})
        parts.axles.append(Axle(name, *parts.since(start), bar=-1, corners=()))
    return Model(
        settings.name,
        settings.gravity,
        tuple(parts.bodies),
        tuple(parts.primitives),
        tuple(parts.springs),
        tuple(parts.bars),
        tuple(parts.wheels),
        tuple(parts.corners),
        tuple(parts.axles),
        tuple(parts.drives),
    )


def wheel_name(axle: int, side: str) -> str:
    """Return the name of a wheel: fl, fr, rl, rr, then 3l, 3r, …; axles are counted from 0."""
    return ("f", "r")[axle] + side[0] if axle < 2 else f"{axle + 1}{side[0]}"


def spin_axis(toe: float, camber: float, right: bool) -> Vector:
    """Return the unit vector (3) of a wheel's spin axis, pointing left, for toe-in and camber in rad."""
    left = np.array([math.sin(toe) * math.cos(camber), math.cos(toe) * math.cos(camber), -math.sin(camber)])
    return left * np.array([-1.0, 1.0, -1.0]) if right else left


def carrier_with_wheel(carrier: Body, wheel: Wheel) -> Body:
    """Return the carrier with the wheel in it, but for the wheel's inertia about its spin axis."""
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


def _spread(offset: Vector) -> Vector:
    """Return the (3, 3) inertia of a unit mass at an offset."""
    spread: Vector = float(offset @ offset) * np.eye(3) - np.outer(offset, offset)
    return spread


def _add_axle(parts: _Parts, number: int, axle: CustomAxle) -> None:
    start = parts.counts()
    known = {CHASSIS: 0}
    if axle.rack is not None:
        known[RACK] = _add_rack(parts, f"{axle.name} {RACK}", axle.rack)
    if axle.subframe is not None:
        known |= _add_group(parts, axle.name, axle.subframe, known)
    own = parts.since(start)
    corners = tuple(_add_corner(parts, number, axle, side, known) for side in SIDES)
    bar = -1
    if axle.anti_roll_bar is not None:
        bar = len(parts.bars)
        parts.bars.append(_bar(parts, axle, corners))
    indices = tuple(index for index, _ in corners)
    parts.axles.append(Axle(axle.name, *own, bar=bar, corners=indices))


def _add_rack(parts: _Parts, name: str, rack: RackSettings) -> int:
    """Add a rack: a slide on the chassis along y, whose last row the drive moves."""
    index = len(parts.bodies)
    body = _body(name, rack, Side({}))
    parts.bodies.append(body)
    left = np.array([0.0, 1.0, 0.0])
    ends = Ends(f"{name} guide", 0, index, (body.centre, body.centre), (left, left))
    parts.primitives += prismatic(ends, drive=len(parts.drives))
    parts.drives.append(Drive(name, rack.travel_per_turn or 0.0, rack.limit))
    return index


def _add_group(parts: _Parts, name: str, group: GroupSettings, known: dict[str, int]) -> dict[str, int]:
    """Add bodies that are not mirrored, with their joints and springs; return their indices by name."""
    own = _add_bodies(parts, name, group.bodies, Side(group.hardpoints))
    side = Side(group.hardpoints)
    _add_connections(parts, name, group, side, known | own)
    return own


def _add_corner(
    parts: _Parts, number: int, axle: CustomAxle, which: str, axle_bodies: dict[str, int]
) -> tuple[int, dict[str, int]]:
    """Add one side of an axle; return the corner's index and its bodies' indices by name."""
    start = parts.counts()
    name = f"{axle.name} {which}"
    side = Side(axle.hardpoints.all(), which == "right")
    own = _add_bodies(parts, name, axle.bodies, side)
    _add_connections(parts, name, axle, side, axle_bodies | own)
    carrier = own[axle.carrier]
    wheel = _wheel(wheel_name(number, which), carrier, axle.wheel, axle.tyre, side)
    parts.bodies[carrier] = carrier_with_wheel(parts.bodies[carrier], wheel)
    index = len(parts.corners)
    parts.corners.append(Corner(name, *parts.since(start), wheel=len(parts.wheels), axle=number))
    parts.wheels.append(wheel)
    return index, own


def _add_bodies(parts: _Parts, name: str, bodies: dict[str, BodySettings], side: Side) -> dict[str, int]:
    indices: dict[str, int] = {}
    for key, settings in bodies.items():
        indices[key] = len(parts.bodies)
        parts.bodies.append(_body(f"{name} {_words(key)}", settings, side))
    return indices


def _add_connections(
    parts: _Parts, name: str, owner: CustomAxle | GroupSettings, side: Side, known: dict[str, int]
) -> None:
    for key, joint in owner.joints.items():
        bodies = known[joint.bodies[0]], known[joint.bodies[1]]
        parts.primitives += primitives_of(joint, f"{name} {_words(key)}", bodies, side)
    for key, spring in owner.springs.items():
        bodies = known[spring.bodies[0]], known[spring.bodies[1]]
        parts.springs.append(_spring(f"{name} {_words(key)}", bodies, spring, side))


def _words(key: str) -> str:
    return key.replace("_", " ")


def _body(name: str, settings: MassSettings, side: Side) -> Body:
    mirror = np.diag(side.mirrored((1.0, 1.0, 1.0)))
    assert isinstance(settings, BodySettings)
    centre = side.mirrored(settings.centre_of_mass)
    return Body(name, settings.mass, centre, mirror @ settings.tensor() @ mirror)


def _wheel(name: str, carrier: int, wheel: WheelSettings, tyre: TyreSettings, side: Side) -> Wheel:
    return Wheel(
        name,
        carrier,
        side.point("wheel_centre"),
        spin_axis(wheel.toe, wheel.camber, side.right),
        wheel.mass,
        wheel.axial_inertia,
        wheel.transverse_inertia,
        Tyre(
            tyre.free_radius,
            tyre.rolling_radius,
            tyre.stiffness,
            tyre.damping,
            tyre.longitudinal_slip_stiffness,
            tyre.cornering_stiffness,
            tyre.least_speed,
        ),
    )


def _spring(name: str, bodies: tuple[int, int], settings: SpringSettings, side: Side) -> SpringDamper:
    points = side.point(settings.points[0]), side.point(settings.points[1])
    length = float(np.linalg.norm(points[1] - points[0]))
    deflection = settings.preload / settings.stiffness if settings.stiffness > 0.0 else 0.0
    return SpringDamper(
        name,
        *bodies,
        *points,
        settings.stiffness,
        length + deflection,
        settings.damping,
        None if settings.damper is None else np.array(settings.damper),
        _stop(settings.bump_stop, length, -1.0),
        _stop(settings.rebound_stop, length, 1.0),
    )


def _stop(settings: StopSettings | None, length: float, direction: float) -> Stop | None:
    if settings is None:
        return None
    return Stop(length + direction * settings.gap, settings.stiffness, settings.doubling or math.inf)


def _bar(parts: _Parts, axle: CustomAxle, corners: tuple[tuple[int, dict[str, int]], ...]) -> AntiRollBar:
    settings = axle.anti_roll_bar
    assert settings is not None
    (_, left), (_, right) = corners
    points = [Side(axle.hardpoints.all(), which == "right").point(settings.point) for which in SIDES]
    name = f"{axle.name} anti-roll bar"
    return AntiRollBar(
        name, settings.stiffness, left[settings.body], right[settings.body], points[0], points[1]
    )
