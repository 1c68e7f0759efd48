"""The spanning tree of a vehicle: arrays (1)–(3) of Kang and Yoon, found from the joints alone.

Joints of one and two freedoms stay in the tree; spherical ones carry a body only where nothing else does.
What is left over are the cuts: ball joints and massless links that close the loops, and single dots.
Wheels are rotors on their carriers and stand in no tree.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mastd.errors import UsageError
from mastd.formulations.tree.design_rank import check_ranks, joined
from mastd.formulations.tree.joints import Edge, Link, TreeJoint, edges_of, free_link
from mastd.formulations.tree.paths import above_common, common_lower, path_down
from mastd.vehicle.model.definition import Model

__all__ = ["Link", "Topology", "TreeJoint", "topology_of"]

_CHASSIS = 0
_GROUND = -1


@dataclass(frozen=True, eq=False)
class Topology:
    """A spanning tree and what was cut to get it."""

    links: tuple[Link, ...]
    """In height order, the chassis first; of equal heights in the order of the model's bodies."""
    cuts: tuple[int, ...]
    """Indices of the model's primitives that stay constraints, rising."""

    @property
    def connection(self) -> tuple[int, ...]:
        """Γ, eq. (1): of each body of the model its lower body, -1 the ground."""
        lower = {link.body: link.lower for link in self.links}
        return tuple(lower[body] for body in range(len(self.links)))

    @property
    def height(self) -> tuple[int, ...]:
        """H, eq. (2): of each body of the model the number of bodies down to the ground, itself counted."""
        connection = self.connection
        return tuple(len(path_down(connection, body)) for body in range(len(self.links)))

    @property
    def height_order(self) -> tuple[int, ...]:
        """Π, eq. (3): the model's bodies, lowest first."""
        return tuple(link.body for link in self.links)

    @property
    def coordinates(self) -> int:
        """Number of velocity coordinates n, those held and driven included."""
        return sum(link.joint.coordinates for link in self.links)

    def link_of(self, body: int) -> Link:
        """Return the link of a body of the model."""
        return next(link for link in self.links if link.body == body)

    def constrained(self, model: Model, cut: int) -> tuple[int, ...]:
        """Return the bodies whose coordinates a cut constrains, rising.

        These are the ones on its two branches above the common lower body (section 3.3 of Kang and Yoon).
        """
        primitive = model.primitives[cut]
        return tuple(sorted(above_common(self.connection, primitive.first, primitive.second)))


def topology_of(model: Model) -> Topology:
    """Return the spanning tree of a model and its cuts.

    Raise UsageError, one line each, with the joints of loops that have no ball joint and no massless link to
    be cut at, or else with the joints whose cut equations depend on each other in the design position.
    """
    edges, alone = edges_of(model)
    tree, left = _spanning(len(model.bodies), edges)
    uncut = [edge for edge in left if edge.joint is not TreeJoint.SPHERICAL]
    if uncut:
        raise UsageError("\n".join(_loop(model, tree, edge) for edge in uncut))
    cuts = tuple(sorted([*alone, *(index for edge in left for index in edge.primitives)]))
    links = _rooted(model, tree, cuts)
    topology = Topology(links, cuts)
    check_ranks(model, links, cuts, [topology.constrained(model, cut) for cut in cuts])
    return topology


def _spanning(bodies: int, edges: Sequence[Edge]) -> tuple[list[Edge], list[Edge]]:
    """Return the joints that make a tree (or several), those of few freedoms first, and the others."""
    root = list(range(bodies))

    def find(body: int) -> int:
        while root[body] != body:
            body = root[body]
        return body

    tree: list[Edge] = []
    left: list[Edge] = []
    for edge in sorted(edges, key=lambda each: each.joint.coordinates):
        first, second = find(edge.first), find(edge.second)
        if first == second:
            left.append(edge)
        else:
            root[second] = first
            tree.append(edge)
    return tree, left


def _grown(tree: Sequence[Edge], start: int) -> list[tuple[Edge, int]]:
    """Return the joints that are reached from a body with the lower body of each, breadth first."""
    reached = {start}
    front = [start]
    found: list[tuple[Edge, int]] = []
    while front:
        upper: list[int] = []
        for lower in front:
            for edge in tree:
                ends = edge.first, edge.second
                if lower not in ends:
                    continue
                body = ends[0] if ends[1] == lower else ends[1]
                if body not in reached:
                    reached.add(body)
                    upper.append(body)
                    found.append((edge, lower))
        front = upper
    return found


def _rooted(model: Model, tree: Sequence[Edge], cuts: Sequence[int]) -> tuple[Link, ...]:
    """Return the links in height order: the chassis' tree, then what only massless links or springs hold."""
    links = {_CHASSIS: free_link(model, _CHASSIS, _GROUND)}
    _hang(links, tree, _CHASSIS)
    ties = [(model.primitives[cut].first, model.primitives[cut].second) for cut in cuts]
    springs = [(spring.first, spring.second) for spring in model.springs]
    while len(links) < len(model.bodies):
        parts = _parts(tree, [body for body in range(len(model.bodies)) if body not in links])
        holds = [_outer_ends(ties, part) or _outer_ends(springs, part) for part in parts]
        loose = [sum(other not in links for _, other in held) for held in holds]
        chosen = loose.index(min(loose))  # what it hangs on should stand in the tree already
        held = holds[chosen]
        lower = _common([other for _, other in held if other in links], links)
        own = [body for body, _ in held]
        root = max(parts[chosen], key=lambda body: (own.count(body), -body))
        links[root] = free_link(model, root, lower)
        _hang(links, tree, root)
    connection = [links[body].lower for body in range(len(model.bodies))]
    order = sorted(links, key=lambda body: (len(path_down(connection, body)), body))
    return tuple(links[body] for body in order)


def _hang(links: dict[int, Link], tree: Sequence[Edge], root: int) -> None:
    for edge, lower in _grown(tree, root):
        link = edge.link(lower)
        links[link.body] = link


def _parts(tree: Sequence[Edge], bodies: Iterable[int]) -> list[list[int]]:
    """Return the bodies that joints hold together, part by part."""
    parts: list[list[int]] = []
    for body in bodies:
        if not any(body in part for part in parts):
            others = (end for edge, _ in _grown(tree, body) for end in (edge.first, edge.second))
            parts.append(sorted({body, *others}))
    return parts


def _outer_ends(ties: Iterable[tuple[int, int]], part: Sequence[int]) -> list[tuple[int, int]]:
    """Return own and other body of all that holds a part."""
    both = [pair for first, second in ties for pair in ((first, second), (second, first))]
    return [(own, other) for own, other in both if own in part and other not in part]


def _common(bodies: Sequence[int], links: dict[int, Link]) -> int:
    """Return the highest body that is below (or is) all of the given ones; the chassis for none."""
    connection = {body: link.lower for body, link in links.items()}
    common = bodies[0] if bodies else _CHASSIS
    for body in bodies[1:]:
        common = common_lower(connection, common, body)
    return common


def _loop(model: Model, tree: Sequence[Edge], edge: Edge) -> str:
    """Return the message about the loop that a joint closes."""
    upward = [each.link(below) for each, below in _grown(tree, edge.first)]
    lower = {link.body: (link.lower, link.name) for link in upward}
    names = [edge.name]
    body = edge.second
    while body != edge.first:
        body, name = lower[body]
        names.append(name)
    return (
        f"{model.name}: the loop of {joined(list(dict.fromkeys(names)))} cannot be cut: it has neither a"
        " spherical joint nor a distance link; make one joint spherical, or one body a distance link"
    )
