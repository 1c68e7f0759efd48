"""The table's control on simulated tables that are not what their settings say, in lockstep."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mastd.bench.control.plays import BenchPlant, installation, play
from mastd.bench.control.profiles import noise, read_profile
from mastd.bench.control.truth import ActuatorTruth, PayloadTruth, TableTruth, hidden_truth
from mastd.loop.process.installation import Installation
from mastd.settings.core.axes import AXES
from mastd.settings.daemon.control import ControlSettings
from mastd.settings.profile.profile import ProfileSettings
from mastd.settings.table.payload import Payload, RigidPayload
from mastd.settings.table.table import TableSettings
from mastd.signals.acceleration_figures import acceleration_figures
from mastd.signals.metrics import rms
from tests.support.missed import missed

HOUSE = installation()
OFFSET = 0.2e-3


def shaken(axis: str, duration: float, share: float = 1.0) -> ProfileSettings:
    """Return band noise along ``axis`` under 12 t."""
    return read_profile(noise(axis, duration=duration, ratio=share))


def with_control(control: ControlSettings) -> Installation:
    """Return the starter table with other settings of the control."""
    return replace(HOUSE, daemon=HOUSE.daemon.model_copy(update={"control": control}))


def truth_of(seed: int) -> TableTruth:
    """Return a hidden truth of the starter table with the profile's payload."""
    return hidden_truth(HOUSE.table, shaken("heave", 8.0).payload, seed)


def nominal_truth(table: TableSettings, payload: Payload) -> TableTruth:
    """Return a table that is what its settings say."""
    friction = table.types[0].cylinder.friction
    carried = None
    if isinstance(payload, RigidPayload):
        carried = PayloadTruth(payload.mass, payload.centre_of_gravity, payload.inertia)
    return TableTruth(
        tuple(
            ActuatorTruth(
                actuator.name,
                table.types[0].valve.rated_flow,
                table.types[0].cylinder.bulk_modulus,
                friction.coulomb,
                friction.breakaway,
                friction.viscous,
                table.types[0].valve.delay,
                table.types[0].valve.overlap,
            )
            for actuator in table.links
        ),
        carried,
    )


@pytest.mark.parametrize("axis", ["heave", "roll"])
def test_a_table_of_uneven_actuators_follows_at_the_first_play(axis: str) -> None:
    played = play(shaken(axis, 8.0), BenchPlant(truth_of(3), 3))
    assert missed(played, axis) < 0.06
    assert not played.indicated


def test_each_part_of_the_feed_forward_is_worth_something() -> None:
    control = HOUSE.daemon.control
    truth = nominal_truth(HOUSE.table, shaken("roll", 5.0).payload)
    whole = missed(play(shaken("roll", 5.0), BenchPlant(truth, 1)), "roll")
    for part in ("friction", "valve_inverse"):
        feedforward = control.feedforward.model_copy(update={part: False})
        without = with_control(control.model_copy(update={"feedforward": feedforward}))
        assert missed(play(shaken("roll", 5.0), BenchPlant(truth, 1), on=without), "roll") > 1.5 * whole, part


def test_a_table_that_stands_learns_nothing() -> None:
    truth = nominal_truth(HOUSE.table, shaken("heave", 3.0).payload)
    played = play(shaken("heave", 3.0), BenchPlant(truth, 1), settle=20.0)
    assert missed(played, "heave") < 0.03


def test_an_offset_of_one_transducer_does_not_bind_the_actuators() -> None:
    truth = nominal_truth(HOUSE.table, shaken("heave", 8.0).payload)
    actuators = (replace(truth.actuators[0], transducer_offset=OFFSET), *truth.actuators[1:])
    truth = replace(truth, actuators=actuators)
    profile = shaken("heave", 3.0, share=0.1)
    balanced = play(profile, BenchPlant(truth, 1), settle=1.5)
    assert balanced.completed
    assert abs(np.mean(balanced.internal_force)) < 500.0
    off = HOUSE.daemon.control.balance.model_copy(update={"gain": 0.0})
    bound = play(
        profile,
        BenchPlant(truth, 1),
        on=with_control(HOUSE.daemon.control.model_copy(update={"balance": off})),
    )
    assert len(bound.frames) == 0 or rms(bound.internal_force) > 10_000.0


def test_a_streamed_motion_comes_late_by_what_is_allowed() -> None:
    profile = shaken("sway", 5.0)
    truth = nominal_truth(HOUSE.table, profile.payload)
    played = play(profile, BenchPlant(truth, 1), streamed="derivatives")
    figures = acceleration_figures(
        played.achieved, played.asked, played.rate, played.band or (0.5, 20.0), frozenset({"sway"})
    )["sway"]
    assert figures["best_lag_nrmse"] is not None
    assert figures["lag_s"] is not None
    assert figures["best_lag_nrmse"] < 0.05
    assert 1e-3 < figures["lag_s"] < 4.5e-3
    assert AXES.index("sway") == 1
