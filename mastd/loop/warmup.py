"""Compile every kernel of the cycle before it is needed, by running a scratch cycle through its states."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mastd.kinematics.inverse import link_lengths
from mastd.loop.plan import Installation
from mastd.safety.profile_limits import ProfileLimits
from mastd.safety.states import State
from mastd.wire.blocks import Verb
from mastd.wire.messages import Stage


def compile_kernels(installation: Installation) -> None:
    """Load the kernels from the cache, or compile them into it; takes seconds the first time only."""
    cycle = installation.bare_cycle()
    sample = cycle.sample
    link_lengths(
        installation.geometry.table_joints,
        installation.geometry.base_joints,
        installation.geometry.neutral_position,
        np.zeros(6),
        sample.field("lengths"),
    )
    sample.field("supply_pressure")[:] = installation.table.supply.pressure
    sample.stage = int(Stage.HIGH)
    verbs = [Verb.NONE, Verb.RAISE, Verb.NONE, Verb.NONE, Verb.NONE]
    for step, verb in enumerate(verbs):
        sample.step = sample.sequence = step
        cycle.step(1, step * installation.daemon.period_ns, verb)
    ProfileLimits((), 1e-3).compile(cycle.frame.values)
    reference = cycle.reference
    follows: tuple[Callable[[], object], ...] = (
        lambda: reference.play(np.zeros(6)),
        lambda: reference.slow(0.0),
        lambda: reference.brake(np.zeros(6), np.zeros(6)),
        lambda: reference.rejoin(np.zeros(6), np.zeros(6)),
    )
    for follow in follows:
        follow()
        cycle.advance(installation.daemon.period_ns * 1e-9)
    assert cycle.supervisor.state is not State.OFF
