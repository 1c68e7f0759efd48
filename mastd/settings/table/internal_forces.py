"""The patterns of internal force of a table with their names and limits."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from mastd.arrays import FloatArray
from mastd.settings.table.patterns import basis, members, pattern_name
from mastd.settings.table.table import TableSettings

FORCE_RATIO: Final = 0.2
"""Default limit of a pattern over the force at which the first actuator in it has its maximum force."""


class ForcePattern(NamedTuple):
    """One pattern: name, ``vector`` (n,) of length 1, limit of the force in N, indices of its actuators."""

    name: str
    vector: FloatArray
    limit: float
    actuators: tuple[int, ...]


def force_patterns(table: TableSettings) -> tuple[ForcePattern, ...]:
    """Return the patterns of internal force of ``table``: those that its file names, then computed ones."""
    links, stated = table.links, table.limits.internal_forces
    joints = tuple((link.table_joint, link.base_joint) for link in links)
    names = [link.name for link in links]
    chosen = tuple(tuple(sorted(names.index(name) for name in one.actuators)) for one in stated)
    maximum = np.array([type_.body.maximum_force for type_ in table.types])
    found = []
    for k, vector in enumerate(basis(joints, table.neutral_position, table.freedoms, chosen)):
        inside = members(vector)
        limit = table.limits.internal_force
        name = pattern_name(vector, joints, table.neutral_position, names)
        if k < len(stated):
            name, limit = stated[k].name, stated[k].force or limit
        if limit is None:
            limit = FORCE_RATIO * min(float(maximum[i] / abs(vector[i])) for i in inside)
        found.append(ForcePattern(name, vector, limit, inside))
    return tuple(found)


def pattern_entries(table: TableSettings) -> list[dict[str, Any]]:
    """Return name, actuators by name, unit vector and limit in N of each pattern as plain data."""
    return [
        {
            "name": pattern.name,
            "actuators": [table.links[i].name for i in pattern.actuators],
            "vector": pattern.vector.tolist(),
            "limit_n": pattern.limit,
        }
        for pattern in force_patterns(table)
    ]
