"""Estimator of rates and accelerations on motions known exactly.

The truth is computed another way than in the estimator: rotations by scipy, and what an accelerometer reads
from five-point differences of its place.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import deepcopy

import numpy as np
import pytest
from scipy.linalg import solve_discrete_are
from scipy.spatial.transform import Rotation

from mastd.arrays import FloatArray, IntArray
from mastd.control.estimation.layout import MotionState
from mastd.control.estimation.motion_design import MAX_ACCELEROMETERS, design_motion, fused_gains
from mastd.control.estimation.motion_estimate import MotionEstimator
from mastd.errors import SettingsError
from mastd.kinematics.forward import Observer
from mastd.kinematics.geometry import Geometry
from mastd.settings.core.loader import load
from mastd.settings.daemon.daemon import DaemonSettings
from mastd.settings.table.sensors import AccelerometerSettings, SensorSettings
from mastd.settings.table.table import TableSettings
from tests.support.lab import ROOT

Motion = Callable[[FloatArray], FloatArray]

PERIOD = 1e-3
SETTINGS = load(ROOT / "config" / "daemon" / "simulated.yaml", DaemonSettings).estimator
TILT = np.array([0.0, 0.0, 0.0, 0.03, -0.02, 0.02])
AMPLITUDES = np.array([3e-3, 8e-3, 6e-3, 0.008, 0.006, 0.005])
FREQUENCIES = np.array([2.0, 3.0, 2.5, 2.2, 3.4, 1.7])
PHASES = np.arange(6.0)
EVERYTHING = (1 << 63) - 1


@pytest.fixture(scope="module")
def table() -> TableSettings:
    return load(ROOT / "config" / "table.yaml", TableSettings)


@pytest.fixture(scope="module")
def gain(table: TableSettings) -> FloatArray:
    return Observer(Geometry.from_settings(table)).gain


def shaking(time: FloatArray) -> FloatArray:
    """All six coordinates in motion about a tilted pose; up to 4 m/s² and 2 rad/s²."""
    pose: FloatArray = TILT + AMPLITUDES * np.sin(2.0 * np.pi * FREQUENCIES * time[:, None] + PHASES)
    return pose


def gentle(time: FloatArray) -> FloatArray:
    """The same with three tenths of the amplitudes."""
    pose: FloatArray = TILT + 0.3 * (shaking(time) - TILT)
    return pose


def standing(pose: list[float]) -> Motion:
    return lambda time: np.tile(np.array(pose), (len(time), 1))


def derivatives(motion: Motion, time: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return first and second derivatives by five-point differences."""
    h = 1e-3
    a, b, c, d, e = (motion(time + k * h) for k in (-2, -1, 0, 1, 2))
    return (a - 8 * b + 8 * d - e) / (12 * h), (-a + 16 * b - 30 * c + 16 * d - e) / (12 * h * h)


def clock(seconds: float) -> FloatArray:
    return np.arange(round(seconds / PERIOD), dtype=np.float64) * PERIOD


def readings(motion: Motion, time: FloatArray, sensors: SensorSettings, gravity: float) -> FloatArray:
    """Return (k, m) what the accelerometers read: the specific force of their places along their axes."""
    result: FloatArray = np.empty((len(time), len(sensors.accelerometers)))
    pose = motion(time)
    for index, sensor in enumerate(sensors.accelerometers):

        def place(at: FloatArray, arm: tuple[float, float, float] = sensor.position) -> FloatArray:
            x = motion(at)
            turned: FloatArray = x[:, :3] + Rotation.from_euler("ZYX", x[:, 5:2:-1]).apply(arm)
            return turned

        force = derivatives(place, time)[1] + np.array([0.0, 0.0, gravity])
        axis = Rotation.from_euler("ZYX", pose[:, 5:2:-1]).apply(sensor.direction)
        result[:, index] = (np.einsum("ij,ij->i", force, axis) - sensor.offset) / sensor.scale
    return result


def with_sensors(table: TableSettings, chosen: list[AccelerometerSettings]) -> SensorSettings:
    return table.sensors.model_copy(update={"accelerometers": tuple(chosen)})


def run(
    estimator: MotionEstimator, poses: FloatArray, values: FloatArray, valid: int = EVERYTHING
) -> tuple[FloatArray, IntArray]:
    """Return (k, 18) pose, rates and accelerations, and the sensors left out, per sample."""
    out = np.empty((len(poses), 18))
    bits = np.empty(len(poses), dtype=np.int64)
    for k in range(len(poses)):
        bits[k] = estimator.update(poses[k], values[k], valid, 1 if k else 0)
        out[k] = np.concatenate([estimator.pose, estimator.rates, estimator.accelerations])
    return out, bits


def estimator_of(
    table: TableSettings, gain: FloatArray, sensors: SensorSettings | None = None
) -> MotionEstimator:
    return MotionEstimator(sensors or table.sensors, table.gravity, SETTINGS, gain, PERIOD)


def noisy(
    table: TableSettings, gain: FloatArray, motion: Motion, seconds: float
) -> tuple[FloatArray, FloatArray]:
    """Return poses and readings with the noise of the table's settings."""
    random = np.random.default_rng(4)
    time = clock(seconds)
    lengths = random.normal(0.0, table.sensors.length.noise, (len(time), len(table.links)))
    values = readings(motion, time, table.sensors, table.gravity)
    values += random.normal(0.0, table.sensors.acceleration.noise, values.shape)
    return motion(time) + lengths @ gain.T, values


def test_without_noise_rates_and_accelerations_are_exact(table: TableSettings, gain: FloatArray) -> None:
    time = clock(2.0)
    estimator = estimator_of(table, gain)
    out, bits = run(estimator, shaking(time), readings(shaking, time, table.sensors, table.gravity))
    rates, accelerations = derivatives(shaking, time)
    settled = slice(500, None)
    assert np.abs(out[settled, 12:] - accelerations[settled]).max() < 2e-3, "of up to 4 m/s² and 2 rad/s²"
    assert np.abs(out[settled, 6:12] - rates[settled]).max() < 1e-4
    assert not bits.any()


def test_angular_velocity_and_acceleration_are_those_of_the_rotation_matrix(
    table: TableSettings, gain: FloatArray
) -> None:
    time = clock(1.5)
    estimator = estimator_of(table, gain)
    run(estimator, shaking(time), readings(shaking, time, table.sensors, table.gravity))

    def matrices(at: FloatArray) -> FloatArray:
        stacked: FloatArray = Rotation.from_euler("ZYX", shaking(at)[:, 5:2:-1]).as_matrix()
        return stacked.reshape(-1, 9)

    first, second = (value.reshape(3, 3) for value in derivatives(matrices, time[-1:]))
    turned = matrices(time[-1:]).reshape(3, 3)
    spin = first @ turned.T
    twist = second @ turned.T - spin @ spin
    axial = np.array([spin[2, 1], spin[0, 2], spin[1, 0]])
    assert estimator.angular_velocity == pytest.approx(axial, abs=2e-5)
    assert estimator.angular_acceleration == pytest.approx([twist[2, 1], twist[0, 2], twist[1, 0]], abs=1e-3)


def test_gravity_of_a_tilted_table_is_no_acceleration(table: TableSettings, gain: FloatArray) -> None:
    roll, pitch = math.radians(1.0), math.radians(-2.0)
    pose = np.array([0.0, 0.0, 0.0, roll, pitch, 0.01])
    # what a vertical gives to axes turned by pitch, then roll
    seen = table.gravity * np.array(
        [-math.sin(pitch), math.sin(roll) * math.cos(pitch), math.cos(roll) * math.cos(pitch)]
    )
    values = np.array([np.dot(sensor.direction, seen) for sensor in table.sensors.accelerometers])
    silent = table.sensors.acceleration.model_copy(update={"noise": 0.0})
    estimator = estimator_of(table, gain, table.sensors.model_copy(update={"acceleration": silent}))
    for step in range(300):
        assert estimator.update(pose, values, EVERYTHING, int(step > 0)) == 0
        assert np.abs(estimator.accelerations).max() < 1e-12
        assert np.abs(estimator.rates).max() < 1e-12


@pytest.mark.parametrize(
    ("chosen", "seen"),
    [
        ([], []),
        ([0, 1, 2], [2, 3, 4]),
        ([0, 1, 2, 3], [2, 3, 4]),
        ([4, 5], [1, 5]),
        ([0, 1, 3, 4, 5, 6], [0, 1, 2, 3, 4, 5]),
    ],
    ids=["none", "three vertical", "four vertical", "lateral", "six without one to spare"],
)
def test_what_no_accelerometer_sees_comes_from_the_lengths(
    table: TableSettings, gain: FloatArray, chosen: list[int], seen: list[int]
) -> None:
    sensors = with_sensors(table, [table.sensors.accelerometers[index] for index in chosen])
    time = clock(1.5)
    poses = shaking(time)
    out, bits = run(
        estimator_of(table, gain, sensors), poses, readings(shaking, time, sensors, table.gravity)
    )
    lengths, _ = run(estimator_of(table, gain, with_sensors(table, [])), poses, np.zeros((len(time), 0)))
    rates, accelerations = derivatives(shaking, time)
    settled = slice(700, None)
    assert not bits.any()
    for k in range(6):
        scale = np.abs(accelerations[:, k]).max()
        error = np.abs(out[settled, 12 + k] - accelerations[settled, k]).max() / scale
        if k in seen:
            # what is not seen comes in by the small rotations only
            assert error < (0.05 if len(seen) < 6 else 3e-3), k
        else:
            late = np.abs(lengths[settled, 12 + k] - accelerations[settled, k]).max() / scale
            assert error == pytest.approx(late, rel=0.3), k
            rate_error = np.abs(out[settled, 6 + k] - rates[settled, k]).max()
            assert rate_error < 0.02 * np.abs(rates[:, k]).max(), k


def test_one_oblique_accelerometer_is_used_along_its_own_direction(
    table: TableSettings, gain: FloatArray
) -> None:
    oblique = table.sensors.accelerometers[0].model_copy(
        update={"position": (0.0, 0.0, 0.0), "direction": (0.0, 0.6, 0.8)}
    )
    sensors = with_sensors(table, [oblique])

    def sliding(time: FloatArray) -> FloatArray:
        return np.outer(np.sin(2.0 * np.pi * 3.0 * time), [0.0, 4e-3, 5e-3, 0.0, 0.0, 0.0])

    time = clock(1.5)
    out, _ = run(estimator_of(table, gain, sensors), sliding(time), readings(sliding, time, sensors, 9.80665))
    rates, accelerations = derivatives(sliding, time)
    along, across = np.array([0.6, 0.8]), np.array([0.8, -0.6])
    settled = slice(700, None)
    errors = (out[:, 13:15] - accelerations[:, 1:3])[settled]
    assert np.abs(errors @ along).max() < 1e-3 * np.abs(accelerations[:, 1:3] @ along).max()
    assert np.abs(errors @ across).max() > 0.1 * np.abs(accelerations[:, 1:3] @ across).max(), "late"
    rate_errors = (out[:, 7:9] - rates[:, 1:3])[settled]
    assert np.abs(rate_errors @ along).max() < 1e-4


def test_scale_and_offset_of_the_settings_are_applied(table: TableSettings, gain: FloatArray) -> None:
    changed = [
        sensor.model_copy(update={"scale": 0.9 + 0.05 * index, "offset": 0.3 - 0.1 * index})
        for index, sensor in enumerate(table.sensors.accelerometers)
    ]
    sensors = with_sensors(table, changed)
    time = clock(0.8)
    estimator = estimator_of(table, gain, sensors)
    out, bits = run(estimator, shaking(time), readings(shaking, time, sensors, table.gravity))
    assert not bits.any()
    assert np.abs(out[400:, 12:] - derivatives(shaking, time)[1][400:]).max() < 2e-3


def test_noise_at_standstill_is_what_the_design_tells(table: TableSettings, gain: FloatArray) -> None:
    poses, values = noisy(table, gain, standing([0.0] * 6), 4.0)
    estimator = estimator_of(table, gain)
    out, _ = run(estimator, poses, values)
    told = estimator.design.sets[0]
    assert np.std(out[500:, 6:12], axis=0) == pytest.approx(told.rate_noise, rel=0.25)
    assert np.std(out[500:, 12:], axis=0) == pytest.approx(told.acceleration_noise, rel=0.05)
    lengths, _ = run(estimator_of(table, gain, with_sensors(table, [])), poses, np.zeros((len(poses), 0)))
    assert np.std(lengths[500:, 6:12], axis=0) == pytest.approx(estimator.design.length_rate_noise, rel=0.1)
    assert np.std(lengths[500:, 12:], axis=0) == pytest.approx(
        estimator.design.length_acceleration_noise, rel=0.1
    )


def test_gains_in_closed_form_solve_the_riccati_equation() -> None:
    position, acceleration, period = 1.4e-6, 3e-3, 1e-3
    gains, rate_noise = fused_gains(np.array([position]), np.array([acceleration]), period)
    step = np.array([[1.0, period], [0.0, 1.0]])
    push = np.array([[0.5 * period**2], [period]])
    observed = np.array([[1.0], [0.0]])
    prior = solve_discrete_are(step.T, observed, acceleration**2 * push @ push.T, np.array([[position**2]]))
    expected = prior[:, 0] / (prior[0, 0] + position**2)
    posterior = prior - np.outer(expected, prior[0])
    assert gains[:, 0] == pytest.approx(expected, rel=1e-6)
    assert rate_noise[0] == pytest.approx(math.sqrt(posterior[1, 1]), rel=1e-6)


def test_offsets_are_learned_and_vanish(table: TableSettings, gain: FloatArray) -> None:
    poses, values = noisy(table, gain, shaking, 4.0)
    offsets = 0.3 * np.cos(np.arange(8.0))
    estimator = estimator_of(table, gain)
    out, bits = run(estimator, poses, values + offsets)
    assert not bits.any()
    assert estimator.offsets == pytest.approx(offsets, abs=4e-3)
    accelerations = derivatives(shaking, clock(PERIOD * len(poses)))[1]
    assert np.abs(np.mean((out[:, 12:] - accelerations)[2500:], axis=0)).max() < 3e-3


def test_an_offset_beyond_the_limit_leaves_the_sensor_out(table: TableSettings, gain: FloatArray) -> None:
    poses, values = noisy(table, gain, shaking, 1.0)
    values[:, 2] += 0.7
    estimator = estimator_of(table, gain)
    _, bits = run(estimator, poses, values)
    assert bits[-1] == 1 << 2
    assert estimator.describe(int(bits[-1])).startswith("vertical front left ")


Healthy = tuple[FloatArray, FloatArray, FloatArray, MotionState]
FAILS_AT = 1200


@pytest.fixture(scope="module")
def healthy(table: TableSettings, gain: FloatArray) -> Healthy:
    """Poses, readings, true accelerations, and the state of an estimator before ``FAILS_AT``."""
    poses, values = noisy(table, gain, gentle, 2.5)
    estimator = estimator_of(table, gain)
    _, bits = run(estimator, poses[:FAILS_AT], values[:FAILS_AT])
    assert not bits.any()
    accelerations = derivatives(gentle, clock(PERIOD * len(poses)))[1]
    return poses, values, accelerations, deepcopy(estimator.state)


def failures(index: int, values: FloatArray, at: int, kind: str) -> FloatArray:
    """Return ``values`` with one sensor failing from sample ``at`` on."""
    broken = values.copy()
    column = broken[at:, index]
    if kind == "stuck":
        column[:] = values[at, index]
    elif kind == "nan":
        column[:] = np.nan
    elif kind == "dead":
        column[:] = 0.0
    elif kind == "drift":
        column += 0.3 * PERIOD * np.arange(len(column))
    else:
        column += float(kind)
    return broken


@pytest.mark.parametrize("index", range(8))
@pytest.mark.parametrize(
    ("kind", "most", "within"),
    [
        ("stuck", 22, 0.26),
        ("nan", 5, 0.06),
        ("inf", 5, 0.06),
        ("dead", 22, 0.26),
        ("9.8", 8, 0.06),
        ("-2", 12, 0.06),
        ("0.45", 20, 0.26),
        ("0.3", 40, 0.26),
        ("drift", 1200, 0.26),
    ],
)
def test_any_one_accelerometer_may_fail(
    table: TableSettings, gain: FloatArray, healthy: Healthy, index: int, kind: str, most: int, within: float
) -> None:
    """Found after at most ``most`` samples, no other one suspected, the estimate never off by more."""
    poses, values, accelerations, state = healthy
    estimator = estimator_of(table, gain)
    for array, healthy_array in zip(estimator.state, state, strict=True):
        array[:] = healthy_array
    broken = failures(index, values, FAILS_AT, kind)
    bits, errors = [], []
    for k in range(FAILS_AT, len(poses)):
        bits.append(estimator.update(poses[k], broken[k], EVERYTHING, 1))
        errors.append(np.abs(estimator.accelerations - accelerations[k]).max())
    assert set(bits[most:]) == {1 << index}
    assert not set(bits) - {0, 1 << index}
    assert max(errors) < within
    assert max(errors[most + 1 :]) < 0.06, "noise of the others alone"


def test_an_invalid_sensor_is_left_out_while_it_is_and_comes_back(
    table: TableSettings, gain: FloatArray
) -> None:
    poses, values = noisy(table, gain, shaking, 1.5)
    estimator = estimator_of(table, gain)
    told = [
        estimator.update(
            poses[k], values[k], EVERYTHING & ~(1 << 5) if 1200 <= k < 1260 else EVERYTHING, int(k > 0)
        )
        for k in range(len(poses))
    ]
    assert {k for k, bits in enumerate(told) if bits} == set(range(1204, 1260))
    assert set(told) == {0, 1 << 5}


@pytest.mark.parametrize("out", [[0, 4], [2, 3, 6], list(range(8))])
def test_with_several_sensors_gone_the_lengths_take_over(
    table: TableSettings, gain: FloatArray, out: list[int]
) -> None:
    poses, values = noisy(table, gain, shaking, 1.6)
    values[1200:1400, out] = np.nan
    estimated, _ = run(estimator_of(table, gain), poses, values)
    rates, accelerations = derivatives(shaking, clock(PERIOD * len(poses)))
    assert np.isfinite(estimated).all()
    gone = np.abs(estimated[1200:, 6:12] - rates[1200:]).max(axis=0)
    assert (gone < 0.04 * np.abs(rates).max(axis=0)).all()
    back = np.abs(estimated[1500:, 12:] - accelerations[1500:]).max()
    assert back < 0.03


@pytest.mark.parametrize("actuator", range(7))
def test_a_wrong_length_never_costs_an_accelerometer(
    table: TableSettings, gain: FloatArray, actuator: int
) -> None:
    poses, values = noisy(table, gain, shaking, 2.0)
    poses[1500:] += 1e-3 * gain[:, actuator]
    _, bits = run(estimator_of(table, gain), poses, values)
    assert not bits.any()


def test_a_sensor_that_none_can_confirm_is_left_out_after_a_while(
    table: TableSettings, gain: FloatArray
) -> None:
    chosen = [table.sensors.accelerometers[index] for index in (0, 1, 3)]
    sensors = with_sensors(table, chosen)
    poses, values = noisy(table, gain, gentle, 2.0)
    values = values[:, [0, 1, 3]]
    values[1500:, 1] += 0.5
    _, bits = run(estimator_of(table, gain, sensors), poses, values)
    found = int(np.argmax(bits > 0))
    assert set(bits) == {0, 1 << 1}
    assert 1550 <= found <= 1600, "the time of confirmation, and that of the comparison"


def test_a_reset_takes_a_repaired_sensor_in_again(table: TableSettings, gain: FloatArray) -> None:
    poses, values = noisy(table, gain, shaking, 3.0)
    estimator = estimator_of(table, gain)
    _, bits = run(estimator, poses[:1500], failures(3, values, 1300, "5")[:1500])
    assert bits[-1] == 1 << 3
    told = {estimator.update(poses[k], values[k], EVERYTHING, 1) for k in range(1500, 1800)}
    assert told == {1 << 3}, "it stays out by itself"
    estimator.readmit()
    told = {estimator.update(poses[k], values[k], EVERYTHING, 1) for k in range(1800, 3000)}
    assert told == {0}


@pytest.mark.parametrize("gap", [2, 5, 20])
def test_missing_samples_are_bridged(table: TableSettings, gain: FloatArray, gap: int) -> None:
    time = clock(3.0)
    poses, values = shaking(time), readings(shaking, time, table.sensors, table.gravity)
    rates, accelerations = derivatives(shaking, time)
    estimator = estimator_of(table, gain)
    worst, k, last = np.zeros(2), 0, 0
    while k < len(time):
        assert estimator.update(poses[k], values[k], EVERYTHING, k - last) == 0
        if k > 1000:
            assert estimator.settled
            worst[0] = max(worst[0], np.abs(estimator.rates - rates[k]).max())
            worst[1] = max(worst[1], np.abs(estimator.accelerations - accelerations[k]).max())
        last = k
        k += gap if k % 100 == 0 and k > 900 else 1
    assert worst[0] < {2: 1e-4, 5: 1e-3, 20: 2.5e-2}[gap], "of up to 0.4 rad/s"
    assert worst[1] < 0.02


def test_after_a_long_gap_the_estimate_starts_again_from_what_is_measured(
    table: TableSettings, gain: FloatArray
) -> None:
    time = clock(2.0)
    poses, values = shaking(time), readings(shaking, time, table.sensors, table.gravity)
    rates, _ = derivatives(shaking, time)
    estimator = estimator_of(table, gain)
    run(estimator, poses[:1000], values[:1000])
    assert estimator.settled
    estimator.update(poses[1200], values[1200], EVERYTHING, 201)
    assert not estimator.settled
    assert estimator.pose == pytest.approx(poses[1200])
    for k in range(1201, 1500):
        assert estimator.update(poses[k], values[k], EVERYTHING, 1) == 0
    assert estimator.settled
    assert estimator.rates == pytest.approx(rates[1499], abs=1e-3)


def test_too_many_accelerometers_are_refused(table: TableSettings, gain: FloatArray) -> None:
    one = table.sensors.accelerometers[0]
    sensors = with_sensors(table, [one] * (MAX_ACCELEROMETERS + 1))
    with pytest.raises(SettingsError, match="33 accelerometers, maximum 32"):
        design_motion(sensors, SETTINGS, gain, PERIOD)
