"""The vehicle as a multibody system: what every formulation, bench and report is built on.

Vehicle frame: x forward, y left, z up (ISO 8855), origin on the ground. All points and axes are those of the
design position, in the vehicle frame, in metres; in the design position all body frames are parallel to it.
Body 0 is the chassis.

A wheel is a rotor on its carrier (the knuckle): the carrier's mass, centre and inertia contain the wheel's,
except for the inertia about the spin axis, which belongs to the spin alone. For a wheel that is symmetrical
about its axis that is exact, and the angle of the spin enters no equation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from mastd.arrays import FloatArray
from mastd.errors import UsageError
from mastd.settings.core.error_text import near
from mastd.vehicle.elements.anti_roll_bar.element import AntiRollBar
from mastd.vehicle.elements.spring_damper.element import SpringDamper
from mastd.vehicle.joints.primitive import Primitive
from mastd.vehicle.magic_formula.tyre import MagicTyre
from mastd.vehicle.tyres.linear_tyre import Tyre

if TYPE_CHECKING:
    from mastd.vehicle.powertrain.model import Powertrain


DRIVER: Final = "driver"
"""Name of the seat of who drives."""


@dataclass(frozen=True, eq=False)
class Body:
    """A rigid body; of a wheel's carrier with the wheel in it (see the top of the module)."""

    name: str
    mass: float
    centre: FloatArray
    """(3) centre of mass."""
    inertia: FloatArray
    """(3, 3) about the centre of mass, kg m2."""


@dataclass(frozen=True, eq=False)
class Wheel:
    """A wheel on its carrier."""

    name: str
    """fl, fr, rl, rr; further axles 3l, 3r, …"""
    carrier: int
    centre: FloatArray
    axis: FloatArray
    """Unit vector of the spin axis, pointing left: forward rolling is a positive spin."""
    mass: float
    axial_inertia: float
    transverse_inertia: float
    tyre: Tyre | MagicTyre
    brake_torque: float = 0.0
    """N m of its friction brake at full pedal."""


@dataclass(frozen=True, eq=False)
class Aerodynamics:
    """Forces of the air at rest: ½ ρ A v² along the speed, and lift at two points of the chassis."""

    density: float
    drag_area: float
    """c_d A, m2."""
    centre: FloatArray
    """(3) where the drag acts on the chassis."""
    front_lift_area: float
    """c_l A at ``front``, m2, positive upwards."""
    rear_lift_area: float
    front: FloatArray
    rear: FloatArray


@dataclass(frozen=True, eq=False)
class TieDown:
    """A strap from the chassis to the ground: it pulls, and does not push."""

    name: str
    point: FloatArray
    """(3) on the chassis, design position."""
    anchor: FloatArray
    """(3) on the ground, vehicle frame."""
    stiffness: float
    damping: float
    preload: float
    """N where the car stands at rest."""


@dataclass(frozen=True, eq=False)
class Seat:
    """A place on the chassis at which the ride is felt."""

    name: str
    position: FloatArray
    """(3) from the chassis' centre of mass, chassis axes, m."""


@dataclass(frozen=True)
class Chock:
    """A wedge before and behind a wheel: it pushes the wheel back when it has rolled through the
    clearance."""

    wheel: int
    clearance: float
    """m either way from where the wheel stands at rest."""
    stiffness: float
    damping: float


@dataclass(frozen=True)
class Corner:
    """One wheel's suspension: joined to the chassis, to bodies of its axle, and to nothing else."""

    name: str
    bodies: tuple[int, ...]
    primitives: tuple[int, ...]
    springs: tuple[int, ...]
    wheel: int
    axle: int


@dataclass(frozen=True)
class Axle:
    """What stands between chassis and corners: rack, subframe; joined to the chassis and its own corners.

    A group of further bodies on the chassis (a cab on its mounts) is an axle without corners.
    """

    name: str
    bodies: tuple[int, ...]
    primitives: tuple[int, ...]
    springs: tuple[int, ...]
    bar: int
    """Index into ``Model.bars``, -1 if there is none."""
    corners: tuple[int, ...]


@dataclass(frozen=True)
class Drive:
    """A prescribed displacement, the rack's: its value, rate and acceleration are inputs of each step."""

    name: str
    travel_per_turn: float
    """Metres of rack for one turn of the pinion; 0 where the displacement itself is the only input."""
    limit: float
    """Largest displacement either way, m."""


@dataclass(frozen=True)
class Model:
    """A checked, assembled vehicle. Every body but the chassis is in exactly one axle or corner."""

    name: str
    gravity: float
    bodies: tuple[Body, ...]
    primitives: tuple[Primitive, ...]
    springs: tuple[SpringDamper, ...]
    bars: tuple[AntiRollBar, ...]
    wheels: tuple[Wheel, ...]
    corners: tuple[Corner, ...]
    axles: tuple[Axle, ...]
    drives: tuple[Drive, ...]
    powertrain: Powertrain | None = None
    aerodynamics: Aerodynamics | None = None
    tie_downs: tuple[TieDown, ...] = ()
    chocks: tuple[Chock, ...] = ()
    held: tuple[int, ...] = ()
    """Motions of the chassis that are held: 0…2 along, 3…5 about the inertial axes; a quarter car holds all
    but 2. Where any is held, all three rotations are."""
    seats: tuple[Seat, ...] = ()
    """In the order of the file."""

    @property
    def rows(self) -> int:
        """Number of constraint equations."""
        return sum(primitive.kind.rows for primitive in self.primitives)

    def seat(self, name: str = DRIVER) -> Seat:
        """Return a seat by its name; raise UsageError with what would be right if there is none."""
        for seat in self.seats:
            if seat.name == name:
                return seat
        if not self.seats:
            raise UsageError(
                f"{self.name}: has no seats, one is written as"
                f" `seats: {{{name}: {{position: [-1400 mm, 350 mm, 500 mm]}}}}` in the vehicle's file"
            )
        raise UsageError(f"{self.name}: no seat {name!r}, {near(name, (seat.name for seat in self.seats))}")
