"""Settings of the daemon that are left out, computed from the table: gains, times, velocity of its moves."""

from __future__ import annotations

import math
from typing import TypeVar

from mastd.control.table.gains import with_feedback_gains
from mastd.dynamics.oil_flow import oil_springs
from mastd.kinematics.geometry import Geometry
from mastd.motion.preflight.performance import static_capacity
from mastd.settings.core.base import Settings
from mastd.settings.daemon.daemon import DaemonSettings
from mastd.settings.table.table import TableSettings

_S = TypeVar("_S", bound=Settings)

SUPPLY_FACTOR, LEAST_SUPPLY_S = 5.0, 10.0
LOWERING_FACTOR, LEAST_LOWERING_S = 3.0, 30.0
RAISING_VELOCITY, RAISING_S = 0.02, 15.0
"""m/s: slow, since raising teaches the valves that carry; faster only where the shortest stroke, from end to
end, would take longer than this."""
BANDWIDTH_RATIO = 0.7
"""Bandwidth of the valves' inverse over the natural frequency of the slowest one (control study)."""
WEIGHING_RATIO = 1.0 / 36.0
"""Mass that the weighing must tell, over what the actuators carry: seals and transducers allow no less."""
CENTRE_RATIO = 0.012
"""The same of the centre of gravity, over the table's longer side."""


def with_computed_settings(table: TableSettings, daemon: DaemonSettings) -> DaemonSettings:
    """Return the settings with everything computed that they leave out.

    ``table``: with the gains of its drive.
    """
    geometry = Geometry.from_settings(table)
    travel = 2.0 * float(geometry.strokes.min())
    timeouts = _filled(
        daemon.timeouts,
        supply_stage=max(LEAST_SUPPLY_S, SUPPLY_FACTOR * table.supply.rise_time),
        lowering=max(LEAST_LOWERING_S, LOWERING_FACTOR * travel / table.drive.lowering_speed),
    )
    slowest = min(type_.valve.natural_frequency for type_ in table.types)
    feedforward = _filled(daemon.control.feedforward, bandwidth=BANDWIDTH_RATIO * slowest)
    gives_way = max(
        type_.cylinder.maximum_force / spring
        for type_, spring in zip(table.types, oil_springs(table), strict=True)
    )
    balance = _filled(daemon.control.balance, limit=_rounded(gives_way, 1))
    payload_check = _filled(
        daemon.control.payload_check,
        mass=_rounded(WEIGHING_RATIO * static_capacity(table, geometry), 2),
        centre=CENTRE_RATIO * max(table.body.size[:2]),
    )
    control = daemon.control.model_copy(
        update={"feedforward": feedforward, "balance": balance, "payload_check": payload_check}
    )
    moves = _filled(daemon.moves, velocity=max(RAISING_VELOCITY, travel / RAISING_S))
    settled = daemon.model_copy(update={"timeouts": timeouts, "control": control, "moves": moves})
    return with_feedback_gains(table, settled)


def _filled(settings: _S, **values: float) -> _S:
    """Return the settings with those of the values that they leave out."""
    missing = {name: value for name, value in values.items() if getattr(settings, name) is None}
    return settings.model_copy(update=missing)


def _rounded(value: float, digits: int) -> float:
    """Return the value with that many digits: it is shown, and more of them mean nothing."""
    if not math.isfinite(value):
        return value
    return round(value, digits - 1 - math.floor(math.log10(value)))
