"""The proof of a motion that is made while it is played: what its boxes can ask of the table at most.

Each axis of the point that is moved, a seat or C, keeps its box of travel X, velocity V, acceleration A and
jerk J (``mastd.motion.washout.limiter``). Whatever a vehicle and its driver, or a rig, do, the table then
keeps its limits if they hold for the worst that all six boxes allow at once. A length l and its derivatives
l_i, l_ij by the point's coordinates give

    |l̇| ≤ Σ |l_i| V_i,   |l̈| ≤ Σ |l_i| A_i + Σ |l_ij| V_i V_j,   |l⃛| ≤ Σ |l_i| J_i + 3 Σ |l_ij| V_i A_j +
    cubic,

and the forces of the actuators, linear in the accelerations, quadratic in the rates and, where supports damp,
linear in them, are bounded in the same way about those at rest. All derivatives are read off the exact
kernels, with unit rates and accelerations, the mixed ones by polarisation. They are taken on the grid
{−X, 0, X}⁶; between its points no quantity exceeds the greatest of them by more than Σ |δᵢ²|/8, the error of
linear interpolation (δᵢ² its second difference along axis i).

Oil: an axis that turns round at A between ±X has at most the mean speed m and, over any time T, the way m T +
D,

    U = min(V, √(2AX)),   m = U/(1 + U²/2AX),   D = m U/A,

so the pump must give the flow of all m for ever, and the accumulators the oil of all D.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Annotated, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mastd.arrays import FloatArray
from mastd.dynamics.oil_flow import hydraulic_constants
from mastd.dynamics.supports import support_rows
from mastd.dynamics.table_model import WORK_ROWS, TableModel
from mastd.index_table import Entry, index_table, size_of
from mastd.kinematics.geometry import Geometry
from mastd.motion.preflight.envelope_kernel import actuators_of_motions, worst_valve_ratios
from mastd.motion.preflight.limits import ACTUATOR_LIMITS, Limit, actuator_bounds, limit_name, place_of
from mastd.motion.preflight.performance import standing_limits
from mastd.motion.preflight.survey import ACTUATOR_ROWS, ACTUATOR_VALUE
from mastd.motion.preflight.verdict import MAX_SCALE
from mastd.motion.washout.design import Boxes, boxes
from mastd.settings.core.axes import AXES
from mastd.settings.profile.cueing import RideSettings, WashoutSettings
from mastd.settings.profile.stream import PoseStream
from mastd.settings.table.payload import NoPayload, RigidPayload
from mastd.settings.table.table import TableSettings

_HALVINGS = 14
_PAIRS = list(itertools.combinations(range(6), 2))
_SHARPEST_TURN = 2.0 / math.sqrt(27.0)
"""Greatest s·(1 − s²) of a ratio s."""


class ProbeRow(NamedTuple):
    """Motions looked at in each pose."""

    still: int
    pushed: Annotated[int, Entry("1", "unit acceleration of each axis", 6)]
    moved: Annotated[int, Entry("1", "unit rate of each axis", 6)]
    paired: Annotated[int, Entry("1", "unit rates of each two axes", len(_PAIRS))]
    reversed: Annotated[int, Entry("1", "unit rate of each axis, backwards", 6)]


_PROBE: Final = index_table(ProbeRow)
_PROBES: Final = size_of(_PROBE)


class Proof(NamedTuple):
    """The limits against the worst that the boxes allow, and the largest scale that would pass.

    ``scale`` multiplies velocity, acceleration and jerk of all axes, their travel stays; rounded down, up to
    ``MAX_SCALE``; 0 if the table cannot even stand everywhere within the travel.
    """

    limits: tuple[Limit, ...]
    scale: float

    @property
    def ok(self) -> bool:
        """Every limit holds."""
        return all(limit.margin >= 0.0 for limit in self.limits)


def prove(
    cueing: WashoutSettings | RideSettings | PoseStream,
    point: ArrayLike,
    table: TableSettings,
    payload: NoPayload | RigidPayload,
) -> Proof:
    """Prove the boxes of ``cueing`` for the point that makes the motion, ``point`` (3,) in P, on a table with
    its rigid payload.

    The times of the limits are 0: they hold at any time.
    """
    envelope = Envelope(boxes(cueing), np.array(point, dtype=np.float64), table, payload)
    return Proof(envelope.limits(), envelope.passing_scale())


@dataclass(frozen=True, eq=False)
class _Grid:
    """The actuators over the grid of poses: ``shape`` of the grid, whose points come first in every array.

    ``lengths`` (m, n); ``slopes`` (m, 6, n) l_i; ``bends`` (m, 6, 6, n) l_ij; the same of the forces:
    ``forces`` (m, n), ``forces_linear`` (m, 6, n) in the accelerations,
    ``forces_damped`` (m, 6, n) in the rates, ``forces_quadratic`` (m, 6, 6, n); ``poses`` (m, 6) of C.
    """

    shape: tuple[int, ...]
    lengths: FloatArray
    slopes: FloatArray
    bends: FloatArray
    forces: FloatArray
    forces_linear: FloatArray
    forces_damped: FloatArray
    forces_quadratic: FloatArray
    poses: FloatArray


class Envelope:
    """The worst that boxes of the seat's axes ask of a table."""

    def __init__(
        self, boxes: Boxes, point: FloatArray, table: TableSettings, payload: NoPayload | RigidPayload
    ) -> None:
        self._boxes = boxes
        self._point = point
        self._table = table
        self._geometry = Geometry.from_settings(table)
        model = TableModel.from_settings(table, payload)
        self._model, self._standing = model.values, standing_limits(table, self._geometry, model)
        self._hydraulics = hydraulic_constants(table)
        self._bounds = actuator_bounds(table)
        self._pose_bounds = np.array(table.pose_limits)
        self._grid = self._probe()

    def limits(self, scale: float = 1.0) -> tuple[Limit, ...]:
        """Return every limit at ``scale`` times the boxes' velocity, acceleration and jerk."""
        worst, forces = self._actuators(scale)
        return (
            *self._actuator_limits(worst),
            self._pose_limit(),
            *self._oil_limits(scale, forces),
            *self._standing,
        )

    def passing_scale(self) -> float:
        """Return the scale at which the least margin becomes zero, rounded down to a thousandth."""

        def passes(scale: float) -> bool:
            return all(limit.margin >= 0.0 for limit in self.limits(scale))

        low, high = 0.0, MAX_SCALE
        if passes(high):
            return high
        if not passes(low):
            return 0.0
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if passes(middle) else (low, middle)
        return math.floor(low * 1000.0) / 1000.0

    def _probe(self) -> _Grid:
        """Evaluate the probes in every pose of the grid; an axis without travel has one value only."""
        levels = [(-x, 0.0, x) if x > 0.0 else (0.0,) for x in self._boxes.travel]
        poses = np.array(list(itertools.product(*levels)))
        motions = np.zeros((len(poses), _PROBES, 4, 6))
        motions[:, :, 0] = poses[:, None]
        for axis in range(6):
            motions[:, _PROBE.pushed + axis, 2, axis] = 1.0
            motions[:, _PROBE.moved + axis, 1, axis] = 1.0
            motions[:, _PROBE.reversed + axis, 1, axis] = -1.0
        for probe, pair in enumerate(_PAIRS):
            motions[:, _PROBE.paired + probe, 1, pair] = 1.0
        count = self._geometry.actuators
        flat = motions.reshape(-1, 4, 6)
        actuators, centres = np.empty((len(flat), 4, count)), np.empty_like(flat)
        actuators_of_motions(
            self._geometry.legs,
            self._model,
            support_rows(self._table),
            self._point,
            flat,
            np.empty((count + WORK_ROWS, 6)),
            centres,
            actuators,
        )
        lengths, rates, accelerations, forces = np.moveaxis(
            actuators.reshape(len(poses), _PROBES, 4, count), 2, 0
        )
        return _Grid(
            shape=tuple(len(values) for values in levels),
            lengths=lengths[:, _PROBE.still],
            slopes=rates[:, _PROBE.moved : _PROBE.paired],
            bends=_quadratic(accelerations),
            forces=forces[:, _PROBE.still],
            forces_linear=forces[:, _PROBE.pushed : _PROBE.moved] - forces[:, :1],
            forces_damped=_odd(forces),
            forces_quadratic=_quadratic(forces),
            poses=centres.reshape(len(poses), _PROBES, 4, 6)[:, _PROBE.still, 0],
        )

    def _actuators(self, scale: float) -> tuple[FloatArray, FloatArray]:
        """Return the worst of each actuator (ACTUATOR_ROWS, n), and its greatest force either way (n,)."""
        grid = self._grid
        v, a, j = (
            scale * sizes for sizes in (self._boxes.velocity, self._boxes.acceleration, self._boxes.jerk)
        )
        rates = _linear(grid.slopes, v)
        quadratic = _bilinear(grid.bends, v, v)
        accelerations = _linear(grid.slopes, a) + quadratic
        jerks = _linear(grid.slopes, j) + 3.0 * _bilinear(grid.bends, v, a) + self._cubic(v)
        swing = _linear(grid.forces_linear, a) + _bilinear(grid.forces_quadratic, v, v)
        swing += _linear(grid.forces_damped, v) + self._hydraulics[:, 9] * accelerations
        pushes, pulls = grid.forces + swing, -grid.forces + swing
        ratios = np.empty_like(rates)
        worst_valve_ratios(self._hydraulics, rates, pushes, pulls, ratios)
        away = grid.lengths - self._geometry.neutral_lengths
        worst = np.empty((ACTUATOR_ROWS, self._geometry.actuators))
        worst[ACTUATOR_VALUE.stroke] = np.maximum(self._over_box(away), self._over_box(-away))
        worst[ACTUATOR_VALUE.velocity] = self._over_box(rates)
        worst[ACTUATOR_VALUE.acceleration] = self._over_box(accelerations)
        worst[ACTUATOR_VALUE.jerk] = self._over_box(jerks)
        worst[ACTUATOR_VALUE.push_force] = self._over_box(pushes)
        worst[ACTUATOR_VALUE.pull_force] = self._over_box(pulls)
        worst[ACTUATOR_VALUE.valve_flow] = self._over_box(ratios)
        return worst, np.maximum(worst[ACTUATOR_VALUE.push_force], worst[ACTUATOR_VALUE.pull_force])

    def _cubic(self, velocity: FloatArray) -> FloatArray:
        """Return the greatest part (n,) of an actuator's jerk that is cubic in the rates.

        With r the joint's arm from the seat, Ω the sum of the Euler rates and u its greatest speed, the
        joint's acceleration and jerk without those of the coordinates are at most Ω²r and Ω³r, and l⃛ = e·x⃛
        + 3 (ẋ·ẍ across the actuator)/l − 3 l̇ |ẋ across|²/l².
        """
        geometry = self._geometry
        arms = np.linalg.norm(geometry.table_joints - self._point, axis=1)
        turning = float(np.sum(velocity[3:]))
        speed = float(np.linalg.norm(velocity[:3])) + turning * arms
        shortest = geometry.shortest_lengths
        bends = turning**2 * arms
        return np.asarray(
            turning * bends + 3.0 * speed * bends / shortest + 3.0 * _SHARPEST_TURN * speed**3 / shortest**2
        )

    def _over_box(self, values: FloatArray) -> FloatArray:
        """Return the greatest of ``values`` (m, k) over the whole box (k,), from those on the grid."""
        field = values.reshape(*self._grid.shape, -1)
        worst = np.max(values, axis=0)
        for axis, count in enumerate(self._grid.shape):
            if count > 1:
                with np.errstate(invalid="ignore"):  # what is infinite stays so
                    bend = np.abs(np.diff(field, n=2, axis=axis))
                worst = worst + np.max(bend.reshape(-1, bend.shape[-1]), axis=0) / 8.0
        return np.where(np.isnan(worst), np.inf, worst)

    def _actuator_limits(self, worst: FloatArray) -> list[Limit]:
        limits: list[Limit] = []
        for name, row, unit in ACTUATOR_LIMITS:
            actuator = int(np.argmax(worst[row] / self._bounds[row]))
            where = place_of(self._table, actuator, name)
            told = limit_name(name, self._table.types[actuator])
            limits.append(_upper(told, worst[row, actuator], self._bounds[row, actuator], unit, where))
        return limits

    def _pose_limit(self) -> Limit:
        poses = self._grid.poses
        worst = np.maximum(self._over_box(poses), self._over_box(-poses))
        free = self._geometry.free_axes
        axis = free[int(np.argmax((worst / self._pose_bounds)[list(free)]))]
        return _upper("pose", worst[axis], self._pose_bounds[axis], "m" if axis < 3 else "rad", AXES[axis])

    def _oil_limits(self, scale: float, forces: FloatArray) -> list[Limit]:
        supply = self._table.supply
        if supply is None:
            return []
        means, bursts = mean_speeds(
            self._boxes.travel, scale * self._boxes.velocity, scale * self._boxes.acceleration
        )
        limits, hydraulics, slopes = [], self._hydraulics, self._grid.slopes
        for k, (name, supply) in enumerate(self._table.packs.items()):
            fed, of = (hydraulics[:, 6] == k) & (hydraulics[:, 7] == 0.0), f" of {name}" if name else ""
            larger = np.max(hydraulics[fed, :2], axis=1)[:, None]
            leaking = float(np.sum(hydraulics[fed, 2] * forces[fed]))
            flow = float(self._over_box(_linear(slopes[..., fed], means) @ larger)[0]) + leaking
            burst = float(self._over_box(_linear(slopes[..., fed], bursts) @ larger)[0])
            full = supply.accumulator.oil(supply.pressure)
            least, where = full - supply.usable_oil, "oil left in the accumulators" + of
            left = (supply.usable_oil - burst) / supply.usable_oil
            limits += [
                _upper("mean_flow", flow, supply.pump_flow, "m3/s", f"pump{of}, for ever"),
                Limit("accumulator", full - burst, least, "m3", left, 0.0, where),
            ]
        return limits


def mean_speeds(
    travel: FloatArray, velocity: FloatArray, acceleration: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return mean speed m and burst D of axes in their boxes: the way in any time T is at most mT + D."""
    twice = 2.0 * acceleration * travel
    fastest = np.minimum(velocity, np.sqrt(twice))
    turns = np.divide(fastest**2, twice, out=np.zeros_like(twice), where=twice > 0.0)
    means = fastest / (1.0 + turns)
    bursts = np.divide(means * fastest, acceleration, out=np.zeros_like(means), where=acceleration > 0.0)
    return means, bursts


def _quadratic(probes: FloatArray) -> FloatArray:
    """Return the symmetric form (m, 6, 6, n) of what is quadratic in the rates, from ``probes`` (m, p, n)."""
    still, odd = probes[:, _PROBE.still], _odd(probes)
    form = np.zeros((len(probes), 6, 6, probes.shape[-1]))
    for axis in range(6):
        form[:, axis, axis] = probes[:, _PROBE.moved + axis] - still - odd[:, axis]
    for probe, (one, other) in enumerate(_PAIRS):
        mixed = probes[:, _PROBE.paired + probe] - still - form[:, one, one] - form[:, other, other]
        mixed = mixed - odd[:, one] - odd[:, other]
        form[:, one, other] = form[:, other, one] = 0.5 * mixed
    return form


def _odd(probes: FloatArray) -> FloatArray:
    """Return what is linear in each rate (m, 6, n): of forces, the damping of the supports."""
    return 0.5 * (probes[:, _PROBE.moved : _PROBE.paired] - probes[:, _PROBE.reversed :])


def _linear(slopes: FloatArray, sizes: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("min,i->mn", np.abs(slopes), sizes))


def _bilinear(form: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("mijn,i,j->mn", np.abs(form), first, second))


def _upper(name: str, worst: float, limit: float, unit: str, where: str) -> Limit:
    return Limit(name, float(worst), float(limit), unit, float(1.0 - worst / limit), 0.0, where)
