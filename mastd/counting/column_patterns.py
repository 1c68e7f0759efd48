"""Which columns can be other than zero: of V and W of a body, of Φ_q, M, B_di and the reduced mass matrix.

Columns are coordinates, numbered in height order of the bodies. Prescribed ones are no columns. Dependent
coordinates are those that full pivoting chooses in the design position, group by group.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from mastd.arrays import FloatArray
from mastd.formulations.tree.body_groups import BodyGroup
from mastd.formulations.tree.design_rank import cut_jacobian
from mastd.formulations.tree.paths import path_down
from mastd.formulations.tree.topology import Topology
from mastd.vehicle.model.definition import Model

Pattern = dict[int, set[int]]


class Patterns:
    """The columns of one model.

    Public: ``unknown`` columns, highest bodies first, and the ``independent`` ones among them; ``images``: of
    each unknown column the independent ones that it depends on, itself if it is one; ``constraint_rows``: the
    columns of each row of Φ_q; ``group_sizes``: of each group with constraints the rows and columns of B_di.
    """

    def __init__(self, model: Model, topology: Topology, groups: Sequence[BodyGroup]) -> None:
        self.model = model
        self.topology = topology
        self._own: dict[int, list[int]] = {}
        self._rotational: set[int] = set()
        self._number()
        self.unknown = [column for link in reversed(topology.links) for column in self._unknown_of(link.body)]
        self.images: Pattern = {column: {column} for column in self.unknown}
        self.group_sizes: list[tuple[int, int]] = []
        self._group_of: dict[int, int] = {}
        for index, group in enumerate(groups):
            self._group_of |= dict.fromkeys(group.bodies, index)
            if group.cuts:
                self._divide(group)
        self.independent = [column for column in self.unknown if self.images[column] == {column}]
        self.constraint_rows = [
            columns
            for cut in topology.cuts
            for columns in [self.cut_columns(cut)] * model.primitives[cut].kind.rows
        ]

    def _number(self) -> None:
        first = 0
        for link in self.topology.links:
            columns = list(range(first, first + link.joint.coordinates))
            self._own[link.body] = columns
            if link.joint.rotations:
                self._rotational |= set(columns[-link.joint.rotations :])
            first += link.joint.coordinates

    def _unknown_of(self, body: int) -> list[int]:
        link = self.topology.link_of(body)
        if link.drive >= 0:
            return []
        held = self.model.held if link.lower < 0 else ()
        return [column for k, column in enumerate(self._own[body]) if k not in held]

    def _divide(self, group: BodyGroup) -> None:
        """Choose the group's dependent coordinates; what they depend on are the others of its cuts."""
        constrained = {body for cut in group.cuts for body in self.topology.constrained(self.model, cut)}
        own = [column for body in group.bodies for column in self._unknown_of(body)]
        outer = {column for body in constrained - set(group.bodies) for column in self._unknown_of(body)}
        matrix = cut_jacobian(self.model, self.topology.links, group.cuts, group.bodies)
        dependent = [own[k] for k in pivots(matrix)]
        images = outer | (set(own) - set(dependent))
        self.images |= dict.fromkeys(dependent, images)
        self.group_sizes.append((len(dependent), len(images)))

    def lower_rotations(self, body: int) -> int:
        """Return the number of rotational coordinates of a body and those below it, prescribed ones too."""
        return sum(column in self._rotational for lower in self._path(body) for column in self._own[lower])

    def columns(self, body: int) -> tuple[int, int]:
        """Return the numbers of columns of V and W of a body."""
        found = self._below(body)
        return len(found), len(found & self._rotational)

    def independent_columns(self, body: int) -> tuple[int, int]:
        """Return the numbers of columns of V_di and W_di of a body, (33), (34)."""
        found = self._below(body)
        return len(self._image(found)), len(self._image(found & self._rotational))

    def dependent_counts(self, body: int) -> list[tuple[int, int]]:
        """Return for each group below a body NDLQ + NDRQ, and the columns f of its B_di (Table 3)."""
        counts: dict[int, list[int]] = {}
        for lower in self._path(body):
            for column in self._unknown_of(lower):
                if self.images[column] != {column}:
                    count = counts.setdefault(self._group_of[lower], [0, len(self.images[column])])
                    count[0] += 2 if column in self._rotational else 1
        return [(count, width) for count, width in counts.values()]

    def cut_columns(self, cut: int) -> set[int]:
        """Return the columns of a cut's rows."""
        bodies = self.topology.constrained(self.model, cut)
        return {column for body in bodies for column in self._unknown_of(body)}

    def mass(self) -> Pattern:
        """Return the pattern of M, diagonal included, highest bodies first."""
        return self._products([self._below(link.body) for link in self.topology.links], self.unknown)

    def reduced_mass(self) -> Pattern:
        """Return the pattern of the mass matrix of the independent coordinates.

        It is doubly bordered block diagonal: highest bodies come first, the chassis, the border, last.
        """
        sets = [self._image(self._below(link.body)) for link in self.topology.links]
        return self._products(sets, self.independent)

    def _products(self, sets: Iterable[set[int]], order: Sequence[int]) -> Pattern:
        pattern: Pattern = {column: set() for column in order}
        for columns in sets:
            for column in columns:
                pattern[column] |= columns
        return pattern

    def _image(self, columns: Iterable[int]) -> set[int]:
        return {image for column in columns for image in self.images[column]}

    def _below(self, body: int) -> set[int]:
        return {column for lower in self._path(body) for column in self._unknown_of(lower)}

    def _path(self, body: int) -> list[int]:
        return path_down(self.topology.connection, body)


def pivots(matrix: FloatArray) -> list[int]:
    """Return the columns that full pivoting chooses for the rows of a matrix (rows, columns) of full rank."""
    work = matrix.copy()
    chosen: list[int] = []
    for step in range(len(work)):
        rest = np.abs(work[step:])
        row, column = np.unravel_index(int(np.argmax(rest)), rest.shape)
        work[[step, step + int(row)]] = work[[step + int(row), step]]
        factors = work[step + 1 :, column] / work[step, column]
        work[step + 1 :] -= np.outer(factors, work[step])
        work[step:, column] = 0.0
        work[step] = 0.0
        chosen.append(int(column))
    return sorted(chosen)
