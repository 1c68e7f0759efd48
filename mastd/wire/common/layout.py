"""Layout of the numeric blocks that cross the plant link: one table gives offsets, hash and documentation.

A block is a contiguous little-endian float64 array. Actuator order is 1…n as in Jin 2012, everything is SI.
Integers (sequence, step, time, bits) travel beside the block, never inside it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Field:
    """One named run of float64 values in a block."""

    name: str
    size: int
    unit: str
    meaning: str


class Layout:
    """Ordered fields of one block, with the slice of each and a digest that both ends must share."""

    def __init__(self, name: str, fields: tuple[Field, ...]) -> None:
        self.name = name
        self.fields = fields
        self.slices: dict[str, slice] = {}
        start = 0
        for field in fields:
            self.slices[field.name] = slice(start, start + field.size)
            start += field.size
        self.size = start
        text = ";".join(f"{field.name}:{field.size}:{field.unit}" for field in fields)
        self.sha256 = hashlib.sha256(f"{name};{text}".encode()).hexdigest()

    def __iter__(self) -> Iterator[Field]:
        return iter(self.fields)


FORCE_FIELDS = ("pressures", "pressure_differences", "load_cells")
"""Fields of a sample that tell the forces of the actuators, in its order, after the lengths."""
SUPPLY_FIELDS = (
    ("supply_pressure", "Pa", "pressure in the supply line at the valves"),
    ("return_pressure", "Pa", "pressure in the return line"),
    ("supply_flow", "m3/s", "flow drawn by the valves"),
    ("oil_temperature", "K", "temperature of the oil in the tank"),
    ("oil_level", "1", "level of the oil in the tank, 1 is full"),
    ("accumulator_volume", "m3", "oil held by the accumulators"),
    ("filter_pressure_drop", "Pa", "pressure drop over the return filter"),
)


_DISPLACEMENT_POINTS = (
    ("displacement_table_points", "end at the table of each displacement transducer in P: x, y, z"),
    ("displacement_base_points", "its end at the base in B: x, y, z"),
)


def table_layout(actuators: int, accelerometers: int, supplies: int = 1, displacements: int = 0) -> Layout:
    """Return the layout of the table's description in the hello, nominal values of its settings."""
    n, m, d = actuators, accelerometers, displacements
    return Layout(
        "table",
        (
            Field("table_joints", 3 * n, "m", "upper joint of each actuator in P: x, y, z"),
            Field("base_joints", 3 * n, "m", "lower joint of each actuator in B: x, y, z"),
            Field("neutral_position", 3, "m", "C in B with the table at neutral"),
            Field("freedoms", 6, "1", "surge, sway, heave, roll, pitch, yaw: 1 moves, 0 is held by bearings"),
            Field("neutral_lengths", n, "m", "length of each actuator at neutral"),
            Field("strokes", n, "m", "travel of each actuator to either side of that"),
            Field("resting_lengths", n, "m", "length of each actuator with the table lowered"),
            Field("feedback", n, "1", "of each actuator's force, as below"),
            Field("piston_areas", 2 * n, "m2", "chamber 1 and chamber 2 of each actuator, 0 if electric"),
            Field("no_load_speeds", n, "m/s", "speed of each actuator without load at opening 1"),
            Field("accelerometer_positions", 3 * m, "m", "of each accelerometer in P: x, y, z"),
            Field("accelerometer_directions", 3 * m, "1", "its axis in P, of length 1"),
            Field("gravity", 1, "m/s2", "of the place"),
            Field("return_pressure", supplies, "Pa", "in the return line of each supply"),
            Field("low_pressure", supplies, "Pa", "of each supply in the low stage"),
            Field("high_pressure", supplies, "Pa", "of each supply in the high stage"),
            *((Field("fed_by", n, "1", "supply of each actuator, from 1"),) if supplies > 1 else ()),
            *((Field(name, 3 * d, "m", meaning) for name, meaning in _DISPLACEMENT_POINTS) if d else ()),
        ),
    )


def sample_layout(
    actuators: int,
    accelerometers: int,
    feedback: Sequence[str] | None = None,
    supplies: int = 1,
    displacements: int = 0,
) -> Layout:
    """Return the layout of a sample of so many actuators, accelerometers, supplies, displacement transducers.

    ``feedback`` of each actuator as in the table's settings, two chamber pressures if None. What a table does
    not have is left out.
    """
    beside = "length of each displacement transducer beside the actuators"
    kinds = ["chamber_pressures"] * actuators if feedback is None else list(feedback)
    forces = (
        (2 * kinds.count("chamber_pressures"), "Pa", "chamber 1 and chamber 2 of each actuator"),
        (kinds.count("pressure_difference"), "Pa", "chamber 1 less chamber 2 of each actuator that has it"),
        (
            kinds.count("load_cell"),
            "N",
            "force on the table, push positive, of each actuator that has one",
        ),
    )
    return Layout(
        "sample",
        (
            Field("lengths", actuators, "m", "measured length of each actuator"),
            *(Field(name, *rest) for name, rest in zip(FORCE_FIELDS, forces, strict=True) if rest[0]),
            Field("spools", actuators, "1", "valve opening, 1 is fully open to chamber 1"),
            *(Field(name, supplies, unit, meaning) for name, unit, meaning in SUPPLY_FIELDS if supplies),
            Field(
                "accelerometers",
                accelerometers,
                "m/s2",
                "specific force along each sensor's axis, gravity included",
            ),
            *((Field("displacements", displacements, "m", beside),) if displacements else ()),
        ),
    )


def command_layout(actuators: int) -> Layout:
    """Return the layout of a command; its first five fields are those that ``command_sha256`` covers."""
    return Layout(
        "command",
        (
            Field("lengths", actuators, "m", "length set-point at the end of the coming period"),
            Field("rates", actuators, "m/s", "rate of the length set-point"),
            Field("accelerations", actuators, "m/s2", "second derivative of the length set-point"),
            Field("force_references", actuators, "N", "expected actuator force, tension negative"),
            Field("valve_trims", actuators, "m/s", "added to the commanded no-load speed of the valve"),
            Field(
                "payload_wrench",
                6,
                "N, N m",
                "external payload on the table at C in P axes, for a simulated plant",
            ),
        ),
    )
