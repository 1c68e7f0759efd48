"""What the hello says of the table, so that a plant need not have its settings' file (docs/protocol.md)."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from mastd.arrays import FloatArray
from mastd.settings.core.axes import AXES
from mastd.settings.table.electric import FEEDBACK_CODES
from mastd.settings.table.table import TableSettings
from mastd.wire.common.layout import table_layout


def instruments(table: TableSettings) -> tuple[int, int, tuple[str, ...], int, int]:
    """Return what ``sample_layout`` needs of ``table``."""
    felt, beside = table.sensors.accelerometers, table.sensors.displacement
    return len(table.links), len(felt), table.feedback, len(table.packs), len(beside)


def table_block(table: TableSettings, resting_lengths: FloatArray) -> bytes:
    """Return the description of ``table`` in its ``table_layout``; ``resting_lengths`` (n,) in m, lowered."""
    links, sensors, supplies = table.links, table.sensors.accelerometers, table.packs.values()
    stages = [(one.return_pressure, one.low_pressure, one.pressure) for one in supplies] or [(0.0,) * 3]
    values: dict[str, Iterable[object]] = {
        "table_joints": [link.table_joint for link in links],
        "base_joints": [link.base_joint for link in links],
        "neutral_position": table.neutral_position,
        "freedoms": [axis in table.freedoms for axis in AXES],
        "neutral_lengths": [link.neutral_length for link in links],
        "strokes": [link.stroke for link in links],
        "resting_lengths": resting_lengths,
        "feedback": [FEEDBACK_CODES[kind] for kind in table.feedback],
        "piston_areas": [
            (0.0, 0.0) if type_.electric is not None else type_.cylinder.piston_areas for type_ in table.types
        ],
        "no_load_speeds": [type_.no_load_speed() for type_ in table.types],
        "accelerometer_positions": [sensor.position for sensor in sensors],
        "accelerometer_directions": [sensor.direction for sensor in sensors],
        "gravity": [table.gravity],
        "return_pressure": [stage[0] for stage in stages],
        "low_pressure": [stage[1] for stage in stages],
        "high_pressure": [stage[2] for stage in stages],
        "fed_by": [number + 1 for number in table.fed_by],
        "displacement_table_points": [one.table_point for one in table.sensors.displacement],
        "displacement_base_points": [one.base_point for one in table.sensors.displacement],
    }
    layout = table_layout(len(links), len(sensors), len(stages), len(table.sensors.displacement))
    block = np.empty(layout.size, dtype="<f8")
    for name, place in layout.slices.items():
        block[place] = np.ravel(np.array(values[name], dtype=np.float64))
    return block.tobytes()
