"""The subsystems of Song and Kim: the parts of a vehicle that hang together without the chassis.

The base is the chassis with all bodies whose motion against it is given (a driven rack). The other bodies,
joined by the tree and by the joints that are cut, fall into subsystems: a corner, or both corners of an axle
with what moves between them (a free rack, a subframe), or a cab on its mounts. Springs and bars connect
nothing: their forces are known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from mastd.errors import UsageError
from mastd.formulations.tree.arrays import CUT_ROW, DRIVEN, LINK, Tree
from mastd.settings.core.error_text import near
from mastd.vehicle.model.definition import Model

RELATIVE_JOINT: Final = 0
CARTESIAN: Final = 1
FORMULATIONS: Final = {"joint": RELATIVE_JOINT, "cartesian": CARTESIAN}
"""Coordinates of a subsystem by name: relative joint coordinates, relative Cartesian ones."""


@dataclass(frozen=True)
class Subsystem:
    """A part of the vehicle that is joined to the base alone."""

    name: str
    """Of its corner, of its axle if it has both, else of all of them."""
    links: tuple[int, ...]
    """Numbers in the tree's table of links, in height order."""
    rows: tuple[int, ...]
    """Numbers in the tree's table of constraint rows: the joints that are cut."""
    primitives: tuple[int, ...]
    """Indices of the model's primitives: all its joints, cut or not."""


def subsystems_of(model: Model, tree: Tree) -> tuple[Subsystem, ...]:
    """Return the subsystems of a vehicle, in the order of their lowest links."""
    base = base_links(tree)
    root = list(range(len(tree.links)))

    def find(link: int) -> int:
        while root[link] != link:
            link = root[link]
        return link

    pairs = [(link, int(line[LINK.lower])) for link, line in enumerate(tree.links)]
    pairs += [(int(row[CUT_ROW.link_a]), int(row[CUT_ROW.link_b])) for row in tree.row_table]
    for first, second in pairs:
        if first not in base and second not in base:
            low, high = sorted((find(first), find(second)))
            root[high] = low
    parts: dict[int, list[int]] = {}
    for link in range(len(tree.links)):
        if link not in base:
            parts.setdefault(find(link), []).append(link)
    return tuple(_subsystem(model, tree, tuple(links)) for links in parts.values())


def base_links(tree: Tree) -> tuple[int, ...]:
    """Return the links of the base: the chassis, and those whose motion against the base is given."""
    base = [0]
    for link, line in enumerate(tree.links):
        first = int(line[LINK.first])
        own = tree.fixed[first : first + int(line[LINK.coordinates])]
        if int(line[LINK.lower]) in base and all(own == DRIVEN):
            base.append(link)
    return tuple(base)


def choices(subsystems: Sequence[Subsystem], default: str, chosen: Mapping[str, str]) -> tuple[int, ...]:
    """Return the formulation of each subsystem; ``chosen`` says by name which is not the default.

    Raise UsageError for a subsystem or a formulation that there is not, one line each.
    """
    names = [subsystem.name for subsystem in subsystems]
    problems = [f"{name}: no such subsystem, {near(name, names)}" for name in chosen if name not in names] + [
        f"{kind}: no such coordinates of a subsystem, {near(kind, FORMULATIONS)}"
        for kind in (default, *chosen.values())
        if kind not in FORMULATIONS
    ]
    if problems:
        raise UsageError("\n".join(dict.fromkeys(problems)))
    return tuple(FORMULATIONS[chosen.get(name, default)] for name in names)


def _subsystem(model: Model, tree: Tree, links: tuple[int, ...]) -> Subsystem:
    bodies = {int(tree.links[link, LINK.body]) for link in links}
    sides = tree.row_table[:, [CUT_ROW.link_a, CUT_ROW.link_b]]
    return Subsystem(
        name=_name(model, bodies),
        links=links,
        rows=tuple(row for row, pair in enumerate(sides) if not set(pair.tolist()).isdisjoint(links)),
        primitives=tuple(
            index
            for index, primitive in enumerate(model.primitives)
            if primitive.first in bodies or primitive.second in bodies
        ),
    )


def _name(model: Model, bodies: set[int]) -> str:
    """Return the name of the corner, of the axle or of all axles that bodies belong to."""
    corners = [corner for corner in model.corners if not bodies.isdisjoint(corner.bodies)]
    axles = {corner.axle for corner in corners}
    axles |= {index for index, axle in enumerate(model.axles) if not bodies.isdisjoint(axle.bodies)}
    if len(corners) == 1 and bodies.issubset(corners[0].bodies):
        return corners[0].name
    return ", ".join(model.axles[index].name for index in sorted(axles))
