"""What the soak has found in the daemon, each as short as it can be shown."""

from __future__ import annotations

import numpy as np
import pytest

from mastd.loop.process.installation import Plan
from mastd.safety.states import State
from mastd.settings.core.starter import find
from mastd.wire.access.verbs import Verb
from tests.support.lab import Lab
from tests.support.rigs.rig import HEAVE_AND_PITCH, Rig


@pytest.fixture
def rig(lab: Lab) -> Rig:
    table, config = find("table", "table"), find("daemon", "simulated")
    return Rig(Plan.load(table, lab.profile(HEAVE_AND_PITCH), config))


def test_raising_again_before_the_supply_has_recovered_raises_the_table(rig: Rig) -> None:
    """``hil-sim soak --seed 11 --episode 4 --faults-per-minute 0 --hours 0.5``."""
    rig.step()
    rig.step(Verb.RAISE)
    rig.until(State.HIGH)
    for _ in range(2):
        for _ in range(1500):
            rig.step()
        rig.step(Verb.STOP)
        while rig.state() is State.OFF:
            rig.step(Verb.RAISE)
    rig.until(State.READY)
    assert rig.codes() == []


def test_a_stop_right_after_the_table_has_left_its_stops_is_no_fault(rig: Rig) -> None:
    """``hil-sim soak --seed 11 --episode 4 --faults-per-minute 0 --hours 0.5``, at 6.5 s."""
    rig.step()
    rig.step(Verb.RAISE)
    rig.until(State.RAISING)
    for _ in range(100):
        rig.step()
    rig.step(Verb.STOP)
    rig.until(State.READY)
    for _ in range(100):
        rig.step()
    assert rig.codes() == []
    assert rig.state() is State.READY


def test_a_brake_after_a_tracking_fault_ends_within_the_stroke(rig: Rig) -> None:
    """``hil-sim soak --seed 1 --episode 5 --faults-per-minute 1 --hours 1``, at 217.3 s."""
    reference = rig.cycle.reference
    pose, rates = np.zeros(6), np.zeros(6)
    pose[2], rates[2] = 0.046, 0.15
    reference.brake(pose, rates)
    highest = 0.0
    for _ in range(1000):
        reference.advance(1e-3)
        highest = max(highest, float(reference.motion[0, 2]))
    assert reference.standing
    assert highest <= 0.050
