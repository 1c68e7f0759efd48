"""The gateway's configuration: everything it has to know, as the loop's process hands it over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mastd.ring.ends import RingLocation
from mastd.wire.common.address import operators_address
from mastd.wire.common.cycle_times import CycleTimes
from mastd.wire.operators.terms import FaultTexts, HandlerTerms, PreviousRun, StatusTexts

if TYPE_CHECKING:
    from mastd.settings.daemon.gateway import GatewaySettings


@dataclass(frozen=True)
class GatewayConfig:
    """What the gateway is reported at its start.

    ``states`` names the loop's states by their numbers, ``faults`` holds a fault's words by its code.
    ``loader`` is the command line of the profile loader (empty: this daemon plays one profile),
    ``loader_descriptors`` are inherited by it; ``slot`` is the slot of the profile that the loop has, −1 for
    none. ``description`` is what ``describe``
    answers beside name, process id, plant, states and faults; ``ring`` is where the loop's frames are, None
    where nothing is recorded (and so there is no telemetry). ``checker`` is the command line that checks the
    settings files before they are reloaded (empty: this daemon does not do that).
    """

    actuators: int
    states: tuple[str, ...]
    faults: Mapping[int, FaultTexts]
    loop_stuck_s: float
    lease_s: float
    command_rate: float
    burst: int
    answer_s: float
    status_rate: float
    network: str | None = None
    name: str = "mastd"
    address: str = field(default_factory=operators_address)
    keys: str | None = None
    """Directory of the keys; needed for a network address."""
    loader: tuple[str, ...] = ()
    loader_descriptors: tuple[int, ...] = ()
    slots: int = 2
    slot: int = -1
    description: Mapping[str, Any] = field(default_factory=dict)
    ring: RingLocation | None = None
    checker: tuple[str, ...] = ()
    previous: PreviousRun = field(default_factory=PreviousRun)
    rigs: tuple[tuple[str, str], ...] = ()
    """Name and kind of the rigs that may join."""

    @classmethod
    def of(cls, settings: GatewaySettings, **others: Any) -> GatewayConfig:
        """Return a configuration with the values of ``settings``, which the process itself need not read."""
        return cls(
            lease_s=settings.lease,
            command_rate=settings.command_rate,
            burst=settings.burst,
            answer_s=settings.answer,
            status_rate=settings.status_rate,
            network=settings.address,
            **others,
        )

    def terms(self, pid: int) -> HandlerTerms:
        """Return what the handler has to know; ``pid`` is the daemon's process id."""
        return HandlerTerms(
            name=self.name,
            pid=pid,
            actuators=self.actuators,
            texts=StatusTexts(self.states, self.faults),
            lease_ns=round(self.lease_s * 1e9),
            answer_ns=round(self.answer_s * 1e9),
            command_rate=self.command_rate,
            burst=self.burst,
            slot=self.slot,
            description=self.description,
            spare=max(0, self.ring.width - len(self.description["channels"])) if self.ring else 0,
            previous=self.previous,
            rigs=self.rigs,
        )

    def cycle_times(self) -> CycleTimes:
        """Return the view of the loop's times that fits its frames."""
        names = [name for name, _, _ in self.description["channels"]]
        return CycleTimes(names, self.description["rate_hz"])
