"""Does what a rig says of itself agree with the daemon? Each difference is one line with both values."""

from __future__ import annotations

from collections.abc import Sequence

from mastd.wire.rigs.config import RigConfig, RigGatewayConfig
from mastd.wire.rigs.messages import (
    ANY,
    FRAME,
    MAGIC,
    MAX_VERSION,
    MIN_VERSION,
    UNITS,
    ChannelLine,
    RigHello,
    channels_hash,
)

MAX_LIST_LENGTH = 1500
"""Characters of a list of channels in a refusal; the 24 channels of a rig need less."""


def agree(config: RigGatewayConfig, rig: RigConfig | None, hello: RigHello) -> list[str]:
    """Return the differences, none where the rig may join; ``rig``: of its name, if there is one.

    Of two protocols without a common version nothing else is compared.
    """
    if hello.magic != MAGIC:
        return [f"magic: daemon {MAGIC}, rig {hello.magic}"]
    if hello.version_lowest > MAX_VERSION or hello.version_highest < MIN_VERSION:
        ours = f"{MIN_VERSION} to {MAX_VERSION}"
        return [f"protocol version: daemon {ours}, rig {hello.version_lowest} to {hello.version_highest}"]
    if rig is None:
        names = ", ".join(known.name for known in config.rigs) or "none"
        return [f"name: no rig {hello.name!r} in the daemon's rigs file; there are {names}"]
    given = tuple((terms.name, terms.unit) for terms in rig.channels)
    pairs = [
        ("role", rig.kind, rig.kind if hello.role == ANY else hello.role),
        ("frame", FRAME, hello.frame),
        ("units", UNITS, hello.units),
        ("mode", config.mode, config.mode if hello.mode == ANY else hello.mode),
    ]
    reasons = [f"{what}: daemon {ours}, rig {theirs}" for what, ours, theirs in pairs if ours != theirs]
    if hello.period_ns not in (0, config.period_ns):
        reasons.append(f"period: daemon {config.period_ns} ns, rig {hello.period_ns} ns")
    if hello.channels:
        reasons += _channel_reasons(given, hello.channels)
        ours = channels_hash("values", hello.channels)
        if hello.channels_sha256 != ours:
            reasons.append(f"hash of the channels: daemon {ours}, rig {hello.channels_sha256}")
    elif hello.channels_sha256 not in ("", channels_hash("values", given)):
        ours = channels_hash("values", given)
        reasons.append(f"hash of the channels: daemon {ours}, rig {hello.channels_sha256}")
    return reasons


def _channel_reasons(ours: Sequence[ChannelLine], theirs: Sequence[ChannelLine]) -> list[str]:
    if tuple(ours) == tuple(theirs):
        return []
    return [f"channels: daemon {_text(ours)}; rig {_text(theirs)}"]


def _text(channels: Sequence[ChannelLine]) -> str:
    text = ", ".join(f"{name} [{unit}]" for name, unit in channels)
    return text if len(text) <= MAX_LIST_LENGTH else f"{text[:MAX_LIST_LENGTH]} …"
