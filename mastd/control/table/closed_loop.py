"""The linearised closed loop of table, oil, valves, drive and daemon about rest: its state matrix.

With q the pose, J the Jacobian of the lengths, M and M₀ the mass matrices with and without what is carried,
F the actuators' forces, k the stiffness of the oil where the actuators stand and kₙ that at mid-stroke, which
the drive counts on, l the leakage rate, b the seals' viscous friction, G the valve (second order behind a
delay and the lag of a fourth stage), H the high-pass of the load pressure, and for every actuator

    Ḟ = k (G u − J q̇) − l F,    M q̈ = Jᵀ (F + d (G u − J q̇) − b J q̇) − K q − C q̇,
    u = k_p (β − J q) − (c/kₙ) H F − e k⁻¹ J (JᵀJ)⁻¹ M₀ g D q̈,    β̇ = −g_β (I − J (JᵀJ)⁻¹ Jᵀ) k⁻¹ F,

K and C stiffness and damping of static supports, d the damper of electric drives, whose k is constant, c the
pressure damping, g the gains of the acceleration feedback, D its delay, e = min(1, 1.25 kₙ/k) how it is faded
towards the stops (``STIFF_RATIO``), β the balance. Delays are Padé approximants of second order, right to 1°
up to ωT = 1.8. Coulomb friction is left out: it holds small oscillations down, but not where the seals slide.
One actuator of it: Merritt 1967, chapter 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mastd.arrays import FloatArray
from mastd.control.table.data import STIFF_RATIO
from mastd.dynamics.actuator import ACTUATOR, actuator_rows, oil_spring, valve_delays
from mastd.dynamics.oil_flow import oil_springs
from mastd.dynamics.supports import support_slopes
from mastd.dynamics.table_model import mobility
from mastd.kinematics.geometry import Geometry
from mastd.kinematics.workspace import jacobians_at, lengths_at
from mastd.settings.table.actuators import ActuatorType
from mastd.settings.table.table import TableSettings

PADE_STATES = 2


class Gains(NamedTuple):
    """Gains that may be chosen, 1/s."""

    length: FloatArray
    """(n,) of the drive's length loops."""
    pressure_damping: FloatArray
    """(n,) of the drive."""
    acceleration: FloatArray
    """(6,) of the acceleration feedback."""


@dataclass(frozen=True)
class Plant:
    """What is given: table, geometry, mass matrix of the bare table, the daemon's period and its balance."""

    table: TableSettings
    geometry: Geometry
    bare: FloatArray
    period: float
    balance: float
    late: float = 0.0
    """s by which samples or commands come later than in lockstep."""


@dataclass(frozen=True)
class ClosedLoop:
    """The loop at one pose with one payload; what the drive asks of the valves is linear in the gains."""

    fixed: FloatArray
    """(states, states) of all that no gain changes; the pose and its rates come first."""
    inputs: FloatArray
    """(states, n) per speed asked of a valve."""
    held: FloatArray
    """(n, states) speed asked per length gain."""
    damped: FloatArray
    """(n, states) speed asked per pressure damping."""
    fed_back: FloatArray
    """(6, n, states) speed asked per gain of the acceleration feedback."""

    def matrix(self, gains: Gains) -> FloatArray:
        """Return the state matrix (states, states)."""
        asked = gains.length[:, None] * self.held + gains.pressure_damping[:, None] * self.damped
        asked = asked + np.tensordot(gains.acceleration, self.fed_back, 1)
        return np.asarray(self.fixed + self.inputs @ asked)


class _States:
    """Numbers of the states."""

    def __init__(self, actuators: int, piloted: Sequence[int]) -> None:
        self.size = 0
        self.pose, self.rates = self._take(6), self._take(6)
        self.forces, self.passed, self.balance = (self._take(actuators) for _ in range(3))
        self.spools, self.speeds = self._take(actuators), self._take(actuators)
        self.pilots = {i: self._take(1).start for i in piloted}
        self.valves = [self._take(PADE_STATES) for _ in range(actuators)]
        self.accelerations = [self._take(PADE_STATES) for _ in range(6)]

    def _take(self, count: int) -> slice:
        self.size += count
        return slice(self.size - count, self.size)


def closed_loop(plant: Plant, pose: FloatArray, mass_matrix: FloatArray) -> ClosedLoop:
    """Return the loop about rest at ``pose`` (6,) with ``mass_matrix`` (6, 6) of table and payload."""
    table, geometry = plant.table, plant.geometry
    jacobian, rows = jacobians_at(geometry, pose[None])[0], actuator_rows(table)
    lengths = lengths_at(geometry, pose[None])[0]
    springs = np.array([oil_spring(row, length) for row, length in zip(rows, lengths, strict=True)])
    share = np.zeros_like(jacobian)
    free = jacobian[:, geometry.free_axes]
    share[:, geometry.free_axes] = free @ np.linalg.inv(free.T @ free)
    four_stage = [i for i, type_ in enumerate(table.types) if type_.lag.pilot is not None]
    s = _States(geometry.actuators, four_stage)
    fixed = np.zeros((s.size, s.size))
    moved = mobility(mass_matrix, geometry)
    dampers = rows[:, ACTUATOR.damping]
    _add_body(fixed, s, jacobian, moved, rows[:, ACTUATOR.viscous] + dampers)
    fixed[s.rates, s.spools] = moved @ (jacobian.T * dampers)
    stiffness, damping = support_slopes(table, pose)
    fixed[s.rates, s.pose] -= moved @ stiffness
    fixed[s.rates, s.rates] -= moved @ damping
    _add_oil(fixed, s, jacobian, springs, springs * rows[:, ACTUATOR.leak_speed])
    internal = np.eye(geometry.actuators) - share @ jacobian.T
    fixed[s.balance, s.forces] = -plant.balance * internal / springs
    corner = 2.0 * np.pi * table.drive.pressure_high_pass
    fixed[s.passed, s.forces] = corner * np.eye(geometry.actuators)
    fixed[s.passed, s.passed] = -corner * np.eye(geometry.actuators)

    inputs = _add_valves(fixed, s, table)
    held, damped = np.zeros((2, geometry.actuators, s.size))
    held[:, s.pose], held[:, s.balance] = -jacobian, np.eye(geometry.actuators)
    nominal = oil_springs(table)
    damped[:, s.forces], damped[:, s.passed] = np.diag(-1.0 / nominal), np.diag(1.0 / nominal)
    delayed = _add_measuring(fixed, s, 0.5 * plant.period + table.sensors.acceleration.delay + plant.late)
    faded = np.minimum(1.0, STIFF_RATIO * nominal / springs)
    forces = -(faded / springs)[:, None] * share @ plant.bare
    fed_back = forces.T[:, :, None] * delayed[:, None, :]
    return ClosedLoop(fixed, inputs, held, damped, fed_back)


def _add_body(
    fixed: FloatArray, s: _States, jacobian: FloatArray, mobility: FloatArray, friction: FloatArray
) -> None:
    """Add the equations of motion."""
    fixed[s.pose, s.rates] = np.eye(6)
    fixed[s.rates, s.forces] = mobility @ jacobian.T
    fixed[s.rates, s.rates] = -mobility @ jacobian.T @ (friction[:, None] * jacobian)


def _add_oil(
    fixed: FloatArray, s: _States, jacobian: FloatArray, springs: FloatArray, leakage: FloatArray
) -> None:
    """Add how the oil turns flow into force."""
    fixed[s.forces, s.spools] = np.diag(springs)
    fixed[s.forces, s.rates] = -springs[:, None] * jacobian
    fixed[s.forces, s.forces] = -np.diag(leakage)


def _add_valves(fixed: FloatArray, s: _States, table: TableSettings) -> FloatArray:
    """Add the valves behind their delays; return what a speed asked of each does (states, n)."""
    inputs = np.zeros((s.size, len(table.links)))
    for i, (type_, delay) in enumerate(zip(table.types, valve_delays(table), strict=True)):
        own, spool, speed = s.valves[i], s.spools.start + i, s.speeds.start + i
        # The drive holds what it asks of the valve over its tick.
        late = delay + _force_delay(table, type_) + 0.5 / table.drive.update_rate
        passed, fixed[own, own] = _pade(late)
        natural = 2.0 * np.pi * type_.lag.natural_frequency
        fixed[spool, speed] = 1.0
        fixed[speed, spool] = -(natural**2)
        fixed[speed, speed] = -2.0 * type_.lag.damping_ratio * natural
        entered, gain, pilot = speed, natural**2, type_.lag.pilot
        if pilot is not None:
            entered, gain = s.pilots[i], 2.0 * np.pi * pilot
            fixed[speed, entered], fixed[entered, entered] = natural**2, -gain
        fixed[entered, own] = gain * passed
        inputs[own.stop - 1, i], inputs[entered, i] = 1.0, gain
    return inputs


def _force_delay(table: TableSettings, type_: ActuatorType) -> float:
    """Return the delay in s of what measures the force, 0 for nothing."""
    sensor = table.sensors.force if type_.feedback == "load_cell" else table.sensors.pressure
    return sensor.delay if sensor is not None and type_.feedback != "none" else 0.0


def _add_measuring(fixed: FloatArray, s: _States, delay: float) -> FloatArray:
    """Add the delay of the measured acceleration; return what comes out of it (6, states)."""
    delayed = np.array(fixed[s.rates])
    for axis, own in enumerate(s.accelerations):
        passed, fixed[own, own] = _pade(delay)
        fixed[own.stop - 1] += fixed[s.rates][axis]
        delayed[axis, own] = passed
    return delayed


def _pade(delay: float) -> tuple[FloatArray, FloatArray]:
    """Return output row (2,) and state matrix (2, 2) of a delay in s; its input drives the last state.

    exp(−sT) ≈ (1 − sT/2 + s²T²/12)/(1 + sT/2 + s²T²/12): the input itself is to be added to the output.
    """
    delay = max(delay, 1e-6)
    first, second = 12.0 / delay**2, 6.0 / delay
    return np.array([0.0, -2.0 * second]), np.array([[0.0, 1.0], [-first, -second]])
