"""What must fit together in an axle or a group of bodies: names, places, sides.

Everything here is about a description as it stands in the file; whether the joints let the vehicle move as it
should is for ``mastd/vehicle/model/mobility.py`` to say.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from mastd.settings.core.base import Problem
from mastd.settings.core.error_text import near
from mastd.settings.vehicle.forces import AntiRollBarSettings, SpringSettings
from mastd.settings.vehicle.parts import (
    CHASSIS,
    RACK,
    Axis,
    BodySettings,
    DistanceJoint,
    Dot1Joint,
    Dot2Joint,
    Joint,
    SphericalJoint,
)

SAME_POINT: Final = 1e-4
"""Metres below which two points are one place: no axis, spring or rod is that short."""
MIRROR_TOLERANCE: Final = 1e-4
"""Metres that a measured point of the right side may lie off the mirror image of the left one."""

Location = tuple[str | int, ...]
Triple = tuple[float, float, float]


class _Hardpoints(Protocol):
    def all(self) -> dict[str, Triple]: ...


class _Subframe(Protocol):
    @property
    def bodies(self) -> Mapping[str, BodySettings]: ...


class _Parts(Protocol):
    @property
    def bodies(self) -> Mapping[str, BodySettings]: ...
    @property
    def joints(self) -> Mapping[str, Joint]: ...
    @property
    def springs(self) -> Mapping[str, SpringSettings]: ...


class Group(_Parts, Protocol):
    """What a group of bodies is checked by."""

    @property
    def hardpoints(self) -> Mapping[str, Triple]: ...


class Axle(_Parts, Protocol):
    """What an axle of free definition is checked by."""

    @property
    def hardpoints(self) -> _Hardpoints: ...
    @property
    def right_hardpoints(self) -> Mapping[str, Triple]: ...
    @property
    def rack(self) -> object: ...
    @property
    def subframe(self) -> _Subframe | None: ...
    @property
    def carrier(self) -> str: ...
    @property
    def side(self) -> str | None: ...
    @property
    def anti_roll_bar(self) -> AntiRollBarSettings | None: ...


@dataclass
class _Findings:
    """Hardpoints and bodies of one owner, which of them are used, and what is wrong."""

    hardpoints: Mapping[str, Triple]
    bodies: Iterable[str]
    own: Iterable[str]
    """The bodies that the owner's joints and springs are there for; the others are known to it."""
    problems: list[Problem] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    touched: dict[str, set[str]] = field(default_factory=dict)
    """Hardpoints where each body is joined to another one."""
    links: list[tuple[str, str]] = field(default_factory=list)
    unknown_points: bool = False
    """A hardpoint is named that there is none of; one that seems unused may be the one that is meant."""

    def add(self, location: Location, what: str) -> None:
        """Note a problem."""
        self.problems.append((location, what))

    def body(self, name: str, location: Location) -> bool:
        """Note an unknown body; return whether it is known."""
        if name in self.bodies:
            return True
        self.add(location, f"no body {name!r}, {near(name, self.bodies)}")
        return False

    def point(self, name: str, location: Location) -> bool:
        """Note an unknown hardpoint; return whether it is known."""
        self.used.add(name)
        if name in self.hardpoints:
            return True
        self.unknown_points = True
        self.add(location, f"no hardpoint {name!r}, {near(name, self.hardpoints)}")
        return False

    def apart(self, names: tuple[str, str], location: Location, what: str) -> bool:
        """Note unknown or coincident hardpoints; return whether two hardpoints are distinct."""
        known = [self.point(name, (*location, k)) for k, name in enumerate(names)]
        if not all(known):
            return False
        distance = math.dist(self.hardpoints[names[0]], self.hardpoints[names[1]])
        if distance > SAME_POINT:
            return True
        if names[0] == names[1]:
            self.add(location, f"hardpoint {names[0]!r} twice, {what} needs two points")
        else:
            far = f"lies {1000 * distance:.2g} mm from" if distance > 0.0 else "coincides with"
            text = f"{far} {names[0]!r}, {what} needs two points"
            self.add(("hardpoints", names[1]), text)
        return False


def axle_problems(axle: Axle) -> list[Problem]:
    """Return the inconsistencies of an axle, paths relative to it."""
    hardpoints = axle.hardpoints.all()
    shared = [CHASSIS]
    if axle.rack is not None:
        shared.append(RACK)
    if axle.subframe is not None:
        shared.extend(axle.subframe.bodies)
    findings = _Findings(hardpoints, [*shared, *axle.bodies], axle.bodies)
    _check_names(findings, axle.bodies, shared)
    _check_joints(findings, axle.joints)
    _check_springs(findings, axle.springs)
    _check_bar(findings, axle)
    known_carrier = _check_carrier(findings, axle)
    _check_attached(findings, axle.bodies, shared)
    findings.used.add("wheel_centre")
    _check_unused(findings)
    _check_sides(findings, axle, known_carrier)
    _check_right_side(findings, axle.right_hardpoints)
    if axle.subframe is not None:
        _check_subframe(findings, axle)
    return list(dict.fromkeys(findings.problems))


def group_problems(group: Group) -> list[Problem]:
    """Return the inconsistencies of a group of bodies, paths relative to it."""
    findings = _Findings(group.hardpoints, [CHASSIS, *group.bodies], group.bodies)
    _check_names(findings, group.bodies, [CHASSIS])
    _check_joints(findings, group.joints)
    _check_springs(findings, group.springs)
    _check_attached(findings, group.bodies, [CHASSIS])
    _check_unused(findings)
    return list(dict.fromkeys(findings.problems))


def _check_names(findings: _Findings, bodies: Mapping[str, BodySettings], shared: list[str]) -> None:
    for name in bodies:
        if name in shared or name == RACK:
            findings.add(("bodies", name), f"{name!r} is the name of another body, choose a name of its own")


def _check_joints(findings: _Findings, joints: Mapping[str, Joint]) -> None:
    for key, joint in joints.items():
        location: Location = ("joints", key)
        _check_pair(findings, joint.bodies, location, f"joint {key!r}", list(_joint_points(joint)))
        for below, axis in _joint_axes(joint):
            if len(axis) == 2:
                findings.apart((axis[0], axis[1]), (*location, *below), f"the axis of joint {key!r}")
        if isinstance(joint, DistanceJoint) and joint.length is None:
            findings.apart(joint.points, (*location, "points"), f"the rod of joint {key!r}")
        elif not isinstance(joint, Dot1Joint) and joint.points is not None:
            for k, name in enumerate(joint.points):
                findings.point(name, (*location, "points", k))
        if not isinstance(joint, DistanceJoint | Dot1Joint | Dot2Joint) and joint.point is not None:
            findings.point(joint.point, (*location, "point"))


def _check_springs(findings: _Findings, springs: Mapping[str, SpringSettings]) -> None:
    for key, spring in springs.items():
        location: Location = ("springs", key)
        points = [(spring.points[0],), (spring.points[1],)]
        _check_pair(findings, spring.bodies, location, f"spring {key!r}", points)
        if not findings.apart(spring.points, (*location, "points"), f"spring {key!r}"):
            continue
        length = math.dist(*(findings.hardpoints[name] for name in spring.points))
        if spring.bump_stop is not None and not spring.bump_stop.gap < length:
            distance = 1000 * spring.bump_stop.gap
            what = (
                f"is {distance:g} mm, the spring is only {1000 * length:.4g} mm long in the design position"
            )
            findings.add((*location, "bump_stop", "gap"), what)
        if spring.stiffness > 0.0 and not length + spring.preload / spring.stiffness > 0.0:
            what = "with this tension at design length the spring has no length without force"
            findings.add((*location, "preload"), what)


def _check_pair(
    findings: _Findings,
    bodies: tuple[str, str],
    location: Location,
    what: str,
    points: Sequence[tuple[str, ...]],
) -> None:
    """Check the two bodies that a joint or spring joins; note which points touch which body."""
    known = [findings.body(name, (*location, "bodies", k)) for k, name in enumerate(bodies)]
    if bodies[0] == bodies[1]:
        findings.add(
            (*location, "bodies"), f"{what} is between {bodies[0]!r} and itself, it needs two bodies"
        )
    elif all(known) and not set(bodies) & set(findings.own):
        findings.add(
            (*location, "bodies"), f"{what} is joined to no body of the left side, it belongs elsewhere"
        )
    elif all(known):
        findings.links.append(bodies)
        for name, touching in zip(bodies, points, strict=True):
            findings.touched.setdefault(name, set()).update(touching)


def _joint_points(joint: Joint) -> Iterator[tuple[str, ...]]:
    """Yield the hardpoints where a joint touches its first and its second body."""
    if isinstance(joint, Dot1Joint):
        yield from ((), ())
    elif joint.points is not None:
        yield from ((name,) for name in joint.points)
    else:
        point = None if isinstance(joint, DistanceJoint | Dot2Joint) else joint.point
        yield from ((), ()) if point is None else ((point,), (point,))


def _joint_axes(joint: Joint) -> Iterator[tuple[Location, Axis]]:
    """Yield place and value of all axes of a joint."""
    if isinstance(joint, SphericalJoint | DistanceJoint):
        return
    if isinstance(joint, Dot2Joint):
        yield ("axis",), joint.axis
        return
    axis = getattr(joint, "axis", None)
    if axis is not None:
        yield ("axis",), axis
    for k, each in enumerate(joint.axes or ()):
        yield ("axes", k), each


def _check_bar(findings: _Findings, axle: Axle) -> None:
    bar = axle.anti_roll_bar
    if bar is None:
        return
    if axle.side is not None:
        findings.add(("anti_roll_bar",), f"an axle with its {axle.side} side alone has nothing to join it to")
    if bar.body not in axle.bodies:
        what = f"no body {bar.body!r} of the left side, {near(bar.body, axle.bodies)}"
        findings.add(("anti_roll_bar", "body"), what)
    findings.point(bar.point, ("anti_roll_bar", "point"))


def _check_carrier(findings: _Findings, axle: Axle) -> bool:
    if axle.carrier in axle.bodies:
        return True
    what = f"no body {axle.carrier!r} of the left side, {near(axle.carrier, axle.bodies)}"
    findings.add(("carrier",), what)
    return False


def _check_attached(findings: _Findings, bodies: Iterable[str], roots: list[str]) -> None:
    """Note bodies that hang on nothing, or only on each other."""
    neighbours: dict[str, set[str]] = {}
    for one, two in findings.links:
        neighbours.setdefault(one, set()).add(two)
        neighbours.setdefault(two, set()).add(one)
    reached = set(roots)
    waiting = list(roots)
    while waiting:
        for other in neighbours.get(waiting.pop(), set()) - reached:
            reached.add(other)
            waiting.append(other)
    for name in bodies:
        if name not in neighbours:
            findings.add(("bodies", name), f"body {name!r} is not connected, give it a joint or a spring")
        elif name not in reached:
            others = ", ".join(sorted(neighbours[name]))
            what = f"body {name!r} is joined only to {others}, and nothing joins these to the chassis"
            findings.add(("bodies", name), what)


def _check_unused(findings: _Findings) -> None:
    if findings.unknown_points:
        return
    for name in findings.hardpoints:
        if name not in findings.used:
            findings.add(("hardpoints", name), f"no joint, spring or bar uses hardpoint {name!r}, remove it")


def _check_sides(findings: _Findings, axle: Axle, known_carrier: bool) -> None:
    """Note points of the wheel's side that do not lie on the left."""
    outer = {"wheel_centre": "the wheel"}
    if known_carrier:
        for name in sorted(findings.touched.get(axle.carrier, ())):
            outer.setdefault(name, f"body {axle.carrier!r}, which carries the wheel,")
        _, y, _ = axle.bodies[axle.carrier].centre_of_mass
        if not y > 0.0:
            what = f"lies at y = {1000 * y:g} mm, on the left side y must be above 0"
            findings.add(("bodies", axle.carrier, "centre_of_mass"), what)
    for name, whose in outer.items():
        y = findings.hardpoints.get(name, (0.0, 1.0, 0.0))[1]
        if not y > 0.0:
            what = f"{whose} has this point at y = {1000 * y:g} mm, on the left side y must be above 0"
            findings.add(("hardpoints", name), what)


def _check_right_side(findings: _Findings, right: Mapping[str, Triple]) -> None:
    for name, point in right.items():
        if name not in findings.hardpoints:
            what = f"the left side has no hardpoint {name!r}, {near(name, findings.hardpoints)}"
            findings.add(("right_hardpoints", name), what)
            continue
        x, y, z = findings.hardpoints[name]
        distance = math.dist(point, (x, -y, z))
        if not distance <= MIRROR_TOLERANCE:
            image = ", ".join(f"{1000 * value + 0.0:g} mm" for value in (x, -y, z))
            what = f"lies {1000 * distance:.4g} mm from the mirror image of the left point, [{image}]"
            findings.add(("right_hardpoints", name), what)


def _check_subframe(findings: _Findings, axle: Axle) -> None:
    assert axle.subframe is not None
    used = {name for pair in findings.links for name in pair}
    for name in axle.subframe.bodies:
        if name == RACK:
            continue
        if name not in used:
            what = f"no corner is joined to body {name!r}; a body on the chassis alone belongs to groups"
            findings.add(("subframe", "bodies", name), what)
