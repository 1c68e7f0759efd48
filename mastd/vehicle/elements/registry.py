"""All kinds of force elements: their arrays, and their kernels in the order of computation."""

from __future__ import annotations

from typing import NamedTuple

from mastd.arrays import FloatArray, IntArray
from mastd.kernel import fused_kernel
from mastd.vehicle.elements.anti_roll_bar.arrays import AntiRollBars
from mastd.vehicle.elements.anti_roll_bar.force import bar_forces, start_bars
from mastd.vehicle.elements.anti_roll_bar.jacobian import bar_jacobian
from mastd.vehicle.elements.spring_damper.arrays import SpringDampers
from mastd.vehicle.elements.spring_damper.force import spring_forces
from mastd.vehicle.elements.spring_damper.jacobian import spring_jacobian


class Elements(NamedTuple):
    """The arrays of all force elements."""

    springs: SpringDampers
    bars: AntiRollBars


@fused_kernel
def start_elements(elements: Elements) -> None:
    """Prepare what the groups add to, before the forces of the first one."""
    start_bars(elements.bars)


@fused_kernel
def element_forces(elements: Elements, line: IntArray, slots: FloatArray, weights: FloatArray) -> None:
    """Add the forces of a group's elements to its slots; ``weights`` (LANES): 1 where a lane is in use."""
    spring_forces(elements.springs, line, slots)
    bar_forces(elements.bars, line, slots, weights)


@fused_kernel
def element_jacobian(
    elements: Elements,
    line: IntArray,
    slots: FloatArray,
    cells: FloatArray,
    joint: float,
    velocity: float,
    displacement: float,
) -> None:
    """Add the derivatives of a group's elements to its matrix; the weights are those of ``group_matrix``."""
    spring_jacobian(elements.springs, line, slots, cells, velocity, displacement)
    bar_jacobian(elements.bars, line, slots, cells, joint, displacement)
