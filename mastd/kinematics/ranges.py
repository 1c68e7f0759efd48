"""How far and how fast the actuators move the displacement transducers beside them."""

from __future__ import annotations

import numpy as np

from mastd.arrays import FloatArray
from mastd.kinematics.design import neutral_jacobian, observer_gain
from mastd.kinematics.geometry import Geometry
from mastd.kinematics.workspace import lengths_at, stroke_poses
from mastd.settings.table.table import TableSettings


def displacement_warnings(table: TableSettings) -> tuple[str, ...]:
    """Return in a line each displacement transducer whose range the actuators' strokes exceed.

    At the corners of the workspace, as ``stroke_poses`` finds them.
    """
    if not table.sensors.displacement:
        return ()
    geometry = Geometry.from_settings(table)
    poses = stroke_poses(geometry, observer_gain(geometry))
    beside = lengths_at(Geometry.of_lengths(table), poses)[:, geometry.actuators :]
    warnings = []
    for k, one in enumerate(table.sensors.displacement):
        travel = float(np.max(np.abs(beside[:, k] - one.neutral_length)))
        if not travel <= one.range:
            warnings.append(
                f"sensors.displacement[{k}].range: {one.name} reads ±{1e3 * one.range:.4g} mm, but within "
                f"their strokes the actuators move it by {1e3 * travel:.4g} mm, which would be a fault: "
                "take a longer transducer, another place, or shorter strokes"
            )
    return tuple(warnings)


def speed_ratios(table: TableSettings) -> FloatArray:
    """Return how fast each displacement transducer (d,) can move over the velocity of the actuators.

    The sum of what each actuator moves it by, at neutral.
    """
    geometry = Geometry.from_settings(table)
    rates = neutral_jacobian(Geometry.of_lengths(table))[geometry.actuators :]
    return np.asarray(np.sum(np.abs(rates @ observer_gain(geometry)), axis=1))
