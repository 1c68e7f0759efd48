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
def element_forces(elements: Elements, line: IntArray, local_bodies: FloatArray, weights: FloatArray) -> None:
    """Add the forces of a group's elements to its local bodies; ``weights`` (LANES): 1 where a lane is in
    use."""
    spring_forces(elements.springs, line, local_bodies)
    bar_forces(elements.bars, line, local_bodies, weights)


@fused_kernel
def element_jacobian(
    elements: Elements,
    line: IntArray,
    local_bodies: FloatArray,
    cells: FloatArray,
    joint: float,
    velocity: float,
    displacement: float,
) -> None:
    """Add the derivatives of a group's elements to its matrix; the weights are those of
    ``group_jacobian``."""
    spring_jacobian(elements.springs, line, local_bodies, cells, velocity, displacement)
    bar_jacobian(elements.bars, line, local_bodies, cells, joint, displacement)
