"""The shipped sedan with more axles, to show what a further axle costs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from mastd.arrays import FloatArray
from mastd.errors import UsageError
from mastd.vehicle.elements.anti_roll_bar.element import AntiRollBar
from mastd.vehicle.elements.spring_damper.element import SpringDamper
from mastd.vehicle.joints.primitive import Primitive
from mastd.vehicle.model.definition import Axle, Body, Corner, Model, Wheel

SPACING = 1.3
"""Metres between the rear axles."""


def with_axles(model: Model, count: int) -> Model:
    """Return a two-axle vehicle with ``count`` axles: its front one, and the rear one again and again.

    The rear axles follow each other ``SPACING`` apart. The chassis' mass grows and its centre moves back so
    that every axle carries what it carried before; its inertia grows with mass and length. Raises UsageError
    for a vehicle that has not two axles with wheels, or for a count below two.
    """
    if count < 2 or len(model.axles) != 2 or not all(axle.corners for axle in model.axles):
        raise UsageError(
            f"{model.name}: {len(model.axles)} axles cannot become {count}, two can, two or more"
        )
    if count == 2:
        return model
    parts = _Parts([_chassis(model, count)])
    parts.add(model, 0, "", 0.0)
    parts.add(model, 1, "", 0.0)
    for index in range(2, count):
        parts.add(model, 1, f"{index + 1}", -SPACING * (index - 1))
    return replace(
        model,
        name=f"{model.name}, {count} axles",
        bodies=tuple(parts.bodies),
        primitives=tuple(parts.primitives),
        springs=tuple(parts.springs),
        bars=tuple(parts.bars),
        wheels=tuple(parts.wheels),
        corners=tuple(parts.corners),
        axles=tuple(parts.axles),
    )


def _chassis(model: Model, count: int) -> Body:
    body = model.bodies[0]
    front, rear = (_axle_position(model, axle) for axle in model.axles)
    on_front = (float(body.centre[0]) - rear) / (front - rear)
    on_rear = 1.0 - on_front
    positions = rear - SPACING * np.arange(count - 1)
    growth = on_front + (count - 1) * on_rear
    longer = (front - float(positions[-1])) / (front - rear)
    centre = body.centre.copy()
    centre[0] = (on_front * front + on_rear * float(positions.sum())) / growth
    stretch = np.diag([1.0, longer, longer])
    return replace(
        body, mass=body.mass * growth, centre=centre, inertia=growth * stretch @ body.inertia @ stretch
    )


def _axle_position(model: Model, axle: Axle) -> float:
    """Return where an axle's wheels stand, x in m."""
    return float(np.mean([model.wheels[model.corners[corner].wheel].centre[0] for corner in axle.corners]))


@dataclass
class _Parts:
    """The lists of a model that grow axle by axle."""

    bodies: list[Body]
    primitives: list[Primitive] = field(default_factory=list)
    springs: list[SpringDamper] = field(default_factory=list)
    bars: list[AntiRollBar] = field(default_factory=list)
    wheels: list[Wheel] = field(default_factory=list)
    corners: list[Corner] = field(default_factory=list)
    axles: list[Axle] = field(default_factory=list)

    def add(self, model: Model, number: int, mark: str, along: float) -> None:
        """Add a copy of the axle ``number``, ``along`` m ahead; ``mark`` tells it in names, "" keeps them."""
        axle = model.axles[number]
        shift = np.array([along, 0.0, 0.0])
        numbers = {0: 0}
        bodies = self._bodies(model, axle.bodies, numbers, mark, shift)
        corner_bodies = [
            self._bodies(model, model.corners[corner].bodies, numbers, mark, shift) for corner in axle.corners
        ]
        bar = -1
        if axle.bar >= 0:
            bar = len(self.bars)
            self.bars.append(_moved_bar(model.bars[axle.bar], numbers, mark, shift))
        primitives = self._primitives(model, axle.primitives, numbers, mark, shift)
        springs = self._springs(model, axle.springs, numbers, mark, shift)
        corners = []
        for index, own in zip(axle.corners, corner_bodies, strict=True):
            corner = model.corners[index]
            corners.append(len(self.corners))
            self.corners.append(
                Corner(
                    _named(corner.name, mark),
                    own,
                    self._primitives(model, corner.primitives, numbers, mark, shift),
                    self._springs(model, corner.springs, numbers, mark, shift),
                    len(self.wheels),
                    len(self.axles),
                )
            )
            self.wheels.append(_moved_wheel(model.wheels[corner.wheel], numbers, mark, shift))
        self.axles.append(Axle(_named(axle.name, mark), bodies, primitives, springs, bar, tuple(corners)))

    def _bodies(
        self, model: Model, chosen: tuple[int, ...], numbers: dict[int, int], mark: str, shift: FloatArray
    ) -> tuple[int, ...]:
        """Copy bodies; note their new numbers."""
        for index in chosen:
            body = model.bodies[index]
            numbers[index] = len(self.bodies)
            self.bodies.append(replace(body, name=_named(body.name, mark), centre=body.centre + shift))
        return tuple(numbers[index] for index in chosen)

    def _primitives(
        self, model: Model, chosen: tuple[int, ...], numbers: dict[int, int], mark: str, shift: FloatArray
    ) -> tuple[int, ...]:
        begin = len(self.primitives)
        for index in chosen:
            primitive = model.primitives[index]
            self.primitives.append(
                replace(
                    primitive,
                    first=numbers[primitive.first],
                    second=numbers[primitive.second],
                    point_first=primitive.point_first + shift,
                    point_second=primitive.point_second + shift,
                    joint=_named(primitive.joint, mark),
                )
            )
        return tuple(range(begin, len(self.primitives)))

    def _springs(
        self, model: Model, chosen: tuple[int, ...], numbers: dict[int, int], mark: str, shift: FloatArray
    ) -> tuple[int, ...]:
        begin = len(self.springs)
        for index in chosen:
            spring = model.springs[index]
            self.springs.append(
                replace(
                    spring,
                    name=_named(spring.name, mark),
                    first=numbers[spring.first],
                    second=numbers[spring.second],
                    point_first=spring.point_first + shift,
                    point_second=spring.point_second + shift,
                )
            )
        return tuple(range(begin, len(self.springs)))


def _moved_bar(bar: AntiRollBar, numbers: dict[int, int], mark: str, shift: FloatArray) -> AntiRollBar:
    return replace(
        bar,
        name=_named(bar.name, mark),
        body_left=numbers[bar.body_left],
        body_right=numbers[bar.body_right],
        point_left=bar.point_left + shift,
        point_right=bar.point_right + shift,
    )


def _moved_wheel(wheel: Wheel, numbers: dict[int, int], mark: str, shift: FloatArray) -> Wheel:
    name = wheel.name if not mark else mark + wheel.name[-1]
    return replace(wheel, name=name, carrier=numbers[wheel.carrier], centre=wheel.centre + shift)


def _named(name: str, mark: str) -> str:
    return f"{name} {mark}".strip()
