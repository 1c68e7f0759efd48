"""The plant link in process: the same behaviour as over a socket, without one.

Lockstep runs over both kinds give the same command stream bit for bit: float64 blocks cross a socket
unchanged, and both kinds advance the plant by the same calls (docs/protocol.md, "Two modes").
"""

from __future__ import annotations

import time
from typing import Protocol

from mastd.wire.plant.hello import LinkTerms, PlantHello
from mastd.wire.plant.messages import Command, Sample, is_finite
from mastd.wire.plant.socket_link import LinkCounters


class DirectPlant(Protocol):
    """A plant as an object: what the simulated plant offers in process and to its own socket server."""

    @property
    def time_ns(self) -> int:
        """Plant time since boot in ns."""

    @property
    def boot_id(self) -> int:
        """Number that differs from boot to boot, a positive signed 64-bit integer."""

    @property
    def name(self) -> str:
        """Name of the plant for messages and records."""

    @property
    def silent(self) -> bool:
        """Whether an injected fault keeps the plant from sending samples."""

    def read(self, sample: Sample) -> None:
        """Fill ``sample``'s block, validity, stage, flags, time and boot id with the present readings."""

    def advance(self, command: Command | None, duration_ns: int) -> None:
        """Let ``duration_ns`` of plant time pass; ``command`` arrives at its start, None means none did."""


class DirectLink:
    """The plant link to a plant object in this process."""

    def __init__(self, plant: DirectPlant, terms: LinkTerms) -> None:
        self.hello = PlantHello.of(terms, plant.boot_id, plant.name, simulated=True)
        self.counters = LinkCounters()
        self.refusal: str | None = None
        self._plant = plant
        self._period_ns = terms.period_ns
        self._lockstep = terms.mode == "lockstep"
        self._command = Command(terms.command_layout)
        self._waiting = False  # a command waits for the plant's next period (free-run)
        self._command_sequence = -1
        self._applied = -1
        self._sample_sequence = -1
        self._step = 0
        self._renewed = True  # sample 0, or the answer to the last command, has not been taken yet
        self._start_ns = time.monotonic_ns()

    def newest(self, sample: Sample, timeout_ns: int) -> int:
        """Fill ``sample`` with the newest one; see ``PlantLink.newest``."""
        if not self._lockstep:
            self._follow_clock(timeout_ns)
        if not self._renewed or self._plant.silent:
            return 0
        self._renewed = False
        self._sample_sequence += 1
        self._plant.read(sample)
        sample.sequence = self._sample_sequence
        sample.step = self._step
        sample.command_sequence = self._applied
        self.counters.received += 1
        return 1

    def send(self, command: Command) -> bool:
        """Number ``command`` and hand it to the plant; see ``PlantLink.send``."""
        command.sequence = self._command_sequence + 1
        command.step = self._step
        if not is_finite(command.values.data):
            self.counters.unsent += 1
            return False
        self._command_sequence += 1
        self._command.copy_from(command)
        if self._lockstep:
            self._advance(self._command, 1)
        else:
            self._waiting = True
        return True

    def renew(self) -> None:
        """Nothing to renew: this plant ends with its maker."""

    def close(self) -> None:
        """Nothing to close: the plant belongs to its maker."""

    def _follow_clock(self, timeout_ns: int) -> None:
        """Bring the plant to the present; wait up to ``timeout_ns`` for its next period if need be."""
        now = time.monotonic_ns()
        periods = (now - self._start_ns) // self._period_ns - self._step
        if periods <= 0 and not self._renewed:
            wait_ns = self._start_ns + (self._step + 1) * self._period_ns - now
            if wait_ns > timeout_ns:
                time.sleep(max(timeout_ns, 0) / 1e9)
                return
            time.sleep(wait_ns / 1e9)
            periods = 1
        if periods > 1:
            # The periods nobody attended pass without a command; the drive bridges them.
            self._advance(None, periods - 1)
        if periods > 0:
            self._advance(self._command if self._waiting else None, 1)
            self._waiting = False

    def _advance(self, command: Command | None, periods: int) -> None:
        self._plant.advance(command, periods * self._period_ns)
        self._step += periods
        self._renewed = True
        if command is not None:
            self._applied = command.sequence
