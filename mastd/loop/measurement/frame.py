"""The frame: one float64 array per cycle in which the loop computes, and which the recorder keeps.

Samples are unpacked into it, kernels write into views of it, commands are packed from it; recording a cycle
is one copy. Frame k holds sample k and what was computed from it: the pose is the measured one at step k,
reference and command are meant for step k + 1, whose sample answers them.

The last numbers are those of a simulated vehicle (``mastd.wire.common.vehicle_block``); a record has as many
of them as the vehicle has names for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, NamedTuple

import numpy as np

from mastd.arrays import FloatArray
from mastd.index_table import Entry, entries, index_table
from mastd.record.channels import Channel
from mastd.settings.core.axes import AXES
from mastd.settings.table.internal_forces import force_patterns
from mastd.settings.table.table import TableSettings
from mastd.wire.common.layout import SUPPLY_FIELDS, Field, Layout, command_layout, sample_layout
from mastd.wire.common.vehicle_block import VEHICLE_NUMBERS, vehicle_fields
from mastd.wire.plant.table_block import instruments

VEHICLE, RIGS = "vehicle", "rigs"


class ScalarRow(NamedTuple):
    """The first numbers of the frame: what belongs to the cycle itself."""

    cycle: Annotated[int, Entry("1", "cycles executed, counted from 0")]
    step: Annotated[int, Entry("1", "step of the sample")]
    plant_time: Annotated[int, Entry("s", "plant time of the sample")]
    profile_time: Annotated[
        int, Entry("s", "time in the profile that the reference belongs to, NaN without one")
    ]
    state: Annotated[int, Entry("1", "state, see the record's list of states")]
    fault: Annotated[int, Entry("1", "code of the latched fault, 0 for none")]
    flags: Annotated[int, Entry("1", "flags of the sample as an integer")]
    late: Annotated[int, Entry("s", "start of the cycle after its deadline")]
    compute: Annotated[int, Entry("s", "processor time of the cycle before")]
    missed: Annotated[int, Entry("1", "periods missed since the loop began")]
    round_trip: Annotated[int, Entry("s", "age of the command that the newest sample answers")]
    feedback: Annotated[int, Entry("1", "weight of the acceleration feedback, from 0 to 1")]


SCALAR = index_table(ScalarRow)
_SCALARS = tuple(Field(name, one.size, one.unit, one.meaning) for name, one in entries(ScalarRow))
_MOTION = (
    ("reference", 6, "", "reference pose of C for the next step"),
    ("reference_rate", 6, "/s", "rate of the reference pose (Euler rates)"),
    ("reference_acceleration", 6, "/s2", "second derivative of the reference pose"),
    ("reference_jerk", 6, "/s3", "third derivative of the reference pose"),
    ("pose", 6, "", "measured pose of C against neutral"),
    ("pose_rate", 6, "/s", "estimated rate of the pose (Euler rates)"),
    ("pose_acceleration", 6, "/s2", "estimated second derivative of the pose, without gravity"),
)


def frame_layout(table: TableSettings, rigs: int = 0) -> Layout:
    """Return the layout of the frame; sample and command stand in it exactly as they cross the link.

    ``rigs``: numbers that the rigs' channels take.
    """
    actuators, displacements = len(table.links), len(table.sensors.displacement)
    sample = sample_layout(*instruments(table))
    measured = table.measures_forces
    return Layout(
        "frame",
        (
            *_SCALARS,
            *(
                Field(name, size, f"m{suffix}, rad{suffix}", meaning)
                for name, size, suffix, meaning in _MOTION
            ),
            Field("residual", 1, "m", "forward kinematics: sum of the absolute length differences left"),
            Field("updates", 1, "1", "forward kinematics: updates of the observer"),
            Field("redundancy_residual", 1, "m", "redundancy residual of the lengths"),
            Field("internal_force", 1, "N", "internal force: actuator forces along the null space"),
            Field("conditioning", 1, "1", "condition number of the Jacobian at the measured pose, 1 at best"),
            Field(
                "pattern_force",
                actuators - len(table.freedoms),
                "N",
                "force in a pattern of internal force",
            ),
            Field("length", actuators, "m", "measured length, calibrated"),
            Field("displacement", displacements, "m", "length of a displacement transducer, calibrated"),
            Field("length_rate", actuators, "m/s", "rate of the measured length"),
            Field("force", actuators * measured, "N", "measured force of the actuator, pushing positive"),
            *(
                Field(f"command.{field.name}", field.size, field.unit, field.meaning)
                for field in command_layout(actuators)
            ),
            *(Field(f"sample.{field.name}", field.size, field.unit, field.meaning) for field in sample),
            *((Field(RIGS, rigs, "SI", "the rigs' values"),) if rigs else ()),
            Field(VEHICLE, VEHICLE_NUMBERS, "SI", "the simulated vehicle"),
        ),
    )


_NUMBERED = {
    "pattern_force": "pattern_force",
    "length": "length",
    "displacement": "displacement",
    "length_rate": "length_rate",
    "force": "force",
    "command.lengths": "command.length",
    "command.rates": "command.rate",
    "command.accelerations": "command.acceleration",
    "command.force_references": "command.force",
    "command.valve_trims": "command.trim",
    "sample.lengths": "raw_length",
    "sample.pressure_differences": "pressure_difference",
    "sample.load_cells": "load_cell",
    "sample.spools": "spool",
    "sample.accelerometers": "accelerometer",
    "sample.displacements": "raw_displacement",
}
"""Fields with a value for each actuator or sensor, even if there is only one, and their channels' names."""
_WRENCH = (("fx", "N"), ("fy", "N"), ("fz", "N"), ("mx", "N m"), ("my", "N m"), ("mz", "N m"))
_SUPPLY = {f"sample.{name}" for name, _, _ in SUPPLY_FIELDS}


def frame_channels(layout: Layout, rigs: Sequence[Channel] = ()) -> tuple[Channel, ...]:
    """Return one channel for each value of the frame but the vehicle's, in its order; ``rigs``: theirs."""
    channels: list[Channel] = []
    for field in layout:
        if field.name == RIGS:
            channels += rigs
        elif field.name != VEHICLE:
            channels += _channels(field)
    return tuple(channels)


def _named(channels: tuple[Channel, ...], table: TableSettings) -> tuple[Channel, ...]:
    """Return ``channels`` with the names of the table's patterns and displacement transducers in theirs."""
    names = {f"pattern_force.{k}": one.name for k, one in enumerate(force_patterns(table), start=1)}
    names |= {f"displacement.{k}": one.name for k, one in enumerate(table.sensors.displacement, start=1)}
    return tuple(
        replace(channel, meaning=f"{channel.meaning}: {names[channel.name]}")
        if channel.name in names
        else channel
        for channel in channels
    )


def vehicle_channels(wheels: Sequence[str], driven: bool) -> tuple[Channel, ...]:
    """Return the channels of a vehicle with these wheels, which follow the others."""
    return tuple(Channel(name, unit, None, meaning) for name, unit, meaning in vehicle_fields(wheels, driven))


def _channels(field: Field) -> list[Channel]:
    name, unit = field.name, field.unit
    if name in _SUPPLY:
        own = f"supply.{name.removeprefix('sample.')}"
        if field.size == 1:
            return [Channel(own, unit, None, field.meaning)]
        numbered = range(1, field.size + 1)
        return [Channel(f"{own}.{k}", unit, None, f"{field.meaning}, supply {k}") for k in numbered]
    if field.size == 1 and name not in _NUMBERED:
        return [Channel(name, unit, None, field.meaning)]
    if name == "command.payload_wrench":
        return [
            Channel(f"payload_wrench.{part}", part_unit, None, field.meaning) for part, part_unit in _WRENCH
        ]
    if name == "sample.pressures":
        return [
            Channel(f"pressure_{chamber}.{actuator}", unit, None, f"pressure of chamber {chamber}")
            for actuator in range(1, field.size // 2 + 1)
            for chamber in (1, 2)
        ]
    if ", " in unit:
        linear, angular = unit.split(", ")
        units = (linear,) * 3 + (angular,) * 3
        return [
            Channel(f"{name}.{axis}", u, None, field.meaning) for axis, u in zip(AXES, units, strict=True)
        ]
    base = _NUMBERED[name]
    return [Channel(f"{base}.{index}", unit, None, field.meaning) for index in range(1, field.size + 1)]


def channel_units(table: TableSettings) -> dict[str, str]:
    """Return name and SI unit of every channel that a run on ``table`` records."""
    return {channel.name: channel.unit for channel in _table_channels(table)}


def channel_columns(table: TableSettings) -> dict[str, int]:
    """Return name and column of every channel in the frame of a run on ``table``."""
    return {channel.name: column for column, channel in enumerate(_table_channels(table))}


def _table_channels(table: TableSettings) -> tuple[Channel, ...]:
    return _named(frame_channels(frame_layout(table)), table)


class Frame:
    """One frame with named views; ``sample`` and ``command`` are the blocks that cross the plant link."""

    def __init__(self, table: TableSettings, rigs: Sequence[Channel] = ()) -> None:
        """``rigs``: the channels of what rigs give."""
        self.layout = frame_layout(table, len(rigs))
        self.channels = _named(frame_channels(self.layout, rigs), table)
        self.values: FloatArray = np.zeros(self.layout.size)
        self.index = {name: position.start for name, position in self.layout.slices.items()}
        self.motion = self.values[self.index["reference"] : self.index["reference"] + 24].reshape(4, 6)
        self.measured = self.values[self.index["pose"] : self.index["pose"] + 18].reshape(3, 6)
        """Pose, rates and accelerations of C as measured."""
        self.command_layout = command_layout(len(table.links))
        self.sample_layout = sample_layout(*instruments(table))
        self.command = self._block("command.", self.command_layout)
        self.sample = self._block("sample.", self.sample_layout)
        self.vehicle = self.field(VEHICLE)
        self.field("profile_time")[:] = np.nan
        self.rigs = self.field(RIGS) if rigs else self.values[:0]

    def field(self, name: str) -> FloatArray:
        """Return the view of one field."""
        return self.values[self.layout.slices[name]]

    def _block(self, prefix: str, layout: Layout) -> FloatArray:
        start = self.index[prefix + layout.fields[0].name]
        return self.values[start : start + layout.size]
