"""The plant's true motion on file, one row per period: what benchmarks and safety tests compare with."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import numpy as np

from mastd.arrays import FloatArray
from mastd.errors import UsageError

_COLUMNS = 19
_BUFFER = 1 << 18  # bytes; about 1.7 s of rows at 1 kHz


class MovingPlant(Protocol):
    """A plant whose true motion can be read; poses and rates as everywhere, acceleration of C in B axes."""

    @property
    def time_ns(self) -> int:
        """Plant time since boot in ns."""

    @property
    def true_pose(self) -> FloatArray:
        """Pose of C, (6,) in m and rad."""

    @property
    def true_velocity(self) -> FloatArray:
        """Its time derivative, Euler rates, (6,) in m/s and rad/s."""

    @property
    def true_acceleration(self) -> FloatArray:
        """Its second time derivative, (6,) in m/s2 and rad/s2."""


class MotionLog:
    """Writes the true motion of ``plant`` to a file of little-endian float64 rows."""

    def __init__(self, path: Path, plant: MovingPlant) -> None:
        self._plant = plant
        self._row = np.zeros(_COLUMNS, dtype="<f8")
        try:
            self._file = path.open("wb", buffering=_BUFFER)
        except OSError as error:
            raise UsageError(f"{path}: the true motion cannot be written: {error.strerror}") from error

    def write(self) -> None:
        """Append the present motion."""
        row, plant = self._row, self._plant
        row[0] = plant.time_ns * 1e-9
        row[1:7] = plant.true_pose
        row[7:13] = plant.true_velocity
        row[13:19] = plant.true_acceleration
        self._file.write(row.data)

    def close(self) -> None:
        """Write what is still buffered and close the file."""
        self._file.close()
