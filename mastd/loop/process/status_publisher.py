"""The status block: what the loop shows to gateway and live line, every few cycles and on every event."""

from __future__ import annotations

import math

from mastd.loop.cycle.cycle import Cycle
from mastd.loop.process.operator_requests import RequestPort
from mastd.record.recorder import RecorderHandle
from mastd.safety.codes import bits
from mastd.wire.common.blocks import NewestValueBlock

PUBLISH_EVERY = 10
"""Cycles between two status blocks; changes of state and answers are published at once."""


class StatusPublisher:
    """Writes the newest status of one cycle object into its block."""

    def __init__(
        self,
        block: NewestValueBlock,
        cycle: Cycle,
        requests: RequestPort,
        recorder: RecorderHandle | None,
        degraded: bool,
    ) -> None:
        self._block = block
        self._cycle = cycle
        self._requests = requests
        self._recorder = recorder
        self._degraded = degraded
        self._texts: dict[str, str] = {}
        self._head = block.layout.slices["supply_pressures"].start
        self._full_oil = cycle.full_oil
        self._pattern_forces = cycle.frame.field("pattern_force")
        for name in ("supply_pressures", "charged", "pattern_forces"):
            block.field(name)[:] = math.nan

    def publish(self, now_ns: int, ended: bool = False) -> None:
        """Show the newest status."""
        cycle, supervisor, block, requests = self._cycle, self._cycle.supervisor, self._block, self._requests
        frame, reference, first = cycle.frame, cycle.reference, supervisor.latch.first
        active = bits(*supervisor.latch.active)
        supplies = len(self._full_oil)
        head = (
            now_ns * 1e-9,
            supervisor.cycle,
            supervisor.state,
            supervisor.since_ns * 1e-9,
            first.code if first else 0,
            first.action if first else 0,
            self._degraded,
            active & 0xFFFFFFFF,
            active >> 32,
            requests.answered,
            bool(requests.refusal),
            requests.stops,
            requests.estops,
            cycle.missed,
            cycle.late,
            frame.values[frame.index["late"]],
            frame.values[frame.index["compute"]],
            frame.values[frame.index["round_trip"]],
            frame.values[frame.index["feedback"]],
            self._recorder.dropped if self._recorder is not None else 0,
            self._recording_left,
            frame.values[frame.index["profile_time"]],
            cycle.orders.profile_end,
            cycle.orders.loaded.serial if cycle.orders.loaded else 0,
            reference.gain,
            reference.gain_target,
            cycle.orders.level_limit,
            reference.speed,
            min(frame.field("sample.supply_pressure"), default=math.nan) if supplies else math.nan,
            cycle.sample.stage,
        )
        block.values[: self._head] = head
        if supplies:
            block.field("supply_pressures")[:supplies] = frame.field("sample.supply_pressure")
            block.field("charged")[:supplies] = frame.field("sample.accumulator_volume") / self._full_oil
        block.field("reference")[:] = frame.motion[0]
        block.field("pose")[:] = cycle.sensing.pose if cycle.sensing.pose_valid else math.nan
        block.field("residual")[:] = frame.field("residual")
        block.field("lengths")[:] = cycle.sensing.lengths
        block.field("forces")[:] = cycle.sensing.forces if len(cycle.sensing.forces) else math.nan
        cycle.sensing.chamber_pressures(block.field("pressures"))
        block.field("internal_force")[:] = frame.field("internal_force")
        block.field("pattern_forces")[: len(self._pattern_forces)] = self._pattern_forces
        block.field("following_peak")[:] = cycle.sensing.following_peak
        block.field("vehicle_numbers")[:] = frame.vehicle
        block.field("ended")[:] = ended
        self._show("refusal", requests.refusal)
        self._show("cause", first.cause if first else "")
        self._show("profile", cycle.orders.loaded.name if cycle.orders.loaded else "")
        self._show("vehicle", cycle.vehicles.label)
        block.publish()

    @property
    def _recording_left(self) -> float:
        left = self._recorder.status.left_s if self._recorder is not None else None
        return math.nan if left is None else left

    def _show(self, name: str, text: str) -> None:
        """Encode a text only when it has changed."""
        if self._texts.get(name) != text:
            self._texts[name] = text
            self._block.set_text(name, text)
