"""Stability of table, drive and daemon over the workspace: the least damped oscillation, margins, refusal.

The linear loop of ``closed_loop`` at neutral and at both ends of each axis, with the bare table, with the
greatest mass that the actuators carry and with the payload. The figure is the damping ratio of the
oscillation that is damped least.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mastd.arrays import ComplexArray, FloatArray
from mastd.control.table.closed_loop import ClosedLoop, Gains, Plant, closed_loop
from mastd.dynamics.table_model import TableModel
from mastd.kinematics.geometry import Geometry
from mastd.kinematics.workspace import axis_ends
from mastd.motion.preflight.performance import heaviest_ratio
from mastd.settings.core.axes import AXES
from mastd.settings.table.payload import RigidPayload
from mastd.settings.table.table import TableSettings

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
    """Return neutral and both ends of each free axis within strokes and pose limits, by their words."""
    limits = np.array(table.pose_limits)
    # The table rests at its lower stops, whatever its limits are when it is raised; strokes end every axis.
    limits[AXES.index("heave")] = max(2.0 * np.max(geometry.strokes), -geometry.lowest_heave)
    poses = {"neutral": np.zeros(6)}
    ends = axis_ends(geometry, np.outer(limits, [-1.0, 1.0]))
    for index in geometry.free_axes:
        unit = "mm" if index < 3 else "mrad"
        for end in ends[index]:
            poses[f"{AXES[index]} {1e3 * end:+.0f} {unit}"] = end * np.eye(6)[index]
    return poses


def loops(plant: Plant, payload: RigidPayload | None = None) -> tuple[list[ClosedLoop], list[str]]:
    """Return the closed loops over the workspace, bare, heaviest, and with a payload; and their words."""
    ratio = heaviest_ratio(plant.table, plant.geometry)
    masses = [("bare", plant.bare), (f"{ratio:.3g} times the mass", ratio * plant.bare)]
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
