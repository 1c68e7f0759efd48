"""What a second of frames says of the loop: its state, how long cycles take, how late they begin.

Channels are found by their names; one that a frame does not have is left out. Counters count all, whatever
the log holds back.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from struct import Struct

from mastd.log.sinks import INFORMATION, WARNING, Line
from mastd.record.channels import NANOSECONDS, ChannelSet
from mastd.record.service_log.lines import STATISTICS_ID
from mastd.ring.times import LATE_RATIO, spread

_FLOAT64 = Struct("<d")
SPREADS = ("compute", "late")
"""Channels of which median, 99th percentile and maximum are reported."""
LAST = ("cycle", "state", "fault", "missed", "profile_time")
"""Channels of which the newest value is reported."""


@dataclass
class Counters:
    """What has happened since the recorder began."""

    faults: int = 0
    requests: int = 0
    refused: int = 0
    dropped: int = 0
    late: int = 0


class SecondOfFrames:
    """Collects frames until they are reported."""

    def __init__(self, channels: ChannelSet, states: Sequence[str]) -> None:
        self.counters = Counters()
        self.newest: dict[str, float] = {}
        """Newest value of each channel in ``LAST``; empty before the first frame."""
        self._offsets = {
            name: 8 * channels.column(name) for name in (*SPREADS, *LAST) if name in channels.columns
        }
        self._states = states
        self._period_s = channels.period_ns / NANOSECONDS
        self._values: dict[str, list[float]] = {name: [] for name in SPREADS if name in self._offsets}
        self._frames = 0
        self._next = 0
        self._missed: float | None = None
        self._missed_before: float | None = None

    def take(self, frames: Sequence[tuple[int, memoryview]]) -> None:
        """Take frames in the order in which they were offered, each with the number offered before it."""
        unpack = _FLOAT64.unpack_from
        for name, values in self._values.items():
            offset = self._offsets[name]
            values += [unpack(data, offset)[0] for _, data in frames]
        self._add_skipped(frames)
        number, data = frames[-1]
        self.counters.dropped += number + 1 - self._next - len(frames)
        self._next = number + 1
        self._frames += len(frames)
        self.newest = {name: unpack(data, self._offsets[name])[0] for name in LAST if name in self._offsets}
        if self._missed_before is None:
            self._missed_before = self.newest.get("missed", 0.0)

    def _add_skipped(self, frames: Sequence[tuple[int, memoryview]]) -> None:
        """Add the whole periods that wake-ups came too late to their lateness, which counts the rest only."""
        offset, late = self._offsets.get("missed"), self._values.get("late")
        if offset is None or late is None:
            return
        first = len(late) - len(frames)
        for index, (_, data) in enumerate(frames, first):
            missed = _FLOAT64.unpack_from(data, offset)[0]
            if self._missed is not None:
                late[index] += (missed - self._missed) * self._period_s
            self._missed = missed

    @property
    def state(self) -> str:
        """Name of the newest frame's state, empty if it has none."""
        number = self.newest.get("state", math.nan)
        known = number == number // 1 and 0 <= number < len(self._states)
        return self._states[int(number)] if known else ""

    def line(self, elapsed_s: float, fault_names: Mapping[int, str]) -> Line:
        """Return the statistics of the frames since the last call, and reset them."""
        frames, self._frames = self._frames, 0
        late = sum(value > LATE_RATIO * self._period_s for value in self._values.get("late", ()))
        self.counters.late += late
        missed = self.newest.get("missed", 0.0)
        missed_now = missed - (missed if self._missed_before is None else self._missed_before)
        self._missed_before = missed
        spreads = {name: _spread(values) for name, values in self._values.items()}
        for values in self._values.values():
            values.clear()
        counters = self.counters
        fields = {
            "MESSAGE_ID": STATISTICS_ID,
            "MASTD_SECONDS": f"{elapsed_s:.3f}",
            "MASTD_CYCLES": str(frames),
            "MASTD_LATE_CYCLES": str(late),
            "MASTD_LATE_CYCLES_TOTAL": str(counters.late),
            "MASTD_MISSED": f"{missed_now:.0f}",
            "MASTD_MISSED_TOTAL": f"{missed:.0f}",
            "MASTD_DROPPED_TOTAL": str(counters.dropped),
            "MASTD_FAULTS_TOTAL": str(counters.faults),
            "MASTD_REQUESTS_TOTAL": str(counters.requests),
            "MASTD_REFUSED_TOTAL": str(counters.refused),
        }
        texts = [self.state or "no state", f"{frames} cycles"]
        if frames == 0:
            texts = [f"no cycle for {elapsed_s:.1f} s: the loop is stuck, or waits for the plant"]
        for name, figures in spreads.items():
            if figures is not None:
                parts = [f"{1e6 * value:.1f}" for value in figures]
                for key, value in zip(("MEDIAN", "P99", "MAX"), parts, strict=True):
                    fields[f"MASTD_{name.upper()}_{key}_US"] = value
                texts.append(f"{name} {'/'.join(parts)} µs")
        fields |= self._newest_fields(fault_names)
        if "MASTD_PROFILE_TIME_S" in fields:
            texts.insert(1, f"profile at {fields['MASTD_PROFILE_TIME_S']} s")
        texts += [
            f"{late} late, {missed_now:.0f} missed (in all {counters.late}, {missed:.0f})",
            f"dropped {counters.dropped}, faults {counters.faults}, requests {counters.requests}",
        ]
        return Line("statistics", "; ".join(texts), INFORMATION if frames else WARNING, fields)

    def _newest_fields(self, fault_names: Mapping[int, str]) -> dict[str, str]:
        fields = {}
        newest = self.newest
        if self.state:
            fields["MASTD_STATE"] = self.state
        if math.isfinite(newest.get("cycle", math.nan)):
            fields["MASTD_CYCLE"] = f"{newest['cycle']:.0f}"
        if math.isfinite(newest.get("profile_time", math.nan)):
            fields["MASTD_PROFILE_TIME_S"] = f"{newest['profile_time']:.3f}"
        code = newest.get("fault", 0.0)
        if code > 0.0:
            fields["MASTD_FAULT_CODE"] = f"{code:.0f}"
            if code in fault_names:
                fields["MASTD_FAULT"] = fault_names[int(code)]
        return fields


def _spread(values: Sequence[float]) -> tuple[float, float, float] | None:
    """Return the figures of finite values, None without any."""
    ordered = sorted(value for value in values if math.isfinite(value))
    return spread(ordered) if ordered else None
