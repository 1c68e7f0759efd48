"""Groups of bodies that move independently of each other except for their own constraints, section 3.3 of
Kang and Yoon.

The paper tries all 2^(n-1) − 1 ways to part n bodies in two, and parts each half again. A set can be parted
just where its constraints do not hang together by common bodies, so the recursion ends with the connected
sets; they are found at once. Where a set hangs together, bodies are taken out, one, then two, then three at a
time, until the rest can be parted. Only bodies of two or more constraints are tried: one that stands in a
single constraint parts nothing. What is taken out is a group of its own, as an unconstrained body is.

The paper asks that a rest has more coordinates than equations. Ours must also have full rank in the design
position, so that dependent coordinates can be chosen among the group's own. Driven coordinates count as none.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from mastd.formulations.tree.design_rank import connected, full_rank
from mastd.formulations.tree.topology import Topology
from mastd.vehicle.model.definition import Model

MAX_TAKEN_OUT: Final = 3
"""Bodies that are taken out at one time at the most."""


Members = tuple[Collection[int], Sequence[int]]
"""Bodies and cuts of a group."""


@dataclass(frozen=True)
class BodyGroup:
    """Bodies whose motion is any that their own constraints allow."""

    name: str
    bodies: tuple[int, ...]
    """In height order."""
    cuts: tuple[int, ...]
    """Indices of the model's primitives, rising; none: all coordinates are independent."""


def body_groups(model: Model, topology: Topology) -> tuple[BodyGroup, ...]:
    """Return the groups of all bodies, in the order of their lowest bodies in height order."""
    return _Grouping(model, topology).groups()


class _Grouping:
    def __init__(self, model: Model, topology: Topology) -> None:
        self.model = model
        self.topology = topology
        self.constrained = {cut: frozenset(topology.constrained(model, cut)) for cut in topology.cuts}
        self.coordinates = {
            link.body: 0 if link.drive >= 0 else link.joint.coordinates for link in topology.links
        }

    def groups(self) -> tuple[BodyGroup, ...]:
        order = {body: index for index, body in enumerate(self.topology.height_order)}
        found = self._parted(self.topology.cuts, frozenset())
        grouped = {body for bodies, _ in found for body in bodies}
        found += [({body}, ()) for body in order if body not in grouped]
        groups = []
        for bodies, cuts in found:
            sequence = tuple(sorted(bodies, key=order.__getitem__))
            groups.append(BodyGroup(self._name(sequence), sequence, tuple(sorted(cuts))))
        return tuple(sorted(groups, key=lambda group: order[group.bodies[0]]))

    def _parted(self, cuts: Sequence[int], out: frozenset[int]) -> list[Members]:
        """Return bodies and cuts of the groups that cuts fall into when the bodies ``out`` are apart."""
        sets = [self.constrained[cut] - out for cut in cuts]
        found: list[Members] = []
        for indices in connected(sets):
            own = [cuts[k] for k in indices]
            bodies = frozenset().union(*(sets[k] for k in indices))
            taken = self._take_out(own, out)
            if taken is None:
                found.append((bodies, own))
            else:
                found += self._parted(own, out | taken)
                found += [({body}, ()) for body in taken]
        return found

    def _take_out(self, cuts: Sequence[int], out: frozenset[int]) -> frozenset[int] | None:
        """Return the fewest bodies without which the cuts part in two or more, None if there are none."""
        sets = [self.constrained[cut] - out for cut in cuts]
        shared = sorted({body for one in sets for body in one if sum(body in each for each in sets) > 1})
        for count in range(1, MAX_TAKEN_OUT + 1):
            for chosen in combinations(shared, count):
                if self._parts_well(cuts, [each.difference(chosen) for each in sets]):
                    return frozenset(chosen)
        return None

    def _parts_well(self, cuts: Sequence[int], sets: Sequence[frozenset[int]]) -> bool:
        """Return whether cuts with these bodies part in two or more groups, each with freedom and rank."""
        parts = connected(sets)
        if len(parts) < 2:
            return False
        for indices in parts:
            own = [cuts[k] for k in indices]
            bodies = frozenset().union(*(sets[k] for k in indices))
            rows = sum(self.model.primitives[cut].kind.rows for cut in own)
            if sum(self.coordinates[body] for body in bodies) <= rows:
                return False
            if not full_rank(self.model, self.topology.links, own, bodies):
                return False
        return True

    def _name(self, bodies: Sequence[int]) -> str:
        """Return the words that all names of bodies begin with, or else the first name and the count."""
        names = [self.model.bodies[body].name.split() for body in bodies]
        if len(names) == 1:
            return " ".join(names[0])
        common = []
        for parts in zip(*names, strict=False):
            if len(set(parts)) > 1:
                break
            common.append(parts[0])
        return " ".join(common) or f"{' '.join(names[0])} and {len(names) - 1} more"
