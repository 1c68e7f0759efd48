"""Random tables with random gains: what the proof of stability says is what the simulated plant does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import numpy as np
import pytest

from mastd.control.table.gains import gains_of, linear_plant
from mastd.control.table.stability import least_damping, loops
from mastd.dynamics.table_model import TableModel
from mastd.errors import KinematicsError
from mastd.kinematics.geometry import Geometry
from mastd.loop.process.installation import Plan
from mastd.motion.preflight.performance import standing_limits
from mastd.settings.table.payload import NoPayload
from tests.support.growth import growth
from tests.support.lab import Lab
from tests.support.random_tables import random_guided_table, random_table

Predicted = Literal["stable", "unstable", "unstable at an end"]
PUSH = 1.5
"""m/s², of the bare table's mass."""


def random_plan(lab: Lab, seed: int, table: Callable[[int], str] = random_table) -> Plan | None:
    """Return a random table that stands, its gains up to 2.5 times smaller or 8 times larger than computed.

    None where it would be refused: its forward kinematics do not converge fast enough, or its actuators do
    not hold it at rest.
    """
    lab.table.write_text(table(seed), encoding="utf-8")
    text = lab.config.read_text(encoding="utf-8").replace("check: {enabled: true", "check: {enabled: false")
    lab.config.write_text(text, encoding="utf-8")
    profile = lab.profile("name: p\nsegments:\n  - {kind: hold, duration: 5 s}\n")
    try:
        plan = Plan.load(lab.table, profile, lab.config)
    except KinematicsError:
        return None
    geometry = Geometry.from_settings(plan.table)
    standing = standing_limits(plan.table, geometry, TableModel.from_settings(plan.table, NoPayload()))
    if any(limit.margin < 0.0 for limit in standing):
        return None
    length, damping, feedback = 10.0 ** np.random.default_rng([seed, 99]).uniform(-0.4, 0.9, 3)
    types = {}
    for name, type_ in plan.table.actuators.items():
        assert type_.drive is not None
        assert type_.drive.length_gain is not None
        assert type_.drive.pressure_damping is not None
        changed = {
            "length_gain": type_.drive.length_gain * min(length, 2.0),
            "pressure_damping": type_.drive.pressure_damping * damping,
        }
        types[name] = type_.model_copy(update={"drive": type_.drive.model_copy(update=changed)})
    control = plan.daemon.control
    assert control.acceleration.gains is not None
    gains = {axis: min(gain * feedback, 400.0) for axis, gain in control.acceleration.gains}
    made = control.acceleration.gains.model_copy(update=gains)
    control = control.model_copy(
        update={"acceleration": control.acceleration.model_copy(update={"gains": made})}
    )
    return replace(
        plan,
        table=plan.table.model_copy(update={"actuators": types}),
        daemon=plan.daemon.model_copy(update={"control": control}),
    )


def predicted(plan: Plan) -> Predicted:
    """Return what the proof says of the bare table: at neutral, and at the ends of the axes."""
    control = plan.daemon.control
    found, words = loops(linear_plant(plan.table, 1e-3, control.balance.gain))
    damping = least_damping(found, gains_of(plan.table, control.acceleration.axis_gains))
    bare = [value for value, word in zip(damping, words, strict=True) if word.endswith("bare")]
    if bare[0] < 0.0:
        return "unstable"
    return "stable" if min(bare) > 0.0 else "unstable at an end"


def judged(lab: Lab, seed: int, table: Callable[[int], str] = random_table) -> tuple[Predicted, float] | None:
    """Return what is predicted of a random table, and by what a swing grows on the plant."""
    plan = random_plan(lab, seed, table)
    if plan is None:
        return None
    return predicted(plan), growth(plan, force=PUSH * plan.table.body.mass)


@pytest.mark.parametrize(
    ("table", "seed", "expected"),
    [
        (random_table, 4, "unstable"),
        (random_table, 2, "stable"),
    ],
)
def test_a_random_table_does_what_the_proof_says(
    lab: Lab, table: Callable[[int], str], seed: int, expected: Predicted
) -> None:
    found = judged(lab, seed, table)
    assert found is not None
    what, grown = found
    assert what == expected
    assert (grown > 1.0) is (expected == "unstable")


@pytest.mark.evidence
def test_what_is_predicted_stable_is_stable_and_what_is_not_swings(lab: Lab) -> None:
    count: Counter[str] = Counter()
    wrong = []
    for seed in range(1000, 1300):
        found = judged(lab, seed, random_guided_table if seed % 2 else random_table)
        if found is None:
            count["refused"] += 1
            continue
        what, grown = found
        swings = grown > 1.0
        count[f"{what}, {'swings' if swings else 'stands'}"] += 1
        if what == "stable" and swings:
            wrong.append(seed)
    print(*(f"{name}: {number}" for name, number in sorted(count.items())), sep="\n")
    assert not wrong
    assert count["unstable, swings"] >= 0.9 * (count["unstable, swings"] + count["unstable, stands"])
