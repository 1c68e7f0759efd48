"""Samples of the simulated plant: sensors, faults, time, repeatability, and what its truth changes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hil_sim import faults
from hil_sim.faults import Fault, parse
from hil_sim.plant.block import ACTUATOR, ACTUATOR_STATE, BODY_STATE
from hil_sim.plant.plant import Plant
from hil_sim.plant.sensors import noise
from hil_sim.plant.truth import (
    ActuatorTruth,
    DeviationTruth,
    PayloadTruth,
    PlantTruth,
    SprungTruth,
)
from mastd.arrays import FloatArray
from mastd.errors import SettingsError, UsageError
from mastd.settings import schema
from mastd.settings.core.loader import load
from mastd.settings.table.supports import SupportLaw
from mastd.settings.table.table import TableSettings
from mastd.wire.plant.messages import Command, DriveMode, Sample, SampleFlag, Stage
from tests.support.present import present

ROOT = Path(__file__).resolve().parents[4]
TABLE = load(ROOT / "config" / "table.yaml", TableSettings)
PERIOD_NS = 1_000_000
PAYLOAD = PayloadTruth(mass=12e3, centre_of_gravity=(0.0, 0.0, 2.0), inertia=(10e3, 40e3, 42e3))


def plant_of(truth: PlantTruth | None = None, seed: int = 1, table: TableSettings = TABLE) -> Plant:
    return Plant(table, truth or PlantTruth(), PERIOD_NS, seed)


def sample_of(plant: Plant) -> Sample:
    sample = Sample(plant.sample_layout)
    plant.read(sample)
    return sample


def raise_table(plant: Plant, seconds: float = 5.5) -> Command:
    """Bring the supply up and the vertical actuators to neutral; return the command that holds them."""
    command = Command(plant.command_layout)
    command.stage = Stage.HIGH
    for _ in range(4000):
        plant.advance(command, PERIOD_NS)
    start = plant._block.actuator_states[:, ACTUATOR_STATE.length].copy()
    command.mode = DriveMode.FOLLOW
    for k in range(round(seconds * 1e3)):
        u = min(k * 1e-3 / (seconds - 1.5), 1.0)
        command.field("lengths")[:] = start + (1.2 - start) * u**3 * (10 - 15 * u + 6 * u * u)
        plant.advance(command, PERIOD_NS)
    return command


def test_starts_off_at_rest_on_its_stops() -> None:
    plant = plant_of(PlantTruth(payload=PAYLOAD))
    sample = sample_of(plant)
    assert (sample.time_ns, sample.sequence, sample.command_sequence) == (0, 0, -1)
    assert (sample.stage, sample.flags) == (Stage.OFF, 0)
    sag = 47e3 * TABLE.gravity / (4 * TABLE.types[0].cylinder.end_stop.stiffness)
    assert sample.field("lengths")[:4] == pytest.approx(1.15 - sag, abs=2e-5)
    assert sample.field("pressures").max() < 6e5
    assert sample.field("supply_pressure")[0] == pytest.approx(0, abs=1e5)
    assert plant.forces[:4].sum() == pytest.approx(47e3 * TABLE.gravity, rel=1e-3)
    assert np.abs(plant.true_acceleration).max() < 1e-6


def test_noise_and_resolution_are_those_of_the_settings() -> None:
    plant = plant_of()
    samples = []
    for _ in range(2000):
        plant.advance(None, PERIOD_NS)
        samples.append(sample_of(plant).values.copy())
    spread = np.array(samples).std(axis=0)
    slices = plant.sample_layout.slices
    sensors = TABLE.sensors
    assert spread[slices["lengths"]] == pytest.approx(sensors.length.noise, rel=0.1)
    assert spread[slices["pressures"]] == pytest.approx(present(sensors.pressure).noise, rel=0.1)
    assert spread[slices["accelerometers"]] == pytest.approx(sensors.acceleration.noise, rel=0.1)
    lengths = np.array(samples)[:, slices["lengths"]] / sensors.length.resolution
    assert np.abs(lengths - np.round(lengths)).max() < 1e-6


@given(st.integers(0, 2**31 - 1))
def test_noise_has_mean_zero_and_variance_one_for_any_seed(seed: int) -> None:
    values = np.array([noise(seed, channel, step) for channel in range(8) for step in range(250)])
    assert abs(values.mean()) < 0.12
    assert 0.85 < values.var() < 1.15
    assert np.abs(values).max() < 3.5


def test_accelerometers_feel_gravity_and_the_motion_of_their_place() -> None:
    quiet = TABLE.sensors.acceleration.model_copy(update={"noise": 0.0, "resolution": 0.0})
    table = TABLE.model_copy(update={"sensors": TABLE.sensors.model_copy(update={"acceleration": quiet})})
    plant = plant_of(table=table)
    body = plant._block.body_state
    body[BODY_STATE.twist + 2] = 0.002
    body[BODY_STATE.twist + 4] = 0.002
    plant.advance(None, PERIOD_NS)
    heave, pitch = plant.true_acceleration[2], plant.true_acceleration[4]
    measured = sample_of(plant).field("accelerometers")
    for accelerometer, value in zip(table.sensors.accelerometers, measured, strict=True):
        if accelerometer.direction == (0.0, 0.0, 1.0):
            expected = table.gravity + heave - pitch * accelerometer.position[0]
            assert value == pytest.approx(expected, abs=1e-3)
    assert abs(heave) > 0.05
    assert abs(pitch) > 0.05


def test_a_sensors_delay_shows_the_past() -> None:
    slow = TABLE.sensors.length.model_copy(update={"delay": 1.75e-3, "noise": 0.0, "resolution": 0.0})
    table = TABLE.model_copy(update={"sensors": TABLE.sensors.model_copy(update={"length": slow})})
    plant = plant_of(table=table)
    plant._block.body_state[BODY_STATE.position + 2] += 0.03
    truths, seen = [], []
    for _ in range(30):
        plant.advance(None, 250_000)
        truths.append(plant._block.actuator_states[0, ACTUATOR_STATE.length])
        seen.append(sample_of(plant).field("lengths")[0])
    assert np.ptp(truths[-16:]) > 1e-5
    # Readings are those of the drive's ticks, two of these steps each.
    assert seen[1::2][5:] == pytest.approx(
        [0.5 * (truths[k - 8] + truths[k - 6]) for k in range(11, 30, 2)], abs=1e-9
    )


def test_repeats_bit_for_bit_by_seed_however_often_it_is_read() -> None:
    def play(seed: int, reads: int) -> FloatArray:
        plant = plant_of(seed=seed)
        command = Command(plant.command_layout)
        command.stage = Stage.HIGH
        rows = []
        for k in range(300):
            command.field("lengths")[:] = 1.15 + 1e-5 * k
            command.mode = DriveMode.FOLLOW
            plant.advance(command if k % 7 else None, PERIOD_NS)
            for _ in range(reads):
                sample = sample_of(plant)
            rows.append(sample.values.copy())
        return np.array(rows)

    once = play(5, 1)
    assert once.tobytes() == play(5, 3).tobytes()
    assert once.tobytes() != play(6, 1).tobytes()


@pytest.mark.parametrize("period_ns", [1_000_000, 500_000, 976_563, 2_000_000])
def test_time_follows_what_is_asked_for_without_drift(period_ns: int) -> None:
    plant = Plant(TABLE, PlantTruth(), period_ns, 1)
    for duration in (period_ns, period_ns, 7 * period_ns, 33_333, 33_333, 3 * period_ns):
        plant.advance(None, duration)
    asked = 12 * period_ns + 66_666
    assert asked - 125_000 < plant.time_ns <= asked
    assert sample_of(plant).sequence == 6


def test_a_stall_in_one_go_is_the_same_as_in_pieces() -> None:
    whole, pieces = plant_of(), plant_of()
    for plant in (whole, pieces):
        raise_table(plant, 2.0)
    whole.advance(None, 400 * PERIOD_NS)
    for _ in range(400):
        pieces.advance(None, PERIOD_NS)
    assert sample_of(whole).values.tobytes() == sample_of(pieces).values.tobytes()
    assert sample_of(whole).flags & SampleFlag.DRIVE_TIMED_OUT


def test_sensor_faults_start_at_their_time_and_show_as_named() -> None:
    plant = plant_of()
    for text in ("length-nan.2@3ms", "length-missing.3@4ms", "length-stuck.4@5ms", "spool-offset.1@5ms:10 %"):
        plant.inject(parse(text))
    rows = []
    for _ in range(10):
        plant.advance(None, PERIOD_NS)
        rows.append(sample_of(plant))
    lengths = np.array([sample.field("lengths") for sample in rows])
    assert np.isnan(lengths[:, 1]).tolist() == [k >= 3 for k in range(10)]
    assert [bool(sample.valid >> 2 & 1) for sample in rows] == [k < 4 for k in range(10)]
    assert rows[-1].valid == (1 << plant.sample_layout.size) - 1 - 4
    assert np.ptp(lengths[6:, 3]) == 0.0
    assert np.ptp(lengths[6:, 4]) > 0.0
    assert rows[-1].field("spools")[0] == pytest.approx(0.1, abs=0.005)
    assert rows[4].field("spools")[0] == pytest.approx(0.0, abs=0.005)


def test_the_drive_sees_an_offset_of_its_transducer() -> None:
    plant = plant_of()
    command = raise_table(plant)
    before = plant.true_pose[2]
    for channel in range(4):
        plant.inject(Fault("length-offset", 0, channel, 1e-3))
    for _ in range(1500):
        plant.advance(command, PERIOD_NS)
    assert plant.true_pose[2] - before == pytest.approx(-1e-3, abs=1e-4)


def test_a_calibration_in_the_tables_file_makes_up_for_what_is_true() -> None:
    """The drive works with calibrated lengths; the sample has what the transducer itself reads."""
    off = ActuatorTruth(link=TABLE.links[0].name, transducer_scale=1.25, transducer_offset=2e-3)
    actuator = TABLE.links[0]
    front, back = present(actuator.pressure_transducers)
    pressure = front.model_copy(update={"offset": 3e5})
    mended = actuator.model_copy(
        update={
            "transducer": actuator.transducer.model_copy(update={"scale": 0.8, "offset": -0.8 * 2e-3}),
            "pressure_transducers": (pressure, back),
        }
    )
    table = TABLE.model_copy(update={"links": (mended, *TABLE.links[1:])})
    plant, plain = plant_of(PlantTruth(actuators=(off,)), table=table), plant_of()
    raise_table(plant)
    raise_table(plain)
    assert plant.true_pose == pytest.approx(plain.true_pose, abs=5e-5), "no leg is off"
    sample = sample_of(plant)
    assert sample.field("lengths")[0] == pytest.approx(1.25 * 1.2 + 2e-3, abs=1e-3)
    assert sample.field("lengths")[1] == pytest.approx(1.2, abs=1e-3)
    true, told = plant._block.actuator_states[0, ACTUATOR_STATE.pressure_1], sample.field("pressures")[0]
    assert told == pytest.approx(true, abs=1.5e5), "not by 3 bar, which the daemon is to add"


def test_silence_ends() -> None:
    plant = plant_of()
    plant.inject(parse("silence@2ms:3ms"))
    seen = []
    for _ in range(8):
        plant.advance(None, PERIOD_NS)
        seen.append(plant.silent)
    assert seen == [False, False, True, True, False, False, False, False]


@pytest.mark.parametrize("name", faults.names())
def test_every_fault_can_be_written_and_injected(name: str) -> None:
    kind = faults.kind_of(name)
    value = f":{kind.dimension.example}" if kind.dimension is not None and kind.default is None else ""
    fault = parse(f"{name}{'.1' if kind.channels else ''}@1.5s{value}")
    assert fault.start_ns == 1_500_000_000
    plant = plant_of()
    plant.inject(Fault(name, 0, fault.channel, fault.value))
    plant.advance(None, PERIOD_NS)
    sample_of(plant)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("estop", "expected NAME[.CHANNEL]@TIME[:VALUE]"),
        ("estopp@1s", "no fault 'estopp'"),
        ("estop@1", "unit"),
        ("estop@-1s", "must not be negative"),
        ("estop.1@1s", "has no channels"),
        ("estop@1s:3", "takes no value"),
        ("length-nan@1s", "expected a channel from 1"),
        ("length-nan.0@1s", "expected a channel from 1"),
        ("length-offset.1@1s", "expected a value"),
        ("length-offset.1@1s:3 bar", "bar"),
        ("pressure-drift.1@1s:3 bar", "rate of a pressure"),
        ("length-noise.1@1s:-1 mm", "not negative"),
        ("valve-stuck@1s", "expected a channel from 1, for instance valve-stuck.1@2s"),
        ("valve-stuck.1@1s:2", "must be -1 to 1"),
        ("supply-weak@1s:200 %", "must be 0 to 1"),
    ],
)
def test_a_fault_that_cannot_be_is_refused_with_what_would_be_right(text: str, says: str) -> None:
    with pytest.raises(UsageError, match="fault") as error:
        parse(text)
    assert says in str(error.value)


def test_a_channel_that_does_not_exist_is_refused() -> None:
    with pytest.raises(UsageError, match="no channel 8, there are 7"):
        plant_of().inject(parse("length-nan.8@1s"))
    with pytest.raises(UsageError, match="no channel 8, there are 7"):
        plant_of().inject(parse("valve-stuck.8@1s"))


@pytest.mark.parametrize("name", ["nominal_truth", "uneven_truth"])
def test_shipped_truths_load_and_run(name: str) -> None:
    truth = load(ROOT / "config" / "plants" / f"{name}.yaml", PlantTruth)
    plant = plant_of(truth)
    plant.advance(None, 10 * PERIOD_NS)
    sample = sample_of(plant)
    assert np.isfinite(sample.values).all()
    assert sample.time_ns == 10 * PERIOD_NS


def test_the_written_schema_of_the_truth_is_up_to_date() -> None:
    written = (ROOT / "config" / "plants" / "truth.schema.json").read_text(encoding="utf-8")
    assert written == schema.text(PlantTruth), "run: python -m hil_sim.plant.truth"


def test_a_truth_about_no_actuator_is_refused() -> None:
    truth = PlantTruth(actuators=(ActuatorTruth(link="middle"),))
    with pytest.raises(SettingsError, match="no actuator 'middle'"):
        plant_of(truth)


def test_deviation_is_seeded_bounded_and_leaves_stated_values_alone() -> None:
    name = TABLE.links[2].name
    stated = (ActuatorTruth(link=name, bulk_modulus=0.5e9),)

    def moduli(seed: int, spread: float = 0.1) -> FloatArray:
        truth = PlantTruth(deviation=DeviationTruth(spread=spread, seed=seed), actuators=stated)
        return plant_of(truth)._block.actuators[:, ACTUATOR.bulk_modulus].copy()

    values = moduli(3)
    assert values[2] == 0.5e9
    others = np.delete(values, 2) / TABLE.types[0].cylinder.bulk_modulus
    assert len(set(others)) == 6
    assert np.abs(others - 1).max() <= 0.1
    assert np.array_equal(values, moduli(3))
    assert not np.array_equal(values, moduli(4))
    assert np.delete(moduli(3, 0.0), 2) == pytest.approx(TABLE.types[0].cylinder.bulk_modulus)


def test_static_supports_carry_their_share() -> None:
    support = SupportLaw(position=(0.0, 0.0, -0.5), force=200e3, stiffness=1e5)
    plant = plant_of(PlantTruth(static_supports=(support,)))
    raise_table(plant)
    weight = TABLE.body.mass * TABLE.gravity
    assert plant.forces[:4].sum() == pytest.approx(weight - 200e3 + 1e5 * plant.true_pose[2], rel=2e-3)


def test_a_sprung_share_swings_at_its_frequency_and_weighs_what_it_weighs() -> None:
    sprung = SprungTruth(share=0.5, frequency=3.0, damping_ratio=0.0)
    plant = plant_of(PlantTruth(payload=PAYLOAD.model_copy(update={"sprung": sprung})))
    assert plant.forces[:4].sum() == pytest.approx(47e3 * TABLE.gravity, rel=1e-3)
    body = plant._block.body_state
    rest = float(body[BODY_STATE.sprung + 2])
    assert rest == pytest.approx(-TABLE.gravity / (2 * np.pi * 3.0) ** 2, rel=1e-3)
    body[BODY_STATE.sprung + 2] += 1e-3
    heights = []
    for _ in range(2000):
        plant.advance(None, PERIOD_NS)
        heights.append(float(body[BODY_STATE.sprung + 2]) - rest)
    series = np.array(heights)
    rising = np.flatnonzero((series[:-1] < 0) & (series[1:] >= 0))
    exact = rising + series[rising] / (series[rising] - series[rising + 1])
    # The table under it stands on stiff stops, so the frequency is nearly that on fixed ground.
    assert (len(exact) - 1) / ((exact[-1] - exact[0]) * 1e-3) == pytest.approx(3.0, rel=0.01)


def test_an_external_payload_pushes_the_table() -> None:
    plant = plant_of()
    command = raise_table(plant)
    before = plant.forces.copy()
    command.field("payload_wrench")[:] = [0.0, 0.0, -20e3, 8e3, 0.0, 0.0]
    for _ in range(1000):
        plant.advance(command, PERIOD_NS)
    change = plant.forces - before
    assert change[:4].sum() == pytest.approx(20e3, rel=0.03)
    levers = np.array([-0.8, 0.8, 0.8, -0.8])
    assert float(levers @ change[:4]) == pytest.approx(-8e3, rel=0.05)
