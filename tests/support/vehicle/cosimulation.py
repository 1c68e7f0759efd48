"""A vehicle and a table that exchange pose and wrench: the table is a rigid body on springs, written for
tests alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh, expm
from scipy.spatial.transform import Rotation

from mastd.arrays import FloatArray
from mastd.vehicle.model.definition import Model
from mastd.vehicle.payload.on_table import VehicleOnTable
from tests.support.vehicle.shaken_plate import shaking

HEIGHT = 0.5
"""m of the top above C."""
TOP = (2.5, 1.0)
MASS = np.diag([35e3, 35e3, 35e3, 14.6e3, 75.8e3, 84.6e3])
"""Of the shipped table about C."""
OIL_COLUMNS = np.array([11.7, 16.6, 23.5, 29.0, 22.3, 14.9])
"""Hz of its six motions."""


@dataclass(frozen=True, eq=False)
class SprungTable:
    """M ẍ + D (ẋ − ẋ_c) + K (x − x_c) = wrench, small motions; x_c is what its springs stand on."""

    mass: FloatArray
    stiffness: FloatArray
    damping: float

    @classmethod
    def of_share(cls, share: float, damping: float) -> SprungTable:
        """Return a table on the springs of the shipped table's oil columns, with a share of its mass."""
        return cls(share * MASS, MASS * (2.0 * np.pi * OIL_COLUMNS) ** 2, damping)

    def step(self, h: float) -> tuple[FloatArray, FloatArray]:
        """Return (12, 12) and (12, 18): x − x_c and its rate after h, from those before, from a wrench that
        is held, and from ẍ_c at the beginning and the end of h, between which it is linear."""
        squares, shapes = eigh(self.stiffness, self.mass)
        modes = shapes.T @ self.mass
        damper = modes.T @ (2.0 * self.damping * np.sqrt(np.maximum(squares, 0.0))[:, None] * modes)
        inverse, eye = np.linalg.inv(self.mass), np.eye(6)
        whole = np.zeros((30, 30))
        whole[:6, 6:12] = eye
        whole[6:12, :6], whole[6:12, 6:12] = -inverse @ self.stiffness, -inverse @ damper
        whole[6:12, 12:18], whole[6:12, 18:24] = inverse, -eye
        whole[18:24, 24:30] = eye
        found = expm(whole * h)
        by_start = found[:12, 18:24] - found[:12, 24:30] / h
        return found[:12, :12], np.hstack([found[:12, 12:18], by_start, found[:12, 24:30] / h])


@dataclass(frozen=True, eq=False)
class Support:
    """Motion of what the table's springs stand on, at equal fine steps."""

    fine: float
    place: FloatArray
    """(n, 6)."""
    acceleration: FloatArray
    """(n, 6)."""

    @classmethod
    def shaken(cls, duration: float, fine: float, peak: float, angular: float, seed: int) -> Support:
        """Return noise of 0.5 to 20 Hz from rest to rest; peaks in m/s² and rad/s²."""
        motion = shaking(duration, fine, peak, angular, seed)
        angles = Rotation.from_matrix(motion.rotation).as_euler("ZYX")[:, ::-1]
        place = np.hstack([motion.place, angles])
        acceleration = np.zeros_like(place)
        acceleration[1:-1] = (place[2:] - 2.0 * place[1:-1] + place[:-2]) / fine**2
        return cls(fine, place, acceleration)


@dataclass(frozen=True, eq=False)
class Ride:
    """What happened, one row each ``every`` of the exchanges."""

    pose: FloatArray
    """(n, 6) of the table."""
    wrench: FloatArray
    """(n, 6) of the vehicle at C, as it was at that time."""
    acting: FloatArray
    """(n, 6) mean of the wrench that acted on the table in the time up to then."""
    loads: FloatArray
    """(n, wheels)."""
    missed: int


def middle_place(model: Model) -> tuple[float, float, float]:
    """Return where the vehicle's origin stands in P for its wheels to be in the middle of the table."""
    ends = [wheel.centre[0] for wheel in model.wheels]
    return (-0.5 * (min(ends) + max(ends)), 0.0, HEIGHT)


def standing(model: Model, step: float) -> VehicleOnTable:
    """Return a vehicle in the middle of the table, settled at the neutral pose."""
    vehicle = VehicleOnTable(model, step, middle_place(model), TOP)
    vehicle.lie(np.zeros(6))
    return vehicle


def co_simulated(
    model: Model, table: SprungTable, support: Support, stride: int, keep: float, *, late: bool
) -> Ride:
    """Let table and vehicle exchange pose and wrench each ``stride`` fine steps of the support.

    ``late``: the table gets, and holds, the wrench of the beginning of each exchange, as in the loop; else
    that of its middle, extrapolated from the last two. Kept are samples ``keep`` seconds apart.
    """
    step = stride * support.fine
    vehicle = standing(model, step)
    matrix, push = table.step(support.fine)
    at_rest, last = vehicle.wrench.copy(), vehicle.wrench.copy()
    loads = vehicle.layout.wheel(0)
    relative, missed, every = np.zeros(12), 0, round(keep / step)
    rows = []
    total, drive = np.zeros(6), np.zeros(18)
    for k in range((len(support.place) - 1) // stride):
        now = vehicle.wrench.copy()
        held = now if late else 1.5 * now - 0.5 * last
        last = now
        total += held / every
        drive[:6] = held - at_rest
        for n in range(k * stride, (k + 1) * stride):
            drive[6:12], drive[12:] = support.acceleration[n], support.acceleration[n + 1]
            relative = matrix @ relative + push @ drive
        pose = support.place[(k + 1) * stride] + relative[:6]
        vehicle.follow(pose, 1)
        missed += vehicle.missed
        if (k + 1) % every == 0:
            rows.append(np.concatenate([pose, vehicle.wrench, total, vehicle.signals[loads]]))
            total = np.zeros(6)
    found = np.array(rows)
    return Ride(found[:, :6], found[:, 6:12], found[:, 12:18], found[:, 18:], missed)


def let_go(
    vehicle: VehicleOnTable, table: SprungTable, step: float, steps: int, late: int, gain: float
) -> FloatArray:
    """Return rates (n, 6) of a table that is left to itself with a small random rate.

    It gets ``gain`` times what the wrench differs from that at rest, ``late`` periods old at the end of the
    period in which it acts. Ends early where the table has left its strokes.
    """
    matrix, push = table.step(step)
    at_rest, motion = vehicle.wrench.copy(), np.zeros(12)
    motion[6:] = 1e-5 * np.random.default_rng(3).standard_normal(6)
    waiting, rates = [np.zeros(6)] * (late - 1), []
    for _ in range(steps):
        vehicle.follow(motion[:6], 1)
        waiting.append(gain * (vehicle.wrench - at_rest))
        motion = matrix @ motion + push[:, :6] @ waiting.pop(0)
        rates.append(motion[6:])
        if not np.max(np.abs(motion[:6])) < 1e-2:
            break
    return np.array(rates)


def error(found: FloatArray, reference: FloatArray) -> FloatArray:
    """Return per column the rms difference against the rms of the reference about its mean."""
    difference = np.sqrt(np.mean((found - reference) ** 2, axis=0))
    return np.asarray(difference / np.std(reference, axis=0))
