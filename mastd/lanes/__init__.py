"""Four numbers at a time: the type of the kernels that do the same work for four equal parts.

A vehicle's corners, mirrored left and right and repeated from axle to axle, have the same joints in the same
order. Kernels written for one of them with the functions of this module compute four, each in one lane of a
vector register, at the cost of one. ``load`` and ``store`` move four neighbouring float64 of an array whose
last axis has ``LANES`` entries; + − · / between lanes, and between lanes and a float, need nothing special.
Products and sums may be fused, as in ``fused_kernel``; every result is the same in each run on one machine.

For the type checker a value of four lanes is a float: functions of plain arithmetic serve both.

Where kernels run as plain Python (``mastd.kernel.COMPILED`` is false) there is one lane, and its value is
whatever the arrays hold.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from mastd.arrays import FloatArray
from mastd.kernel import COMPILED

_lanes: Any = import_module("mastd.lanes.vector" if COMPILED else "mastd.lanes.scalar")

LANES: Final[int] = _lanes.LANES
"""Numbers in one value: 256 bits of float64, compiled."""


load = cast(Callable[[FloatArray, int, int], float], _lanes.load)
"""Load four numbers of ``array[i, j, :]``."""
load_single = cast(Callable[[NDArray[np.float32], int, int], float], _lanes.load_single)
"""Load four numbers of ``array[i, j, :]``, which is in single precision."""
load_row = cast(Callable[[FloatArray, int], float], _lanes.load_row)
"""Load four numbers of ``array[i, :]``."""
store = cast(Callable[[FloatArray, int, int, float], None], _lanes.store)
"""Store four numbers to ``array[i, j, :]``."""
store_row = cast(Callable[[FloatArray, int, float], None], _lanes.store_row)
"""Store four numbers to ``array[i, :]``."""
broadcast = cast(Callable[[float], float], _lanes.broadcast)
"""Return the same number in each lane."""
sqrt = cast(Callable[[float], float], _lanes.sqrt)
"""Return the square root, lane by lane."""
hsum = cast(Callable[[float], float], _lanes.hsum)
"""Return the sum of the lanes."""
hmax = cast(Callable[[float], float], _lanes.hmax)
"""Return the largest of the lanes; not a number if one of them is not."""
first_lane = cast(Callable[[float], float], _lanes.first_lane)
"""Return the number in the first lane."""
select = cast(Callable[[float, float, float], float], _lanes.select)
"""Return lane by lane the second value where the first is above zero, else (and for NaN) the third."""
