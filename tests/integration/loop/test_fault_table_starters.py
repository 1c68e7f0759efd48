"""The fault table on starter tables of other shapes: eight actuators, and four on guides without heave.

The scenarios are those of the shipped table; what is told apart here is the axis that is played, the actuator
that is broken, and numbers that have to pass another table's limits.
"""

from __future__ import annotations

import re
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

from mastd.kinematics.design import neutral_jacobian
from mastd.safety.faults import Code
from tests.integration.loop.test_fault_table import (
    SCENARIOS,
    Bench,
    Jerk,
    Scenario,
    Travel,
    beyond,
    raise_fault,
)
from tests.support.lab import quick_lab

AXIS: Final = {"eight_actuators": "heave", "biaxial": "surge"}
AT_ONCE: Final = (Code.STROKE, Code.REDUNDANCY, Code.FOLLOWING_ERROR, Code.INTERNAL_FORCE)
"""Told on the table on guides in every run of the tests; all others are evidence."""
UNCHECKED: Final = {"guard.jump_margin": 1.0, "limits.velocity": 100.0, "limits.redundancy_residual": 1.0}


def too_fast(rig: Bench) -> bool:
    """Tell whether an actuator's measured acceleration is beyond 5 m/s², by the pose's."""
    rows = neutral_jacobian(rig.plan.geometry)
    return bool(np.abs(rows @ rig.cycle.frame.field("pose_acceleration")).max() > 5.0)


def behind(rig: Bench) -> bool:
    """Tell whether an actuator's length is off by more than both tables' limit at rest."""
    return bool(np.abs(rig.following_errors()).max() > 6e-3)


BOTH: Final[dict[Code, dict[str, Any]]] = {
    Code.FORCE: {"injected": ("pressure-offset.1:250bar",)},
    # What is stuck works against another actuator here.
    Code.FOLLOWING_ERROR: {
        "visible": behind,
        "settings": {"limits.internal_force": 1e9, "limits.force_share": 1e3},
    },
    Code.LENGTH_STUCK: {"injected": ("length-stuck.1",), "visible": Travel(1e-3, 0)},
    Code.ACCELERATION: {"injected": ("valve-stuck.1:100%",), "visible": too_fast, "first": None},
    Code.CONDITIONING: {"settings": {"limits.conditioning": 1.001}, "longest": 20.0},
    Code.CONTROL_SATURATED: {"longest": 20.0},
}
OWN: Final[dict[str, dict[Code, dict[str, Any]]]] = {
    "eight_actuators": {
        Code.STROKE: {"injected": ("length-offset.7:149mm",), "settings": UNCHECKED},
        Code.VELOCITY: {
            "injected": ("length-drift.7:1.15m/s",),
            "visible": beyond("length_rate", 1.0),
            "first": Code.REDUNDANCY,
        },
        Code.LENGTH_RANGE: {"injected": ("length-offset.1:170mm",)},
        Code.INTERNAL_FORCE: {
            "injected": ("length-offset.1:0.5mm",),
            "settings": {"limits.internal_force": 2e3, "control.balance.gain": 0.0},
            "visible": beyond("pattern_force", 2e3),
        },
        Code.SUPPLY_FLOW: {
            "settings": {"supply.limits.maximum_flow": 0.0018, "guard.supply_delay": 0.01},
            "visible": beyond("sample.supply_flow", 0.0018),
        },
    },
    "biaxial": {
        Code.STROKE: {"injected": ("length-offset.4:199mm",), "settings": UNCHECKED},
        Code.VELOCITY: {
            "injected": ("length-drift.4:0.92m/s",),
            "visible": beyond("length_rate", 0.8),
            "first": Code.REDUNDANCY,
        },
        Code.LENGTH_RANGE: {"injected": ("length-offset.1:220mm",)},
    },
}


def scenario_of(code: Code, name: str) -> Scenario:
    """Return the scenario of a code on a starter table."""
    shipped = SCENARIOS[code]
    last = 8 if name == "eight_actuators" else 4
    injected = tuple(re.sub(r"\.[57]\b(?=:|$)", f".{last}", text) for text in shipped.injected)
    played = shipped.profile.replace("heave", AXIS[name])
    if code is Code.PROFILE_LIMIT:
        index = ("surge", "sway", "heave").index(AXIS[name])
        own: dict[str, Any] = {"visible": lambda rig: bool(abs(rig.cycle.frame.field("pose")[index]) > 3e-3)}
    elif code is Code.JERK:
        own = {"visible": Jerk(130.0)}
    else:
        own = {**BOTH.get(code, {}), **OWN[name].get(code, {})}
    return replace(shipped, **{"injected": injected, "profile": played, **deepcopy(own)})


CASES: Final = [
    pytest.param(
        code,
        name,
        id=f"{code.name.lower()}-{name}",
        marks=() if name == "biaxial" and code in AT_ONCE else pytest.mark.evidence,
    )
    for name in AXIS
    for code in SCENARIOS
]


@pytest.mark.parametrize(("code", "name"), CASES)
def test_a_fault_is_found_in_time_on_a_table_of_another_shape(tmp_path: Path, code: Code, name: str) -> None:
    raise_fault(quick_lab(tmp_path, name), code, scenario_of(code, name))
