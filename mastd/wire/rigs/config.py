"""The configuration of the rigs' gateway: all it has to know, as the loop's process hands it over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mastd.wire.rigs.messages import ChannelLine, RigTerms

if TYPE_CHECKING:
    from mastd.settings.rigs.rigs import RigsSettings


@dataclass(frozen=True)
class RigConfig:
    """One rig that may join."""

    name: str
    kind: str
    channels: tuple[RigTerms, ...]
    timeout_s: float
    message_rate: float
    motion_rate: float
    predict_s: float


@dataclass(frozen=True)
class RigGatewayConfig:
    """What the rigs' gateway is reported at its start.

    ``columns``: name and unit of the frame's channels in their order; ``spare``: numbers after them that
    belong to a simulated vehicle; ``actuators``: of the table, for the layout of the status block.
    """

    name: str
    address: str
    mode: str
    period_ns: int
    rigs: tuple[RigConfig, ...]
    columns: tuple[ChannelLine, ...]
    spare: int
    states: tuple[str, ...]
    actuators: int
    network: str | None = None
    keys: str | None = None


def rig_configs(settings: RigsSettings) -> tuple[RigConfig, ...]:
    """Return the rigs of the settings."""
    return tuple(
        RigConfig(
            rig.name,
            rig.kind,
            tuple(RigTerms(**dict(channel)) for channel in rig.all_channels()),
            rig.timeout,
            rig.message_rate,
            rig.motion_rate,
            rig.predict,
        )
        for rig in settings.rigs
    )


def names_of(rigs: Sequence[RigConfig]) -> list[tuple[str, str]]:
    """Return name and kind of each."""
    return [(rig.name, rig.kind) for rig in rigs]
