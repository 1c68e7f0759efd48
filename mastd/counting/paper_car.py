"""The car of Kang and Yoon (its Figs. 2 and 3), rebuilt from the text: 22 bodies, 39 coordinates, 8 cuts.

Front: McPherson struts, tie rods with mass on a rack that slides freely. Rear: lower and upper arm and a toe
link with mass. Unlike in the shipped vehicles, wheels are bodies of their own, each on a revolute joint of
its knuckle, and there are no tyres: the paper counts operations of the equations of motion alone.

The paper prints no dimension; points, masses and springs are invented, of ordinary size for a car. All bodies
are in one axle without corners, so that ``lay_out`` takes the car as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.settings.vehicle.templates import cross_axes
from mastd.vehicle.elements.spring_damper.element import SpringDamper
from mastd.vehicle.joints.composition import Ends, Side, prismatic, revolute, spherical, universal
from mastd.vehicle.joints.primitive import Primitive
from mastd.vehicle.model.definition import Axle, Body, Model

Point = tuple[float, float, float]

WHEELBASE: Final = 2.6
GRAVITY: Final = 9.80665

# Left side, m, from the axle's middle on the ground.
FRONT: Final[dict[str, Point]] = {
    "arm_front": (0.16, 0.34, 0.22),
    "arm_rear": (-0.20, 0.35, 0.22),
    "arm_outer": (0.0, 0.70, 0.20),
    "strut_lower": (-0.01, 0.61, 0.42),
    "strut_top": (-0.03, 0.56, 0.86),
    "link_inner": (-0.14, 0.31, 0.27),
    "link_outer": (-0.13, 0.68, 0.25),
    "wheel": (0.0, 0.75, 0.31),
}
REAR: Final[dict[str, Point]] = {
    "arm_front": (0.15, 0.36, 0.23),
    "arm_rear": (-0.15, 0.36, 0.23),
    "arm_outer": (0.0, 0.69, 0.21),
    "upper_front": (0.11, 0.42, 0.47),
    "upper_rear": (-0.11, 0.42, 0.46),
    "upper_outer": (-0.01, 0.64, 0.49),
    "link_inner": (-0.21, 0.38, 0.27),
    "link_outer": (-0.20, 0.68, 0.26),
    "wheel": (0.0, 0.75, 0.31),
    "spring_lower": (0.0, 0.56, 0.24),
    "spring_upper": (0.0, 0.52, 0.58),
}

# Mass, and moments of inertia about the centre.
CHASSIS: Final = (1120.0, (380.0, 1650.0, 1800.0))
RACK: Final = (3.5, (0.12, 0.004, 0.12))
ARM: Final = (4.8, (0.05, 0.04, 0.08))
UPPER_ARM: Final = (2.6, (0.02, 0.012, 0.03))
KNUCKLE: Final = (14.0, (0.14, 0.10, 0.13))
STRUT: Final = (3.0, (0.05, 0.05, 0.004))
LINK: Final = (1.1, (0.013, 0.001, 0.013))
WHEEL: Final = (19.0, (0.55, 0.95, 0.55))


def paper_car() -> Model:
    """Return the car in its design position: one axle, no corners, no wheels in the shipped cars' sense."""
    car = _Car()
    for end, offset, points in (("front", 0.0, FRONT), ("rear", -WHEELBASE, REAR)):
        for which in ("left", "right"):
            moved = {name: (x + offset, y, z) for name, (x, y, z) in points.items()}
            corner = _Corner(car, f"{end} {which}", Side(moved, which == "right"))
            corner.front() if end == "front" else corner.rear()
    bodies = tuple(range(1, len(car.bodies)))
    primitives, springs = tuple(range(len(car.primitives))), tuple(range(len(car.springs)))
    axle = Axle("car", bodies, primitives, springs, bar=-1, corners=())
    return Model(
        "car of Kang and Yoon",
        GRAVITY,
        tuple(car.bodies),
        tuple(car.primitives),
        tuple(car.springs),
        bars=(),
        wheels=(),
        corners=(),
        axles=(axle,),
        drives=(),
    )


@dataclass
class _Car:
    """The car while it is put together, first of all the chassis and the rack."""

    bodies: list[Body] = field(default_factory=list)
    primitives: list[Primitive] = field(default_factory=list)
    springs: list[SpringDamper] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.body("chassis", CHASSIS, np.array([-1.15, 0.0, 0.55]))
        middle = np.array([FRONT["link_inner"][0], 0.0, FRONT["link_inner"][2]])
        self.rack = self.body("rack", RACK, middle)
        left = np.array([0.0, 1.0, 0.0])
        self.primitives += prismatic(Ends("rack guide", 0, self.rack, (middle, middle), (left, left)))
        beside = middle + 0.3 * left
        self.spring("rack spring", (0, self.rack), (beside, middle), (20e3, 300.0))

    def body(self, name: str, weights: tuple[float, Point], centre: FloatArray) -> int:
        mass, moments = weights
        self.bodies.append(Body(name, mass, centre, np.diag(moments)))
        return len(self.bodies) - 1

    def spring(
        self,
        name: str,
        bodies: tuple[int, int],
        points: tuple[FloatArray, FloatArray],
        rates: tuple[float, float],
    ) -> None:
        length = float(np.linalg.norm(points[1] - points[0]))
        stiffness, damping = rates
        law = SpringDamper(name, *bodies, *points, stiffness, length, damping)
        self.springs.append(law)


@dataclass
class _Corner:
    """One corner; its joints at hardpoints of its side."""

    car: _Car
    name: str
    side: Side

    def front(self) -> None:
        """Lower arm, knuckle, strut, tie rod on the rack, wheel; strut top and tie rod's end close loops."""
        _, knuckle = self._arm_and_knuckle("strut_lower")
        strut = self._body("strut", STRUT, "strut_lower", "strut_top")
        slide = self.side.direction(("strut_lower", "strut_top"))
        ends = self._ends("strut slide", knuckle, strut, "strut_lower")
        self.car.primitives += prismatic(Ends(ends.joint, knuckle, strut, ends.points, (slide, slide)))
        self.car.primitives += spherical(self._ends("strut top", 0, strut, "strut_top"))
        self._link("tie rod", self.car.rack, knuckle)
        self._wheel(knuckle)
        points = self.side.point("strut_top"), self.side.point("strut_lower")
        self.car.spring(f"{self.name} spring", (0, knuckle), points, (24e3, 1900.0))

    def rear(self) -> None:
        """Lower arm, knuckle, upper arm, toe link, wheel; upper arm's and toe link's ends close loops."""
        lower_arm, knuckle = self._arm_and_knuckle("upper_outer")
        upper = self._body("upper arm", UPPER_ARM, "upper_front", "upper_rear", "upper_outer")
        self._hinge("upper arm bearings", upper, "upper_front", "upper_rear")
        self.car.primitives += spherical(self._ends("upper arm ball joint", upper, knuckle, "upper_outer"))
        self._link("toe link", 0, knuckle)
        self._wheel(knuckle)
        points = self.side.point("spring_upper"), self.side.point("spring_lower")
        self.car.spring(f"{self.name} spring", (0, lower_arm), points, (34e3, 2600.0))

    def _arm_and_knuckle(self, top: str) -> tuple[int, int]:
        arm = self._body("lower arm", ARM, "arm_front", "arm_rear", "arm_outer")
        self._hinge("lower arm bearings", arm, "arm_front", "arm_rear")
        knuckle = self._body("knuckle", KNUCKLE, "arm_outer", top, "link_outer")
        joint = self._ends("lower arm ball joint", arm, knuckle, "arm_outer")
        self.car.primitives += spherical(joint)
        return arm, knuckle

    def _hinge(self, name: str, arm: int, front: str, rear: str) -> None:
        axis = self.side.direction((front, rear))
        ends = self._ends(name, 0, arm, front)
        self.car.primitives += revolute(Ends(ends.joint, 0, arm, ends.points, (axis, axis)))

    def _link(self, name: str, inner: int, knuckle: int) -> None:
        link = self._body(name, LINK, "link_inner", "link_outer")
        first, second = cross_axes(self.side.hardpoints["link_inner"], self.side.hardpoints["link_outer"])
        axes = self.side.mirrored(first), self.side.mirrored(second)
        ends = self._ends(f"{name} inner joint", inner, link, "link_inner")
        self.car.primitives += universal(Ends(ends.joint, inner, link, ends.points, axes))
        self.car.primitives += spherical(self._ends(f"{name} ball joint", link, knuckle, "link_outer"))

    def _wheel(self, knuckle: int) -> None:
        wheel = self._body("wheel", WHEEL, "wheel")
        left = np.array([0.0, 1.0, 0.0])
        ends = self._ends("wheel bearing", knuckle, wheel, "wheel")
        self.car.primitives += revolute(Ends(ends.joint, knuckle, wheel, ends.points, (left, left)))

    def _body(self, name: str, weights: tuple[float, Point], *points: str) -> int:
        centre = np.mean([self.side.point(point) for point in points], axis=0)
        return self.car.body(f"{self.name} {name}", weights, centre)

    def _ends(self, name: str, first: int, second: int, point: str) -> Ends:
        position = self.side.point(point)
        return Ends(f"{self.name} {name}", first, second, (position, position))
