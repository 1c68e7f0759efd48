"""From the model to the blocks of the compiled vehicle.

``Arrays`` is all that the kernels see: tables of integers, blocks of constants and of state. ``Layout`` adds
what people ask by: where a body, a joint or a wheel of the model stands in them.

Lanes that are not in use repeat the first part with weight 0. What adds over lanes multiplies with
``weights``; every block is filled in all lanes, tables too, or a lane that repeats half of its part moves
differently. Body 0, the chassis, is the same in all lanes: what writes it writes all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mastd.arrays import FloatArray, IntArray, aligned_zeros
from mastd.kernel import fused_kernel
from mastd.lanes import LANES
from mastd.vehicle.blocks.fields import (
    BODY_SIZE,
    CHASSIS,
    GROUP,
    GROUP_SIZE,
    INERTIA_SIZE,
    LOCAL_BODY_SIZE,
    WHEEL,
    WHEEL_SIZE,
)
from mastd.vehicle.blocks.wheels import WheelBlocks
from mastd.vehicle.elements.anti_roll_bar.arrays import empty_bars, fill_bar, fill_end
from mastd.vehicle.elements.registry import Elements
from mastd.vehicle.elements.spring_damper.arrays import fill_spring, pack_springs, repeat_laws
from mastd.vehicle.elements.spring_damper.element import SpringDamper
from mastd.vehicle.joints.arrays import PRIMITIVE_INDEX, Joints, empty_joints, fill_primitive
from mastd.vehicle.joints.primitive import Primitive
from mastd.vehicle.magic_formula.coefficients import COUNT
from mastd.vehicle.model.definition import Body, Model
from mastd.vehicle.powertrain.model import pack as pack_powertrain
from mastd.vehicle.state.external_constants import pack_air, pack_straps
from mastd.vehicle.state.grouping import Group, Part, axle_groups, corner_groups, references
from mastd.vehicle.tyres.registry import fill_tyre, kind_of

ItemLane = tuple[int, int]
"""Item of a block, and lane."""

NO_TARGET = -100
BLOCK = 4
"""Rows that the substitution with the chord Jacobian's factors takes at a time."""


class Arrays(NamedTuple):
    """Everything that a kernel may read or write; components as in ``fields``."""

    groups: IntArray
    """(groups, GROUP): first the axles' groups, then the corners'."""
    axle_groups: int
    joints: Joints
    elements: Elements
    """Springs, dampers, anti-roll bars."""
    interface_source: IntArray
    """(local bodies, LANES): of an interface body the local body it is copied from, -1 the chassis."""
    interface_lane: IntArray
    target: IntArray
    """(unknowns, LANES): of an interface unknown the unknown it stands for; -1 … -6 the chassis' own;
    NO_TARGET."""
    target_lane: IntArray
    wheel_of: IntArray
    """(wheel items, LANES): the model's wheel in each lane."""
    wheel_count: int
    drive_of: IntArray
    """(drives' block, LANES): the drive that moves a primitive in each lane."""
    weights: FloatArray
    """(groups, LANES): 1 where a lane is in use."""
    bodies: FloatArray
    """The chassis first, the same in each lane, then the groups' bodies."""
    body_constants: FloatArray
    local_bodies: FloatArray
    wheels: FloatArray
    unknowns: FloatArray
    """(unknowns, LANES): right-hand sides; each group begins at a multiple of BLOCK rows."""
    increments: FloatArray
    """(unknowns, LANES): the solution for them."""
    chassis_unknowns: FloatArray
    """(6)."""
    chassis_residual: FloatArray
    """(6) residual force and moment of the chassis in the frame's axes."""
    frame: FloatArray
    """(9) axes of the frame → inertial axes, row by row."""
    external: FloatArray
    """(6) force and moment about its centre of mass that act on the chassis, chassis axes."""
    held: FloatArray
    """(6) 1 for a motion of the chassis that is held, along and about the inertial axes."""
    tyres: FloatArray
    """(wheel items, LANES, coefficients) of Magic Formula tyres."""
    clock: FloatArray
    """(CLOCK)."""
    driver: FloatArray
    """(4) throttle, brake pedal, clutch pedal, gear."""
    drive_constants: FloatArray
    """Of the powertrain, empty: none."""
    drive_state: FloatArray
    drive_wheels: FloatArray
    """(2, wheels) spins and torques, as the powertrain sees them."""
    drive_rows: IntArray
    """(drives, 2) constraint row that a drive moves, and lane."""
    air: FloatArray
    """(AIR)."""
    straps: FloatArray
    """(straps, STRAP)."""
    strap_wrench: FloatArray
    """(6) force of the straps on the ground and its moment about the origin, inertial axes."""


@fused_kernel
def wheel_blocks(car: Arrays) -> WheelBlocks:
    """Return the blocks that tyres are handed."""
    return WheelBlocks(car.wheels, car.local_bodies, car.tyres, car.frame, car.clock)


@dataclass(frozen=True)
class Layout:
    """The arrays, and where the parts of the model stand in them."""

    model: Model
    arrays: Arrays
    cells: int
    """Entries of all groups' matrices."""
    body: tuple[ItemLane, ...]
    """Of each body, item and lane."""
    row: tuple[ItemLane, ...]
    """First row of each primitive."""
    spring: tuple[ItemLane, ...]
    wheel: tuple[ItemLane, ...]
    bar: tuple[ItemLane, ...]
    local: tuple[ItemLane, ...]
    """Own local body of each body; of the chassis (-1, 0)."""


def lay_out(model: Model) -> Layout:
    """Return the arrays of a model, at rest in its design position."""
    return _Builder(model).build()


class _Builder:
    def __init__(self, model: Model) -> None:
        self.model = model
        axles, corners = axle_groups(model), corner_groups(model)
        self.groups = [*axles, *corners]
        self.axle_groups = len(axles)
        self.table = np.full((len(self.groups), GROUP_SIZE), -1, dtype=np.int64)
        self.body: dict[int, ItemLane] = {CHASSIS: (CHASSIS, 0)}
        self.local: dict[int, ItemLane] = {CHASSIS: (-1, 0)}
        self.row: dict[int, ItemLane] = {}
        self.spring: dict[int, ItemLane] = {}
        self.wheel: dict[int, ItemLane] = {}
        self.bar: dict[int, ItemLane] = {}
        self._number()

    def _number(self) -> None:
        counts = dict.fromkeys(
            ("body", "local", "primitive", "spring", "wheel", "bar", "end", "row", "unknown", "cell"), 0
        )
        counts["body"] = 1
        for line, group in zip(self.table, self.groups, strict=True):
            part = group.parts[0]
            bodies, interface = len(part.bodies), len(group.interface)
            rows = sum(self.model.primitives[k].kind.rows for k in part.primitives)
            line[[GROUP.first_body, GROUP.bodies]] = counts["body"], bodies
            line[[GROUP.first_local, GROUP.interfaces]] = counts["local"], interface
            line[[GROUP.first_primitive, GROUP.primitives]] = counts["primitive"], len(part.primitives)
            line[[GROUP.first_spring, GROUP.springs]] = counts["spring"], len(part.springs)
            line[[GROUP.first_row, GROUP.rows]] = counts["row"], rows
            own = 6 * bodies
            if part.wheel >= 0:
                line[[GROUP.wheel, GROUP.spin_unknown]] = counts["wheel"], own
                carrier = self.model.wheels[part.wheel].carrier
                line[GROUP.carrier] = interface + part.bodies.index(carrier)
                line[GROUP.tyre] = kind_of(self.model.wheels[part.wheel].tyre)
                own += 1
            if part.bar >= 0:
                line[[GROUP.bar, GROUP.bar_unknown]] = counts["bar"], own
                own += 1
            line[GROUP.row_unknown] = own
            own += rows
            size = own + 6 * interface + (group.bar_end_body >= 0)
            if group.bar_end_body >= 0:
                line[[GROUP.bar_end, GROUP.bar_end_body]] = counts["end"], interface + group.bar_end_body
            line[[GROUP.first_unknown, GROUP.unknowns, GROUP.size]] = counts["unknown"], own, size
            line[GROUP.first_cell] = counts["cell"]
            self._number_parts(group, line)
            counts["body"] += bodies
            counts["local"] += bodies + interface
            counts["primitive"] += len(part.primitives)
            counts["spring"] += len(part.springs)
            counts["row"] += rows
            counts["wheel"] += part.wheel >= 0
            counts["bar"] += part.bar >= 0
            counts["end"] += group.bar_end_body >= 0
            counts["unknown"] += -(-size // BLOCK) * BLOCK
            counts["cell"] += size * size
        self.counts = counts

    def _number_parts(self, group: Group, line: IntArray) -> None:
        for lane, part in enumerate(group.parts):
            for k, body in enumerate(part.bodies):
                self.body[body] = (int(line[GROUP.first_body]) + k, lane)
                self.local[body] = (int(line[GROUP.first_local] + line[GROUP.interfaces]) + k, lane)
            row = int(line[GROUP.first_row])
            for primitive in part.primitives:
                self.row[primitive] = (row, lane)
                row += self.model.primitives[primitive].kind.rows
            for k, spring in enumerate(part.springs):
                self.spring[spring] = (int(line[GROUP.first_spring]) + k, lane)
            if part.wheel >= 0:
                self.wheel[part.wheel] = (int(line[GROUP.wheel]), lane)
            if part.bar >= 0:
                self.bar[part.bar] = (int(line[GROUP.bar]), lane)

    def build(self) -> Layout:
        model, counts = self.model, self.counts
        drive_constants, drive_state = np.zeros(0), np.zeros(0)
        if model.powertrain is not None:
            drive_constants, drive_state = pack_powertrain(model.powertrain, model.wheels)
        driven = [k for k, primitive in enumerate(model.primitives) if primitive.drive >= 0]
        arrays = Arrays(
            groups=self.table,
            axle_groups=self.axle_groups,
            joints=empty_joints(counts["primitive"], counts["row"], len(driven)),
            elements=Elements(
                pack_springs(model.springs, self.spring, counts["spring"]),
                empty_bars(counts["bar"], counts["end"]),
            ),
            interface_source=np.full((counts["local"], LANES), -1, dtype=np.int64),
            interface_lane=np.zeros((counts["local"], LANES), dtype=np.int64),
            target=np.full((counts["unknown"], LANES), NO_TARGET, dtype=np.int64),
            target_lane=np.zeros((counts["unknown"], LANES), dtype=np.int64),
            wheel_of=np.zeros((counts["wheel"], LANES), dtype=np.int64),
            wheel_count=len(model.wheels),
            drive_of=np.zeros((len(driven), LANES), dtype=np.int64),
            weights=aligned_zeros((len(self.groups), LANES)),
            bodies=aligned_zeros((counts["body"], BODY_SIZE, LANES)),
            body_constants=aligned_zeros((counts["body"], INERTIA_SIZE, LANES)),
            local_bodies=aligned_zeros((counts["local"], LOCAL_BODY_SIZE, LANES)),
            wheels=aligned_zeros((counts["wheel"], WHEEL_SIZE, LANES)),
            unknowns=aligned_zeros((counts["unknown"], LANES)),
            increments=aligned_zeros((counts["unknown"], LANES)),
            chassis_unknowns=np.zeros(6),
            chassis_residual=np.zeros(6),
            frame=np.eye(3).ravel(),
            external=np.zeros(6),
            held=np.array([float(k in model.held) for k in range(6)]),
            tyres=aligned_zeros((counts["wheel"], LANES, COUNT)),
            clock=np.array([1e-3, 0.0]),
            driver=np.zeros(4),
            drive_constants=drive_constants,
            drive_state=drive_state,
            drive_wheels=np.zeros((2, len(model.wheels))),
            drive_rows=np.zeros((len(model.drives), 2), dtype=np.int64),
            air=pack_air(model),
            straps=pack_straps(model),
            strap_wrench=np.zeros(6),
        )
        for index, primitive in enumerate(model.primitives):
            if primitive.drive >= 0:
                arrays.drive_rows[primitive.drive] = self.row[index]
        arrays.body_constants[CHASSIS] = _body_constants(model.bodies[CHASSIS])[:, np.newaxis]
        item = 0
        for index, (line, group) in enumerate(zip(self.table, self.groups, strict=True)):
            arrays.weights[index, : len(group.parts)] = 1.0
            for lane, part in enumerate(group.lanes()):
                self._fill_bodies(arrays, line, part, lane)
                self._fill_elements(arrays, line, group, part, lane)
                self._fill_interface(arrays, line, group, part, lane)
            item = self._fill_drives(arrays, line, group, item)
            springs = slice(
                int(line[GROUP.first_spring]), int(line[GROUP.first_spring] + line[GROUP.springs])
            )
            for lane in range(len(group.parts), LANES):
                repeat_laws(arrays.elements.springs, springs, lane)
        return Layout(
            model=model,
            arrays=arrays,
            cells=counts["cell"],
            body=_listed(self.body, len(model.bodies)),
            row=_listed(self.row, len(model.primitives)),
            spring=_listed(self.spring, len(model.springs)),
            wheel=_listed(self.wheel, len(model.wheels)),
            bar=_listed(self.bar, len(model.bars)),
            local=_listed(self.local, len(model.bodies)),
        )

    def _fill_bodies(self, arrays: Arrays, line: IntArray, part: Part, lane: int) -> None:
        for k, body in enumerate(part.bodies):
            arrays.body_constants[line[GROUP.first_body] + k, :, lane] = _body_constants(
                self.model.bodies[body]
            )

    def _fill_elements(self, arrays: Arrays, line: IntArray, group: Group, part: Part, lane: int) -> None:
        model = self.model
        lanes = list(zip(*(references(model, other) for other in group.parts), strict=True))
        local_bodies = [
            group.local(min(lane, len(group.parts) - 1) if lane < len(group.parts) else 0, body, lanes[k])
            for k, body in enumerate(references(model, part))
        ]
        row = 0
        for k, index in enumerate(part.primitives):
            primitive, item_lane = model.primitives[index], (int(line[GROUP.first_primitive]) + k, lane)
            arms = self._arms(primitive)
            fill_primitive(arrays.joints, item_lane, primitive, local_bodies[2 * k : 2 * k + 2], row, arms)
            row += primitive.kind.rows
        for k, index in enumerate(part.springs):
            spring, item_lane = model.springs[index], (int(line[GROUP.first_spring]) + k, lane)
            first = 2 * (len(part.primitives) + k)
            ends = local_bodies[first : first + 2]
            fill_spring(arrays.elements.springs, item_lane, spring, ends, self._arms(spring))
        if part.wheel >= 0:
            self._fill_wheel(arrays, int(line[GROUP.wheel]), part.wheel, lane)
        if part.bar >= 0:
            fill_bar(arrays.elements.bars, int(line[GROUP.bar]), lane, model.bars[part.bar])
        if group.bar_end_body >= 0 and part.end >= 0:
            bar, end = model.bars[part.end], (int(line[GROUP.bar_end]), lane)
            left = part.end_body == bar.body_left
            arm = self._arm(part.end_body, bar.point_left if left else bar.point_right)
            fill_end(arrays.elements.bars, end, self.bar[part.end], arm, left)

    def _fill_wheel(self, arrays: Arrays, at: int, index: int, lane: int) -> None:
        wheel = self.model.wheels[index]
        arrays.wheel_of[at, lane] = index
        values = arrays.wheels[at, :, lane]
        values[WHEEL.centre : WHEEL.centre + 3] = self._arm(wheel.carrier, wheel.centre)
        values[WHEEL.axis : WHEEL.axis + 3] = wheel.axis
        values[WHEEL.axial_inertia] = wheel.axial_inertia
        values[WHEEL.friction] = 1.0
        values[WHEEL.start_load] = 1.0
        values[WHEEL.max_brake_torque] = wheel.brake_torque
        fill_tyre(values, arrays.tyres[at, lane], wheel.tyre)

    def _fill_interface(self, arrays: Arrays, line: IntArray, group: Group, part: Part, lane: int) -> None:
        position = lane if lane < len(group.parts) else 0
        first = int(line[GROUP.first_unknown] + line[GROUP.unknowns])
        for k, bodies in enumerate(group.interface):
            local, other = self.local[bodies[position]]
            arrays.interface_source[line[GROUP.first_local] + k, lane] = local
            arrays.interface_lane[line[GROUP.first_local] + k, lane] = other
            rows = slice(first + 6 * k, first + 6 * k + 6)
            arrays.target[rows, lane] = list(self._unknown_of(bodies[position]))
            arrays.target_lane[first + 6 * k : first + 6 * k + 6, lane] = other
        if group.bar_end_body >= 0 and part.end >= 0:
            item, other = self.bar[part.end]
            owner = next(entry for entry in self.table if entry[GROUP.bar] == item)
            arrays.target[first + 6 * len(group.interface), lane] = (
                owner[GROUP.first_unknown] + owner[GROUP.bar_unknown]
            )
            arrays.target_lane[first + 6 * len(group.interface), lane] = other

    def _unknown_of(self, body: int) -> Iterable[int]:
        if body == CHASSIS:
            return range(-1, -7, -1)
        item = self.body[body][0]
        owner = next(
            entry
            for entry in self.table
            if entry[GROUP.first_body] <= item < entry[GROUP.first_body] + entry[GROUP.bodies]
        )
        first = int(owner[GROUP.first_unknown]) + 6 * (item - int(owner[GROUP.first_body]))
        return range(first, first + 6)

    def _fill_drives(self, arrays: Arrays, line: IntArray, group: Group, item: int) -> int:
        for k, index in enumerate(group.parts[0].primitives):
            if self.model.primitives[index].drive < 0:
                continue
            arrays.joints.primitives[line[GROUP.first_primitive] + k, PRIMITIVE_INDEX.drive] = item
            for lane, part in enumerate(group.lanes()):
                arrays.drive_of[item, lane] = self.model.primitives[part.primitives[k]].drive
            item += 1
        return item

    def _arms(self, element: Primitive | SpringDamper) -> tuple[FloatArray, FloatArray]:
        return self._arm(element.first, element.point_first), self._arm(element.second, element.point_second)

    def _arm(self, body: int, point: FloatArray) -> FloatArray:
        return np.asarray(point - self.model.bodies[body].centre, dtype=np.float64)


def _body_constants(body: Body) -> FloatArray:
    j = body.inertia
    return np.array([body.mass, j[0, 0], j[1, 1], j[2, 2], j[0, 1], j[0, 2], j[1, 2]])


def _listed(item_lanes: dict[int, ItemLane], count: int) -> tuple[ItemLane, ...]:
    return tuple(item_lanes[k] for k in range(count))
