"""Execute requests that do more than change the state: load a profile, jog, set the level.

The state machine has allowed them before; each returns why it is refused, or nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from mastd.arrays import FloatArray
from mastd.control.reference.jog import JogRanges, plan_jog
from mastd.control.reference.master_gain import gain_refusal
from mastd.control.reference.reference import Reference
from mastd.errors import UsageError
from mastd.kinematics.forward import Observer
from mastd.loop.cycle.slots import ProfileSlots
from mastd.loop.payload.loaded_profile import LoadedProfile
from mastd.loop.payload.rig_motion import PoseDrive
from mastd.loop.payload.vehicles import Vehicles
from mastd.motion.profile.timeline import Timeline
from mastd.wire.access.verbs import Verb


class Carrier(Protocol):
    """Control that depends on the payload."""

    @property
    def model(self) -> FloatArray:
        """Values (11,) of the nominal model of table and payload."""

    @property
    def carry(self) -> Callable[[FloatArray], None]:
        """Takes over another model."""


class Orders:
    """Carries requests out; owns the loaded profile. ``slots`` is None where no other can be loaded."""

    def __init__(
        self,
        reference: Reference,
        carrier: Carrier,
        observer: Observer,
        vehicles: Vehicles,
        slots: ProfileSlots | None,
    ) -> None:
        self.simulated = False
        """Whether the plant is a simulated one."""
        self.loaded: LoadedProfile | None = None
        self.profile_start: FloatArray | None = None
        """First pose of the loaded profile; None where it begins from any."""
        self.profile_end = 0.0
        """Its duration in seconds."""
        self._reference = reference
        self._carrier = carrier
        self._bare = carrier.model.copy()
        self._vehicles = vehicles
        self._slots = slots
        self._observer = observer
        self._ranges = JogRanges.of(observer)
        self.busy = False
        """Whether the last order took longer than a period."""

    @property
    def carried(self) -> FloatArray:
        """Values (11,) of the model of table and payload that the daemon believes to stand there."""
        return self._carrier.model

    @property
    def level_limit(self) -> float:
        """Largest master gain that is allowed: what the check of the loaded profile has proved."""
        return self.loaded.level_limit if self.loaded is not None else 1.0

    @property
    def rigs(self) -> tuple[str, ...]:
        """All rigs that the loaded profile uses."""
        return self.loaded.rigs if self.loaded is not None else ()

    @property
    def timeline(self) -> Timeline | None:
        """Motion of the loaded profile, None without one."""
        return self.loaded.timeline if self.loaded is not None else None

    @property
    def missing_rig(self) -> str:
        """A rig that the loaded profile uses and that is not there; empty for none."""
        return self._vehicles.missing(self.rigs)

    def execute(self, verb: Verb, arguments: Sequence[float], off: bool) -> str:
        """Carry out ``verb``; ``off``: the table is down with the supply off."""
        if verb is Verb.LOAD:
            return self._load_slot(arguments, off)
        if verb is Verb.LEVEL:
            return self._level(arguments)
        if verb is Verb.JOG:
            return self._jog(arguments)
        return ""

    def take(self, loaded: LoadedProfile) -> None:
        """Take over a checked profile; only while nothing moves. The master gain goes back to 100 %.

        The payload already there stays if it is the same. Raises UsageError for a
        profile whose rigs are not the daemon's; nothing has changed then.
        """
        if loaded.vehicle is None and loaded.vehicle_key and self.loaded is not None:
            loaded = replace(loaded, vehicle=self.loaded.vehicle)
        self._vehicles.bind(loaded.vehicle, loaded.driven, loaded.rigs)
        self.loaded = loaded
        start = np.zeros((4, 6))
        loaded.timeline.evaluate(0.0, start)
        self.profile_start = start[0] if loaded.driven is None else None
        self.profile_end = loaded.duration
        # The simulated actuators carry the vehicle's own wrench, real ones that of a rigid body like it.
        felt = loaded.vehicle is not None and self._vehicles.plant_feels
        self._carrier.carry(self._bare if felt else loaded.model)
        self._vehicles.take(loaded.vehicle, loaded.driven)
        self._reference.set_gain(1.0)

    def meet_plant(self, simulated: bool) -> None:
        """Learn what the plant is: a simulated one feels a simulated vehicle, a real one carries its own."""
        self.simulated = simulated
        self._vehicles.plant_feels = simulated
        if self.loaded is not None:
            self.take(self.loaded)

    def begin(self) -> None:
        """Let the reference follow the loaded profile from its beginning."""
        if self._vehicles.driven is not None:
            self._vehicles.begin_drive(self._reference)
        else:
            assert self.profile_start is not None, "a profile is loaded before it can be started"
            self._reference.play(self.profile_start)

    @property
    def ended(self) -> bool:
        """Whether the loaded profile, which is being played, is at its end."""
        driven = self._vehicles.driven
        return driven.finished if driven is not None else self._reference.time >= self.profile_end

    def _load_slot(self, arguments: Sequence[float], off: bool) -> str:
        if self._slots is None:
            return "load is refused: this daemon runs a single profile; start `mastd serve` to run others"
        whole = all(map(math.isfinite, arguments[:2]))  # the gateway is not trusted to send numbers
        slot, serial = (int(arguments[0]), int(arguments[1])) if whole else (-1, 0)
        try:
            loaded = self._slots.read(slot, serial, vehicles=off)
        except ValueError as error:
            return f"load is refused: {error}"
        if loaded is None:
            return "load is refused: the loader delivered no profile; load again"
        carried = self.loaded.payload_key if self.loaded is not None else (self._bare.tobytes(), 0)
        if not off and loaded.is_driven:
            return "load is refused: a profile without segments loads in OFF only; lower the table first"
        if not off and loaded.payload_key != carried:
            return "load is refused: the profile has another payload; lower the table before changing it"
        try:
            self.take(loaded)
        except UsageError as error:
            return f"load is refused: {error}"
        self.busy = loaded.vehicle is not None or loaded.driven is not None
        return ""

    def _level(self, arguments: Sequence[float]) -> str:
        driven = self._vehicles.driven
        if isinstance(driven, PoseDrive):
            return "level is refused: a pose stream has no level; its amplitude is set by the rig"
        if driven is not None:
            return (
                "level is refused: a driven vehicle has no level; its gains are in the cueing of the profile"
            )
        refusal = gain_refusal(arguments[0], self.level_limit)
        if not refusal:
            self._reference.set_gain(arguments[0])
        return refusal

    def _jog(self, arguments: Sequence[float]) -> str:
        path = self._reference.limits.path
        if path is None:
            return "jog is refused: the reference has no path limits"
        jog = plan_jog(arguments, self._reference.motion[0], path, self._observer, self._ranges)
        if jog.target is not None:
            self._reference.move(jog.target)
        return jog.refusal
