"""Faults of the simulated plant that grow or act through its physics: drift, noise, valves, pump, clock."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hil_sim import faults
from hil_sim.faults import parse
from hil_sim.plant.block import ACTUATOR_STATE
from hil_sim.plant.plant import Plant
from mastd.arrays import FloatArray
from mastd.wire.plant.messages import Command, Sample, SampleFlag
from tests.unit.hil_sim.plant.test_samples import PERIOD_NS, plant_of, raise_table, sample_of


def lengths_of(plant: Plant, command: Command | None, periods: int) -> FloatArray:
    sample = Sample(plant.sample_layout)
    rows = np.empty((periods, 7))
    for k in range(periods):
        plant.advance(command, PERIOD_NS)
        plant.read(sample)
        rows[k] = sample.field("lengths")
    return rows


@pytest.mark.parametrize(
    ("text", "field", "index", "rate"),
    [
        ("length-drift.3@10ms:2 mm/s", "lengths", 2, 2e-3),
        ("pressure-drift.2@10ms:5 bar/s", "pressures", 1, 5e5),
        ("accelerometer-drift.8@10ms:0.5 m/s3", "accelerometers", 7, 0.5),
    ],
)
def test_a_drift_grows_from_zero_at_its_rate(text: str, field: str, index: int, rate: float) -> None:
    plant, healthy = plant_of(), plant_of()
    plant.inject(parse(text))
    errors = []
    for _ in range(400):
        for one in (plant, healthy):
            one.advance(None, PERIOD_NS)
        errors.append(sample_of(plant).field(field) - sample_of(healthy).field(field))
    error = np.array(errors)
    resolution = {"lengths": 1e-6, "pressures": 1e3, "accelerometers": 1e-4}[field]
    assert np.abs(error[:10, index]).max() == 0.0
    expected = rate * 1e-3 * np.arange(1, 391)
    assert np.abs(error[10:, index] - expected).max() <= 1.1 * resolution
    assert np.abs(np.delete(error, index, axis=1)).max() == 0.0


def test_the_drive_follows_a_drifting_transducer() -> None:
    plant = plant_of()
    command = raise_table(plant)
    before = plant.true_pose[2]
    for channel in range(1, 5):
        plant.inject(parse(f"length-drift.{channel}@0s:1 mm/s"))
    lengths_of(plant, command, 1000)
    assert plant.true_pose[2] - before == pytest.approx(-1e-3, abs=2e-4)


def test_further_noise_is_of_its_deviation_and_ends_with_clear() -> None:
    plant, healthy = plant_of(), plant_of()
    plant.inject(parse("length-noise.2@0s:50 um"))
    plant.inject(parse("clear@1s"))
    error = lengths_of(plant, None, 1500) - lengths_of(healthy, None, 1500)
    assert np.std(error[:1000, 1]) == pytest.approx(50e-6, rel=0.1)
    assert np.abs(np.mean(error[:1000, 1])) < 5e-6
    assert np.all(error[1000:] == 0.0)
    assert np.all(np.delete(error, 1, axis=1) == 0.0)


def test_a_valve_sticks_where_it_is_or_where_it_is_put_until_it_is_cleared() -> None:
    plant = plant_of()
    command = raise_table(plant)
    spools = plant._block.actuator_states[:, ACTUATOR_STATE.spool]
    standing = sample_of(plant).field("lengths").copy()
    plant.inject(parse("valve-stuck.2@0s"))
    plant.inject(parse("valve-stuck.5@0s:-5 %"))
    present = float(spools[1])
    seen = []
    for _ in range(100):
        lengths_of(plant, command, 1)
        seen.append(spools.copy())
    moved = np.ptp(np.array(seen), axis=0)
    assert moved[[1, 4]].tolist() == [0.0, 0.0]
    assert np.delete(moved, [1, 4]).min() > 0.0
    assert spools[[1, 4]].tolist() == [present, -0.05]
    lengths = sample_of(plant).field("lengths")
    assert lengths[4] - command.field("lengths")[4] < -1e-3, "the link retracts"
    plant.inject(replace(parse("clear@0s"), start_ns=plant.time_ns))
    lengths_of(plant, command, 1500)
    assert np.abs(sample_of(plant).field("lengths") - standing).max() < 2e-4


def test_a_weak_pump_lets_the_pressure_sag_under_load_without_a_bit_of_its_own() -> None:
    lowest = []
    for share in (100, 5):
        plant = plant_of()
        command = raise_table(plant, 4.5)
        plant.inject(parse(f"supply-weak@0s:{share} %"))
        sample = Sample(plant.sample_layout)
        start = command.field("lengths").copy()
        pressures, flags = [], 0
        for k in range(1500):
            phase = 2.0 * np.pi * 2.0 * k * 1e-3
            command.field("lengths")[:4] = start[:4] + 0.02 * np.sin(phase) * min(k / 500.0, 1.0)
            plant.advance(command, PERIOD_NS)
            plant.read(sample)
            pressures.append(sample.field("supply_pressure")[0])
            if not flags:
                flags = sample.flags
        lowest.append(min(pressures))
    assert lowest[0] > 195e5
    assert lowest[1] < lowest[0] - 15e5
    assert not flags & SampleFlag.SUPPLY_FAULT or lowest[1] < 160e5


def test_only_the_stamps_run_at_another_rate_and_never_jump() -> None:
    plant, healthy = plant_of(), plant_of()
    plant.inject(parse("clock-rate@100ms:1.5"))
    plant.inject(parse("clock-rate@300ms:100 %"))
    stamps = []
    for _ in range(400):
        for one in (plant, healthy):
            one.advance(None, PERIOD_NS)
        mine, other = sample_of(plant), sample_of(healthy)
        assert mine.values.tobytes() == other.values.tobytes()
        assert mine.step == other.step
        stamps.append(mine.time_ns)
    steps = np.diff([0, *stamps])
    assert steps.tolist() == [PERIOD_NS] * 100 + [1_500_000] * 200 + [PERIOD_NS] * 100
    assert plant.time_ns == 400 * PERIOD_NS


def test_the_help_lists_every_fault_with_its_unit() -> None:
    text = faults.describe()
    for name in faults.PLANT_FAULTS:
        assert f"  {name}" in text
    for kind in faults.SENSOR_FAULTS:
        assert f"    {kind}" in text
    for sensor in faults.CHANNELS:
        assert sensor in text
