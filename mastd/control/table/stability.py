"""Stability of table, drive and daemon over the workspace: the least damped oscillation, margins, refusal.

The linear loop of ``closed_loop`` at neutral and at both ends of each axis, with the bare table, with
``HEAVIEST`` times its mass and with what is carried. The figure is the damping ratio of the oscillation that
is damped least.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mastd.arrays import ComplexArray, FloatArray
from mastd.control.table.closed_loop import ClosedLoop, Gains, Plant, closed_loop
from mastd.dynamics.table_model import TableModel
from mastd.kinematics.geometry import Geometry
from mastd.kinematics.workspace import within_strokes
from mastd.settings.profile.segments import AXES
from mastd.settings.table.payload import RigidPayload
from mastd.settings.table.table import TableSettings

HEAVIEST = 3.0
"""Mass of table and payload over the table's own up to which gains are computed and proved."""
THIN = 0.002
"""Damping ratio below which a loop is not run: what a per cent of change in a valve may take away."""
THIN = 0.002
"""Damping ratio below which a loop is not run: what a small change in a valve may take away."""
LOWEST_HZ, HIGHEST_HZ = 2.0, 300.0
"""Oscillations that count: below, the force balance; above, those of the approximants for the delays."""
GROWING = 1e-3
"""1/s at which anything that grows counts: below it stand the integrators."""


@dataclass(frozen=True)
class Mode:
    """The least damped oscillation: damping ratio, below 0 where it grows, frequency, main axis, case."""

    damping: float
    frequency_hz: float
    axis: str
    case: str

    def text(self) -> str:
        """Return the mode as words to read."""
        return f"{self.damping:.1%} of critical, {self.axis} at {self.frequency_hz:.0f} Hz, {self.case}"


def end_poses(table: TableSettings, geometry: Geometry) -> dict[str, FloatArray]:
    """Return neutral and both ends of each axis, as far as strokes and pose limits reach, by their words."""
    poses = {"neutral": np.zeros(6)}
    for index, axis in enumerate(AXES):
        # The table rests at the lower stops, whatever its limits are when it is raised.
        reach = float(np.max(geometry.strokes)) if axis == "heave" else getattr(table.limits.pose, axis)
        for sign in (-1.0, 1.0):
            ray = np.zeros((64, 6))
            ray[:, index] = sign * np.linspace(0.0, reach, 64)
            # Continuous from neutral: beyond the first pose outside there may be others inside.
            inside = np.cumprod(within_strokes(geometry, ray))
            pose = ray[int(inside.sum()) - 1]
            unit = "mm" if index < 3 else "mrad"
            poses[f"{axis} {1e3 * pose[index]:+.0f} {unit}"] = pose
    return poses


def loops(plant: Plant, payload: RigidPayload | None = None) -> tuple[list[ClosedLoop], list[str]]:
    """Return the closed loops over the workspace, bare, heaviest, and with a payload; and their words."""
    masses = [("bare", plant.bare), (f"{HEAVIEST:g} times the mass", HEAVIEST * plant.bare)]
    if payload is not None:
        masses.append(("with the payload", TableModel.from_settings(plant.table, payload).mass_matrix))
    found, words = [], []
    for place, pose in end_poses(plant.table, plant.geometry).items():
        for mass, matrix in masses:
            found.append(closed_loop(plant, pose, matrix))
            words.append(f"{place}, {mass}")
    return found, words


def least_damping(loops: Sequence[ClosedLoop], gains: Gains) -> FloatArray:
    """Return the damping ratio (k,) of each loop's least damped oscillation; below 0 it grows."""
    values = np.linalg.eigvals(np.stack([loop.matrix(gains) for loop in loops]))
    return np.asarray(np.min(_damping(np.asarray(values, dtype=np.complex128)), axis=1))


def least_damped(loops: Sequence[ClosedLoop], words: Sequence[str], gains: Gains) -> Mode:
    """Return the least damped oscillation of all the loops."""
    worst = int(np.argmin(least_damping(loops, gains)))
    values, vectors = np.linalg.eig(loops[worst].matrix(gains).astype(np.complex128))
    mode = int(np.argmin(_damping(values)))
    shape = np.abs(vectors[:6, mode])
    return Mode(
        float(_damping(values)[mode]),
        float(np.abs(values[mode]) / (2.0 * np.pi)),
        AXES[int(np.argmax(shape))],
        words[worst],
    )


def _damping(values: ComplexArray) -> FloatArray:
    """Return the damping ratio of each eigenvalue, infinite for those that do not count."""
    magnitude = np.abs(values)
    counted = (values.imag > 2.0 * np.pi * LOWEST_HZ) & (magnitude < 2.0 * np.pi * HIGHEST_HZ)
    counted |= values.real > GROWING
    return np.where(counted, -values.real / np.maximum(magnitude, GROWING), np.inf)
