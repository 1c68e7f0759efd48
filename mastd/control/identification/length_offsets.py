"""Identify the offsets of the length transducers that cause internal (force-fight) force, from a slow motion.

n actuators hold m degrees of freedom, so n − m patterns of offsets no movement of the table explains: the
null vectors N of the transposed Jacobian at the present pose (rows of J as in eq. (9b) of Jin 2012). Only
these bind, and only these can be identified; all others move the table, and show on a gauge only. With
offsets δ they show twice: the calibrated lengths l contradict each other by N (l − l̂), l̂ those of the pose,
and the balance has come to rest with a trim that is the same, plus what the valves' own zero adds. Both are
means over a motion to and fro, in which the friction of the seals cancels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.dynamics.actuator import ACTUATOR, actuator_rows
from mastd.kinematics.design import null_vectors
from mastd.kinematics.geometry import Geometry
from mastd.kinematics.workspace import jacobians_at, lengths_at
from mastd.settings.table.internal_forces import force_patterns
from mastd.settings.table.table import TableSettings

MAX_SAMPLES: Final = 4000
"""Of a longer motion every so many are taken."""
PARTS: Final = 8
"""Parts of the motion whose spread gives the uncertainty."""
MIN_DOUBT: Final = 1e-6
"""m; no offset is known better."""
CERTAINTY: Final = 2.0
"""Standard deviations below which an offset is not told from none."""
UNEXPLAINED: Final = 0.05
"""Ratio of the offsets that a single transducer may leave unexplained."""
MIN_RATIO: Final = 0.05
"""Of a pattern; an actuator with less of it does not make the actuators fight."""
FORCE_DOUBT: Final = 0.2
"""Ratio of the forces that is uncertain because leakage is taken as nominal."""


@dataclass(frozen=True, eq=False)
class SlowMotion:
    """Record of k samples: ``poses`` (k, 6) measured, ``lengths`` (k, n) calibrated, ``forces`` (k, n) of the
    actuators, and ``trims`` (k, n), commanded lengths less those of the reference; m, rad, N."""

    poses: FloatArray
    lengths: FloatArray
    forces: FloatArray
    trims: FloatArray
    displacements: FloatArray | None = None
    """(k, d), calibrated, of the displacement transducers beside the actuators."""


@dataclass(frozen=True, eq=False)
class LengthOffsets:
    """``patterns`` (m, n), unit vectors; the other fields have one number for each, in m or N.

    ``by_lengths`` and ``by_trim`` are how much of its pattern is too long; ``amount`` is the one that is to
    be believed, ``doubt`` its standard deviation. ``force`` is the mean internal force as it was,
    ``free_force`` what it would be without the balance, at most: the overlap of the valves lets a part of it
    be; ``rest_force`` what is left of that with the corrections, ``force_doubt`` how well that is known.
    """

    patterns: FloatArray
    by_lengths: FloatArray
    by_trim: FloatArray
    balanced: bool
    """The balance was at work, and not at its limit."""
    amount: FloatArray
    doubt: FloatArray
    force: FloatArray
    free_force: FloatArray
    rest_force: FloatArray
    force_doubt: FloatArray

    @property
    def corrections(self) -> FloatArray:
        """What is to be added to the offset of each transducer (n,), m."""
        return -np.linalg.pinv(self.patterns) @ self.amount

    @property
    def contradictory(self) -> bool:
        """Whether lengths and balance say the opposite of each other of some pattern, beyond their doubt."""
        apart = np.abs(self.by_trim - self.by_lengths) > CERTAINTY * self.doubt
        return self.balanced and bool(np.any(apart & (self.by_trim * self.by_lengths < 0.0)))

    @property
    def told(self) -> bool:
        """Whether an offset is told from none."""
        return not self.contradictory and bool(np.any(np.abs(self.amount) > CERTAINTY * self.doubt))

    @property
    def single(self) -> FloatArray:
        """Error (n,) of a transducer that alone would make the lengths contradict each other so, m.

        It explains all patterns; infinite where none would.
        """
        squares = np.sum(self.patterns**2, axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            alone = self.by_lengths @ self.patterns / squares
            left = np.max(np.abs(self.by_lengths[:, None] - alone * self.patterns), axis=0)
        fits = (squares > MIN_RATIO**2) & (left <= UNEXPLAINED * np.max(np.abs(self.by_lengths)))
        return np.where(fits, alone, np.inf)


def require_patterns(geometry: Geometry) -> FloatArray:
    """Return the patterns (m, n) of offsets that bind at neutral; raise ValueError where there is none."""
    patterns = null_vectors(geometry)
    if not len(patterns):
        raise ValueError(
            "offsets cannot be identified: the table has as many freedoms as actuators, "
            f"{geometry.actuators}, so that no internal force shows them"
        )
    return patterns


def find_offsets(
    geometry: Geometry,
    motion: SlowMotion,
    stiffness: FloatArray,
    limit: float,
    patterns: FloatArray | None = None,
) -> LengthOffsets:
    """Return the offsets that show in a slow motion to and fro.

    ``patterns`` (m, n): of internal force, unit vectors; if left out, orthogonal ones.

    ``stiffness`` (m,): internal force per length in N/m once it has settled (``settled_stiffness``);
    ``limit``: of the balance, m. Raises ValueError for as many actuators as freedoms, which cannot fight,
    and for fewer than ``PARTS`` samples.
    """
    neutral = require_patterns(geometry) if patterns is None else patterns
    if len(motion.poses) < PARTS:
        raise ValueError(f"{len(motion.poses)} samples of the table at rest, expected at least {PARTS}")
    taken = slice(None, None, 1 + len(motion.poses) // MAX_SAMPLES)
    poses = motion.poses[taken]
    vectors = _null_vectors_at(geometry, poses, neutral)
    contradictions = _along(vectors, motion.lengths[taken] - lengths_at(geometry, poses))
    trims = _along(vectors, motion.trims[taken])
    by_lengths, by_trim = contradictions.mean(axis=0), trims.mean(axis=0)
    largest = float(np.abs(motion.trims).max())
    balanced = 1e-7 < largest < 0.99 * limit
    forces = _along(vectors, motion.forces[taken])
    force = forces.mean(axis=0)
    amount = by_trim - force / stiffness if balanced else by_lengths
    free_force = force - stiffness * by_trim
    spread = _doubt(trims if balanced else contradictions)
    own = np.abs(force) / stiffness * FORCE_DOUBT if balanced else 0.0
    rest = free_force + stiffness * amount
    # Where the balance has not taken the force away, the prediction is no better than it explains the force.
    unexplained = 0.0 if balanced else np.abs(rest)
    return LengthOffsets(
        vectors.mean(axis=0),
        by_lengths,
        by_trim,
        balanced,
        amount,
        np.hypot(spread, own),
        force,
        free_force,
        rest,
        np.hypot(np.hypot(_doubt(forces), FORCE_DOUBT * stiffness * np.abs(amount)), unexplained),
    )


def displacement_errors(
    geometry: Geometry, all_lengths: Geometry, motion: SlowMotion, corrections: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return by how much each displacement transducer (d,) reads too long, and its standard deviation, m.

    Against the pose of the actuators' lengths with their ``corrections`` (n,), as means over the motion;
    ``all_lengths``: the lines of actuators and transducers.
    """
    n = geometry.actuators
    if motion.displacements is None or all_lengths.actuators == n:
        return np.zeros(0), np.zeros(0)
    taken = slice(None, None, 1 + len(motion.poses) // MAX_SAMPLES)
    poses = motion.poses[taken]
    at_pose, rows = lengths_at(all_lengths, poses), jacobians_at(all_lengths, poses)
    rows = rows * all_lengths.freedoms
    # From the pose of all lengths to that of the actuators' alone.
    apart = motion.lengths[taken] + corrections - at_pose[:, :n]
    moved = np.einsum("kfn,kn->kf", np.linalg.pinv(rows[:, :n]), apart)
    expected = at_pose[:, n:] + np.einsum("kdf,kf->kd", rows[:, n:], moved)
    errors = motion.displacements[taken] - expected
    return errors.mean(axis=0), _doubt(errors)


def settled_stiffness(table: TableSettings) -> FloatArray:
    """Return the internal force (m,) in N per metre of contradicting lengths once the valves have settled.

    The drive asks each valve for a speed in proportion to its length's error, and continues until the leakage
    across the piston takes that flow away: where all actuators are alike, gain · A² / leakage.
    """
    leak_speeds = np.maximum(actuator_rows(table)[:, ACTUATOR.leak_speed], 1e-15)
    gains = np.array([type_.length_gain for type_ in table.types])
    patterns = np.array([pattern.vector for pattern in force_patterns(table)])
    return np.asarray(1.0 / (patterns**2 @ (leak_speeds / gains)))


def _null_vectors_at(geometry: Geometry, poses: FloatArray, neutral: FloatArray) -> FloatArray:
    """Return the patterns (k, m, n) at ``poses`` (k, 6): the parts of ``neutral`` in the null space there."""
    left = np.linalg.svd(jacobians_at(geometry, poses), full_matrices=True)[0]
    left = left[:, :, len(geometry.free_axes) :]
    vectors = neutral @ left @ left.transpose(0, 2, 1)
    return np.asarray(vectors / np.linalg.norm(vectors, axis=2, keepdims=True))


def _along(vectors: FloatArray, values: FloatArray) -> FloatArray:
    """Return the parts (k, m) of ``values`` (k, n) along ``vectors`` (k, m, n)."""
    return np.asarray(np.einsum("kmn,kn->km", vectors, values))


def _doubt(series: FloatArray) -> FloatArray:
    """Return standard deviations (m,) of the mean of a slowly changing series (k, m)."""
    means = np.array([part.mean(axis=0) for part in np.array_split(series, PARTS)])
    return np.asarray(np.maximum(means.std(axis=0, ddof=1) / np.sqrt(PARTS), MIN_DOUBT))
