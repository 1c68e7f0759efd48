"""Rates and accelerations of the table's pose from lengths and accelerometers: one compiled call per cycle.

**What comes out.** For the pose [x, y, z, roll, pitch, yaw] of C against neutral (x, y, z in B axes): its
first time derivative (velocity of C in B axes, Euler rates) and its second (acceleration of C in B axes,
without gravity; second derivatives of the Euler angles), the filtered pose, and angular velocity and
angular acceleration of the table in B axes.

**How.** An accelerometer at r along d reads d·(R⁻¹ a + α × r + ω × (ω × r) + R⁻¹ [0, 0, g]) + offset,
everything in P. Gravity by the measured attitude and the centripetal part by the estimated ω are taken out
exactly; the best linear combination of what is left gives R⁻¹ a and α
(``mastd.control.estimation.motion_design``), which are turned into B and into Euler accelerations exactly.
Position and rate of each coordinate are predicted with this acceleration (trapezoid) and corrected by the
measured pose. The acceleration itself is not filtered: it has no lag, and the noise of the sensors.
Directions that no accelerometer sees take rate and acceleration from a tracking filter of order 3 on the
lengths alone.

**Sensors against lengths.** Each accelerometer is compared, at its own place, with the tracking filter. So
that both have the same delay, the sensor passes through a shadow of that filter. The slow mean of the
difference is the sensor's offset, and is subtracted. A difference beyond the threshold leaves the sensor
out if the other accelerometers confirm it (parity: lengths have no part in that, so that a wrong length
never costs an accelerometer), or, where none can, if it alone differs for ``confirmation``. A sensor that
jumps within a period and that the others contradict is left out in that same cycle; so is one that is
invalid or not finite, and one that repeats its reading oftener than noise can. At most two are left
out; with a third the estimate uses the lengths alone until they are back.

**Delays** of the sensors are not compensated: the acceleration is as late as the accelerometers are.
Figures on the simulated plant, at standstill and in motion: docs/theory.md.
"""

from __future__ import annotations

import math

import numpy as np

from mastd.arrays import FloatArray, IntArray
from mastd.control.estimation.motion_design import SMOOTHING_TIME, MotionDesign, design_motion, stuck_limit
from mastd.control.estimation.motion_kernels import (
    ACCELERATION,
    ACCELERATION_GAIN,
    ACQUISITION_TIME,
    AGE,
    ANGULAR_ACCELERATION,
    ANGULAR_VELOCITY,
    BODY,
    COLUMNS,
    COUNT,
    COUNTERS,
    FAILED,
    FIRST_AVERAGE,
    GRAVITY,
    INTEGER_COLUMNS,
    INVALID,
    JUMP,
    JUMPED,
    MAX_STEPS,
    MEMORY,
    MEMORY_TIME,
    MISSING,
    MISSING_SAMPLES,
    OFFSET,
    OFFSET_LIMIT,
    OFFSET_SHARE,
    PERIOD,
    POSE,
    POSITION_GAIN,
    RATE,
    REASON,
    REASONS,
    REPEATED,
    ROW,
    SEEN,
    SENSORS,
    SETTLED,
    SETTLING,
    SMOOTHING,
    STARTED,
    SUSPECTED,
    TABLE,
    TOLERANCE_SHARE,
    TRACKED_ACCELERATION,
    TRACKED_BODY,
    WORK,
    blend,
    compare,
    fuse,
    judge,
    jumping,
    set_start,
    track,
    usable,
)
from mastd.kernel import kernel
from mastd.kinematics.rotation import angular_motion, rotation_of, sines_cosines
from mastd.settings.daemon.estimator import EstimatorSettings
from mastd.settings.table.table import SensorSettings


@kernel
def estimate_motion(
    pose: FloatArray,
    readings: FloatArray,
    valid: int,
    steps: int,
    constants: FloatArray,
    sizes: IntArray,
    state: FloatArray,
    counters: IntArray,
) -> int:
    """Advance the estimate by ``steps`` periods; return the bits of the accelerometers that are left out.

    ``pose`` (6,) measured; ``readings`` (m,) of the accelerometers, raw, in m/s²; ``valid`` their bits,
    sensor 1 lowest; ``steps`` since the last call, 0 for a start. The first ``MOTION`` values of
    ``state`` are the result: pose, rates, accelerations (6 each), angular velocity and acceleration (3
    each, B axes). Without a usable pose do not call: the result stays, and the next call bridges the gap
    or starts again.
    """
    c = constants
    count = sizes[COUNT]
    restart = steps < 1 or steps > sizes[MAX_STEPS] or counters[STARTED] == 0
    if restart and counters[STARTED] == 0:
        steps = 0
    counters[STARTED] = 1
    counters[SETTLED] = 0 if restart else counters[SETTLED] + steps
    left_out = usable(readings, valid, sizes, state, counters)

    # attitude as measured; Euler rates and angular velocity as predicted
    sr, cr, sp, cp, sy, cy = sines_cosines(pose[3], pose[4], pose[5])
    r00, r01, r02, r10, r11, r12, r20, r21, r22 = rotation_of(sr, cr, sp, cp, sy, cy)
    span = 0.0 if restart else c[PERIOD] * steps
    track(pose, steps, restart, c, state)
    roll_rate = state[RATE + 3] + span * state[ACCELERATION + 3]
    pitch_rate = state[RATE + 4] + span * state[ACCELERATION + 4]
    yaw_rate = state[RATE + 5] + span * state[ACCELERATION + 5]
    tracked = TRACKED_ACCELERATION
    (wx, wy, wz), (bx, by, bz) = angular_motion(
        pose[3],
        pose[4],
        pose[5],
        roll_rate,
        pitch_rate,
        yaw_rate,
        state[tracked + 3],
        state[tracked + 4],
        state[tracked + 5],
    )
    ax, ay, az = state[tracked], state[tracked + 1], state[tracked + 2]
    state[TRACKED_BODY] = r00 * ax + r10 * ay + r20 * az
    state[TRACKED_BODY + 1] = r01 * ax + r11 * ay + r21 * az
    state[TRACKED_BODY + 2] = r02 * ax + r12 * ay + r22 * az
    state[TRACKED_BODY + 3] = r00 * bx + r10 * by + r20 * bz
    state[TRACKED_BODY + 4] = r01 * bx + r11 * by + r21 * bz
    state[TRACKED_BODY + 5] = r02 * bx + r12 * by + r22 * bz
    px = r00 * wx + r10 * wy + r20 * wz
    py = r01 * wx + r11 * wy + r21 * wz
    pz = r02 * wx + r12 * wy + r22 * wz

    # what each sensor sees without gravity, centripetal acceleration and offset
    square = px * px + py * py + pz * pz
    for i in range(count):
        if left_out >> i & 1:
            continue
        s = TABLE + ROW * i
        along = px * c[s] + py * c[s + 1] + pz * c[s + 2]
        value = c[s + 6] * readings[i] + c[s + 7] - state[SENSORS + OFFSET * count + i]
        value -= c[s + 3] * (c[GRAVITY] * r20 + along * px - square * c[s])
        value -= c[s + 4] * (c[GRAVITY] * r21 + along * py - square * c[s + 1])
        value -= c[s + 5] * (c[GRAVITY] * r22 + along * pz - square * c[s + 2])
        state[SENSORS + SEEN * count + i] = value
    missing = left_out
    if not restart:
        left_out |= jumping(left_out, c, sizes, state, counters)

    start = set_start(count, left_out)
    unobserved = start + 6 * count
    gains = unobserved + 36 + count * count
    blends = c[gains + 12] > 0.0
    for k in range(6):
        value = 0.0
        for i in range(count):
            if not left_out >> i & 1:
                value += c[start + k * count + i] * state[SENSORS + SEEN * count + i]
        if blends:
            for j in range(6):
                value += c[unobserved + 6 * k + j] * state[TRACKED_BODY + j]
        state[BODY + k] = value

    # to B axes, and from angular acceleration to Euler accelerations
    ax, ay, az = state[BODY], state[BODY + 1], state[BODY + 2]
    state[WORK] = r00 * ax + r01 * ay + r02 * az
    state[WORK + 1] = r10 * ax + r11 * ay + r12 * az
    state[WORK + 2] = r20 * ax + r21 * ay + r22 * az
    ax, ay, az = state[BODY + 3], state[BODY + 4], state[BODY + 5]
    bx = r00 * ax + r01 * ay + r02 * az
    by = r10 * ax + r11 * ay + r12 * az
    bz = r20 * ax + r21 * ay + r22 * az
    ux = bx + (cy * sp * pitch_rate + sy * cp * yaw_rate) * roll_rate + cy * yaw_rate * pitch_rate
    uy = by + (sy * sp * pitch_rate - cy * cp * yaw_rate) * roll_rate + sy * yaw_rate * pitch_rate
    uz = bz + cp * pitch_rate * roll_rate
    state[WORK + 3] = (cy * ux + sy * uy) / cp
    state[WORK + 4] = cy * uy - sy * ux
    state[WORK + 5] = uz + sp * state[WORK + 3]

    fuse(steps, restart, c, gains, state)
    if blends and not restart:
        blend(c, unobserved, state)
    roll_rate, pitch_rate = state[RATE + 3], state[RATE + 4]
    state[ANGULAR_VELOCITY] = cy * cp * roll_rate - sy * pitch_rate
    state[ANGULAR_VELOCITY + 1] = sy * cp * roll_rate + cy * pitch_rate
    state[ANGULAR_VELOCITY + 2] = state[RATE + 5] - sp * roll_rate
    state[ANGULAR_ACCELERATION] = bx
    state[ANGULAR_ACCELERATION + 1] = by
    state[ANGULAR_ACCELERATION + 2] = bz

    compare(missing, steps, restart, c, sizes, state)
    if counters[SETTLED] >= sizes[SETTLING]:
        judge(missing, c, sizes, state, counters)
    told = counters[FAILED]
    for i in range(count):
        if counters[COUNTERS + MISSING * count + i] >= MISSING_SAMPLES:
            told |= 1 << i
    return int(told)


class MotionEstimator:
    """Arrays of ``estimate_motion`` for one table, and their meaning."""

    def __init__(
        self,
        sensors: SensorSettings,
        gravity: float,
        settings: EstimatorSettings,
        observer_gain: FloatArray,
        period: float,
    ) -> None:
        """Design the estimator; ``observer_gain`` (6, n) as in ``design_motion``, ``period`` in s."""
        self.design: MotionDesign = design_motion(sensors, settings, observer_gain, period)
        m = self._count = len(sensors.accelerometers)
        self._names = [sensor.name for sensor in sensors.accelerometers]
        self.constants: FloatArray = np.concatenate(
            [
                _header(settings, self.design, gravity, period),
                *_rows(sensors, self.design),
                *(
                    np.concatenate(
                        [
                            one.estimate.ravel(),
                            one.unobserved.ravel(),
                            one.parity.ravel(),
                            one.gains.ravel(),
                            [float(one.blends)],
                        ]
                    )
                    for one in self.design.sets
                ),
            ]
        )
        self.sizes: IntArray = np.array(
            [
                m,
                round(settings.bridged_gap / period),
                stuck_limit(sensors.acceleration.noise, sensors.acceleration.resolution),
                math.ceil(4.0 / (settings.length_bandwidth * period)),
                round(ACQUISITION_TIME / period),
                round(FIRST_AVERAGE / period),
                round(settings.confirmation / period),
            ],
            dtype=np.int64,
        )
        self.state: FloatArray = np.zeros(SENSORS + COLUMNS * m)
        self.counters: IntArray = np.zeros(COUNTERS + INTEGER_COLUMNS * m, dtype=np.int64)
        self.pose = self.state[POSE : POSE + 6]
        self.rates = self.state[RATE : RATE + 6]
        self.accelerations = self.state[ACCELERATION : ACCELERATION + 6]
        self.angular_velocity = self.state[ANGULAR_VELOCITY : ANGULAR_VELOCITY + 3]
        self.angular_acceleration = self.state[ANGULAR_ACCELERATION : ANGULAR_ACCELERATION + 3]
        self.offsets = self.state[SENSORS + OFFSET * m : SENSORS + (OFFSET + 1) * m]

    def update(self, pose: FloatArray, readings: FloatArray, valid: int, steps: int) -> int:
        """Advance by one sample; arguments and result are those of ``estimate_motion``."""
        return estimate_motion(
            pose, readings, valid, steps, self.constants, self.sizes, self.state, self.counters
        )

    @property
    def settled(self) -> bool:
        """Whether the estimate has forgotten its start."""
        return bool(self.counters[SETTLED] >= self.sizes[SETTLING])

    def describe(self, left_out: int) -> str:
        """Return names and reasons of the accelerometers in the bits ``left_out``, for people."""
        reasons = self.counters[COUNTERS + REASON * self._count :]
        return ", ".join(
            f"{name} {REASONS.get(int(reasons[index]), REASONS[INVALID])}"
            for index, name in enumerate(self._names)
            if left_out >> index & 1
        )

    def reset(self) -> None:
        """Take all accelerometers in again (operator's reset); their offsets are learned anew."""
        m = self._count
        for index in range(m):
            if self.counters[FAILED] >> index & 1:
                for column in (REPEATED, AGE, REASON):
                    self.counters[COUNTERS + column * m + index] = 0
        self.counters[FAILED] = self.counters[SUSPECTED] = self.counters[JUMPED] = 0


def _header(settings: EstimatorSettings, design: MotionDesign, gravity: float, period: float) -> FloatArray:
    header = np.zeros(TABLE)
    header[PERIOD] = period
    header[GRAVITY] = gravity
    header[POSITION_GAIN : ACCELERATION_GAIN + 1] = design.tracking
    header[SMOOTHING] = 1.0 - math.exp(-period / SMOOTHING_TIME)
    header[TOLERANCE_SHARE] = settings.tolerance_share
    header[OFFSET_LIMIT] = settings.offset_limit
    header[OFFSET_SHARE] = period / settings.offset_time
    header[MEMORY] = math.exp(-period / MEMORY_TIME)
    header[JUMP] = max(settings.jump, 6.0 * design.sensor_noise)
    return header


def _rows(sensors: SensorSettings, design: MotionDesign) -> list[FloatArray]:
    return [
        np.array(
            [*sensor.position, *sensor.direction, sensor.scale, sensor.offset, threshold, *row],
            dtype=np.float64,
        )
        for sensor, threshold, row in zip(
            sensors.accelerometers, design.thresholds, design.sensitivity, strict=True
        )
    ]
