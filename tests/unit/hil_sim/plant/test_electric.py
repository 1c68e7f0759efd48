"""The simulated electric drive: force of its stiffness, its bounds, its power, and what it does without."""

from __future__ import annotations

import pytest

from hil_sim.faults import parse
from hil_sim.plant.assembly import assemble
from hil_sim.plant.block import ACTUATOR, ACTUATOR_STATE, SUPPLY_STATE, PlantArrays
from hil_sim.plant.electric import move_electric
from hil_sim.plant.plant import Plant
from hil_sim.plant.truth import ActuatorTruth, PlantTruth
from mastd.errors import SettingsError, UsageError
from mastd.settings.core.loader import load_text
from mastd.settings.table.table import TableSettings
from mastd.wire.plant.messages import Command, DriveMode, Sample, SampleFlag, Stage
from tests.support.electric_tables import ELECTRIC, linear_motor, replaced

STEP = 1e-4
STIFFNESS, DAMPING, FORCE, POWER, SPEED = 20e6, 1.2e3, 708.7, 471.0, 0.665


def read(text: str = ELECTRIC) -> TableSettings:
    """Return the table of a file's text with a gain of the drive."""
    stated = replaced(
        text, ("  update_rate:", "  length_gain: 10 1/s\n  pressure_damping: 0 1/s\n  update_rate:")
    )
    return load_text(stated, "table.yaml", TableSettings)


def drive(text: str = ELECTRIC, **truth: float) -> PlantArrays:
    """Return a plant with the power on and its table at neutral."""
    table = read(text)
    actuator = ActuatorTruth.model_validate({"link": table.links[0].name, **truth})
    known = PlantTruth(actuators=(actuator,))
    block = assemble(table, known, 1e-3, seed=0)
    block.supply_state[0, SUPPLY_STATE.power] = 1.0
    return block


def pushed(block: PlantArrays, opening: float, steps: int, rate: float = 0.0) -> float:
    """Return the force in N after so many steps at ``opening``, of a table that goes at ``rate`` in m/s."""
    length = block.actuators[0, ACTUATOR.neutral_length]
    for step in range(steps):
        move_electric(block, 0, length + (step + 0.5) * STEP * rate, rate, opening, STEP)
    return float(block.actuator_states[0, ACTUATOR_STATE.force])


def test_against_a_table_that_is_held_the_force_is_that_of_stiffness_and_damping() -> None:
    speed = 5e-3
    found = pushed(drive(), speed / SPEED, 40)
    assert found == pytest.approx(STIFFNESS * speed * 39.5 * STEP + DAMPING * speed, rel=1e-9)


def test_the_true_speed_is_the_one_asked_for_times_the_speed_gain() -> None:
    assert pushed(drive(speed_gain=1.1), 0.01, 20) == pytest.approx(1.1 * pushed(drive(), 0.01, 20), rel=1e-9)


def test_the_motor_slips_at_its_force_and_comes_back_at_once() -> None:
    block = drive()
    assert pushed(block, 0.1, 400) == pytest.approx(FORCE)
    # Nothing has wound up: a tenth of a millimetre back is more than what the force had deflected.
    assert pushed(block, -0.1, 12) < FORCE - STIFFNESS * 10 * STEP * 0.1 * SPEED / 2.0


def test_power_bounds_the_force_at_speed() -> None:
    """At full speed against a table that lags behind, force times speed is the power."""
    assert pushed(drive(), 1.0, 200, rate=0.5 * SPEED) + 20.0 * 0.5 * SPEED + 15.0 == pytest.approx(
        POWER / SPEED, rel=0.05
    )


def test_without_power_a_brake_holds_the_screw_and_a_linear_motor_is_free() -> None:
    for text, holds in ((ELECTRIC, True), (linear_motor(), False)):
        block = drive(text)
        block.supply_state[0, SUPPLY_STATE.power] = 0.0
        rate = 1e-3
        force = pushed(block, 0.0, 40, rate)
        friction = float(block.actuator_states[0, ACTUATOR_STATE.friction])
        spring = -(STIFFNESS * 39.5 * STEP + DAMPING) * rate if holds else 0.0
        assert force + friction == pytest.approx(spring, rel=1e-9, abs=1e-9)


def test_power_follows_the_stage_and_its_loss_is_told() -> None:
    table = read()
    plant = Plant(table, PlantTruth(), 1_000_000, seed=1)
    command, sample = Command(plant.command_layout), Sample(plant.sample_layout)
    command.mode, command.stage = DriveMode.FOLLOW, Stage.HIGH
    command.field("lengths")[:] = 0.3
    found = []
    for step in range(40):
        if step == 20:
            plant.inject(parse("supply-loss@0s"))
        command.sequence = step
        plant.advance(command, 1_000_000)
        plant.read(sample)
        found.append((sample.stage, bool(sample.flags & SampleFlag.SUPPLY_FAULT)))
    assert found[1:20] == [(Stage.HIGH, False)] * 19
    assert found[22:] == [(Stage.OFF, True)] * 18
    assert [field.name for field in plant.sample_layout] == ["lengths", "spools", "accelerometers"]
    with pytest.raises(UsageError, match="oil-level: the plant has nothing that it could befall"):
        plant.inject(parse("oil-level@0s"))


def test_a_truth_of_another_kind_of_drive_is_refused() -> None:
    with pytest.raises(SettingsError, match="rated_flow is no parameter of 'ball screw', which is electric"):
        drive(rated_flow=1e-3)
