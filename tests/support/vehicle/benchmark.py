"""The benchmark sedan as a ``Model``, read from the shared description by the shortest way there is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import yaml

from mastd.arrays import FloatArray
from mastd.vehicle.elements.spring_damper.element import SpringDamper
from mastd.vehicle.joints.primitive import Primitive, PrimitiveKind
from mastd.vehicle.model.definition import Axle, Body, Corner, Drive, Model, Wheel
from mastd.vehicle.tyres.linear_tyre import Tyre

NONE = np.zeros(3)


def spherical(first: int, second: int, point: FloatArray, joint: str) -> list[Primitive]:
    """Return the primitives of a ball joint."""
    return [Primitive(PrimitiveKind.SPHERICAL, first, second, point, point, NONE, NONE, 0.0, -1, joint)]


def dot_1(first: int, second: int, axes: tuple[FloatArray, FloatArray], joint: str) -> Primitive:
    """Return one condition that two axes are at right angles."""
    return Primitive(PrimitiveKind.DOT_1, first, second, NONE, NONE, axes[0], axes[1], 0.0, -1, joint)


def dot_2(first: int, second: int, axis: FloatArray, point: FloatArray, drive: int, joint: str) -> Primitive:
    """Return one condition that a point of the second body stays on a plane of the first."""
    return Primitive(PrimitiveKind.DOT_2, first, second, point, point, axis, NONE, 0.0, drive, joint)


def across(axis: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return two unit vectors at right angles to an axis and to each other."""
    first = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
    first = first / np.linalg.norm(first)
    return first, np.cross(axis, first)


def revolute(first: int, second: int, ends: tuple[FloatArray, FloatArray], joint: str) -> list[Primitive]:
    """Return the primitives of a hinge on the line between two points."""
    axis = (ends[1] - ends[0]) / np.linalg.norm(ends[1] - ends[0])
    hinges = [dot_1(first, second, (normal, axis), joint) for normal in across(axis)]
    return [*spherical(first, second, 0.5 * (ends[0] + ends[1]), joint), *hinges]


def distance(first: int, second: int, ends: tuple[FloatArray, FloatArray], joint: str) -> list[Primitive]:
    """Return the primitive of a rod with ball joints."""
    length = float(np.linalg.norm(ends[1] - ends[0]))
    return [Primitive(PrimitiveKind.DISTANCE, first, second, ends[0], ends[1], NONE, NONE, length, -1, joint)]


def rack_guide(rack: int, point: FloatArray) -> list[Primitive]:
    """Return the primitives of a rack along y whose displacement is drive 0."""
    x, y, z = np.eye(3)
    turns = [dot_1(0, rack, pair, "rack guide") for pair in ((x, y), (x, z), (y, z))]
    slides = [dot_2(0, rack, axis, point, -1, "rack guide") for axis in (x, z)]
    return [*turns, *slides, dot_2(0, rack, y, point, 0, "rack and pinion")]


def carrier(
    name: str, knuckle: tuple[float, FloatArray, FloatArray], wheel: tuple[float, FloatArray, FloatArray]
) -> Body:
    """Return knuckle and wheel as one body, without the wheel's inertia about its axis (y)."""
    mass = knuckle[0] + wheel[0]
    centre = (knuckle[0] * knuckle[1] + wheel[0] * wheel[1]) / mass
    inertia = np.diag(knuckle[2]) + np.diag([wheel[2][0], 0.0, wheel[2][2]])
    for part, place, _ in (knuckle, wheel):
        arm = place - centre
        inertia = inertia + part * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    return Body(name, mass, centre, inertia)


class Assembly:
    """Lists that grow corner by corner."""

    def __init__(self, description: dict[str, Any]) -> None:
        self.description = description
        self.bodies: list[Body] = []
        self.primitives: list[Primitive] = []
        self.springs: list[SpringDamper] = []
        self.wheels: list[Wheel] = []
        self.corners: list[Corner] = []

    def body(self, name: str, mass: float, centre: FloatArray, inertia: list[float]) -> int:
        """Add a body and return its index."""
        self.bodies.append(Body(name, mass, np.array(centre, dtype=float), np.diag(inertia)))
        return len(self.bodies) - 1

    def corner(self, name: str, axle: int, kind: str, side: float, rack: int) -> None:
        """Add a double wishbone corner."""
        data = self.description["axles"][kind]
        at = {
            key: np.array(value, dtype=float) * [1.0, side, 1.0]
            for key, value in data.items()
            if isinstance(value, list)
        }
        arms = {}
        first_primitive = len(self.primitives)
        for arm in ("uca", "lca"):
            points = [at[f"{arm}_in_front"], at[f"{arm}_in_rear"], at[f"{arm}_out"]]
            arms[arm] = self.body(
                f"{name} {arm}", data[arm]["mass"], np.mean(points, axis=0), data[arm]["inertia"]
            )
        knuckle = data["knuckle"]
        wheel = data["wheel"]
        centre = at["wheel_center"]
        self.bodies.append(
            carrier(
                f"{name} knuckle",
                (
                    knuckle["mass"],
                    np.array(knuckle["com"]) * [1.0, side, 1.0],
                    np.array(knuckle["inertia"]),
                ),
                (wheel["mass"], centre, np.array(wheel["inertia"])),
            )
        )
        upright = len(self.bodies) - 1
        for arm, index in arms.items():
            hinge = (at[f"{arm}_in_front"], at[f"{arm}_in_rear"])
            self.primitives += revolute(0, index, hinge, f"{name} {arm} hinge")
            self.primitives += spherical(index, upright, at[f"{arm}_out"], f"{name} {arm} ball joint")
        tie_on = rack if data["tie_on"] == "rack" else 0
        self.primitives += distance(tie_on, upright, (at["tie_in"], at["tie_out"]), f"{name} tie rod")
        spring = data["spring"]
        length = float(np.linalg.norm(at["spring_upper"] - at["spring_lower"]))
        self.springs.append(
            SpringDamper(
                name=f"{name} spring",
                first=0,
                second=arms["lca"],
                point_first=at["spring_upper"],
                point_second=at["spring_lower"],
                stiffness=spring["k"],
                free_length=length + spring["preload"] / spring["k"],
                damping=spring["c"],
                damper_table=None,
                bump_stop=None,
                rebound_stop=None,
            )
        )
        tyre = self.description["tyre"]
        self.wheels.append(
            Wheel(
                name=name,
                carrier=upright,
                centre=centre,
                axis=np.array([0.0, 1.0, 0.0]),
                mass=wheel["mass"],
                axial_inertia=wheel["inertia"][1],
                transverse_inertia=wheel["inertia"][0],
                tyre=Tyre(
                    free_radius=tyre["r0"],
                    rolling_radius=tyre["re"],
                    stiffness=tyre["kz"],
                    damping=tyre["cz"],
                    longitudinal_slip_stiffness=tyre["c_kappa"],
                    cornering_stiffness=tyre["c_alpha"][kind],
                    least_speed=tyre["v_min"],
                ),
            )
        )
        corner = len(self.corners)
        self.corners.append(
            Corner(
                name=name,
                bodies=(arms["uca"], arms["lca"], upright),
                primitives=tuple(range(first_primitive, len(self.primitives))),
                springs=(corner,),
                wheel=corner,
                axle=axle,
            )
        )


def benchmark_sedan(shared: Path) -> Model:
    """Return the benchmark sedan of the shared folder."""
    path = shared / "data" / "sedan_benchmark" / "vehicle.yaml"
    description = yaml.safe_load(path.read_text(encoding="utf-8"))
    assembly = Assembly(description)
    chassis, rack = description["bodies"]["chassis"], description["bodies"]["rack"]
    assembly.body("chassis", chassis["mass"], chassis["com"], chassis["inertia"])
    rack_body = assembly.body("rack", rack["mass"], rack["com"], rack["inertia"])
    assembly.primitives += rack_guide(rack_body, np.array(rack["com"]))
    guide = tuple(range(len(assembly.primitives)))
    for name, axle, kind, side in (
        ("fl", 0, "front", 1.0),
        ("fr", 0, "front", -1.0),
        ("rl", 1, "rear", 1.0),
        ("rr", 1, "rear", -1.0),
    ):
        assembly.corner(name, axle, kind, side, rack_body)
    return Model(
        name="benchmark sedan",
        gravity=description["gravity"],
        bodies=tuple(assembly.bodies),
        primitives=tuple(assembly.primitives),
        springs=tuple(assembly.springs),
        bars=(),
        wheels=tuple(assembly.wheels),
        corners=tuple(assembly.corners),
        axles=(
            Axle("front", (rack_body,), guide, (), -1, (0, 1)),
            Axle("rear", (), (), (), -1, (2, 3)),
        ),
        drives=(Drive("rack", travel_per_turn=0.0, limit=0.08),),
    )
