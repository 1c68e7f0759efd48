"""The simulated power pack: stages, accumulators, what lies under flow, and that no oil gets lost."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hil_sim.faults import parse
from hil_sim.plant.assembly import assemble
from hil_sim.plant.block import ACTUATOR, ACTUATOR_STATE, COUNTER, SUPPLY, SUPPLY_STATE, PlantArrays
from hil_sim.plant.integration import advance
from hil_sim.plant.plant import Plant
from hil_sim.plant.supply import run_supplies, stored_pressure
from hil_sim.plant.truth import ActuatorTruth, PlantTruth, ValveTruth
from mastd.control.table.gains import with_drive_gains
from mastd.errors import SettingsError
from mastd.settings.core.loader import load, load_text
from mastd.settings.table.table import TableSettings
from mastd.wire.plant.messages import Command, DriveMode, Sample, SampleFlag, Stage
from tests.support.present import present
from tests.support.unlike_actuators import two_supplies

ROOT = Path(__file__).resolve().parents[4]
TABLE = load(ROOT / "config" / "table.yaml", TableSettings)
TICK = 500e-6


class Pack:
    """The supply alone, with valves that draw what they are told."""

    def __init__(self) -> None:
        self.block: PlantArrays = assemble(TABLE, PlantTruth(), 1e-3, seed=0)
        self.supply = self.block.supply_state[0]

    def run(self, stage: Stage, seconds: float, flow: float = 0.0) -> None:
        self.block.counters[COUNTER.stage_request] = stage
        for _ in range(round(seconds / TICK)):
            self.supply[SUPPLY_STATE.drawn] = flow * TICK
            self.supply[SUPPLY_STATE.returned] = flow * TICK
            run_supplies(self.block, TICK)

    @property
    def stage(self) -> int:
        return int(self.block.counters[COUNTER.stage_reached])

    @property
    def pressure(self) -> float:
        return float(self.supply[SUPPLY_STATE.pressure])


def test_comes_up_stage_by_stage_and_goes_down_at_once() -> None:
    pack = Pack()
    assert pack.pressure == 0.0
    pack.run(Stage.LOW, 2.0)
    assert pack.stage == Stage.LOW
    assert pack.pressure == pytest.approx(present(TABLE.supply).low_pressure, rel=0.1)
    pack.run(Stage.HIGH, 0.5)
    assert pack.stage == Stage.LOW, "high is not reached before the pressure is there"
    pack.run(Stage.HIGH, 4.0)
    assert pack.stage == Stage.HIGH
    assert pack.pressure == pytest.approx(present(TABLE.supply).pressure, rel=0.02)
    pack.run(Stage.LOW, TICK)
    assert pack.stage == Stage.LOW
    pack.run(Stage.OFF, 8.0)
    assert pack.stage == Stage.OFF
    assert pack.pressure < 2e5


def test_accumulators_keep_the_gas_law_and_are_empty_when_empty() -> None:
    accumulator = present(TABLE.supply).accumulator
    parameters = Pack().block.supply[0]
    line = float(parameters[SUPPLY.line_volume])
    for oil in (0.005, 0.02, 0.03):
        gas = accumulator.volume / (accumulator.volume - oil)
        expected = accumulator.precharge * gas**accumulator.exponent
        assert stored_pressure(oil + line, parameters) == pytest.approx(expected, rel=1e-12)
    assert stored_pressure(line, parameters) == pytest.approx(accumulator.precharge)
    assert stored_pressure(0.5 * line, parameters) == pytest.approx(0.5 * accumulator.precharge)
    assert stored_pressure(0.0, parameters) == 0.0
    assert stored_pressure(-1.0, parameters) == 0.0


def test_pressure_falls_under_flow_and_comes_back() -> None:
    pack = Pack()
    pack.run(Stage.HIGH, 6.0)
    full = pack.pressure
    pack.run(Stage.HIGH, 0.1, flow=2 * present(TABLE.supply).pump_flow)
    loaded = pack.pressure
    assert loaded < full - 8e5, "line loss and accumulators"
    pack.run(Stage.HIGH, 1.5, flow=2 * present(TABLE.supply).pump_flow)
    assert pack.pressure < loaded - 20e5
    pack.run(Stage.HIGH, 8.0)
    assert pack.pressure == pytest.approx(full, rel=0.01)


def test_low_pressure_in_the_high_stage_is_a_fault() -> None:
    pack = Pack()
    pack.run(Stage.HIGH, 6.0)
    assert not pack.block.counters[COUNTER.supply_fault]
    pack.run(Stage.HIGH, 3.0, flow=3 * present(TABLE.supply).pump_flow)
    assert pack.pressure < present(TABLE.supply).limits.minimum_pressure
    assert pack.block.counters[COUNTER.supply_fault]
    assert pack.stage == Stage.HIGH


def test_the_pumps_power_heats_the_oil_and_the_cooler_holds_it() -> None:
    pack = Pack()
    pack.run(Stage.HIGH, 6.0)
    before = float(pack.supply[SUPPLY_STATE.temperature])
    pack.run(Stage.HIGH, 10.0, flow=0.9 * present(TABLE.supply).pump_flow)
    details = PlantTruth().supply
    heat = (
        0.9 * present(TABLE.supply).pump_flow * float(pack.supply[SUPPLY_STATE.accumulator_pressure]) * 10.0
    )
    cooled = (
        present(TABLE.supply).cooling
        * (
            0.5 * (before + pack.supply[SUPPLY_STATE.temperature])
            - present(TABLE.supply).oil.cooler_temperature
        )
        * 10
    )
    rise = (heat - cooled) / (details.heat_capacity * present(TABLE.supply).tank_volume)
    assert float(pack.supply[SUPPLY_STATE.temperature]) - before == pytest.approx(rise, rel=0.05)


@pytest.mark.parametrize(
    ("area", "valve"),
    [(95e-4, {}), (60e-4, {"count": 3, "port_ratio": 0.63, "pilot_frequency": 200.0}), (0.0, {"count": 2})],
)
def test_no_oil_is_made_or_lost(area: float, valve: dict[str, float]) -> None:
    """From standstill over the high stage, a rise, violent motion, and down again: 1e-6 of the oil moved."""
    assert TABLE.actuator is not None
    assert TABLE.valve is not None
    table = TABLE.model_copy(
        update={
            "actuator": TABLE.actuator.model_copy(update={"piston_areas": (95e-4, area)}),
            "valve": TABLE.valve.model_copy(update=valve),
        }
    )
    plant = Plant(table, PlantTruth(), 1_000_000, 1)
    block = plant._block
    command = Command(plant.command_layout)

    def oil() -> float:
        chambers = (
            block.actuator_states[:, ACTUATOR_STATE.oil_1].sum()
            + block.actuator_states[:, ACTUATOR_STATE.oil_2].sum()
        )
        pending = block.supply_state[0, SUPPLY_STATE.returned] - block.supply_state[0, SUPPLY_STATE.drawn]
        return float(
            chambers
            + pending
            + block.supply_state[0, SUPPLY_STATE.accumulator_oil]
            + block.supply_state[0, SUPPLY_STATE.tank_oil]
        )

    before = oil()
    moved = 0.0
    command.stage = Stage.HIGH
    for k in range(12_000):
        command.mode = DriveMode.FOLLOW if 4_000 < k < 11_000 else DriveMode.DISABLED
        swing = max(0, k - 7_000) * 1e-3
        height = -0.05 + 0.05 * min(max((k - 4_000) / 3_000, 0), 1) + 0.02 * np.sin(2 * np.pi * 2 * swing)
        command.field("lengths")[:] = 1.2
        command.field("lengths")[:4] += height
        if k > 11_000:
            command.stage = Stage.OFF
        plant.advance(command, 1_000_000)
        moved += abs(float(block.supply_state[0, SUPPLY_STATE.supply_flow])) * 1e-3
    assert moved > 0.01
    assert oil() == pytest.approx(before, abs=1e-6 * moved)


@pytest.mark.parametrize(
    ("fault", "flag", "field", "value"),
    [
        ("oil-level@0s:0.5", SampleFlag.OIL_LOW, "oil_level", 0.5),
        ("oil-temperature@0s:80 degC", SampleFlag.OIL_OVERHEATED, "oil_temperature", 353.15),
        ("filter-blocked@0s:4 bar", SampleFlag.FILTER_BLOCKED, "filter_pressure_drop", 4e5),
    ],
)
def test_faults_of_the_oil_show_in_value_and_bit(
    fault: str, flag: SampleFlag, field: str, value: float
) -> None:
    plant = Plant(TABLE, PlantTruth(), 1_000_000, 1)
    sample = Sample(plant.sample_layout)
    plant.read(sample)
    assert sample.flags == 0
    plant.inject(parse(fault))
    plant.advance(None, 1_000_000)
    plant.read(sample)
    assert SampleFlag(sample.flags) == flag
    assert sample.field(field)[0] == pytest.approx(value, rel=1e-3)
    plant.inject(parse("clear@0s"))
    plant.advance(None, 2_000_000)
    plant.read(sample)
    assert sample.flags == 0


def test_each_of_two_supplies_comes_up_by_itself_and_the_stage_is_that_of_both() -> None:
    """South takes 9 s for 210 bar, east as long for 280 bar; a loss of both pumps is told at once."""
    table = with_drive_gains(load_text(two_supplies(), "table.yaml", TableSettings))
    plant = Plant(table, PlantTruth(), 1_000_000, 1)
    sample, command = Sample(plant.sample_layout), Command(plant.command_layout)
    command.stage = Stage.HIGH
    reached = []
    for _ in range(140):
        plant.advance(command, 100_000_000)
        plant.read(sample)
        reached.append((sample.stage, *(1e-5 * sample.field("supply_pressure"))))
    stages, south, east = zip(*reached, strict=True)
    assert stages[-1] == Stage.HIGH
    for stage, first, second in reached:
        assert (stage == Stage.HIGH) <= (first > 0.94 * 210 and second > 0.94 * 280)
    assert south[-1] == pytest.approx(210, abs=4)
    assert east[-1] == pytest.approx(280, abs=4)
    plant.inject(parse("supply-loss@0s"))
    plant.advance(command, 1_000_000)
    plant.read(sample)
    assert sample.flags & SampleFlag.SUPPLY_FAULT


def test_valves_in_parallel_open_as_the_mean_of_those_that_heard_the_command() -> None:
    """A quarter of the flow at once, three quarters a tick late: after the first step only the older part."""
    assert TABLE.valve is not None
    table = TABLE.model_copy(update={"valve": TABLE.valve.model_copy(update={"count": 2})})
    late = {"delay": TICK, "gain": 3.0}
    own = ActuatorTruth(link=table.links[0].name, valves=(ValveTruth(delay=0.0), ValveTruth(**late)))
    block = assemble(table, PlantTruth(actuators=(own,)), 1e-3, seed=0)
    block.valve_history[:] = 1.0
    block.counters[COUNTER.step] = block.counters[COUNTER.tick_steps]
    advance(block, 1, -1, 0)
    assert block.valve_commands[0] == pytest.approx(0.75)
    single = assemble(TABLE, PlantTruth(), 1e-3, seed=0)
    gains = block.actuators[:, ACTUATOR.valve_gain] / single.actuators[:, ACTUATOR.valve_gain]
    assert gains == pytest.approx([4.0] + [2.0] * 6)
    with pytest.raises(SettingsError, match=r"2 valves of .*, the table has 1 in parallel \(valve.count\)"):
        assemble(TABLE, PlantTruth(actuators=(own,)), 1e-3, seed=0)
