"""What the hello says of the table, so that a plant need not have its settings' file (docs/protocol.md)."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from mastd.arrays import FloatArray
from mastd.settings.table.guides import ALL_FREEDOMS
from mastd.settings.table.table import TableSettings, no_load_speed
from mastd.wire.common.layout import table_layout


def table_block(table: TableSettings, resting_lengths: FloatArray) -> bytes:
    """Return the description of ``table`` in its ``table_layout``; ``resting_lengths`` (n,) in m, lowered."""
    links, sensors, supplies = table.links, table.sensors.accelerometers, table.packs.values()
    speeds = [no_load_speed(type_.cylinder, type_.valve, type_.supply) for type_ in table.types]
    values: dict[str, Iterable[object]] = {
        "table_joints": [link.table_joint for link in links],
        "base_joints": [link.base_joint for link in links],
        "neutral_position": table.neutral_position,
        "freedoms": [axis in table.freedoms for axis in ALL_FREEDOMS],
        "neutral_lengths": [link.neutral_length for link in links],
        "strokes": [link.stroke for link in links],
        "resting_lengths": resting_lengths,
        "piston_areas": [type_.cylinder.piston_areas for type_ in table.types],
        "no_load_speeds": speeds,
        "accelerometer_positions": [sensor.position for sensor in sensors],
        "accelerometer_directions": [sensor.direction for sensor in sensors],
        "gravity": [table.gravity],
        "return_pressure": [supply.return_pressure for supply in supplies],
        "low_pressure": [supply.low_pressure for supply in supplies],
        "high_pressure": [supply.pressure for supply in supplies],
        "fed_by": [number + 1 for number in table.fed_by],
    }
    layout = table_layout(len(links), len(sensors), len(supplies))
    block = np.empty(layout.size, dtype="<f8")
    for name, place in layout.slices.items():
        block[place] = np.ravel(np.array(values[name], dtype=np.float64))
    return block.tobytes()
