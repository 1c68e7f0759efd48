"""By what a swing of the raised table grows after a push, with seals that do not stick."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from hil_sim.plant.block import ACTUATOR, ACTUATOR_STATE, SUPPLY, SUPPLY_STATE
from hil_sim.plant.truth import ActuatorTruth, PlantTruth
from mastd.loop.process.installation import Plan
from mastd.safety.states import State
from mastd.settings.core.axes import AXES
from mastd.settings.table.limits import FollowingErrorSettings
from mastd.wire.access.verbs import Verb
from tests.support.line import Line, LineRig

QUIET = 0.05
"""The same, below which there is nothing but noise."""
RAISE_S = 20.0
"""Longest time to the raised table."""
STILL_S = 0.3
"""Before the push."""
SHAKES = 1.0
"""Effective value in m/s² over all axes from which a table shakes by itself: noise is a fiftieth of it."""


def without_watchers(plan: Plan) -> Plan:
    """Return the plan with nobody who fades the feedback out or stops a table that swings."""
    settings = plan.daemon
    never = dict.fromkeys(("indicate", "fade", "stop"), 1000)
    daemon = settings.model_copy(
        update={
            "round_trip": settings.round_trip.model_copy(update=never),
            "unasked_motion": settings.unasked_motion.model_copy(update={"limit": 1e3}),
        }
    )
    # A push alone carries a loop of low gain that far.
    following = FollowingErrorSettings(minimum=1.0, at_maximum_velocity=1.0)
    limits = plan.table.limits.model_copy(update={"following_error": following})
    return replace(plan, daemon=daemon, table=plan.table.model_copy(update={"limits": limits}))


def settle_chambers(rig: LineRig) -> None:
    """Let the pressures of both chambers of each actuator add up to those of supply and return.

    Real valves leak at null until they do; the simulated ones do not, and an actuator that has not moved
    since the supply came up has hardly any pressure in its chambers, and half the valve's gain.
    """
    block = rig.plant._block
    states, rows = block.actuator_states, block.actuators
    total = block.supply_state[0, SUPPLY_STATE.pressure] + block.supply[0, SUPPLY.return_pressure]
    missing = total - states[:, ACTUATOR_STATE.pressure_1] - states[:, ACTUATOR_STATE.pressure_2]
    reach = rows[:, ACTUATOR.dead_length] + rows[:, ACTUATOR.stroke]
    extension = states[:, ACTUATOR_STATE.length] - rows[:, ACTUATOR.neutral_length]
    for oil, area, column in (
        (ACTUATOR_STATE.oil_1, ACTUATOR.area_1, reach + extension),
        (ACTUATOR_STATE.oil_2, ACTUATOR.area_2, reach - extension),
    ):
        states[:, oil] += 0.5 * missing / rows[:, ACTUATOR.bulk_modulus] * rows[:, area] * column


def growth(plan: Plan, periods: int = 0, force: float = 5e4) -> float:
    """Return by what a swing grows within 0.3 s; 0 where nothing is left, infinite where it needs no push.

    That is where the table does not even come up, shakes by itself, or ends in a fault after the push.
    ``periods`` that samples are late; ``force`` of the push in N.
    """
    smooth = tuple(
        ActuatorTruth(link=link.name, coulomb=0.0, breakaway=0.0, overlap=0.0) for link in plan.table.links
    )
    rig = LineRig(without_watchers(plan), Line(), PlantTruth(actuators=smooth))
    period = 1e-9 * plan.daemon.period_ns
    rig.step()
    rig.step(Verb.RAISE)
    for _ in range(round(RAISE_S / period)):
        if rig.supervisor.state in (State.READY, State.FAULT):
            break
        rig.step()
    if rig.supervisor.state is not State.READY:
        return math.inf
    for _ in range(round(STILL_S / period)):
        rig.step()
    settle_chambers(rig)
    rig.line = Line(samples=lambda time: float(periods))
    first = len(rig.truths)
    # One across and one about it, or what guides leave of all six.
    push = np.array([0.0, force, 0.0, force, 0.0, 0.0])
    if len(plan.table.freedoms) < 6:
        push = force * np.array([axis in plan.table.freedoms for axis in AXES])
    for k in range(600):
        rig.push[:] = push if k < 10 else 0.0
        rig.step()
    if rig.supervisor.state is not State.READY:
        return math.inf
    shaken = np.array(rig.truths[first - 100 :])
    before, early, late = (np.sqrt(np.mean(shaken[at : at + 100] ** 2)) for at in (0, 200, 500))
    if before > SHAKES:
        return math.inf
    return float(late / early) if late > QUIET else 0.0
