"""The estimator of rates and accelerations on the simulated plant, against the plant's own truth.

Each motion is played once, in virtual time, by the loop with its shipped table; what the sensors told and
what was true is kept, and the estimator runs on that. Truth is the plant's: velocity and acceleration of its
body, which the daemon never sees; both are checked against differences of the true pose.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

from hil_sim.faults import parse
from hil_sim.plant.plant import Plant
from hil_sim.plant.provider import provider
from mastd.arrays import FloatArray, IntArray
from mastd.control.estimation.motion_estimate import MotionEstimator
from mastd.control.estimation.pose_estimate import smoothing_factor
from mastd.loop.process.installation import Plan
from mastd.safety.faults import Code
from mastd.safety.states import State
from mastd.settings.core.loader import load
from mastd.settings.daemon.daemon import DaemonSettings
from mastd.signals.band import band_filter
from mastd.signals.metrics import best_lag, nrmse, rms
from mastd.wire.access.verbs import Verb
from mastd.wire.plant.provider import PlantRequest, rigid_payload
from tests.support.lab import ROOT, Lab, quick_lab

RATE = 1000.0
BAND = (0.5, 30.0)
SETTINGS = load(ROOT / "config" / "daemon" / "simulated.yaml", DaemonSettings).estimator
ROLLING = """
name: slow roll
segments:
  - {kind: sine, frequency: 0.4 Hz, axes: {roll: {amplitude: 1 deg}}, duration: 6 s}
"""


@dataclass(frozen=True, eq=False)
class Record:
    """What the plant's sensors told and what was true, one row a cycle; ``estimator`` makes one for it."""

    plan: Plan
    poses: FloatArray
    readings: FloatArray
    valid: IntArray
    rates: FloatArray
    accelerations: FloatArray
    true_poses: FloatArray
    shown: FloatArray
    events: list[dict[str, object]]
    playing: slice
    resting: slice

    def estimator(self, accelerometers: bool = True) -> MotionEstimator:
        table = self.plan.table
        sensors = table.sensors
        if not accelerometers:
            sensors = sensors.model_copy(update={"accelerometers": ()})
        return MotionEstimator(sensors, table.gravity, SETTINGS, self.plan.observer.gain, 1.0 / RATE)


@cache
def estimates(record: Record, accelerometers: bool = True) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return rates, accelerations and the accelerometers left out, per cycle."""
    estimator = record.estimator(accelerometers)
    values = record.readings if accelerometers else np.zeros((len(record.poses), 0))
    out = np.empty((len(record.poses), 12))
    bits = np.empty(len(record.poses), dtype=np.int64)
    for k in range(len(record.poses)):
        bits[k] = estimator.update(record.poses[k], values[k], int(record.valid[k]), int(k > 0))
        out[k, :6], out[k, 6:] = estimator.rates, estimator.accelerations
    return out[:, :6], out[:, 6:], bits


def play(plan: Plan, seconds: float, fault: str | None = None, truth: str | None = None) -> Record:
    """Raise, rest for half a second, play ``seconds`` of the profile; ``fault`` begins 1 s into it."""
    plant = provider.open(
        PlantRequest(
            plan.table_path,
            truth_path=None if truth is None else ROOT / "config" / "plants" / f"{truth}.yaml",
            payload=rigid_payload(plan.profile),
            mode="lockstep",
        )
    )
    assert isinstance(plant, Plant)
    cycle = plan.cycle()
    sample = cycle.sample
    first = sample.layout.slices["accelerometers"].start
    rows: list[FloatArray] = []
    valid: list[int] = []
    events: list[dict[str, object]] = []
    rested = played = now = 0
    verbs = {State.OFF: Verb.RAISE, State.ARMED: Verb.START}
    while played < seconds * RATE:
        truths = np.concatenate([plant.true_pose, plant.true_velocity, plant.true_acceleration])
        plant.read(sample)
        sample.sequence = sample.step = now
        state = cycle.supervisor.state
        verb = verbs.get(state, Verb.NONE)
        if state is State.READY:
            rested += 1
            verb = Verb.ARM if rested > 500 else Verb.NONE
        played += state is State.RUNNING
        assert state is not State.FAULT
        if fault is not None and played == RATE:
            name, _, value = fault.partition(":")
            plant.inject(parse(f"{name}@{plant.time_ns * 1e-9:.3f} s" + (f":{value}" if value else "")))
            fault = None
        now += 1
        cycle.step(1, now * plan.daemon.period_ns, verb)
        sensing = cycle.sensing
        estimated = (sensing.pose_rates, sensing.pose_accelerations)
        rows.append(np.concatenate([sensing.pose, sample.field("accelerometers"), truths, *estimated]))
        events += cycle.supervisor.events
        cycle.supervisor.events.clear()
        valid.append(sample.valid >> first)
        plant.advance(cycle.command, plan.daemon.period_ns)
        assert now < 40_000
    table = np.array(rows)
    count = len(plan.table.sensors.accelerometers)
    parts = np.split(table, np.cumsum([6, count, 6, 6, 6]), axis=1)
    begins = len(table) - played
    poses, readings, true_poses, rates, accelerations, shown = map(np.ascontiguousarray, parts)
    return Record(
        plan,
        poses,
        readings,
        np.array(valid, dtype=np.int64),
        rates,
        accelerations,
        true_poses,
        shown,
        events,
        slice(begins, None),
        slice(begins - 400, begins),
    )


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    return quick_lab(tmp_path_factory.mktemp("lab"))


def shipped(lab: Lab, name: str) -> Plan:
    return Plan.load(lab.table, ROOT / "config" / "profiles" / f"{name}.yaml", lab.config)


@pytest.fixture(scope="module")
def records(lab: Lab) -> dict[str, Record]:
    return {
        "class_b_road": play(shipped(lab, "class_b_road"), 10.0),
        "sine": play(shipped(lab, "sine"), 14.0),
        "strong_motion": play(shipped(lab, "strong_motion"), 12.0),
    }


DRIVEN = [
    ("class_b_road", 2),
    ("class_b_road", 3),
    ("class_b_road", 4),
    ("sine", 1),
    ("sine", 2),
    ("strong_motion", 1),
    ("strong_motion", 2),
]


def differences(record: Record, values: FloatArray) -> FloatArray:
    """Return first-order filtered differences, what a loop without an estimator has."""
    smoothing = smoothing_factor(record.plan.daemon.guard.rate_filter, 1.0 / RATE)
    result = np.zeros_like(values)
    for k in range(1, len(result)):
        step = (values[k] - values[k - 1]) * RATE
        result[k] = result[k - 1] + smoothing * (step - result[k - 1])
    return result


def test_the_plants_truth_agrees_with_itself(records: dict[str, Record]) -> None:
    for name, axis in DRIVEN:
        record = records[name]
        slope = np.gradient(record.true_poses[:, axis], 1.0 / RATE)
        bend = np.gradient(record.rates[:, axis], 1.0 / RATE)
        for derived, told in ((slope, record.rates), (bend, record.accelerations)):
            band = [band_filter(x[record.playing], RATE, BAND) for x in (derived, told[:, axis])]
            figure = nrmse(band[0], band[1])
            assert figure is not None
            assert figure < 0.01, (name, axis)


@pytest.mark.parametrize(("name", "axis"), DRIVEN)
def test_in_motion_the_estimate_is_the_truth_without_lag(
    records: dict[str, Record], name: str, axis: int
) -> None:
    record = records[name]
    rates, accelerations, bits = estimates(record)
    assert not bits.any()
    plain_rates = differences(record, record.poses)
    for estimated, true, plain, limit, better in (
        (rates, record.rates, plain_rates, 0.004, 20.0),
        (accelerations, record.accelerations, differences(record, plain_rates), 0.008, 30.0),
    ):
        part = [band_filter(x[record.playing, axis], RATE, BAND) for x in (estimated, true, plain)]
        figure, before, fit = (
            nrmse(part[0], part[1]),
            nrmse(part[2], part[1]),
            best_lag(part[0], part[1], RATE),
        )
        assert figure is not None
        assert before is not None
        assert fit is not None
        assert figure < limit
        assert abs(fit[1]) < 0.05e-3
        assert before > better * figure


def test_noise_at_rest(records: dict[str, Record]) -> None:
    record = records["sine"]
    rates, accelerations, _ = estimates(record)
    design = record.estimator().design.sets[0]
    noise = [
        np.std(estimated[record.resting] - true[record.resting], axis=0)
        for estimated, true in ((rates, record.rates), (accelerations, record.accelerations))
    ]
    assert (noise[0] < [3e-5, 3e-5, 2e-5, 2.5e-5, 1e-5, 1.5e-5]).all()
    assert noise[1] == pytest.approx(design.acceleration_noise, rel=0.15)
    plain = np.std((differences(record, record.poses) - record.rates)[record.resting], axis=0)
    assert (plain > 15.0 * noise[0]).all()


@pytest.mark.parametrize(("name", "axis"), DRIVEN)
def test_without_accelerometers_the_lengths_give_rates_without_lag(
    records: dict[str, Record], name: str, axis: int
) -> None:
    record = records[name]
    rates, accelerations, _ = estimates(record, False)
    part = [band_filter(x[record.playing, axis], RATE, BAND) for x in (rates, record.rates)]
    figure, fit = nrmse(part[0], part[1]), best_lag(part[0], part[1], RATE)
    assert figure is not None
    assert fit is not None
    assert figure < 0.02
    assert fit[1] < 0.3e-3
    part = [band_filter(x[record.playing, axis], RATE, BAND) for x in (accelerations, record.accelerations)]
    fit = best_lag(part[0], part[1], RATE)
    assert fit is not None
    assert fit[1] == pytest.approx(8e-3, abs=1e-3), "twice the time constant of the bandwidth"


def test_a_roll_of_one_degree_is_no_sway(lab: Lab) -> None:
    record = play(Plan.load(lab.table, lab.profile(ROLLING, "roll.yaml"), lab.config), 6.0)
    assert np.abs(record.true_poses[:, 3]).max() > np.radians(0.9)
    tilt = record.readings[record.playing, 4]
    assert np.abs(tilt).max() > 0.15, "the sway sensors see gravity"
    _, accelerations, bits = estimates(record)
    assert not bits.any()
    error = (accelerations - record.accelerations)[record.playing]
    slow = band_filter(error, RATE, (0.0, 5.0))
    assert np.abs(slow[:, 1]).max() < 3e-3
    assert rms(error[:, 1]) < 4e-3


MOST = {"stuck": 10, "nan": 5, "missing": 5, "offset": 12}


def fails(lab: Lab, kind: str, index: int) -> None:
    value = ":0.2 g" if kind == "offset" else ""
    record = play(shipped(lab, "strong_motion"), 2.0, f"accelerometer-{kind}.{index + 1}{value}")
    _, accelerations, bits = estimates(record)
    failed = record.playing.start + 1000
    assert not bits[: failed - 1].any()
    assert set(bits[failed + MOST[kind] :]) == {1 << index}
    error = np.abs((accelerations - record.accelerations)[failed:])
    assert error.max() < 0.15


@pytest.mark.parametrize(("kind", "index"), [("stuck", 5), ("nan", 0), ("missing", 6), ("offset", 3)])
def test_an_accelerometer_of_the_plant_may_fail(lab: Lab, kind: str, index: int) -> None:
    fails(lab, kind, index)


@pytest.mark.evidence
@pytest.mark.parametrize("kind", list(MOST))
@pytest.mark.parametrize("index", range(8))
def test_each_accelerometer_of_the_plant_may_fail_in_every_way(lab: Lab, kind: str, index: int) -> None:
    fails(lab, kind, index)


def test_the_loop_records_the_estimate_and_names_the_sensor_that_it_leaves_out(lab: Lab) -> None:
    record = play(shipped(lab, "strong_motion"), 2.0, "accelerometer-offset.6:0.2 g")
    rates, accelerations, _ = estimates(record)
    assert np.array_equal(record.shown[1:], np.hstack([rates, accelerations])[1:])
    faults = [event for event in record.events if event["event"] == "fault"]
    assert [event["code"] for event in faults] == [Code.ACCELEROMETER]
    assert "lateral rear disagrees" in str(faults[0])
    assert faults[0]["action"] == "INDICATE"
