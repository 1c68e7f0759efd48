"""Plant and cycle in one process and in virtual time, for tests of the loop without links and clocks."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hil_sim.plant.plant import Plant
from hil_sim.plant.provider import provider
from mastd.loop.process.installation import Plan
from mastd.loop.rigs.bound_rig import BoundRig
from mastd.safety.states import State
from mastd.wire.access.verbs import Verb
from mastd.wire.plant.messages import DriveMode, Stage
from mastd.wire.plant.provider import PlantRequest, rigid_payload

HEAVE_AND_PITCH = """
name: shaking
segments:
  - kind: sine
    frequency: 2 Hz
    duration: 6 s
    axes: {heave: {amplitude: 5 mm}, pitch: {amplitude: 0.1 deg}}
"""
"""A profile that two axes have a part in."""


class Rig:
    """Plant and cycle, stepped together; ``rigs``: those that the cycle knows."""

    def __init__(self, plan: Plan, rigs: Mapping[str, BoundRig] | None = None) -> None:
        self.plan = plan
        request = PlantRequest(plan.table_path, payload=rigid_payload(plan.profile), mode="lockstep")
        plant = provider.open(request)
        assert isinstance(plant, Plant)
        self.plant = plant
        self.cycle = plan.bare_cycle()
        self.cycle.vehicles.rigs = rigs if rigs is not None else self.cycle.vehicles.rigs
        self.cycle.load(plan.loaded())
        self.supervisor = self.cycle.supervisor
        self.now = 0
        self.samples = 0
        self.events: list[dict[str, object]] = []
        self.commanded: list[np.ndarray[tuple[int], np.dtype[np.float64]]] = []

    def step(self, verb: Verb = Verb.NONE, skipped: int = 0, arguments: tuple[float, ...] = ()) -> None:
        """One cycle; ``skipped`` periods pass before it without a command."""
        period = self.plan.daemon.period_ns
        if skipped:
            self.plant.advance(None, skipped * period)
            self.now += skipped * period
        self.read()
        self.now += period
        self.cycle.step(1, self.now, verb, skipped, arguments=arguments)
        self.events += self.supervisor.events
        self.supervisor.events.clear()
        self.commanded.append(self.cycle.frame.motion[0].copy())
        self.plant.advance(self.cycle.command, period)

    def read(self) -> None:
        """Take the plant's sample; its step is plant time in periods, as over the link."""
        self.plant.read(self.cycle.sample)
        self.cycle.sample.step = self.plant.time_ns // self.plan.daemon.period_ns
        self.cycle.sample.sequence = self.samples = self.samples + 1

    @property
    def at_rest(self) -> bool:
        """The drive is disabled and the supply off: nothing is asked for."""
        return self.supervisor.mode is DriveMode.DISABLED and self.supervisor.stage is Stage.OFF

    def until(self, state: State, most: int = 20_000) -> None:
        """Step until the state is reached."""
        for _ in range(most):
            if self.supervisor.state is state:
                return
            self.step()
        raise AssertionError(
            f"{state.name} not reached, it is {self.supervisor.state.name}: {self.events[-3:]}"
        )

    def run_profile(self, seconds: float) -> None:
        """Raise, arm, start, and play for a while."""
        self.step()
        self.step(Verb.RAISE)
        self.until(State.READY)
        self.step(Verb.ARM)
        self.step(Verb.START)
        for _ in range(round(seconds * 1000)):
            self.step()
        assert self.supervisor.state is State.RUNNING

    def state(self) -> State:
        """Return the present state."""
        return self.supervisor.state

    def codes(self) -> list[int]:
        """Return the codes of the faults that have happened, in order."""
        return [int(str(event["code"])) for event in self.events if event["event"] == "fault"]
