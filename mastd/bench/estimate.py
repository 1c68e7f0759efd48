"""Bench of the estimator of rates and accelerations, on the starter table with its accelerometers.

The figure is the processor time of a compiled loop over a second of readings, divided by the cycles.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mastd.bench.kinematics import RUNS, take_turns
from mastd.bench.registry import Figure, bench, figure
from mastd.control.motion_estimate import MotionEstimator, estimate_motion
from mastd.kernel import kernel
from mastd.kinematics.forward import Observer
from mastd.kinematics.geometry import Geometry
from mastd.settings.daemon import DaemonSettings
from mastd.settings.loader import load
from mastd.settings.starter import find
from mastd.settings.table import TableSettings

CYCLES = 1000
