"""What the daemon's own motions keep, taken together from the settings of table and daemon."""

from __future__ import annotations

import numpy as np

from mastd.control.reference.master_gain import min_level_time
from mastd.control.reference.preview import PathLimits
from mastd.control.reference.reference import MotionLimits
from mastd.control.reference.time_scaling import JERK_RATIO, min_stop_time
from mastd.kinematics.geometry import Geometry
from mastd.settings.core.base import computed
from mastd.settings.daemon.daemon import DaemonSettings
from mastd.settings.table.table import TableSettings


def motion_limits(table: TableSettings, daemon: DaemonSettings, geometry: Geometry) -> MotionLimits:
    """Return the limits of the daemon's own moves, decelerations and changes of speed and level.

    Stops and changes of level take longer than asked for where their jerk at an actuator would otherwise
    exceed ``JERK_RATIO`` of its limit.
    """
    m, b = daemon.moves, daemon.moves.brake
    jerk = JERK_RATIO * table.limits.jerk
    path = PathLimits.from_settings(table, geometry)
    stop = min_stop_time(path.velocity, path.acceleration, jerk)
    level = min_level_time(float(path.reach.max()), path.velocity, path.acceleration, jerk)
    return MotionLimits(
        np.array(
            [
                [computed(m.velocity)] * 3 + [m.angular_velocity] * 3,
                [m.acceleration] * 3 + [m.angular_acceleration] * 3,
                [m.jerk] * 3 + [m.angular_jerk] * 3,
            ]
        ),
        np.array(
            [
                [b.acceleration] * 3 + [b.angular_acceleration] * 3,
                [b.jerk] * 3 + [b.angular_jerk] * 3,
            ]
        ),
        computed(b.distance),
        max(m.stop_time, stop),
        max(m.level_time, level),
        path,
    )


def lowered_pose(geometry: Geometry, clearance: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the pose to which the table is lowered: ``clearance`` above its lower stops.

    Neutral where nothing carries the table but its guides.
    """
    pose = np.zeros(6)
    if geometry.lowest_heave < 0.0:
        pose[2] = geometry.lowest_heave + clearance
    return pose
