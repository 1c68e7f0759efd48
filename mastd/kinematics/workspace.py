"""What a geometry can do: strokes, contraction of the observer, ranges of actuators that move alone.

Jin 2012, sections III.4 and IV. Design-time functions on numpy arrays; m and rad unless said.
"""

from __future__ import annotations

import itertools

import numpy as np

from mastd.arrays import BoolArray, FloatArray
from mastd.kinematics.geometry import DEGREES_OF_FREEDOM, Geometry
from mastd.kinematics.inverse import actuator_lengths_batch
from mastd.kinematics.jacobian import euler_jacobian_batch, geometric_jacobian_batch
from mastd.kinematics.observer import MEASURED_REACH, SolveLimits, observe

# Part of the longest stroke by which a length may be read beyond it and still be a measured one.
_OVERRANGE = 0.1

# Ends a solve where lengths no longer change.
_EXACT = SolveLimits(tolerance=0.0, update_tolerance=1e-14, maximum_updates=100)

# Poses that ``axis_ends`` looks at on each side of an axis.
_RAY = 65

# Combinations of end-stopped actuators that ``stroke_poses`` looks at; for six of ten it is all of them.
_MAX_COMBINATIONS = 210


def lengths_at(geometry: Geometry, poses: FloatArray) -> FloatArray:
    """Return the lengths (m, n) at poses (m, 6)."""
    rows = np.ascontiguousarray(np.atleast_2d(poses), dtype=np.float64)
    lengths = np.empty((rows.shape[0], geometry.actuators))
    actuator_lengths_batch(geometry.legs, rows, lengths)
    return lengths


def jacobians_at(geometry: Geometry, poses: FloatArray, *, euler_rates: bool = False) -> FloatArray:
    """Return Jᵀ (m, n, 6) at poses (m, 6): geometric, or of Euler rates."""
    rows = np.ascontiguousarray(np.atleast_2d(poses), dtype=np.float64)
    jacobians = np.empty((rows.shape[0], geometry.actuators, DEGREES_OF_FREEDOM))
    evaluate = euler_jacobian_batch if euler_rates else geometric_jacobian_batch
    evaluate(geometry.legs, rows, jacobians)
    return jacobians


def within_strokes(geometry: Geometry, poses: FloatArray) -> BoolArray:
    """Tell for each pose (m, 6) whether every length lies within its stroke."""
    lengths = lengths_at(geometry, poses)
    inside = (geometry.shortest_lengths <= lengths) & (lengths <= geometry.longest_lengths)
    return np.asarray(np.all(inside, axis=1))


def measured_reach(geometry: Geometry) -> float:
    """Return the largest |l − l₀| / l₀ of measured lengths: ``MEASURED_REACH``, more for long strokes."""
    strokes = float(np.max(geometry.strokes / geometry.neutral_lengths))
    return max(MEASURED_REACH, (1.0 + _OVERRANGE) * strokes)


def axis_ends(geometry: Geometry, reach: FloatArray) -> FloatArray:
    """Return how far each axis goes by itself from neutral, to both sides (6, 2), m and rad.

    ``reach`` (6, 2): where it ends anyway, below and above 0; the strokes may end it before. Axes that guides
    hold go nowhere.
    """
    ends = np.zeros((6, 2))
    for axis in geometry.free_axes:
        for side in range(2):
            ray = np.zeros((_RAY, 6))
            ray[:, axis] = np.linspace(0.0, reach[axis, side], _RAY)
            # Continuous from neutral: beyond the first pose outside there may be others inside.
            inside = int(np.cumprod(within_strokes(geometry, ray)).sum())
            ends[axis, side] = ray[max(inside - 1, 0), axis]
    return ends


def stroke_poses(geometry: Geometry, gain: FloatArray) -> FloatArray:
    """Return poses (m, 6) at the corners of the workspace: as many actuators as freedoms at an end stop.

    Corners of the linearised workspace |J₀ᵀ x| ≤ stroke, each scaled along its ray from neutral until the
    exact length of the first actuator meets its stop.
    """
    free = geometry.free_axes
    jacobian = jacobians_at(geometry, np.zeros((1, 6)))[0][:, free]
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=len(free))))
    corners = [np.zeros((1, len(free)))]
    combinations = list(itertools.combinations(range(geometry.actuators), len(free)))
    stride = -(-len(combinations) // _MAX_COMBINATIONS)
    for chosen in combinations[::stride]:
        rows = jacobian[list(chosen)]
        if np.linalg.cond(rows) > 1e9:
            continue
        poses = np.linalg.solve(rows, (signs * geometry.strokes[list(chosen)]).T).T
        reach = np.max(np.abs(poses @ jacobian.T) / geometry.strokes, axis=1)
        corners.append(poses[reach <= 1.0 + 1e-9])
    held = np.unique(np.round(np.vstack(corners), 12), axis=0)
    poses = np.zeros((len(held), DEGREES_OF_FREEDOM))
    poses[:, free] = held
    low, high = np.zeros(len(poses)), np.ones(len(poses)) * 1.5
    for _ in range(40):
        middle = 0.5 * (low + high)
        inside = within_strokes(geometry, poses * middle[:, None])
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return np.asarray(poses * low[:, None])


def contraction(geometry: Geometry, gain: FloatArray, poses: FloatArray) -> FloatArray:
    """Return the spectral radius (m,) of I − K J(x)ᵀ at poses (m, 6): the observer's error factor, eq. (17).

    With the Euler-rate Jacobian, the derivative of the iteration; below 1 the observer converges there.
    """
    jacobians = jacobians_at(geometry, poses, euler_rates=True)
    # What guides hold has no error: its rows and columns of K Jᵀ are 0.
    errors = np.diag(geometry.freedoms) - np.einsum("kn,mnj->mkj", gain, jacobians)
    return np.asarray(np.max(np.abs(np.linalg.eigvals(errors)), axis=1))


def stroke_contraction(geometry: Geometry, gain: FloatArray) -> float:
    """Return the largest ``contraction`` over the corners of the workspace."""
    return float(np.max(contraction(geometry, gain, stroke_poses(geometry, gain))))


def independent_range(
    geometry: Geometry,
    gain: FloatArray,
    group: tuple[int, ...],
    *,
    step: float = 1e-3,
    agreement: float = 1e-9,
) -> tuple[float, float]:
    """Return how far (least, greatest; m) the actuators of ``group`` can move together, the others at rest.

    Section IV.4 and Table 4: the pose of the assumed lengths is found and its lengths taken again; the
    motion is possible while every |gᵢ| ≤ ``agreement``. Tried in multiples of ``step`` up to the stroke.
    Actuators count from 0.
    """
    neutral = lengths_at(geometry, np.zeros((1, 6)))[0]
    limit = float(np.min(geometry.strokes[list(group)]))
    exact = _EXACT._replace(reach=measured_reach(geometry))
    reached = [0.0, 0.0]
    for side, sign in enumerate((-1.0, 1.0)):
        for count in range(1, round(limit / step) + 1):
            lengths = neutral.copy()
            lengths[list(group)] += sign * count * step
            pose = np.zeros(DEGREES_OF_FREEDOM)
            converged, _, _ = observe(geometry.legs, gain, lengths, exact, pose)
            errors = np.abs(lengths_at(geometry, pose)[0] - lengths)
            if not (converged and bool(np.all(errors <= agreement))):
                break
            reached[side] = sign * count * step
    return reached[0], reached[1]
