"""Monitor time: missed periods, lost samples and commands, and the drive's clock against the loop's."""

from __future__ import annotations

from collections.abc import Sequence

from mastd.safety.codes import Action, Code
from mastd.safety.faults import Report
from mastd.settings.daemon.daemon import DaemonSettings
from mastd.settings.daemon.trust import RoundTripSettings

SECOND_NS = 1_000_000_000
_NEVER = 1 << 62
"""Step of the last sample while there is none."""


class Pace:
    """Monitors missed periods: the loop stuck, a stall, too many in a row, too many over a window.

    ``bridged`` in s is how long the drive continues without commands.
    """

    def __init__(self, daemon: DaemonSettings, bridged: float) -> None:
        overrun = daemon.overrun
        self._period = daemon.period_ns * 1e-9
        self._bridged = bridged
        self._stuck = daemon.timeouts.loop_stuck
        self._maximum_missed = overrun.maximum_missed
        self._stop_after_stall = overrun.after_stall == "stop"
        self._maximum_ratio = overrun.late_share
        self._window = max(1, round(overrun.late_window / self._period))
        self._passed = 0
        self._missed = 0
        self._late: Sequence[Report] = ()

    def account(self, skipped: int) -> Sequence[Report]:
        """Return this cycle's conditions; ``skipped`` periods were missed before it."""
        self._passed += 1 + skipped
        self._missed += skipped
        if self._passed >= self._window:
            self._check_window()
        return self._late if not skipped else [*self._late, *self._check_gap(skipped)]

    def _check_window(self) -> None:
        ratio = self._missed / self._passed
        seconds = self._passed * self._period
        self._late = (
            ()
            if ratio <= self._maximum_ratio
            else (Report(Code.LATE_CYCLES, f"{ratio:.1%} over {seconds:.0f} s"),)
        )
        self._passed = self._missed = 0

    def _check_gap(self, skipped: int) -> list[Report]:
        found: list[Report] = []
        standstill = skipped * self._period
        stalled = standstill > self._bridged
        if standstill > self._stuck:
            found.append(Report(Code.LOOP_STUCK, f"for {standstill:.2f} s"))
        if stalled:
            found.append(Report(Code.STALL, f"{standstill * 1e3:.0f} ms"))
        if skipped > self._maximum_missed or (stalled and self._stop_after_stall):
            found.append(Report(Code.OVERRUN, f"{skipped} periods in a row"))
        return found


class SampleLoss:
    """Monitors the ratio of samples that are lost or rejected, over one second; ``period`` in s."""

    def __init__(self, maximum_ratio: float, period: float) -> None:
        self._maximum_ratio = maximum_ratio
        self._window = round(1.0 / period)
        self._sequence: int | None = None
        self._lost = self._received = 0
        self._finding = ""

    def reject(self) -> None:
        """Count a sample that was received and cannot be used."""
        self._lost += 1

    def count(self, sequence: int, received: int) -> str:
        """Count ``received`` samples, the newest with number ``sequence``; return the finding, or nothing.

        It stands until that of the next second is known.
        """
        last, self._sequence = self._sequence, sequence
        lost = sequence - last - received if last is not None else 0
        if lost > 0:
            self._lost += lost
        self._received += received
        if self._received >= self._window:
            ratio = self._lost / (self._received + self._lost)
            exceeds = ratio > self._maximum_ratio
            self._finding = f"{ratio:.1%} of the samples within one second" if exceeds else ""
            self._received = self._lost = 0
        return self._finding


class CommandLoss:
    """Monitors the ratio of periods for which the drive had no command, over one second; ``period`` in s.

    From one sample to the next the plant passes as many periods as commands, unless some were lost, or came
    too late and were replaced by the next. A single one does not count: two clocks beat, so that none comes
    in one period and two in the next, and the drive bridges a period. Of a gap no more than the round trip
    that is indicated counts: a standstill of either machine is not loss.
    """

    def __init__(self, settings: RoundTripSettings, maximum_ratio: float, period: float) -> None:
        """``maximum_ratio``: above it is told; above that of the settings the table is stopped."""
        self._stop_ratio = settings.lost_commands
        self._told_ratio = min(maximum_ratio, self._stop_ratio)
        self._largest_gap = settings.indicate
        self._window = round(1.0 / period)
        self.reset()

    def reset(self) -> None:
        """Forget all that was counted: the drive follows nothing."""
        self._step, self._command = _NEVER, 0
        self._lost = self._passed = 0
        self._found: Sequence[Report] = ()

    def count(self, step: int, command_sequence: int) -> Sequence[Report]:
        """Count the commands between the last sample and this one; return this cycle's conditions."""
        steps, commands = step - self._step, command_sequence - self._command
        self._step, self._command = step, command_sequence
        if steps <= 0:
            return self._found
        lost = commands - steps - 1
        if lost > 0:
            self._lost += min(lost, self._largest_gap)
        self._passed += steps
        if self._passed >= self._window:
            self._judge(self._lost / self._passed, self._passed)
            self._lost = self._passed = 0
        return self._found

    def _judge(self, ratio: float, passed: int) -> None:
        stopped = any(report.action is None for report in self._found)
        stop = ratio > (self._told_ratio if stopped else self._stop_ratio)
        limit = self._stop_ratio if stop else self._told_ratio
        text = f"{ratio:.1%} of {passed} commands lost or over a period late, limit {limit:.0%}"
        report = Report(Code.COMMAND_MISSING, text, None if stop else Action.INDICATE)
        self._found = (report,) if ratio > self._told_ratio else ()


class PlantClock:
    """Compares the plant's time with the loop's, window by window of a second.

    A sample can be late but never early, so the smallest lead of the loop's time within a window is what is
    compared: a stall of either process is no drift. Nor is a delay of the line: it changes the smallest round
    trip as well.
    """

    def __init__(self, difference: float) -> None:
        self._difference_ns = round(difference * 1e9)
        self._plant_ns: int | None = None
        self._window_began_ns = 0
        self._smallest: int | None = None
        self._before: int | None = None
        self._trip = self._trip_before = 0
        """Round trips in ns of the samples with the smallest leads."""
        self._drift = ""

    def inspect(self, now_ns: int, plant_ns: int, round_trip_ns: int = 0) -> str:
        """Return what is wrong with the time of this sample, empty if nothing is."""
        last, self._plant_ns = self._plant_ns, plant_ns
        if last is not None and plant_ns < last:
            self._smallest = self._before = None
            self._window_began_ns, self._drift = now_ns, ""
            return f"drive time ran backwards by {(last - plant_ns) * 1e-9:.3f} s"
        lead = now_ns - plant_ns
        before = self._before
        if before is not None and lead < before - self._difference_ns and self._drifted(lead, round_trip_ns):
            self._report_drift(before - lead, "ahead")
        if self._smallest is None or lead < self._smallest:
            self._smallest, self._trip = lead, round_trip_ns
        if now_ns - self._window_began_ns >= SECOND_NS:
            self._next_window(now_ns)
        return self._drift

    def _next_window(self, now_ns: int) -> None:
        smallest, before = self._smallest, self._before
        self._drift = ""
        if smallest is not None and before is not None and (drifted := self._drifted(smallest, self._trip)):
            self._report_drift(abs(smallest - before), "behind" if drifted > 0 else "ahead")
        self._before, self._smallest, self._trip_before = smallest, None, self._trip
        self._window_began_ns = now_ns

    def _drifted(self, lead: int, round_trip_ns: int) -> int:
        """Return the drift since the window before in ns, 0 where it is within its limit.

        What half of it is found in the round trip is the line's delay.
        """
        assert self._before is not None
        drift = lead - self._before
        delay = round_trip_ns - self._trip_before
        slower = 2 * delay >= drift if drift > 0 else 2 * delay <= drift
        return 0 if abs(drift) <= self._difference_ns or slower else drift

    def _report_drift(self, difference_ns: int, which: str) -> None:
        self._drift = f"drive clock {difference_ns * 1e-6:.1f} ms {which} within one second"
