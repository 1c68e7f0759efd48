"""From the reference in pose space to the command of the links: exact kinematics and expected forces."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mastd.dynamics.table_model import WORK_ROWS, TableModel, loaded_force_reference
from mastd.kernel import kernel
from mastd.kinematics.geometry import Geometry
from mastd.kinematics.inverse import link_motion

Array = NDArray[np.float64]


@kernel
def command_links(
    table_joints: Array,
    base_joints: Array,
    neutral_position: Array,
    model: Array,
    motion: Array,
    load: Array,
    work: Array,
    block: Array,
) -> bool:
    """Write lengths, rates, accelerations and force references (n each) of ``motion`` (4, 6) into ``block``.

    Lengths by eqs. (3)–(4) of document 004 and their exact derivatives; force references by the nominal
    inverse dynamics of table and payload under ``load`` (6,), what is simulated on the table, at C in P axes;
    of least norm over the links. Valve trims stay as they are. Returns whether everything in the block is
    finite. ``work`` (n + WORK_ROWS, 6) is scratch.
    """
    n = table_joints.shape[0]
    pose, rates, accelerations = motion[0], motion[1], motion[2]
    link_motion(
        table_joints,
        base_joints,
        neutral_position,
        pose,
        rates,
        accelerations,
        block[:n],
        block[n : 2 * n],
        block[2 * n : 3 * n],
    )
    loaded_force_reference(
        table_joints,
        base_joints,
        neutral_position,
        model,
        pose,
        rates,
        accelerations,
        load,
        work,
        block[3 * n : 4 * n],
    )
    finite = True
    for k in range(block.shape[0]):
        finite = finite and -1e300 < block[k] < 1e300
    return finite


class LinkCommand:
    """Writes the command ``block`` of the links for the reference ``motion``; holds the constants for it.

    ``load`` (6,): wrench of what is simulated on the table, at C in P axes, beside the model.
    """

    def __init__(
        self, geometry: Geometry, model: TableModel, motion: Array, block: Array, load: Array
    ) -> None:
        self._geometry = geometry
        self.model = model.values.copy()
        """Values of the nominal model, to be overwritten when the payload changes."""
        self._load = load
        self._motion = motion
        self._block = block
        self._work = np.zeros((geometry.links + WORK_ROWS, 6))

    def write(self) -> bool:
        """Write the block; return False if anything in it is not finite."""
        geometry = self._geometry
        return command_links(
            geometry.table_joints,
            geometry.base_joints,
            geometry.neutral_position,
            self.model,
            self._motion,
            self._load,
            self._work,
            self._block,
        )
