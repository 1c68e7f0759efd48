"""From the reference in pose space to the command of the links: exact kinematics and expected forces."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mastd.dynamics.table_model import WORK_ROWS, TableModel, force_reference
from mastd.kinematics.geometry import Geometry
from mastd.kinematics.inverse import link_motion

Array = NDArray[np.float64]


class LinkCommand:
    """Writes lengths, rates, accelerations and force references (n each) for ``motion`` (4, 6).

    Lengths by eqs. (3)–(4) of document 004 and their exact derivatives; force references by the nominal
    inverse dynamics of table and payload, of least norm over the links. Valve trims stay zero.
    """

    def __init__(self, geometry: Geometry, model: TableModel, motion: Array) -> None:
        self._geometry = geometry
        self._model = model.values
        self._pose, self._rates, self._accelerations = motion[0], motion[1], motion[2]
        self._work = np.zeros((geometry.links + WORK_ROWS, 6))

    def write(self, block: Array) -> None:
        """Write the first four fields of a command block."""
        geometry = self._geometry
        n = geometry.links
        link_motion(
            geometry.table_joints,
            geometry.base_joints,
            geometry.neutral_position,
            self._pose,
            self._rates,
            self._accelerations,
            block[:n],
            block[n : 2 * n],
            block[2 * n : 3 * n],
        )
        force_reference(
            geometry.table_joints,
            geometry.base_joints,
            geometry.neutral_position,
            self._model,
            self._pose,
            self._rates,
            self._accelerations,
            self._work,
            block[3 * n : 4 * n],
        )
