"""Arrays of the spring-dampers, as the kernels read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Final, NamedTuple

import numpy as np

from mastd.arrays import FloatArray, IntArray, aligned_zeros
from mastd.index_table import Entry, index_table, size_of
from mastd.lanes import LANES
from mastd.vehicle.elements.spring_damper.element import SpringDamper
from mastd.vehicle.elements.spring_damper.laws import Laws, pack_laws


class SpringRow(NamedTuple):
    """Constants and results of a spring-damper."""

    point_first: Annotated[int, Entry("m", "from the first body's centre of mass, its axes", 3)]
    point_second: Annotated[int, Entry("m", "of the second body", 3)]
    stiffness: Annotated[int, Entry("N/m", "")]
    free_length: Annotated[int, Entry("m", "")]
    damping: Annotated[int, Entry("N s/m", "0 where there is a table")]
    length: Annotated[int, Entry("m", "present length: a result, as all that follows")]
    rate: Annotated[int, Entry("m/s", "of the length")]
    force: Annotated[int, Entry("N", "compression positive, the prescribed one included")]
    by_length: Annotated[int, Entry("N/m", "derivative of the force by length")]
    by_rate: Annotated[int, Entry("N s/m", "derivative of the force by its rate")]
    prescribed: Annotated[int, Entry("N", "from outside the model; no part of the derivatives")]


SPRING: Final = index_table(SpringRow)


class EndRow(NamedTuple):
    """Integers of a spring-damper, the same in all lanes."""

    first: Annotated[int, Entry("1", "local index of the first body")]
    second: Annotated[int, Entry("1", "of the second body")]
    has_laws: Annotated[int, Entry("1", "1: at least one lane has a law")]


SPRING_END: Final = index_table(EndRow)


class SpringDampers(NamedTuple):
    """All spring-dampers, group by group."""

    ends: IntArray
    """(springs, SPRING_END)."""
    values: FloatArray
    """(springs, SPRING, LANES)."""
    laws: Laws


def pack_springs(
    springs: Sequence[SpringDamper], item_lanes: Mapping[int, tuple[int, int]], items: int
) -> SpringDampers:
    """Return the arrays for spring-dampers at these places (item, lane), constants without points."""
    ends = np.zeros((items, size_of(SPRING_END)), dtype=np.int64)
    values = aligned_zeros((items, size_of(SPRING), LANES))
    return SpringDampers(ends, values, pack_laws(springs, item_lanes, items))


def fill_spring(
    block: SpringDampers,
    item_lane: tuple[int, int],
    spring: SpringDamper,
    local_bodies: Sequence[int],
    arms: Sequence[FloatArray],
) -> None:
    """Write a spring-damper between two local bodies of its group, its points seen from the centres of
    mass."""
    item, lane = item_lane
    block.ends[item, : SPRING_END.has_laws] = local_bodies
    if spring.has_laws:
        block.ends[item, SPRING_END.has_laws] = 1
    row = block.values[item, :, lane]
    row[SPRING.point_first : SPRING.point_second] = arms[0]
    row[SPRING.point_second : SPRING.stiffness] = arms[1]
    row[SPRING.stiffness] = spring.stiffness
    row[SPRING.free_length] = spring.free_length
    row[SPRING.damping] = spring.damping if spring.damper_table is None else 0.0


def repeat_laws(block: SpringDampers, items: slice, lane: int) -> None:
    """Give a lane that is not in use the laws of the first one."""
    tables = block.laws.damper_table
    for table in (tables.first, tables.lines, *block.laws[1:]):
        table[items, ..., lane] = table[items, ..., 0]
