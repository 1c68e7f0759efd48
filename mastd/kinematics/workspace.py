"""What a geometry can do: mobility, bounds, contraction, singular poses, isotropy, independent links.

Sections III.1, III.4, III.5 and IV of Jin 2012. Design-time functions on numpy arrays; m and rad unless said.
"""

from __future__ import annotations

import itertools

import numpy as np
from scipy.optimize import least_squares, linprog

from mastd.arrays import BoolArray, FloatArray
from mastd.kinematics.geometry import DEGREES_OF_FREEDOM, Geometry
from mastd.kinematics.inverse import link_lengths_batch
from mastd.kinematics.jacobian import euler_jacobian_batch, geometric_jacobian_batch
from mastd.kinematics.observer import observe

# Combinations of six end-stopped links that ``stroke_poses`` looks at; for ten links it is all of them.
_MAX_COMBINATIONS = 210


def mobility(links: int) -> int:
    """Return the degrees of freedom by eq. (2), M = 6 (n − j − 1) + Σ f, of a table on ``links`` actuators.

    Bodies: table, ground and two of each actuator. Joints: a ball at either end (3) and between the two
    parts of an actuator one that slides and turns (2). So M is 6 of the table and a spin of every part.
    """
    bodies = 2 + 2 * links
    joints = 3 * links
    return 6 * (bodies - joints - 1) + 2 * links * 3 + links * 2


def lengths_at(geometry: Geometry, poses: FloatArray) -> FloatArray:
    """Return the lengths (m, n) at poses (m, 6)."""
    rows = np.ascontiguousarray(np.atleast_2d(poses), dtype=np.float64)
    lengths = np.empty((rows.shape[0], geometry.links))
    link_lengths_batch(geometry.legs, rows, lengths)
    return lengths


def jacobians_at(geometry: Geometry, poses: FloatArray, *, euler_rates: bool = False) -> FloatArray:
    """Return Jᵀ (m, n, 6) at poses (m, 6): geometric, or of Euler rates."""
    rows = np.ascontiguousarray(np.atleast_2d(poses), dtype=np.float64)
    jacobians = np.empty((rows.shape[0], geometry.links, DEGREES_OF_FREEDOM))
    evaluate = euler_jacobian_batch if euler_rates else geometric_jacobian_batch
    evaluate(geometry.legs, rows, jacobians)
    return jacobians


def within_strokes(geometry: Geometry, poses: FloatArray) -> BoolArray:
    """Tell for each pose (m, 6) whether every length lies within its stroke."""
    lengths = lengths_at(geometry, poses)
    inside = (geometry.shortest_lengths <= lengths) & (lengths <= geometry.longest_lengths)
    return np.asarray(np.all(inside, axis=1))


def pose_bounds(geometry: Geometry) -> FloatArray:
    """Return (6, 2): least and greatest value of each pose coordinate within the strokes, as eq. (10).

    The other five coordinates are free. By a sequence of linear programs with the exact Jacobian.
    """
    bounds = np.zeros((DEGREES_OF_FREEDOM, 2))
    for axis, (side, sign) in itertools.product(range(DEGREES_OF_FREEDOM), enumerate((-1.0, 1.0))):
        objective = np.zeros(DEGREES_OF_FREEDOM)
        objective[axis] = -sign
        pose = np.zeros(DEGREES_OF_FREEDOM)
        for _ in range(20):
            jacobian = jacobians_at(geometry, pose, euler_rates=True)[0]
            base = lengths_at(geometry, pose)[0] - jacobian @ pose
            answer = linprog(
                objective,
                A_ub=np.vstack((jacobian, -jacobian)),
                b_ub=np.concatenate((geometry.longest_lengths - base, base - geometry.shortest_lengths)),
                bounds=[(None, None)] * DEGREES_OF_FREEDOM,
            )
            if answer.status != 0:
                pose[axis] = np.nan
                break
            step = float(np.max(np.abs(answer.x - pose)))
            pose = answer.x
            if step < 1e-9:
                break
        bounds[axis, side] = pose[axis]
    return bounds


def stroke_poses(geometry: Geometry, gain: FloatArray) -> FloatArray:
    """Return poses (m, 6) at the corners of the workspace: six links at an end stop, the rest within.

    Corners of the linearised workspace |J₀ᵀ x| ≤ stroke, each scaled along its ray from neutral until the
    exact length of the first link meets its stop.
    """
    jacobian = jacobians_at(geometry, np.zeros((1, 6)))[0]
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=6)))
    corners = [np.zeros((1, 6))]
    combinations = list(itertools.combinations(range(geometry.links), 6))
    stride = -(-len(combinations) // _MAX_COMBINATIONS)
    for chosen in combinations[::stride]:
        rows = jacobian[list(chosen)]
        if np.linalg.cond(rows) > 1e9:
            continue
        poses = np.linalg.solve(rows, (signs * geometry.strokes[list(chosen)]).T).T
        reach = np.max(np.abs(poses @ jacobian.T) / geometry.strokes, axis=1)
        corners.append(poses[reach <= 1.0 + 1e-9])
    poses = np.unique(np.round(np.vstack(corners), 12), axis=0)
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
    errors = np.eye(DEGREES_OF_FREEDOM) - np.einsum("kn,mnj->mkj", gain, jacobians)
    return np.asarray(np.max(np.abs(np.linalg.eigvals(errors)), axis=1))


def stroke_contraction(geometry: Geometry, gain: FloatArray) -> float:
    """Return the largest ``contraction`` over the corners of the workspace."""
    return float(np.max(contraction(geometry, gain, stroke_poses(geometry, gain))))


def one_step_error(geometry: Geometry, gain: FloatArray, poses: FloatArray) -> FloatArray:
    """Return −K ΔC x (m, 6) of eq. (18): what one update from neutral leaves of the poses (m, 6)."""
    neutral = lengths_at(geometry, np.zeros((1, 6)))
    return np.asarray(poses - (lengths_at(geometry, poses) - neutral) @ gain.T)


def isotropy(geometry: Geometry, poses: FloatArray) -> FloatArray:
    """Return the isotropy index (m,), 1 / condition number of J with arms in mm, of section IV.2."""
    jacobians = jacobians_at(geometry, poses)
    jacobians[:, :, 3:] *= 1e3
    # The condition number by the eigenvalues of JᵀJ: squares it to 8e6 for the paper's table, far from 1/ε.
    values = np.linalg.eigvalsh(np.swapaxes(jacobians, 1, 2) @ jacobians)
    return np.asarray(np.sqrt(np.maximum(values[:, 0], 0.0) / values[:, -1]))


def distance_to_singularity(geometry: Geometry, poses: FloatArray) -> FloatArray:
    """Return the smallest singular value (m,) of J at poses (m, 6), rotations taken at 1 m; 0 is singular."""
    return np.asarray(np.linalg.svd(jacobians_at(geometry, poses), compute_uv=False)[:, -1])


def rank(geometry: Geometry, pose: FloatArray, tolerance: float = 1e-9) -> int:
    """Return the rank of J at ``pose`` (6,): singular values above ``tolerance`` of the largest."""
    values = np.linalg.svd(jacobians_at(geometry, pose)[0], compute_uv=False)
    return int(np.sum(values > tolerance * values[0]))


def find_singular_pose(geometry: Geometry, start: FloatArray) -> tuple[FloatArray, float]:
    """Search a singular pose near ``start`` (6,); return it with its smallest singular value.

    Solves J(x)ᵀ u = 0, |u| = 1 for pose x and twist u: the motion that the links do not hold.
    """
    _, _, directions = np.linalg.svd(jacobians_at(geometry, start)[0])

    def equations(unknown: FloatArray) -> FloatArray:
        twist = unknown[6:]
        return np.append(jacobians_at(geometry, unknown[:6])[0] @ twist, twist @ twist - 1.0)

    answer = least_squares(
        equations, np.concatenate((start, directions[-1])), xtol=1e-15, ftol=1e-15, gtol=1e-15
    )
    pose = np.asarray(answer.x[:6])
    return pose, float(distance_to_singularity(geometry, pose)[0])


def independent_range(
    geometry: Geometry,
    gain: FloatArray,
    group: tuple[int, ...],
    *,
    step: float = 1e-3,
    agreement: float = 1e-9,
) -> tuple[float, float]:
    """Return how far (least, greatest; m) the links of ``group`` can move together while the others stand.

    Section IV.4 and Table 4: the pose of the assumed lengths is found and its lengths taken again; the
    motion is possible while every |gᵢ| ≤ ``agreement``. Tried in multiples of ``step`` up to the stroke.
    Links count from 0.
    """
    neutral = lengths_at(geometry, np.zeros((1, 6)))[0]
    limit = float(np.min(geometry.strokes[list(group)]))
    reached = [0.0, 0.0]
    for side, sign in enumerate((-1.0, 1.0)):
        for count in range(1, round(limit / step) + 1):
            lengths = neutral.copy()
            lengths[list(group)] += sign * count * step
            pose = np.zeros(DEGREES_OF_FREEDOM)
            converged, _, _ = observe(
                geometry.legs,
                gain,
                lengths,
                0.0,
                1e-14,
                100,
                pose,
            )
            errors = np.abs(lengths_at(geometry, pose)[0] - lengths)
            if not (converged and bool(np.all(errors <= agreement))):
                break
            reached[side] = sign * count * step
    return reached[0], reached[1]
