"""What the table's control works on: model, what is learned, state, inputs and measurements, as named arrays.

n actuators; m weights of a filter; a periods known ahead; d periods waited where the motion is not previewed;
k notches; s static supports. SI.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from mastd.arrays import FloatArray
from mastd.index_table import Entry, index_table, size_of
from mastd.kinematics.geometry import Legs
from mastd.settings.table.supply import MAX_SUPPLIES


class DynamicsOf(NamedTuple):
    """Whose dynamics the force reference has; the names are those of the setting."""

    payload: Annotated[int, Entry("1", "table and payload")]
    table: Annotated[int, Entry("1", "the bare table, and the weight of the payload")]
    links: Annotated[int, Entry("1", "each actuator's own mass, and the weight of all")]
    none: Annotated[int, Entry("1", "the weight of all")]


DYNAMICS = index_table(DynamicsOf)

STIFF_RATIO = 1.25
"""Stiffness of the oil over that at mid-stroke from which the acceleration feedback is faded: near a stop the
table oscillates faster than its valves follow."""


class Constants(NamedTuple):
    """Numbers of the control, constant while it runs."""

    period: float
    """s."""
    dynamics: int
    """One of DYNAMICS."""
    friction: bool
    """Whether the seals' friction is fed forward."""
    valve_inverse: bool
    """Whether the inverse of the valves is applied."""
    preview: bool
    """Whether the motion is known ahead, unless it is streamed."""
    delay: int
    """Periods by which a motion waits that is not previewed, rounded up."""
    oldest_ratio: float
    """Weight of the oldest motion, against the one after it, in the motion that waited."""
    balance: float
    """Gain of the balance, 1/s."""
    balance_limit: float
    """m."""
    trim_limit: float
    """m/s."""
    engage_time: float
    """s in which the trims come in."""
    valve_learning: bool
    payload_learning: bool


class ControlModel(NamedTuple):
    """What the control knows beforehand, and never changes."""

    legs: Legs
    payload: FloatArray
    """(MODEL_SIZE,) values of ``TableModel`` of table and payload."""
    table: FloatArray
    """(MODEL_SIZE,) of the bare table."""
    mass_matrix: FloatArray
    """(6, 6) of the bare table."""
    gains: FloatArray
    """(6,) of the acceleration feedback, 1/s."""
    masses: FloatArray
    """(n,) kg that each actuator has to itself."""
    preload: FloatArray
    """(n,) N, internal forces that the balance keeps."""
    nominal: FloatArray
    """(n, ACTUATOR_COLUMNS) that the drive counts on."""
    drives: FloatArray
    """(n, DRIVE_COLUMNS) what the drive does with a command."""
    filters: FloatArray
    """(2, m, n) weights of the valves' inverse: with preview, and without."""
    notches: FloatArray
    """(k, NOTCH_COLUMNS) of the acceleration feedback."""
    supports: FloatArray
    """(s, SUPPORT) static supports of the table."""


class Learned(NamedTuple):
    """What is learned while the table moves; see ``valve_learning`` and ``body_learning``."""

    known: FloatArray
    """(n, ACTUATOR_COLUMNS) before anything was learned."""
    actuators: FloatArray
    """(n, ACTUATOR_COLUMNS) as known by now."""
    valve_memory: FloatArray
    """(n, LEARNING_COLUMNS)."""
    body: FloatArray
    """(MODEL_SIZE,) values of table and payload as known by now."""
    directions: FloatArray
    """(7, MODEL_SIZE) how they may differ from the model."""
    body_memory: FloatArray
    """(BODY_MEMORY,)."""


class ControlInput(NamedTuple):
    """Offsets of what changes every period; all but pressures and ``feedback`` are 0 or 1."""

    supply_pressures: Annotated[int, Entry("Pa", "of each supply, smoothed", MAX_SUPPLIES)]
    engaged: Annotated[int, Entry("1", "whether the drive follows")]
    supported: Annotated[int, Entry("1", "whether the actuators alone carry the table")]
    sample_valid: Annotated[int, Entry("1", "whether a usable sample has come")]
    contiguous: Annotated[int, Entry("1", "whether it is that of the next period")]
    accel_valid: Annotated[int, Entry("1", "whether accelerometers show the acceleration")]
    not_previewed: Annotated[int, Entry("1", "whether the motion is streamed, not known ahead")]
    discontinuous: Annotated[int, Entry("1", "whether the motion does not continue the last one")]
    feedback: Annotated[int, Entry("1", "weight of the acceleration feedback, from 0 to 1")]


INPUT = index_table(ControlInput)
INPUT_SIZE = size_of(INPUT)


class Measured(NamedTuple):
    """What is measured, and what is simulated on the table."""

    motion: FloatArray
    """(3, 6) pose, rates and accelerations."""
    forces: FloatArray
    """(n,) of the actuators, push positive."""
    lengths: FloatArray
    """(n,)."""
    spools: FloatArray
    """(n,) openings of the valves."""
    load: FloatArray
    """(6,) wrench of what is simulated on the table beside the model, at C in P axes."""


class Command(NamedTuple):
    """The command of the actuators, each part (n,)."""

    lengths: FloatArray
    rates: FloatArray
    accelerations: FloatArray
    forces: FloatArray
    trims: FloatArray
    block: FloatArray
    """The parts in a row, then the payload's wrench: what is sent."""

    @classmethod
    def of(cls, block: FloatArray, actuators: int) -> Command:
        """Return the parts of ``block`` (≥ 5 n,) as views."""
        lengths, rates, accelerations, forces, trims = block[: 5 * actuators].reshape(5, actuators)
        return cls(lengths, rates, accelerations, forces, trims, block)


class Scratch(NamedTuple):
    """Scratch of one period."""

    jacobian: FloatArray
    """(n, 6) geometric Jacobian, after ``forces_of`` that of its pose."""
    factors: FloatArray
    """(7, 6)."""
    wrench: FloatArray
    """(6,)."""
    other: FloatArray
    """(6,)."""
    still: FloatArray
    """(6,) zeros."""
    lengths: FloatArray
    """(n,), as the next three."""
    rates: FloatArray
    accelerations: FloatArray
    forces: FloatArray


class ControlState(NamedTuple):
    """What one period of the control leaves to the next."""

    openings: FloatArray
    """(m, n) of the valves, oldest first."""
    seals: FloatArray
    """(a + d + 1, n) friction of the seals in N, oldest first."""
    motions: FloatArray
    """(d + 1, 24) oldest first."""
    motion: FloatArray
    """(4, 6) that the command follows in this period."""
    bristles: FloatArray
    """(n,) deflection of the seals, m."""
    earlier_forces: FloatArray
    """(2, n) farthest ahead, newest first."""
    last_openings: FloatArray
    """(n,) at the end of the last period, farthest ahead."""
    last_seals: FloatArray
    """(n,) friction of the seals in the last command."""
    last_forces: FloatArray
    """(n,) of the last command."""
    balance: FloatArray
    """(n,) m."""
    feedback: FloatArray
    """(n,) m/s."""
    accelerations: FloatArray
    """(6,) of the last command, about which the next sample tells."""
    engagement: FloatArray
    """(1,) from 0 to 1."""
    notch_memory: FloatArray
    """(k, 2)."""
    scratch: Scratch

    @classmethod
    def of(cls, actuators: int, taps: int, ahead: int, delay: int, notches: int) -> ControlState:
        """Return the state at rest."""
        n, zeros = actuators, np.zeros
        scratch = Scratch(
            *(zeros((n, 6)), zeros((7, 6)), zeros(6), zeros(6), zeros(6)), *(zeros(n) for _ in range(4))
        )
        return cls(
            openings=zeros((taps, n)),
            seals=zeros((ahead + delay + 1, n)),
            motions=zeros((delay + 1, 24)),
            motion=zeros((4, 6)),
            bristles=zeros(n),
            earlier_forces=zeros((2, n)),
            last_openings=zeros(n),
            last_seals=zeros(n),
            last_forces=zeros(n),
            balance=zeros(n),
            feedback=zeros(n),
            accelerations=zeros(6),
            engagement=zeros(1),
            notch_memory=zeros((notches, 2)),
            scratch=scratch,
        )

    def reset(self) -> None:
        """Put the control at rest."""
        for array in (*self[:-1], *self.scratch):
            array[:] = 0.0


class Control(NamedTuple):
    """Everything that the control of one table works on."""

    constants: Constants
    model: ControlModel
    learned: Learned
    state: ControlState
    inputs: FloatArray
    """(INPUT_SIZE,), see ``ControlInput``."""
    measured: Measured
    command: Command
