"""The vehicle as a single track: what drivers steer by and measured figures are held against.

Axles i at x_i ahead of the centre of gravity (vehicle frame), C_i their cornering stiffness, δ_i their mean
steer angle, β sideslip, r yaw rate, at a speed v:

    m v (dβ/dt + r) = Σ C_i α_i,  J dr/dt = Σ x_i C_i α_i,  α_i = δ_i − β − x_i r / v

(M. Mitschke, H. Wallentowitz, Dynamik der Kraftfahrzeuge, the linear single-track model; for any number of
axles). Axles are steered as for rolling about one point: δ_i = q (x_i − x_p), where x_p is the middle of the
axles that are not steered, or of all where every axle is. q is the curvature that the car follows as v → 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.errors import UsageError
from mastd.vehicle.kinematics.suspension import AxleKinematics, suspension_kinematics
from mastd.vehicle.model.definition import Axle, Model
from mastd.vehicle.tyres.linear_tyre import Tyre

_PROBE: Final = 1e-3
"""m of rack either way for the ratio of steer to rack about straight ahead."""
_POINTS: Final = 9


@dataclass(frozen=True, eq=False)
class SteeringTable:
    """Mean steer angle of an axle's wheels over its rack; rad, left positive, the design toe left out."""

    drive: int
    rack: FloatArray
    """(n) m, rising."""
    steer: FloatArray
    """(n)"""

    @property
    def ratio(self) -> float:
        """Steer per rack about straight ahead, rad/m."""
        near = np.interp([-_PROBE, _PROBE], self.rack, self.steer)
        return float(near[1] - near[0]) / (2.0 * _PROBE)

    def angle(self, rack: FloatArray) -> FloatArray:
        """Return the steer angle at displacements of the rack."""
        return np.asarray(np.interp(rack, self.rack, self.steer))

    def displacement(self, angle: float) -> float:
        """Return the rack's displacement for an angle, at the end of its travel where there is none."""
        steer, rack = self._by_steer
        return float(np.interp(angle, steer, rack))

    @cached_property
    def _by_steer(self) -> tuple[FloatArray, FloatArray]:
        """Steer, rising, and the rack's displacements for it."""
        order = np.argsort(self.rack if self.ratio >= 0.0 else -self.rack)
        return self.steer[order], self.rack[order]


@dataclass(frozen=True, eq=False)
class SingleTrack:
    """The linear single track of a vehicle at its static wheel loads; na axles, front to rear."""

    mass: float
    yaw_inertia: float
    """About the centre of gravity, kg m2."""
    position: FloatArray
    """(na) x of the axles ahead of the centre of gravity, m."""
    load: FloatArray
    """(na) N."""
    stiffness: FloatArray
    """(na) N/rad of both wheels together."""
    steering: tuple[SteeringTable | None, ...]
    """One for each axle."""

    @cached_property
    def pole(self) -> float:
        """x about which the car turns without slip, ahead of the centre of gravity."""
        fixed = [x for x, table in zip(self.position, self.steering, strict=True) if table is None]
        return float(np.mean(fixed if fixed else self.position))

    @cached_property
    def steered(self) -> SteeringTable:
        """The first steered axle's table; its angle stands for the steering as a whole."""
        return next(table for table in self.steering if table is not None)

    @property
    def wheelbase(self) -> float:
        """From the first steered axle to the pole, m: of two axles their distance."""
        return float(self.position[self._first] - self.pole)

    @property
    def understeer_gradient(self) -> float:
        """Steer of the first steered axle per lateral acceleration beyond the rolling geometry, rad/(m/s²).

        For two axles m_f / C_f − m_r / C_r.
        """
        speed, curvature = 20.0, 1e-3
        extra = self.rolling_curvature(curvature, speed) - self.rolling_curvature(curvature, 1e-3)
        return self.wheelbase * extra / (curvature * speed**2)

    @cached_property
    def _first(self) -> int:
        return next(index for index, table in enumerate(self.steering) if table is not None)

    @cached_property
    def _ratios(self) -> FloatArray:
        """Steer of each axle for q = 1, m."""
        steered = np.array([table is not None for table in self.steering])
        return np.asarray(np.where(steered, self.position - self.pole, 0.0))

    def rolling_curvature(self, curvature: float, speed: float) -> float:
        """Return q for a steady turn of a curvature (1/m) at a speed (m/s)."""
        left, first, second = self._turning
        right = np.array([self.mass * speed**2 * curvature + first * curvature, second * curvature])
        return float(np.linalg.solve(left, right)[0])

    @cached_property
    def _turning(self) -> tuple[FloatArray, float, float]:
        """What balances a steady turn: (2, 2) of q and β, and what the yaw rate v κ takes of both sums."""
        x, c = self.position, self.stiffness
        left = np.array([[c @ self._ratios, -np.sum(c)], [(x * c) @ self._ratios, -(x @ c)]])
        return left, float(x @ c), float((x * x) @ c)

    def response(self, frequency: float, speed: float) -> tuple[complex, complex]:
        """Return yaw rate (1/s) and lateral acceleration (m/s²) per rad of the first steered axle's angle.

        Complex amplitudes at a frequency (Hz) and speed (m/s); positive imaginary parts run ahead.
        """
        x, c, v = self.position, self.stiffness, speed
        rate = 2j * np.pi * frequency
        matrix = np.array(
            [
                [self.mass * v * rate + np.sum(c), self.mass * v + x @ c / v],
                [x @ c, self.yaw_inertia * rate + (x * x) @ c / v],
            ]
        )
        unit = self._ratios / self._ratios[self._first]
        sideslip, yaw_rate = np.linalg.solve(matrix, np.array([c @ unit, (x * c) @ unit], dtype=complex))
        return complex(yaw_rate), complex(v * (rate * sideslip + yaw_rate))

    def drive_ratios(self, drives: int) -> FloatArray:
        """Return how far each drive moves per metre of the first steered axle's, about straight ahead."""
        found = np.zeros(drives)
        for table, ratio in zip(self.steering, self._ratios, strict=True):
            if table is not None:
                found[table.drive] = ratio / table.ratio
        return np.asarray(found / found[self.steered.drive])

    def racks(self, curvature: float, speed: float, drives: int) -> FloatArray:
        """Return the displacement of each drive (m) for a steady turn, at most as far as it goes."""
        q = self.rolling_curvature(curvature, speed)
        found = np.zeros(drives)
        for table, ratio in zip(self.steering, self._ratios, strict=True):
            if table is not None:
                found[table.drive] = table.displacement(float(q * ratio))
        return found


def single_track(model: Model, wheel_loads: FloatArray) -> SingleTrack:
    """Return the single track of a vehicle; ``wheel_loads`` (nw) at rest, N.

    Raises UsageError for a vehicle without a rack, LinkageError for a suspension that does not close.
    """
    if not model.drives:
        raise UsageError(f"{model.name} has no rack to steer with; an axle needs one (rack:)")
    axles = [axle for axle in model.axles if axle.corners]
    masses = np.array([body.mass for body in model.bodies])
    centre = masses @ np.array([body.centre for body in model.bodies]) / np.sum(masses)
    wheels = [[model.corners[corner].wheel for corner in axle.corners] for axle in axles]
    position = [np.mean([model.wheels[index].centre[0] for index in row]) - centre[0] for row in wheels]
    return SingleTrack(
        mass=float(np.sum(masses)),
        yaw_inertia=_yaw_inertia(model, centre),
        position=np.array(position),
        load=np.array([np.sum(wheel_loads[row]) for row in wheels]),
        stiffness=np.array(
            [sum(_cornering_stiffness(model, index, wheel_loads[index]) for index in row) for row in wheels]
        ),
        steering=_steering(model, axles),
    )


def _yaw_inertia(model: Model, centre: FloatArray) -> float:
    arms = np.array([body.centre for body in model.bodies]) - centre
    own = sum(float(body.inertia[2, 2]) for body in model.bodies)
    return own + sum(
        body.mass * float(arm[:2] @ arm[:2]) for body, arm in zip(model.bodies, arms, strict=True)
    )


def _cornering_stiffness(model: Model, index: int, load: float) -> float:
    """Return a wheel's side force per slip angle about straight ahead, N/rad."""
    tyre = model.wheels[index].tyre
    if isinstance(tyre, Tyre):
        return float(tyre.cornering_stiffness * load)
    from mastd.vehicle.magic_formula.formula import slip_stiffness

    return float(slip_stiffness(tyre.coefficients, float(load), 0.0)[1])


def _steering(model: Model, axles: list[Axle]) -> tuple[SteeringTable | None, ...]:
    kinematics = _rack_sweeps(model)
    tables: list[SteeringTable | None] = []
    names = [drive.name for drive in model.drives]
    for axle in axles:
        turned = kinematics[axle.name].steer
        if not turned:
            tables.append(None)
            continue
        sweep = turned[0]
        steer = sweep.steer.mean(axis=1)
        straight = float(np.interp(0.0, sweep.rack, steer))
        tables.append(SteeringTable(names.index(sweep.drive), sweep.rack, steer - straight))
    return tuple(tables)


def _rack_sweeps(model: Model) -> dict[str, AxleKinematics]:
    """Return the axles' kinematics by name, over nine tenths of the least travel of a rack."""
    reach = 0.9 * min(drive.limit for drive in model.drives)
    racks = np.unique(np.concatenate([np.linspace(-reach, reach, _POINTS), [-_PROBE, _PROBE]]))
    axles = suspension_kinematics(model, travel=np.zeros(1), rack=racks)
    return {axle.axle: axle for axle in axles}
