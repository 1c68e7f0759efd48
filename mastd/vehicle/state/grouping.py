"""Which corners and axles are alike enough to be computed side by side in the lanes of one group.

Two corners share a group when they have the same bodies in the same order, joined by the same primitives and
springs. What they are joined to may differ: a tie rod that ends on a rack in one corner and on the chassis in
another becomes an interface body that differs from lane to lane.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mastd.lanes import LANES
from mastd.vehicle.blocks.fields import CHASSIS
from mastd.vehicle.model.definition import Axle, Corner, Model

Key = tuple[object, ...]


@dataclass(frozen=True)
class Part:
    """A corner or an axle, as the grouping sees it."""

    name: str
    bodies: tuple[int, ...]
    primitives: tuple[int, ...]
    springs: tuple[int, ...]
    wheel: int
    bar: int
    """The bar that is an unknown of this part (axles), -1: none."""
    end: int
    """The bar whose end is fixed in this part (corners), -1: none."""
    end_body: int
    """The body of that end."""


@dataclass(frozen=True)
class Group:
    """Up to four equal parts."""

    parts: tuple[Part, ...]
    interface: tuple[tuple[int, ...], ...]
    """Of each interface body the model's body in each lane; the first is the chassis in all of them."""
    bar_end_body: int
    """Own body (counted from 0) at the bar's end, -1: no lane has one."""

    def local(self, lane: int, body: int, reference: tuple[int, ...]) -> int:
        """Return the local index of a body that one element of the group refers to, given its bodies in all
        lanes."""
        part = self.parts[lane]
        if body in part.bodies:
            return len(self.interface) + part.bodies.index(body)
        return self.interface.index(reference)

    def lanes(self) -> tuple[Part, ...]:
        """Return one part for each lane; empty lanes repeat the first part."""
        return self.parts + (self.parts[0],) * (LANES - len(self.parts))


def axle_groups(model: Model) -> list[Group]:
    """Return the groups of what stands on the chassis itself: racks, bars, further bodies."""
    parts = [_axle_part(axle) for axle in model.axles if axle.bodies or axle.bar >= 0]
    return _groups(model, parts)


def corner_groups(model: Model) -> list[Group]:
    """Return the groups of the corners."""
    return _groups(model, [_corner_part(model, corner) for corner in model.corners])


def _axle_part(axle: Axle) -> Part:
    return Part(axle.name, axle.bodies, axle.primitives, axle.springs, -1, axle.bar, -1, -1)


def _corner_part(model: Model, corner: Corner) -> Part:
    bar = model.axles[corner.axle].bar
    ends = () if bar < 0 else (model.bars[bar].body_left, model.bars[bar].body_right)
    body = next((end for end in ends if end in corner.bodies), -1)
    end = bar if body >= 0 else -1
    return Part(corner.name, corner.bodies, corner.primitives, corner.springs, corner.wheel, -1, end, body)


def _groups(model: Model, parts: Sequence[Part]) -> list[Group]:
    alike: dict[Key, list[Part]] = {}
    for part in parts:
        alike.setdefault(_key(model, part), []).append(part)
    groups = []
    for members in alike.values():
        by_end: dict[int, list[Part]] = {}
        for part in members:
            by_end.setdefault(_end_slot(part), []).append(part)
        without = by_end.pop(-1, [])
        first = next(iter(by_end), -1)
        by_end[first] = sorted([*by_end.get(first, []), *without], key=members.index)
        for bar_end_body, chosen in by_end.items():
            for start in range(0, len(chosen), LANES):
                groups.append(_group(model, tuple(chosen[start : start + LANES]), bar_end_body))
    return groups


def _end_slot(part: Part) -> int:
    return part.bodies.index(part.end_body) if part.end >= 0 else -1


def _key(model: Model, part: Part) -> Key:
    def body_index(body: int) -> int:
        return part.bodies.index(body) if body in part.bodies else -1

    primitives = [model.primitives[k] for k in part.primitives]
    springs = [model.springs[k] for k in part.springs]
    carrier = body_index(model.wheels[part.wheel].carrier) if part.wheel >= 0 else -1
    return (
        len(part.bodies),
        tuple((p.kind, body_index(p.first), body_index(p.second), p.drive >= 0) for p in primitives),
        tuple((body_index(s.first), body_index(s.second)) for s in springs),
        carrier,
        type(model.wheels[part.wheel].tyre) if part.wheel >= 0 else None,
        part.bar >= 0,
    )


def references(model: Model, part: Part) -> list[int]:
    """Return the bodies that the elements of a part refer to: two each primitive, then two each spring."""
    found: list[int] = []
    for index in part.primitives:
        found += [model.primitives[index].first, model.primitives[index].second]
    for index in part.springs:
        found += [model.springs[index].first, model.springs[index].second]
    return found


def _group(model: Model, parts: tuple[Part, ...], bar_end_body: int) -> Group:
    interface: list[tuple[int, ...]] = [(CHASSIS,) * len(parts)]
    for reference in zip(*(references(model, part) for part in parts), strict=True):
        if reference[0] not in parts[0].bodies and reference not in interface:
            interface.append(reference)
    return Group(parts, tuple(interface), bar_end_body)
