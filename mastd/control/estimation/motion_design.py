"""Design the estimator of rates and accelerations: everything that is computed once, before the loop.

**Accelerometers to acceleration.** In P axes u = [R⁻¹ dv/dt of C, α] (6) is the acceleration of C and the
angular acceleration. Sensor i at rᵢ along dᵢ sees hᵢ u with hᵢ = [dᵢ, rᵢ × dᵢ], once gravity and centripetal
acceleration are taken out. With the lengths' own estimate u_L of expected error P and the sensors' noise σ²,
the best linear estimate is

    u = K s + N u_L,    K = P Hᵀ (H P Hᵀ + σ² I)⁻¹,    N = I − K H.

P is far above σ² (``EXPECTED_ERROR``), so K is the pseudo-inverse of H in all directions that the sensors
observe better than P, whatever their number and positions, and N projects on the others. One such **set** is
made for all sensors, for each one left out, for each two left out, and for none (K = 0, N = I).

Axes that guides hold have no acceleration: their columns of H are 0, and rates and accelerations of 0 come
from the lengths.

**Parity.** Π, the projector on the left null space of H, is what a set's sensors contradict each other by.

**Gains.** Rate and position of each coordinate: steady-state Kalman filter with the acceleration as its
input, in closed form (Kalata 1984, α-β). Lengths alone: position, rate and acceleration driven by white jerk
of the density that gives the bandwidth asked for, S_j = S_q ω⁶; discrete algebraic Riccati equation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import scipy

from mastd.arrays import FloatArray
from mastd.errors import SettingsError
from mastd.settings.core.axes import AXES, Axis
from mastd.settings.daemon.estimator import EstimatorSettings
from mastd.settings.table.sensors import SensorSettings
from mastd.settings.table.table import TableSettings

EXPECTED_ERROR = 1.0
"""Error of an acceleration from lengths alone in motion, m/s² and rad/s²: the lag times a usual jerk."""
MAX_ACCELEROMETERS = 32
SMOOTHING_TIME = 10e-3
"""Time constant that the comparison with the lengths is smoothed by (s)."""
DEVIATIONS = 6.0
"""Thresholds are no lower than this many standard deviations of the noise."""
MIN_REPEATS, MAX_REPEATS = 5, 50
REPEATED_BY_CHANCE = 1e-15
"""Chance at which equal readings in a row are no measurement any more."""
UNOBSERVED = 1e-3
"""Maximum element of N below which a set observes every direction, and N counts as zero."""
UNDETERMINED = 0.05
"""Part of an axis in a direction that no accelerometer sees from which the axis is not determined."""


def tracking_gains(bandwidth: float, period: float) -> FloatArray:
    """Return (3,) the gains on position, rate and acceleration of the filter on lengths alone.

    ``bandwidth`` in Hz is that of the continuous filter, a Butterworth of order 3; ``period`` in s.
    """
    corner = 2.0 * math.pi * bandwidth * period
    transition = np.array([[1.0, 1.0, 0.5], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]])
    noise = corner**6 * np.array([[1 / 20, 1 / 8, 1 / 6], [1 / 8, 1 / 3, 1 / 2], [1 / 6, 1 / 2, 1.0]])
    observed = np.array([[1.0], [0.0], [0.0]])
    variance = scipy.linalg.solve_discrete_are(transition.T, observed, noise, np.ones((1, 1)))
    gains: FloatArray = variance[:, 0] / (variance[0, 0] + 1.0) / np.array([1.0, period, period**2])
    return gains


def fused_gains(
    position_noise: FloatArray, acceleration_noise: FloatArray, period: float
) -> tuple[FloatArray, FloatArray]:
    """Return (2, k) gains on position and rate, and (k,) the rms error of the rate, for k coordinates.

    White noise of each sample as rms values. Kalata's tracking index is λ = T² σ_a/σ_q.
    """
    index = period**2 * acceleration_noise / position_noise
    root = (4.0 + index - np.sqrt(8.0 * index + index**2)) / 4.0
    alpha = 1.0 - root**2
    beta = 2.0 * (2.0 - alpha) - 4.0 * np.sqrt(1.0 - alpha)
    rate_noise = position_noise / period * np.sqrt(beta * (alpha - 0.5 * beta) / (1.0 - alpha))
    return np.array([alpha, beta / period]), rate_noise


def tracking_noise(gains: FloatArray, period: float) -> tuple[float, float, float, float]:
    """Return the rms of four outputs per rms of white input noise, from their impulse responses.

    Length noise in the tracked rate (1/s), in the tracked acceleration (1/s²) and in that smoothed by
    ``SMOOTHING_TIME``; noise of an acceleration that is passed through the same filter, smoothed.
    """
    correction = np.eye(3) - np.outer(gains, [1.0, 0.0, 0.0])
    predict = np.array([[1.0, period, 0.5 * period**2], [0.0, 1.0, period], [0.0, 0.0, 1.0]])
    step = correction @ predict
    # shadow of a sensor: errors of position and rate that its acceleration makes, tracked acceleration
    shadow = correction @ np.array([[1.0, period, -0.5 * period**2], [0.0, 1.0, -period], [0.0, 0.0, 1.0]])
    shadow[2] = np.array([0.0, 0.0, 1.0]) + gains[2] * np.array([1.0, period, -0.5 * period**2])
    weight = 1.0 - math.exp(-period / SMOOTHING_TIME)
    state, seen = gains.copy(), np.zeros(3)
    smooth_length = smooth_sensor = 0.0
    sums = np.zeros(4)
    halves = (np.array([period**2 / 6.0, 0.5 * period]), np.array([period**2 / 3.0, 0.5 * period]))
    for index in range(round(1.0 / period)):
        entry = halves[index] if index < 2 else np.zeros(2)
        pushed = np.array([entry[0] * (1.0 - gains[0]), entry[1] - gains[1] * entry[0], gains[2] * entry[0]])
        seen = shadow @ seen + pushed
        smooth_length += weight * (state[2] - smooth_length)
        smooth_sensor += weight * (seen[2] - smooth_sensor)
        sums += np.square([state[1], state[2], smooth_length, smooth_sensor])
        state = step @ state
    rate, acceleration, smoothed, sensor = np.sqrt(sums)
    return float(rate), float(acceleration), float(smoothed), float(sensor)


def stuck_limit(noise: float, resolution: float) -> int:
    """Return how many equal readings in a row mean that a sensor is stuck, 0 if none do.

    Two samples of normal noise round to the same step of ``resolution`` with the chance
    resolution/(2 √π noise) as long as that is small.
    """
    if not (noise > 0.0 and noise >= resolution):
        return 0
    chance = max(resolution / (2.0 * math.sqrt(math.pi) * noise), 1e-6)
    limit = math.ceil(math.log(REPEATED_BY_CHANCE) / math.log(chance))
    return max(limit, MIN_REPEATS) if limit <= MAX_REPEATS else 0


def sensitivity(positions: FloatArray, directions: FloatArray) -> FloatArray:
    """Return H (m, 6): what each accelerometer sees of u."""
    return np.hstack([directions, np.cross(positions, directions)]).reshape(-1, 6)


@dataclass(frozen=True, eq=False)
class SensorSet:
    """One set of accelerometers: the matrices of the module's text, zero where a sensor is left out.

    ``estimate`` K (6, m), ``unobserved`` N (6, 6), ``parity`` Π (m, m), ``gains`` (2, 6) on position and
    rate; ``rate_noise`` and ``acceleration_noise`` (6,) are rms values at standstill, m and rad.
    """

    estimate: FloatArray
    unobserved: FloatArray
    parity: FloatArray
    gains: FloatArray
    rate_noise: FloatArray
    acceleration_noise: FloatArray

    @property
    def blends(self) -> bool:
        """Whether there are directions that only the lengths observe."""
        return bool(np.any(self.unobserved))


@dataclass(frozen=True, eq=False)
class MotionDesign:
    """All constants of the estimator; see ``design_motion``.

    ``sensitivity`` H (m, 6); ``sets``: all sensors, each one left out, each two left out
    (in the order of ``itertools.combinations``), none; ``tracking`` (3,); ``position_noise``
    (6,), ``sensor_noise`` rms values; ``length_rate_noise`` and ``length_acceleration_noise`` (6,) of the
    estimate from lengths alone; ``thresholds`` (m,) in m/s².
    """

    sensitivity: FloatArray
    sets: tuple[SensorSet, ...]
    tracking: FloatArray
    position_noise: FloatArray
    sensor_noise: float
    length_rate_noise: FloatArray
    length_acceleration_noise: FloatArray
    thresholds: FloatArray


def design_motion(
    sensors: SensorSettings, settings: EstimatorSettings, observer_gain: FloatArray, period: float
) -> MotionDesign:
    """Return the constants for a table; ``observer_gain`` (6, n) carries the noise of lengths into the pose.

    Its rows of axes that guides hold are 0.

    Raises SettingsError for more than ``MAX_ACCELEROMETERS`` accelerometers.
    """
    count = len(sensors.accelerometers)
    if count > MAX_ACCELEROMETERS:
        raise SettingsError([f"sensors.accelerometers: {count} accelerometers, maximum {MAX_ACCELEROMETERS}"])
    length_noise = _rms(sensors.length.noise, sensors.length.resolution, 1e-7)
    sensor_noise = _sensor_noise(sensors)
    free = np.any(observer_gain, axis=1)
    position_noise = length_noise * np.where(free, np.linalg.norm(observer_gain, axis=1), 1.0)
    tracking = tracking_gains(settings.length_bandwidth, period)
    rate, acceleration, smoothed, own = tracking_noise(tracking, period)
    h = _sensitivity_of(sensors) * np.where(free, 1.0, 0.0)
    noise = np.sqrt(
        np.square(smoothed * length_noise * np.linalg.norm(h @ observer_gain, axis=1))
        + (own * sensor_noise) ** 2
    )
    left_out = [(), *combinations(range(count), 1), *combinations(range(count), 2)]
    sets = [
        _sensor_set(h, out, sensor_noise, position_noise, rate * position_noise, acceleration, period)
        for out in left_out
    ]
    sets.append(
        _sensor_set(
            h, tuple(range(count)), sensor_noise, position_noise, rate * position_noise, acceleration, period
        )
    )
    return MotionDesign(
        sensitivity=h,
        sets=tuple(sets),
        tracking=tracking,
        position_noise=position_noise,
        sensor_noise=sensor_noise,
        length_rate_noise=rate * position_noise,
        length_acceleration_noise=acceleration * position_noise,
        thresholds=np.maximum(settings.tolerance, DEVIATIONS * noise),
    )


def undetermined_axes(sensors: SensorSettings, freedoms: Sequence[Axis]) -> tuple[Axis, ...]:
    """Return the free axes whose acceleration the accelerometers do not determine, in the order of freedoms.

    They take part in directions of the null space of H over the free axes; a singular value below which the
    lengths count more than the accelerometers' noise is none.
    """
    h = _sensitivity_of(sensors)[:, [AXES.index(axis) for axis in freedoms]]
    _, values, directions = np.linalg.svd(h)
    unseen = directions[int(np.sum(values > _sensor_noise(sensors) / EXPECTED_ERROR)) :]
    parts = np.linalg.norm(unseen, axis=0)
    return tuple(axis for axis, part in zip(freedoms, parts, strict=True) if part > UNDETERMINED)


def accelerometer_warnings(table: TableSettings) -> tuple[str, ...]:
    """Return in a line what the accelerometers of a table do not determine, nothing where they do."""
    axes = undetermined_axes(table.sensors, table.freedoms)
    if not axes:
        return ()
    count = len(table.sensors.accelerometers)
    return (
        f"sensors.accelerometers: {count} accelerometer{'s' * (count != 1)} do not determine the "
        f"acceleration of {', '.join(axes)}, which the lengths alone give: move, turn or add accelerometers",
    )


def _sensitivity_of(sensors: SensorSettings) -> FloatArray:
    return sensitivity(
        np.array([sensor.position for sensor in sensors.accelerometers]).reshape(-1, 3),
        np.array([sensor.direction for sensor in sensors.accelerometers]).reshape(-1, 3),
    )


def _sensor_noise(sensors: SensorSettings) -> float:
    return _rms(sensors.acceleration.noise, sensors.acceleration.resolution, 1e-4)


def _rms(noise: float, resolution: float, minimum: float) -> float:
    """Return the rms of noise and rounding together; gains need some."""
    return max(math.hypot(noise, resolution / math.sqrt(12.0)), minimum)


def _sensor_set(
    h: FloatArray,
    left_out: tuple[int, ...],
    sensor_noise: float,
    position_noise: FloatArray,
    length_rate_noise: FloatArray,
    tracked_acceleration: float,
    period: float,
) -> SensorSet:
    count = len(h)
    used = np.ones(count, dtype=bool)
    used[list(left_out)] = False
    rows = h[used]
    expected = EXPECTED_ERROR**2
    estimate = np.zeros((6, count))
    parity = np.zeros((count, count))
    if len(rows):
        inner = expected * rows @ rows.T + sensor_noise**2 * np.eye(len(rows))
        estimate[:, used] = expected * np.linalg.solve(inner, rows).T
        left, values, _ = np.linalg.svd(rows)
        null = left[:, int(np.sum(values > 1e-6 * values[0])) :]
        parity[np.ix_(used, used)] = null @ null.T
    unobserved = np.eye(6) - estimate @ h
    if np.max(np.abs(unobserved)) < UNOBSERVED:
        unobserved[:] = 0.0
    acceleration_noise = np.sqrt(
        np.sum(np.square(estimate), axis=1) * sensor_noise**2
        + np.square(unobserved) @ np.square(tracked_acceleration * position_noise)
    )
    gains, rate_noise = fused_gains(position_noise, acceleration_noise, period)
    weight = np.clip(np.diag(unobserved), 0.0, 1.0)
    return SensorSet(
        estimate,
        unobserved,
        parity,
        gains,
        np.hypot((1.0 - weight) * rate_noise, weight * length_rate_noise),
        acceleration_noise,
    )
