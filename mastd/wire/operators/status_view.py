"""What anybody may read of the daemon, as plain values: its status now, and what it is."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from mastd.wire.access.sessions import GatewayCounters, Sessions
from mastd.wire.common.lease import Lease
from mastd.wire.common.rig_status import read_status
from mastd.wire.operators.ports import HandlerPorts
from mastd.wire.operators.snapshot import loop_part, plant_part, previous_run_part, vehicle_channels
from mastd.wire.operators.terms import HandlerTerms


@dataclass(frozen=True)
class StatusView:
    """Puts together what the parts of the gateway know."""

    terms: HandlerTerms
    ports: HandlerPorts
    counters: GatewayCounters
    lease: Lease
    sessions: Sessions

    def snapshot(self, now_ns: int) -> dict[str, Any]:
        """Return everything that is known now."""
        holder = self.lease.holder(now_ns)
        left_s = self.lease.left_ns(now_ns) * 1e-9
        joined, rig_counters = read_status(self.ports.rigs, self.terms.rigs) if self.ports.rigs else ([], {})
        return {
            "name": self.terms.name,
            "pid": self.terms.pid,
            **loop_part(self.ports.loop, self.terms.texts, now_ns),
            "cycle_time": self.ports.times.summary() if self.ports.times is not None else None,
            "rigs": [*self.ports.forwarder.rigs(now_ns), *joined],
            "rig_counters": rig_counters,
            **previous_run_part(self.terms.previous),
            "lease": {"holder": holder, "left_s": left_s} if holder else None,
            "loading": self.ports.loader.profile if self.ports.loader is not None else "",
            "clients": len(self.sessions),
            "counters": dict(vars(self.counters)),
        }

    def description(self) -> dict[str, Any]:
        """Return what the daemon is; only the names of a simulated vehicle's channels ever change."""
        terms = self.terms
        return {
            "name": terms.name,
            "pid": terms.pid,
            **plant_part(self.ports.loop.status),
            **terms.description,
            "channels": self._channels(),
            "states": list(terms.texts.states),
            "faults": {str(code): asdict(texts) for code, texts in terms.texts.faults.items()},
        }

    def _channels(self) -> list[tuple[str, str, str]]:
        """Return name, unit and meaning of each number of a frame."""
        spare = self.terms.spare
        vehicle = list(vehicle_channels(self.ports.loop.status))[:spare]
        unused = (
            (f"spare.{index}", "1", "has a meaning while a vehicle is simulated that has so many numbers")
            for index in range(len(vehicle) + 1, spare + 1)
        )
        return [*self.terms.description.get("channels", ()), *vehicle, *unused]
