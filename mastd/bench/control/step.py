"""Bench of one period of the table's control: processor time from the reference to the whole command.

In the running loop, with sensing, state machine and plant in between, so that the caches are what they are.
"""

from __future__ import annotations

import time

import numpy as np

from mastd.bench.control.plays import BenchPlant, installation, play
from mastd.bench.control.profiles import noise, read_profile
from mastd.bench.control.truth import hidden_truth
from mastd.bench.registry import Figure, bench, figure
from mastd.loop.cycle.cycle import Cycle
from mastd.loop.process.installation import Installation
from mastd.safety.states import State


class TimedCycle(Cycle):
    """A cycle that notes the time of its own command while a profile runs."""

    times: list[int]

    @classmethod
    def of(cls, house: Installation) -> TimedCycle:
        """Return a cycle without a profile."""
        cycle = cls(
            house.table,
            house.daemon,
            house.geometry,
            house.observer,
            house.bare_model,
            identified=house.identified,
        )
        cycle.times = []
        return cycle

    def _act(self) -> None:
        begun = time.perf_counter_ns()
        super()._act()
        taken = time.perf_counter_ns() - begun
        if self.supervisor.state is State.RUNNING:
            self.times.append(taken)


@bench("control.step.us")
def step() -> dict[str, Figure]:
    """Play noise along heave; the digest of the commands (1 µs) counts in."""
    cycles: list[TimedCycle] = []

    def made(house: Installation) -> Cycle:
        cycles.append(TimedCycle.of(house))
        return cycles[-1]

    house = installation()
    profile = read_profile(noise("heave"))
    plant = BenchPlant(hidden_truth(house.table, profile.payload, 1), 1)
    play(profile, plant, on=house, made=made)
    return {"control.step.us": figure(np.array(cycles[0].times) * 1e-3, "us")}
