"""A checked profile as the loop holds it: the motion, its payload, and how far its level may go."""

from __future__ import annotations

from dataclasses import dataclass, field

from mastd.arrays import FloatArray
from mastd.control.sine.correction import NOTHING
from mastd.loop.payload.external_vehicle import ExternalVehicle
from mastd.loop.payload.hils import TableVehicle
from mastd.loop.payload.oils import DrivenVehicle
from mastd.loop.payload.rig_motion import PoseDrive, SeatDrive
from mastd.motion.profile.timeline import Timeline

OnTable = TableVehicle | ExternalVehicle
"""What may be simulated on the table."""
Driven = DrivenVehicle | PoseDrive | SeatDrive
"""What may make the motion in the timeline's place."""


@dataclass(frozen=True)
class LoadedProfile:
    """What ``Cycle.load`` takes over.

    ``serial`` counts the loadings of one daemon from 1, ``slot`` is where it stands (−1 for none);
    ``level_limit`` is the largest master gain that the check has proved; ``model`` are the values of
    ``TableModel`` with the payload; ``limits`` the profile's own limits as of
    ``mastd.safety.profile_limits.tabulate``; ``vehicle`` is what is simulated on the table, None for nothing,
    and ``vehicle_key`` tells one from another, 0 for none;
    ``band``: lowest and highest frequency in Hz that the motion excites, for whoever judges it; it does not
    come along through a slot;
    ``driven`` is the vehicle or the rig that makes the motion in the timeline's place, and ``is_driven``
    tells whether there is one: it may still lie in the slot;
    ``rigs``: names of all rigs that the profile uses;
    ``corrected_sines``: as of ``mastd.control.sine.correction``.
    """

    serial: int
    slot: int
    name: str
    timeline: Timeline
    level_limit: float
    model: FloatArray
    limits: FloatArray
    vehicle_key: int = 0
    vehicle: OnTable | None = None
    is_driven: bool = False
    driven: Driven | None = None
    band: tuple[float, float] | None = None
    corrected_sines: FloatArray = field(default_factory=NOTHING.copy)
    rigs: tuple[str, ...] = ()

    @property
    def duration(self) -> float:
        """s that it takes; a driven vehicle's way home comes on top."""
        return self.timeline.duration if self.driven is None else self.driven.duration

    @property
    def payload_key(self) -> tuple[bytes, int]:
        """What must be the same for another profile to be loaded while the table stands raised."""
        return self.model.tobytes(), self.vehicle_key
