"""What the daemon tells about itself to whoever asks (`describe`): the table, the frame's channels, versions.

All of it stands still for the life of the daemon. Lengths are in m, forces in N, pressures in Pa.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from mastd.loop.process.provenance import versions
from mastd.record.channels import Channel
from mastd.settings.table.actuators import ActuatorType
from mastd.settings.table.internal_forces import pattern_entries
from mastd.settings.table.table import LinkSettings

if TYPE_CHECKING:
    from mastd.loop.process.installation import Installation


def description(installation: Installation, channels: Iterable[Channel]) -> dict[str, Any]:
    """Return the description as plain data; ``channels`` are those of the frame, in order."""
    table = installation.table
    return {
        "rate_hz": 1e9 / installation.daemon.period_ns,
        "table_file": str(installation.table_path.resolve()),
        "table_name": table.name,
        "table_top_m": table.body.top_height,
        "table_size_m": list(table.body.size),
        "neutral_position_m": list(table.neutral_position),
        "freedoms": list(table.freedoms),
        "links": [_actuator(*each) for each in zip(table.links, table.types, strict=True)],
        "maximum_force_n": max(type_.body.maximum_force for type_ in table.types),
        "internal_forces": pattern_entries(table),
        "supplies": [{"name": name, "pressure_pa": supply.pressure} for name, supply in table.packs.items()],
        "channels": [[channel.name, channel.unit, channel.meaning] for channel in channels],
        "versions": versions(),
    }


def _actuator(actuator: LinkSettings, type_: ActuatorType) -> dict[str, Any]:
    return {
        "name": actuator.name,
        "base_m": list(actuator.base_joint),
        "table_m": list(actuator.table_joint),
        "neutral_length_m": actuator.neutral_length,
        "stroke_m": actuator.stroke,
        "maximum_force_n": type_.body.maximum_force,
        "drive": type_.electric.kind if type_.electric is not None else "hydraulic",
        "feedback": type_.feedback,
    }
