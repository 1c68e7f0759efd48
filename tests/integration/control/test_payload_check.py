"""The payload check on the simulated plant: what the actuators carry, against the profile, before motion."""

from __future__ import annotations

import re

import numpy as np
import pytest

from hil_sim.plant.plant import Plant
from hil_sim.plant.provider import provider
from mastd.loop.process.installation import Plan
from mastd.safety.codes import Code
from mastd.safety.states import State
from mastd.wire.access.verbs import Verb
from mastd.wire.plant.provider import PlantRequest, rigid_payload
from tests.support.lab import Lab, replaced
from tests.support.rigs.rig import Rig

PROFILE = """
name: carried
payload: {kind: rigid, mass: 12 t, centre_of_gravity: [0 m, 0 m, 2 m], inertia: [8 t m2, 29 t m2, 29 t m2]}
segments:
  - {kind: sine, frequency: 2 Hz, duration: 2 s, axes: {heave: {amplitude: 4 mm}}}
"""
BARE = PROFILE.replace(PROFILE.splitlines()[2], "payload: {kind: none}")
BODY = "{{mass: {mass}, centre_of_gravity: [{x}, {y}, 2 m], inertia: [8 t m2, 29 t m2, 29 t m2]}}"


def rig_of(lab: Lab, mass: str, x: str = "0 m", y: str = "0 m", profile: str = PROFILE, seed: int = 1) -> Rig:
    """A rig whose plant really carries another payload than the profile says, with every actuator its own."""
    payload = f"payload: {BODY.format(mass=mass, x=x, y=y)}\n" if mass else ""
    text = f"name: another plant\ndeviation: {{spread: 10 %, seed: {seed}}}\n{payload}"
    truth = lab.profile(text, "truth.yaml")
    plan = Plan.load(lab.table, lab.profile(profile), lab.config)
    rig = Rig(plan)
    said = rigid_payload(plan.profile)
    plant = provider.open(PlantRequest(plan.table_path, truth, said, mode="lockstep", seed=seed))
    assert isinstance(plant, Plant)
    rig.plant = plant
    return rig


def risen(rig: Rig) -> Rig:
    """Let the table rise until it stands, and look on for some cycles."""
    rig.step()
    rig.step(Verb.RAISE)
    rig.until(State.READY)
    for _ in range(5):
        rig.step()
    return rig


@pytest.mark.parametrize("seed", range(1, 6))
def test_mass_and_centre_are_found_on_plants_that_are_not_the_nominal_one(lab: Lab, seed: int) -> None:
    random = np.random.default_rng(seed)
    mass = 12e3 * (1.0 + 0.1 * random.uniform(-1.0, 1.0))
    x, y = random.uniform(-0.1, 0.1, 2)
    rig = risen(rig_of(lab, f"{mass} kg", f"{x} m", f"{y} m", seed=seed))
    weighed = rig.cycle.payload_check.weighed
    assert weighed is not None
    true = 35e3 + mass
    assert abs(weighed.mass - true) < 2.0 * weighed.mass_doubt < 400.0
    for found, arm, doubt in zip(weighed.centre, (x, y), weighed.centre_doubt, strict=True):
        assert abs(found - mass * arm / true) < 2.0 * doubt < 0.015
    assert rig.state() is State.READY
    assert not rig.codes(), "within what the settings allow"


def test_a_payload_that_is_not_the_profiles_cannot_be_armed(lab: Lab) -> None:
    rig = risen(rig_of(lab, "8 t"))
    assert rig.codes() == [Code.PAYLOAD_MISMATCH]
    assert rig.state() is State.FAULT
    assert rig.supervisor.raised, "it stands where it was"
    assert rig.supervisor.enabled
    first = rig.supervisor.latch.first
    assert first is not None
    assert first.cause == ("payload mismatch: measured 43.0 ± 0.2 t, expected from the profile 47.0 t")
    rig.step(Verb.RESET)
    rig.step(Verb.ARM)
    rig.step()
    assert rig.state() is State.FAULT, "it is the same payload still"
    rig.step(Verb.LOWER)
    rig.until(State.FAULT)
    rig.step(Verb.RESET)
    assert rig.state() is State.OFF
    assert rig.cycle.payload_check.weighed is None


def test_where_it_stands_is_told(lab: Lab) -> None:
    rig = risen(rig_of(lab, "12 t", "0.4 m", "-0.5 m"))
    first = rig.supervisor.latch.first
    assert first is not None
    assert first.code is Code.PAYLOAD_MISMATCH
    assert "measured" not in first.cause
    off = [int(number) for number in re.findall(r"(\d+) ± \d mm further", first.cause)]
    assert off == pytest.approx([12.0 / 47.0 * 400.0, 12.0 / 47.0 * 500.0], abs=4.0)
    assert re.search(r"further ahead and \d+ ± \d mm further right than in the profile$", first.cause)


def test_a_table_that_nobody_has_spoken_of_is_judged_when_somebody_does(lab: Lab) -> None:
    """Raised without a profile; then one is loaded that says that nothing stands there."""
    rig = rig_of(lab, "5 t", profile=BARE)
    rig.cycle = rig.plan.bare_cycle()
    rig.supervisor = rig.cycle.supervisor
    risen(rig)
    assert rig.state() is State.READY
    rig.cycle.load(rig.plan.loaded())
    rig.step(Verb.ARM)
    assert rig.state() is State.FAULT
    assert rig.codes() == [Code.PAYLOAD_MISMATCH]


def test_it_can_be_switched_off(lab: Lab) -> None:
    text = lab.config.read_text(encoding="utf-8")
    lab.config.write_text(
        replaced(text, r"payload_check: \{enabled: true", "payload_check: {enabled: false"), encoding="utf-8"
    )
    rig = risen(rig_of(lab, "8 t"))
    assert rig.state() is State.READY
    assert rig.cycle.payload_check.weighed is None


def test_a_simulated_vehicle_is_known_and_what_stands_beside_it_is_not(lab: Lab) -> None:
    profile = "name: car\npayload: {kind: vehicle, vehicle: sedan}\nsegments: [{kind: hold, duration: 1 s}]\n"
    rig = risen(rig_of(lab, "", profile=profile))
    assert rig.state() is State.READY
    assert not rig.codes()
    weighed = rig.cycle.payload_check.weighed
    assert weighed is not None
    assert weighed.mass == pytest.approx(35e3, abs=400.0), "its wrench is taken off"
    rig = risen(rig_of(lab, "3 t", profile=profile))
    first = rig.supervisor.latch.first
    assert first is not None
    assert "without the simulated vehicle, measured 38." in first.cause


def test_a_short_way_to_neutral_keeps_what_was_weighed(lab: Lab) -> None:
    rig = risen(rig_of(lab, "12 t"))
    weighed = rig.cycle.payload_check.weighed
    rig.step(Verb.JOG, arguments=(0.0, 2.0, 1e-4))
    rig.until(State.READY)
    for _ in range(1000):
        rig.step()
    rig.step(Verb.RAISE)
    assert rig.state() is State.RAISING
    rig.until(State.READY)
    rig.step()
    assert rig.cycle.payload_check.weighed is weighed
    assert rig.state() is State.READY


def test_what_supports_carry_is_neither_weighed_nor_asked_of_the_actuators(lab: Lab) -> None:
    text = lab.table.read_text(encoding="utf-8") + (
        "supports:\n"
        "  - {name: left, position: [0 m, 0.5 m, -0.9 m], force: 120 kN,\n"
        "     gas: {volume: 60 L, area: 200 cm2}}\n"
        "  - {name: ahead, position: [0.5 m, 0 m, -0.9 m], force: 60 kN, stiffness: 200 kN/m}\n"
    )
    lab.table.write_text(text, encoding="utf-8")
    rig = risen(rig_of(lab, "12 t"))
    weighed = rig.cycle.payload_check.weighed
    assert weighed is not None
    assert weighed.mass == pytest.approx(47e3, abs=400.0)
    assert weighed.centre == pytest.approx((0.0, 0.0), abs=0.015)
    assert not rig.codes()
    asked = rig.cycle.frame.field("command.force_references")[:4]
    # The friction of four seals, up to 3.6 kN each, is fed forward beside.
    assert asked.sum() == pytest.approx(47e3 * 9.80665 - 180e3, abs=4 * 3.6e3)
    lever = np.array([-1.4, -1.4, 1.4, 1.4]), np.array([-0.8, 0.8, 0.8, -0.8])
    assert asked @ lever[1] == pytest.approx(-120e3 * 0.5, rel=0.05)
    assert asked @ lever[0] == pytest.approx(-60e3 * 0.5, rel=0.05)
