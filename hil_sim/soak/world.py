"""Plant and cycle stepped together in virtual time, with what can go wrong between them.

As over the link in free-run: a lost sample leaves the cycle without a new one, a lost command leaves the
drive to itself, a stall of the loop skips periods, a repeated sample comes again under a new number.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

from hil_sim.faults import Fault
from hil_sim.plant.plant import Plant
from hil_sim.plant.truth import PayloadTruth, PlantTruth
from hil_sim.soak.profiles import Playable
from mastd.arrays import FloatArray
from mastd.dynamics.table_model import TableModel
from mastd.kinematics.forward import Observer
from mastd.kinematics.geometry import Geometry
from mastd.loop.cycle.cycle import Cycle
from mastd.loop.cycle.slots import SLOTS, ProfileSlots
from mastd.loop.payload.loaded_profile import LoadedProfile
from mastd.safety.profile_limits import LIMIT_NUMBERS
from mastd.settings.daemon.daemon import DaemonSettings
from mastd.settings.table.payload import NoPayload, RigidPayload
from mastd.settings.table.table import TableSettings
from mastd.wire.access.verbs import Verb


@dataclass
class Trouble:
    """What goes wrong between loop and plant, each for as many cycles as its number says."""

    skipped: int = 0
    """Periods that the loop misses before the next cycle."""
    deaf: int = 0
    """Samples are lost on the way."""
    mute: int = 0
    """Commands are lost on the way."""
    repeated: int = 0
    """The last sample comes again, under a new number."""
    garbled: int = 0
    """One value of the sample is replaced."""
    position: int = 0
    """Which value is replaced."""
    value: float = 0.0
    """What it is replaced by."""
    late: int = 0
    """Cycles begin late."""
    late_ns: int = 0
    """How late."""

    @property
    def active(self) -> bool:
        """Something is wrong now."""
        return bool(self.skipped or self.deaf or self.mute or self.repeated or self.garbled or self.late)


class World:
    """One plant and one cycle from power-up; ``step`` is one period."""

    def __init__(
        self,
        table: TableSettings,
        daemon: DaemonSettings,
        payload: NoPayload | RigidPayload,
        truth: PlantTruth,
        seed: int,
    ) -> None:
        geometry = Geometry.from_settings(table)
        self.plant = Plant(table, truth, daemon.period_ns, seed)
        self.slots = ProfileSlots()
        self.model = TableModel.from_settings(table, payload)
        self.cycle = Cycle(table, daemon, geometry, Observer(geometry), self.model, self.slots)
        self.geometry = geometry
        self.period_ns = daemon.period_ns
        self.now_ns = 0
        self.trouble = Trouble()
        self.truth: FloatArray = np.zeros(18 + geometry.actuators)
        """True pose, rates, accelerations (6 each) and forces (n) at the sample's instant."""
        self.events: list[dict[str, object]] = []
        """What the supervisor reported in the last cycle."""
        self.skipped = 0
        """Periods that passed before the last cycle without one."""
        self._sequence = 0
        self._serial = 0

    def prepare(self, playable: Playable) -> tuple[int, int]:
        """Do the loader's work: put a checked profile into the slot that is not played.

        Returns the slot and the serial number of the loading.
        """
        loaded = self.cycle.orders.loaded
        slot = 0 if loaded is None else (loaded.slot + 1) % SLOTS
        self._serial += 1
        name, limit = playable.profile.name, playable.level_limit
        none = np.zeros((0, LIMIT_NUMBERS))
        profile = LoadedProfile(self._serial, slot, name, playable.timeline, limit, self.model.values, none)
        self.slots.write(slot, profile)
        return slot, self._serial

    def close(self) -> None:
        """Give the slots' memory back."""
        os.close(self.slots.descriptor)

    def inject(self, fault: Fault) -> None:
        """Let a fault of the plant begin now."""
        self.plant.inject(Fault(fault.name, self.plant.time_ns, fault.channel, fault.value))

    def step(self, verb: Verb, arguments: tuple[float, ...]) -> None:
        """One cycle with the operator's request, and the period after it."""
        plant, cycle, period = self.plant, self.cycle, self.period_ns
        trouble = self.trouble if self.trouble.active else None
        self.skipped = 0
        if trouble is not None and trouble.skipped:
            self.skipped, trouble.skipped = trouble.skipped, 0
            plant.advance(None, self.skipped * period)
            self.now_ns += self.skipped * period
        plant.report_truth(self.truth)
        samples = self._sample(trouble)
        self.now_ns += period
        late_ns = 0
        if trouble is not None and trouble.late:
            trouble.late -= 1
            late_ns = trouble.late_ns
        cycle.step(samples, self.now_ns, verb, self.skipped, late_ns, arguments)
        self.events = cycle.supervisor.events
        cycle.supervisor.events = []
        if trouble is not None and trouble.mute:
            trouble.mute -= 1
            plant.advance(None, period)
        else:
            plant.advance(cycle.command, period)

    def _sample(self, trouble: Trouble | None) -> int:
        """Bring the plant's sample to the cycle; return how many came."""
        plant, sample = self.plant, self.cycle.sample
        if plant.silent:
            return 0
        self._sequence += 1
        if trouble is not None:
            if trouble.deaf:
                trouble.deaf -= 1
                return 0
            if trouble.repeated:
                trouble.repeated -= 1
                sample.sequence = self._sequence
                return 1
        plant.read(sample)
        sample.step = plant.time_ns // self.period_ns
        sample.sequence = self._sequence
        if trouble is not None and trouble.garbled:
            trouble.garbled -= 1
            sample.values[trouble.position] = trouble.value
        return 1


def true_payload(payload: NoPayload | RigidPayload) -> PayloadTruth | None:
    """Return the payload as the plant carries it."""
    if isinstance(payload, NoPayload):
        return None
    return PayloadTruth(
        mass=payload.mass, centre_of_gravity=payload.centre_of_gravity, inertia=payload.inertia
    )
