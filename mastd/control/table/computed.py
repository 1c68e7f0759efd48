"""Settings of the daemon that are left out, computed from the table: gains, times, velocity of its moves."""

from __future__ import annotations

import math
from typing import TypeVar

import numpy as np

from mastd.control.table.gains import with_feedback_gains
from mastd.dynamics.oil_flow import oil_springs
from mastd.dynamics.table_model import TableModel, mobility
from mastd.kinematics.design import neutral_jacobian
from mastd.kinematics.geometry import Geometry
from mastd.motion.preflight.performance import static_capacity
from mastd.settings.core.base import Settings, computed
from mastd.settings.daemon.daemon import DaemonSettings
from mastd.settings.daemon.trust import UnaskedMotionSettings
from mastd.settings.table.payload import NoPayload
from mastd.settings.table.table import TableSettings

_S = TypeVar("_S", bound=Settings)

SUPPLY_FACTOR, LEAST_SUPPLY_S, MOST_WAITED_S = 5.0, 10.0, 120.0
"""Time-out of a stage over the time that it takes, at least 10 s, at most two minutes more than it takes."""
LOWERING_FACTOR, LEAST_LOWERING_S = 3.0, 30.0
RAISING_VELOCITY, RAISING_S = 0.02, 15.0
"""m/s: slow, since raising teaches the valves that carry; faster only where the shortest stroke, from end to
end, would take longer than this."""
BRAKE_RATIO = 0.4
"""Way in which a moving table comes to rest, over the shortest stroke."""
BANDWIDTH_RATIO = 0.7
"""Bandwidth of the valves' inverse over the natural frequency of the slowest one (control study)."""
WEIGHING_RATIO = 1.0 / 36.0
"""Mass that the weighing must tell, over what the actuators carry: seals and transducers allow no less."""
CENTRE_RATIO = 0.012
"""The same of the centre of gravity, over the table's longer side."""
FRICTION_RATIO, NOISE_RATIO, LEAST_UNASKED = 0.3, 6.0, 0.7
"""Limit of the acceleration that nobody asked for, over what the sliding friction of all seals together makes
of the bare table (twice what remained of it on six tables), and over the accelerometers' noise; the least
one in m/s²."""
TRIM_RATIO = 0.5
"""Most that the control adds to the speed asked of a valve, over the fastest actuator's without load."""


def with_computed_settings(table: TableSettings, daemon: DaemonSettings) -> DaemonSettings:
    """Return the settings with everything computed that they leave out.

    ``table``: with the gains of its drive.
    """
    geometry = Geometry.from_settings(table)
    travel = 2.0 * float(geometry.strokes.min())
    rise = max((supply.stage_time for supply in table.packs.values()), default=0.0)
    timeouts = _filled(
        daemon.timeouts,
        supply_stage=max(LEAST_SUPPLY_S, min(SUPPLY_FACTOR * rise, rise + MOST_WAITED_S)),
        lowering=max(LEAST_LOWERING_S, LOWERING_FACTOR * travel / table.drive.lowering_speed),
    )
    slowest = min(type_.lag.corner_frequency for type_ in table.types)
    feedforward = _filled(daemon.control.feedforward, bandwidth=BANDWIDTH_RATIO * slowest)
    gives_way = max(
        type_.body.maximum_force / spring
        for type_, spring in zip(table.types, oil_springs(table), strict=True)
    )
    balance = _filled(daemon.control.balance, limit=_rounded(gives_way, 1))
    payload_check = _filled(
        daemon.control.payload_check,
        mass=_rounded(WEIGHING_RATIO * static_capacity(table, geometry), 2),
        centre=CENTRE_RATIO * max(table.body.size[:2]),
    )
    fastest = max(type_.no_load_speed() for type_ in table.types)
    control = _filled(daemon.control, trim_limit=_rounded(TRIM_RATIO * fastest, 1)).model_copy(
        update={"feedforward": feedforward, "balance": balance, "payload_check": payload_check}
    )
    moves = _filled(daemon.moves, velocity=max(RAISING_VELOCITY, travel / RAISING_S)).model_copy(
        update={"brake": _filled(daemon.moves.brake, distance=_rounded(BRAKE_RATIO * 0.5 * travel, 3))}
    )
    settled = daemon.model_copy(
        update={
            "timeouts": timeouts,
            "unasked_motion": _with_limits(daemon.unasked_motion, table, geometry),
            "control": control,
            "moves": moves,
        }
    )
    return with_feedback_gains(table, settled)


def _with_limits(
    unasked: UnaskedMotionSettings, table: TableSettings, geometry: Geometry
) -> UnaskedMotionSettings:
    """Return the watch for motion that nobody asked for with its lever arm and its limit at standstill."""
    jacobian = neutral_jacobian(geometry)
    longest = float(np.max(np.abs(jacobian[:, 3:])))
    unasked = _filled(unasked, arm=_rounded(longest, 3) or 1.0)
    arms = np.repeat([1.0, computed(unasked.arm)], 3)
    seals = np.array([type_.body.friction.coulomb for type_ in table.types])
    moved = mobility(TableModel.from_settings(table, NoPayload()).mass_matrix, geometry)
    guides = table.guides.friction * np.diag(moved) * [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]
    friction = float(np.max(arms * (np.abs(moved @ jacobian.T) @ seals + guides)))
    noise = table.sensors.acceleration.noise if table.sensors.accelerometers else 0.0
    limit = max(_rounded(FRICTION_RATIO * friction, 2), NOISE_RATIO * noise, LEAST_UNASKED)
    return _filled(unasked, limit=limit)


def _filled(settings: _S, **values: float) -> _S:
    """Return the settings with those of the values that they leave out."""
    missing = {name: value for name, value in values.items() if getattr(settings, name) is None}
    return settings.model_copy(update=missing)


def _rounded(value: float, digits: int) -> float:
    """Return the value with that many digits: it is shown, and more of them mean nothing."""
    if value == 0.0 or not math.isfinite(value):
        return value
    return round(value, digits - 1 - math.floor(math.log10(value)))
