"""Corner templates: what bodies and joints the known suspensions of a left corner consist of.

Rows of constraint: double wishbone and lower arm, upper arm, toe link: 2 × 5 (arms' bearings) + 2 × 3 (ball
joints) + 1 (link) = 17 for 18 coordinates. McPherson: 5 (arm) + 3 (ball joint) + 5 (strut) + 3 (strut top) +
1 (link) = 17 for 18. A link with mass adds a body (6) and replaces its row by a universal joint (4) at the
inner end and a ball joint (3) at the outer end. Each corner keeps one freedom, its travel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from mastd.settings.vehicle.parts import (
    CHASSIS,
    BodySettings,
    DistanceJoint,
    Joint,
    LinkSettings,
    PrismaticJoint,
    RevoluteJoint,
    SphericalJoint,
    UniversalJoint,
)

Triple = tuple[float, float, float]
Points = dict[str, Triple]


@dataclass(frozen=True)
class TemplateParts:
    """Bodies and joints of a left corner, and the body that carries its wheel."""

    bodies: dict[str, BodySettings]
    joints: dict[str, Joint]
    carrier: str


def two_arms(
    points: Points,
    arms: Mapping[str, LinkSettings],
    knuckle: BodySettings,
    link: str,
    link_to: str,
    link_body: LinkSettings | None,
) -> TemplateParts:
    """Return lower arm, upper arm and knuckle with a tie rod or toe link."""
    bodies: dict[str, BodySettings] = {}
    joints: dict[str, Joint] = {}
    for name, settings in arms.items():
        bodies[name] = _arm(points, name, settings)
        joints.update(_arm_joints(name))
    bodies["knuckle"] = knuckle
    _add_link(bodies, joints, points, link, link_to, link_body)
    return TemplateParts(bodies, joints, "knuckle")


def mcpherson(
    points: Points,
    lower_arm: LinkSettings,
    knuckle: BodySettings,
    strut_rod: LinkSettings,
    tie_rod_to: str,
    tie_rod: LinkSettings | None,
) -> TemplateParts:
    """Return lower arm, knuckle and strut rod with a tie rod."""
    bodies = {
        "lower_arm": _arm(points, "lower_arm", lower_arm),
        "knuckle": knuckle,
        "strut_rod": _placed(strut_rod, points, "strut_lower", "strut_top"),
    }
    joints = _arm_joints("lower_arm")
    joints["strut_slide"] = PrismaticJoint(
        kind="prismatic",
        bodies=("knuckle", "strut_rod"),
        axis=("strut_lower", "strut_top"),
        point="strut_lower",
    )
    joints["strut_top_ball_joint"] = SphericalJoint(
        kind="spherical", bodies=(CHASSIS, "strut_rod"), point="strut_top"
    )
    _add_link(bodies, joints, points, "tie_rod", tie_rod_to, tie_rod)
    return TemplateParts(bodies, joints, "knuckle")


def _arm_joints(arm: str) -> dict[str, Joint]:
    return {
        f"{arm}_bearings": RevoluteJoint(
            kind="revolute", bodies=(CHASSIS, arm), axis=(f"{arm}_front", f"{arm}_rear")
        ),
        f"{arm}_ball_joint": SphericalJoint(kind="spherical", bodies=(arm, "knuckle"), point=f"{arm}_outer"),
    }


def _add_link(
    bodies: dict[str, BodySettings],
    joints: dict[str, Joint],
    points: Points,
    link: str,
    link_to: str,
    body: LinkSettings | None,
) -> None:
    """Add a tie rod or toe link from ``link_to`` to the knuckle."""
    inner, outer = f"{link}_inner", f"{link}_outer"
    if body is None:
        joints[link] = DistanceJoint(kind="distance", bodies=(link_to, "knuckle"), points=(inner, outer))
        return
    bodies[link] = _placed(body, points, inner, outer)
    joints[f"{link}_inner_joint"] = UniversalJoint(
        kind="universal", bodies=(link_to, link), point=inner, axes=cross_axes(points[inner], points[outer])
    )
    joints[f"{link}_outer_ball_joint"] = SphericalJoint(
        kind="spherical", bodies=(link, "knuckle"), point=outer
    )


def cross_axes(start: Triple, end: Triple) -> tuple[Triple, Triple]:
    """Return two axes at right angles to a rod and to each other.

    With these the cross keeps the rod from turning about its own line as stiffly as it can, and gets singular
    only where the rod has swung by a right angle.
    """
    line = np.subtract(end, start)
    length = float(np.linalg.norm(line))
    if not length > 0.0:  # refused elsewhere, by the name of the points
        return (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
    first, second = perpendiculars(line / length)
    return _triple(first), _triple(second)


def perpendiculars(axis: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return two unit vectors that make a right-handed triad with a unit vector: first × second = axis.

    The first one is at a right angle to the coordinate axis that is farthest from ``axis``.
    """
    helper = np.zeros(3)
    helper[int(np.argmin(np.abs(axis)))] = 1.0
    first = np.cross(axis, helper)
    first /= np.linalg.norm(first)
    return first, np.cross(axis, first)


def _arm(points: Points, name: str, settings: LinkSettings) -> BodySettings:
    return _placed(settings, points, f"{name}_front", f"{name}_rear", f"{name}_outer")


def _placed(settings: LinkSettings, points: Points, *names: str) -> BodySettings:
    """Return the body at its centre of mass; by default that is the mean of its points."""
    centre = settings.centre_of_mass
    if centre is None:
        centre = _triple(np.mean([points[name] for name in names], axis=0))
    return BodySettings(
        mass=settings.mass,
        inertia=settings.inertia,
        products_of_inertia=settings.products_of_inertia,
        centre_of_mass=centre,
    )


def _triple(vector: np.ndarray) -> Triple:
    return float(vector[0]), float(vector[1]), float(vector[2])
