"""Plant and cycle at both ends of a line with delays of its own, in virtual time, as in free-run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hil_sim.plant.plant import Plant
from hil_sim.plant.truth import PlantTruth
from mastd.arrays import FloatArray
from mastd.loop.process.installation import Plan
from mastd.wire.access.verbs import Verb
from mastd.wire.plant.messages import Command, Sample
from tests.support.rigs.rig import Rig

Delay = Callable[[float], float | None]
"""Periods that a message sent at this time in s takes; None for one that is lost."""


def no_delay(_time: float) -> float:
    """Return nothing: a message is there at once."""
    return 0.0


@dataclass
class Line:
    """What the line does to each direction."""

    samples: Delay = no_delay
    commands: Delay = no_delay


class LineRig(Rig):
    """A rig whose samples and commands take time; ``line`` may be changed while it runs.

    Each period the plant takes the newest command that has come, the loop the newest sample; what comes out
    of order is dropped, as both ends of the link do.
    """

    def __init__(self, plan: Plan, line: Line, truth: PlantTruth | None = None) -> None:
        super().__init__(plan)
        if truth is not None:
            self.plant = Plant(plan.table, truth, plan.daemon.period_ns, 0)
        self.line = line
        self.truths: list[FloatArray] = []
        """True acceleration (6,) of C in each period."""
        self.asked: list[FloatArray] = []
        """Acceleration (6,) of the reference in each period."""
        self.measured: list[FloatArray] = []
        """Measured acceleration (6,) in each period."""
        self.states: list[int] = []
        """State in each period."""
        self.push: FloatArray = np.zeros(6)
        """Force and moment at C that nobody knows of, N and N m."""
        self._samples: list[tuple[float, Sample]] = []
        self._commands: list[tuple[float, Command]] = []
        self._period = 0
        self._sent = -1
        self._seen = -1
        self._sequence = 0

    def step(self, verb: Verb = Verb.NONE, skipped: int = 0, arguments: tuple[float, ...] = ()) -> None:
        """One period of the plant, and one cycle of the loop half a period later."""
        assert not skipped
        self._move_plant()
        self._period += 1
        self.now += self.plan.daemon.period_ns
        cycle = self.cycle
        cycle.step(self._newest_sample(), self.now, verb, arguments=arguments)
        self.events += [{**event, "cycle": self.supervisor.cycle} for event in self.supervisor.events]
        self.supervisor.events.clear()
        self.commanded.append(cycle.frame.motion[0].copy())
        self.asked.append(cycle.frame.motion[2].copy())
        self.measured.append(cycle.frame.measured[2].copy())
        self.states.append(int(self.supervisor.state))
        self._send()

    def _move_plant(self) -> None:
        arrived = [command for due, command in self._commands if due <= self._period]
        self._commands = [(due, command) for due, command in self._commands if due > self._period]
        newest = max(arrived, key=lambda command: command.sequence, default=None)
        if newest is not None and newest.sequence <= self.plant.command_sequence:
            newest = None
        self.plant.advance(newest, self.plan.daemon.period_ns)
        self.truths.append(self.plant.true_acceleration)
        sample = Sample(self.plant.sample_layout)
        self.plant.read(sample)
        sample.step = self.plant.time_ns // self.plan.daemon.period_ns
        sample.sequence = self._sequence = self._sequence + 1
        delay = self.line.samples(self.now * 1e-9)
        if delay is not None:
            self._samples.append((self._period + delay, sample))

    def _newest_sample(self) -> int:
        arrived = [sample for due, sample in self._samples if due < self._period]
        self._samples = [(due, sample) for due, sample in self._samples if due >= self._period]
        fresh = [sample for sample in arrived if sample.sequence > self._seen]
        if not fresh:
            return 0
        newest = max(fresh, key=lambda sample: sample.sequence)
        self._seen = newest.sequence
        self.cycle.sample.copy_from(newest)
        return len(fresh)

    def _send(self) -> None:
        command = self.cycle.command
        self._sent += 1
        command.sequence = self._sent
        sent = Command(command.layout)
        sent.copy_from(command)
        sent.field("payload_wrench")[:] += self.push
        delay = self.line.commands(self.now * 1e-9)
        if delay is not None:
            self._commands.append((self._period + delay, sent))


def peak(rows: list[FloatArray], since: int = 0) -> FloatArray:
    """Return the largest magnitude (6,) in each axis."""
    return np.asarray(np.abs(np.array(rows[since:])).max(axis=0))
