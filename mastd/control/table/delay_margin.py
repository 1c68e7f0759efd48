"""The delay margin of the acceleration feedback: how much later than in lockstep messages may come.

The linear model of table, oil and drive about rest at neutral, q the pose, J the Jacobian of the lengths, M
and M₀ the mass matrices with and without what is carried, K the stiffness of the oil, l its leakage rate, G
the valve with its delay, k the drive's length gain, c its pressure damping behind the high-pass H, b the
seals' viscous friction, g the gain, N the notches, T₀ what passes anyway, T the delay of the line:

    P(s) q = Jᵀ K G/(s + l + c G H) trim,   P = M s² + Jᵀ b J s + Jᵀ K J (s + k G)/(s + l + c G H),
    trim = −g K⁻¹ J (JᵀJ)⁻¹ M₀ N s² q e^{−s(T₀+T)}.

The loop is stable up to the least T at which an eigenvalue of its gain passes −1 (generalised Nyquist
criterion). Coulomb friction is left out: it holds small oscillations down, but not where the seals slide.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from mastd.arrays import ComplexArray, FloatArray
from mastd.control.table.command import notch_row
from mastd.control.table.gains import free_gains, gains_text
from mastd.dynamics.actuator import ACTUATOR, actuator_rows, valve_delays
from mastd.dynamics.oil_flow import oil_springs
from mastd.dynamics.table_model import TableModel
from mastd.errors import UsageError
from mastd.kinematics.design import neutral_jacobian
from mastd.kinematics.geometry import Geometry
from mastd.settings.core.axes import AXES
from mastd.settings.daemon.control import AccelerationSettings
from mastd.settings.daemon.daemon import DaemonSettings
from mastd.settings.table.payload import NoPayload, Payload, RigidPayload
from mastd.settings.table.table import TableSettings

LOWEST_HZ, HIGHEST_HZ, LINES = 0.5, 250.0, 4000


@dataclass(frozen=True)
class DelayMargin:
    """Delay in s that the feedback stands, infinite if any, nearly 0 where it is unstable without one.

    ``frequency_hz`` at which, and ``axis`` in which most of all, it would oscillate.
    """

    delay: float
    frequency_hz: float
    axis: str


@dataclass(frozen=True)
class FeedbackProof:
    """Whether the acceleration feedback is faded out before the delay that it does not stand.

    ``gains`` in 1/s of the axes that no guides hold; ``engaged``: longest delay in s with which it still
    works.
    """

    gains: Mapping[str, float]
    margin: DelayMargin
    engaged: float

    @property
    def ok(self) -> bool:
        """It is faded out in time."""
        return not any(self.gains.values()) or self.engaged < self.margin.delay

    def document(self) -> dict[str, object]:
        """Return the proof as plain data for JSON; a margin without an end is None."""
        bounded = math.isfinite(self.margin.delay)
        return {
            "gain": dict(self.gains),
            "delay_margin_s": self.margin.delay if bounded else None,
            "frequency_hz": self.margin.frequency_hz if bounded else None,
            "axis": self.margin.axis or None,
            "engaged_s": self.engaged,
            "ok": self.ok,
        }

    def text(self) -> str:
        """Return the proof as a line to read."""
        margin = self.margin
        if not any(self.gains.values()):
            return "without acceleration feedback"
        stands = "any delay"
        if math.isfinite(margin.delay):
            where = f"{margin.axis}, {margin.frequency_hz:.0f} Hz"
            stands = f"a delay of {1e3 * margin.delay:.1f} ms ({where})"
        line = (
            f"acceleration feedback of {gains_text(self.gains)} stands {stands} in the plant link and works "
            f"up to {1e3 * self.engaged:g} ms"
        )
        return line if self.ok else f"{line}  <- lower control.acceleration.gain or round_trip.fade"


def require_feedback(table: TableSettings, daemon: DaemonSettings, payload: Payload, source: object) -> None:
    """Raise UsageError, naming the daemon's settings ``source``, where the feedback is faded out too late."""
    proof = feedback_proof(table, daemon, payload)
    if not proof.ok:
        raise UsageError(f"{source}: refused with this payload: {proof.text()}")


def feedback_proof(table: TableSettings, daemon: DaemonSettings, payload: Payload) -> FeedbackProof:
    """Return the proof for the least margin, bare and loaded: what stands on springs is not felt."""
    bare = TableModel.from_settings(table, NoPayload())
    carried = TableModel.from_settings(table, payload if isinstance(payload, RigidPayload) else NoPayload())
    geometry, period = Geometry.from_settings(table), 1e-9 * daemon.period_ns
    feedback = daemon.control.acceleration
    margins = [delay_margin(table, geometry, bare, model, feedback, period) for model in (bare, carried)]
    engaged = (daemon.round_trip.fade - 1) * period
    gains = free_gains(table, feedback.axis_gains)
    return FeedbackProof(gains, min(margins, key=lambda margin: margin.delay), engaged)


def delay_margin(
    table: TableSettings,
    geometry: Geometry,
    bare: TableModel,
    loaded: TableModel,
    feedback: AccelerationSettings,
    period: float,
) -> DelayMargin:
    """Return the delay margin of ``feedback``; ``bare`` table, ``loaded`` with what it carries."""
    frequencies = np.geomspace(LOWEST_HZ, HIGHEST_HZ, LINES)
    values, vectors = np.linalg.eig(_loop(table, geometry, bare, loaded, feedback, period, frequencies))
    best = DelayMargin(math.inf, math.nan, "")
    omega = 2.0 * np.pi * frequencies
    for line in range(LINES):
        for index in np.flatnonzero(np.abs(values[line]) >= 1.0):
            # Phase that is left until the eigenvalue points to −1.
            left = (np.angle(values[line, index]) + np.pi) % (2.0 * np.pi)
            delay = float(left / omega[line])
            if delay < best.delay:
                shape = np.abs(vectors[line, :, index])
                axis = geometry.free_axes[int(np.argmax(shape))]
                best = DelayMargin(delay, float(frequencies[line]), AXES[axis])
    return best


def _loop(
    table: TableSettings,
    geometry: Geometry,
    bare: TableModel,
    loaded: TableModel,
    feedback: AccelerationSettings,
    period: float,
    frequencies: FloatArray,
) -> ComplexArray:
    """Return the loop's gain (lines, m, m) from the acceleration that is fed back to that which follows.

    Over the m free axes.
    """
    axes = geometry.free_axes
    free = np.ix_(axes, axes)
    jacobian, rows = neutral_jacobian(geometry)[:, axes], actuator_rows(table)
    friction = jacobian.T @ (rows[:, ACTUATOR.viscous, None] * jacobian)
    s = np.asarray(2j * np.pi * frequencies, dtype=np.complex128)
    force, oil = _actuators(table, rows, s)
    # The command of a period is held over it.
    delayed = np.exp(-s * (0.5 * period + table.sensors.acceleration.delay))
    plant = s[:, None, None] ** 2 * loaded.mass_matrix[free] + s[:, None, None] * friction
    plant = plant + jacobian.T @ (oil[:, :, None] * jacobian)
    passed = (np.array(feedback.axis_gains) * _notches(feedback, period, s))[:, axes]
    fed_back = s[:, None, None] ** 2 * bare.mass_matrix[free] * passed[:, None, :]
    # The forces asked of the actuators are the smallest ones that make the wrench.
    made = jacobian.T @ (force[:, :, None] * np.linalg.pinv(jacobian).T)
    return np.asarray(delayed[:, None, None] * np.linalg.solve(plant, made @ fed_back))


def _actuators(table: TableSettings, rows: FloatArray, s: ComplexArray) -> tuple[ComplexArray, ComplexArray]:
    """Return the force that each actuator makes of one asked of it, and of its oil per length: (lines, n)."""
    drive, frequencies = table.drive, np.abs(s) / (2.0 * np.pi)
    high_pass = s / (s + 2.0 * np.pi * drive.pressure_high_pass)
    force, oil = [], []
    for type_, delay, spring, row in zip(
        table.types, valve_delays(table), oil_springs(table), rows, strict=True
    ):
        # The drive holds what it asks of the valve over its tick.
        spool = np.exp(-s * (delay + 0.5 / drive.update_rate))
        spool = spool / type_.lag.denominator(frequencies)
        leakage = spring * row[ACTUATOR.leak_speed]
        damped = s + leakage + type_.pressure_damping * spool * high_pass
        # Beside the stiffness of an electric drive its damper takes a part of the force.
        carried = 1.0 + s * row[ACTUATOR.damping] / spring
        force.append(carried * spool / damped)
        oil.append(spring * carried * (s + type_.length_gain * spool) / damped)
    return np.stack(force, axis=1), np.stack(oil, axis=1)


def _notches(feedback: AccelerationSettings, period: float, s: ComplexArray) -> ComplexArray:
    """Return what the notches leave of each axis, (lines, 6)."""
    left = np.ones((len(s), 6), dtype=complex)
    for notch in feedback.notches:
        axis, b0, b1, b2, a1, a2 = notch_row(notch, period)
        delay = np.exp(-s * period)
        left[:, int(axis)] *= (b0 + b1 * delay + b2 * delay**2) / (1.0 + a1 * delay + a2 * delay**2)
    return left
