"""Estimate rates and accelerations of the pose from lengths and accelerometers: one compiled call per cycle.

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

**Sensors against lengths.** Each accelerometer is compared, at its own position, with the tracking filter. So
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

from mastd.arrays import FloatArray, IntArray, whole_numbers
from mastd.control.estimation.layout import (
    COUNT,
    MOTION,
    PARAMETER,
    SENSOR,
    SENSOR_STATUS,
    STATUS,
    TRACE,
    MotionModel,
    MotionState,
)
from mastd.control.estimation.motion_design import SMOOTHING_TIME, MotionDesign, design_motion, stuck_limit
from mastd.control.estimation.motion_kernels import (
    ACQUISITION_TIME,
    FIRST_AVERAGE,
    INVALID,
    MEMORY_TIME,
    MISSING_SAMPLES,
    REASONS,
    blend,
    compare,
    exclude_wrong,
    fuse,
    jumping_sensor,
    set_index,
    track,
    unusable_sensors,
)
from mastd.index_table import size_of
from mastd.kernel import kernel
from mastd.kinematics.rotation import Nine, Six, Three, angular_motion, rotation_of, sines_cosines
from mastd.settings.daemon.estimator import EstimatorSettings
from mastd.settings.table.sensors import SensorSettings


@kernel
def _to_table(r: Nine, x: float, y: float, z: float) -> Three:
    """Return a vector in P of one in B."""
    r00, r01, r02, r10, r11, r12, r20, r21, r22 = r
    return r00 * x + r10 * y + r20 * z, r01 * x + r11 * y + r21 * z, r02 * x + r12 * y + r22 * z


@kernel
def _to_ground(r: Nine, x: float, y: float, z: float) -> Three:
    """Return a vector in B of one in P."""
    r00, r01, r02, r10, r11, r12, r20, r21, r22 = r
    return r00 * x + r01 * y + r02 * z, r10 * x + r11 * y + r12 * z, r20 * x + r21 * y + r22 * z


@kernel
def _track_body(pose: FloatArray, rates: Three, r: Nine, motion: FloatArray) -> Three:
    """Write the tracked accelerations in P; return the angular velocity in P, of the predicted ``rates``."""
    tracked = MOTION.tracked_acceleration
    (wx, wy, wz), (bx, by, bz) = angular_motion(
        (pose[3], pose[4], pose[5]),
        rates,
        (motion[tracked + 3], motion[tracked + 4], motion[tracked + 5]),
    )
    at = MOTION.tracked_body
    motion[at], motion[at + 1], motion[at + 2] = _to_table(
        r, motion[tracked], motion[tracked + 1], motion[tracked + 2]
    )
    motion[at + 3], motion[at + 4], motion[at + 5] = _to_table(r, bx, by, bz)
    return _to_table(r, wx, wy, wz)


@kernel
def _read_sensors(
    readings: FloatArray, left_out: int, spin: Three, r: Nine, model: MotionModel, traces: FloatArray
) -> None:
    """Write what each sensor sees without gravity, centripetal acceleration (``spin`` in P) and offset."""
    r20, r21, r22 = r[6], r[7], r[8]
    px, py, pz = spin
    gravity = model.parameters[PARAMETER.gravity]
    square = px * px + py * py + pz * pz
    at, along_axis = SENSOR.position, SENSOR.direction
    for i in range(readings.shape[0]):
        if left_out >> i & 1:
            continue
        c = model.sensors[i]
        along = px * c[at] + py * c[at + 1] + pz * c[at + 2]
        value = c[SENSOR.scale] * readings[i] + c[SENSOR.offset] - traces[TRACE.offset, i]
        value -= c[along_axis] * (gravity * r20 + along * px - square * c[at])
        value -= c[along_axis + 1] * (gravity * r21 + along * py - square * c[at + 1])
        value -= c[along_axis + 2] * (gravity * r22 + along * pz - square * c[at + 2])
        traces[TRACE.seen, i] = value


@kernel
def _combine(index: int, left_out: int, model: MotionModel, state: MotionState) -> None:
    """Write the best acceleration of the table in P, of the set of sensors ``index``."""
    motion, seen = state.motion, state.traces[TRACE.seen]
    for k in range(6):
        value = 0.0
        for i in range(seen.shape[0]):
            if not left_out >> i & 1:
                value += model.estimate[index, k, i] * seen[i]
        if model.blends[index] > 0.0:
            for j in range(6):
                value += model.unobserved[index, k, j] * motion[MOTION.tracked_body + j]
        motion[MOTION.body + k] = value


@kernel
def _to_euler(rates: Three, trigonometry: Six, r: Nine, motion: FloatArray) -> Three:
    """Write the acceleration in B and of the Euler angles as work; return the angular one in B."""
    _, _, sp, cp, sy, cy = trigonometry
    roll_rate, pitch_rate, yaw_rate = rates
    at, work = MOTION.body, MOTION.work
    motion[work], motion[work + 1], motion[work + 2] = _to_ground(
        r, motion[at], motion[at + 1], motion[at + 2]
    )
    bx, by, bz = _to_ground(r, motion[at + 3], motion[at + 4], motion[at + 5])
    ux = bx + (cy * sp * pitch_rate + sy * cp * yaw_rate) * roll_rate + cy * yaw_rate * pitch_rate
    uy = by + (sy * sp * pitch_rate - cy * cp * yaw_rate) * roll_rate + sy * yaw_rate * pitch_rate
    uz = bz + cp * pitch_rate * roll_rate
    motion[work + 3] = (cy * ux + sy * uy) / cp
    motion[work + 4] = cy * uy - sy * ux
    motion[work + 5] = uz + sp * motion[work + 3]
    return bx, by, bz


@kernel
def _note_angular(acceleration: Three, trigonometry: Six, motion: FloatArray) -> None:
    """Write angular velocity and acceleration in B."""
    _, _, sp, cp, sy, cy = trigonometry
    roll_rate, pitch_rate = motion[MOTION.rate + 3], motion[MOTION.rate + 4]
    at = MOTION.angular_velocity
    motion[at] = cy * cp * roll_rate - sy * pitch_rate
    motion[at + 1] = sy * cp * roll_rate + cy * pitch_rate
    motion[at + 2] = motion[MOTION.rate + 5] - sp * roll_rate
    at = MOTION.angular_acceleration
    motion[at], motion[at + 1], motion[at + 2] = acceleration


@kernel
def _begin(steps: int, model: MotionModel, status: IntArray) -> tuple[int, bool]:
    """Return the periods to advance, and whether the estimate starts again."""
    restart = steps < 1 or steps > model.counts[COUNT.bridged] or status[STATUS.started] == 0
    if restart and status[STATUS.started] == 0:
        steps = 0
    status[STATUS.started] = 1
    status[STATUS.settled] = 0 if restart else status[STATUS.settled] + steps
    return steps, restart


@kernel
def _excluded(status: IntArray, sensor_status: IntArray) -> int:
    """Return the bits of the sensors that have failed, or whose readings are missing for long."""
    excluded = status[STATUS.failed]
    for i in range(sensor_status.shape[1]):
        if sensor_status[SENSOR_STATUS.missing, i] >= MISSING_SAMPLES:
            excluded |= 1 << i
    return int(excluded)


@kernel
def estimate_motion(
    pose: FloatArray, readings: FloatArray, valid: int, steps: int, model: MotionModel, state: MotionState
) -> int:
    """Advance the estimate by ``steps`` periods; return the bits of the accelerometers that are excluded.

    ``pose`` (6,) measured; ``readings`` (m,) of the accelerometers, raw, in m/s²; ``valid`` their bits,
    sensor 1 lowest; ``steps`` since the last call, 0 for a start. The result is in ``state.motion``: pose,
    rate, acceleration, angular velocity and acceleration. Without a usable pose do not call: the result
    stays, and the next call bridges the gap or starts again.
    """
    motion = state.motion
    steps, restart = _begin(steps, model, state.status)
    left_out = unusable_sensors(readings, valid, model, state)
    # attitude as measured; Euler rates and angular velocity as predicted
    trigonometry = sines_cosines(pose[3], pose[4], pose[5])
    sr, cr, sp, cp, sy, cy = trigonometry
    r = rotation_of(sr, cr, sp, cp, sy, cy)
    span = 0.0 if restart else model.parameters[PARAMETER.period] * steps
    track(pose, steps, restart, model.parameters, motion)
    rates = (
        motion[MOTION.rate + 3] + span * motion[MOTION.acceleration + 3],
        motion[MOTION.rate + 4] + span * motion[MOTION.acceleration + 4],
        motion[MOTION.rate + 5] + span * motion[MOTION.acceleration + 5],
    )
    spin = _track_body(pose, rates, r, motion)
    _read_sensors(readings, left_out, spin, r, model, state.traces)
    missing = left_out
    if not restart:
        left_out |= jumping_sensor(left_out, model, state)
    index = set_index(model.counts[COUNT.sensors], left_out)
    _combine(index, left_out, model, state)
    angular_acceleration = _to_euler(rates, trigonometry, r, motion)
    fuse(steps, restart, model.parameters, model.gains[index], motion)
    if model.blends[index] > 0.0 and not restart:
        blend(model.unobserved[index], motion)
    _note_angular(angular_acceleration, trigonometry, motion)
    compare(missing, steps, restart, model, state)
    if state.status[STATUS.settled] >= model.counts[COUNT.settling]:
        exclude_wrong(missing, model, state)
    return _excluded(state.status, state.sensor_status)


class MotionEstimator:
    """Model and state of ``estimate_motion`` for one table, and their meaning."""

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
        m = len(sensors.accelerometers)
        self._names = [sensor.name for sensor in sensors.accelerometers]
        sets = self.design.sets
        self.model = MotionModel(
            parameters=_parameters(settings, self.design, gravity, period),
            counts=_counts(sensors, settings, period),
            sensors=_sensor_rows(sensors, self.design),
            estimate=np.array([one.estimate for one in sets]),
            unobserved=np.array([one.unobserved for one in sets]),
            parity=np.array([one.parity for one in sets]),
            gains=np.array([one.gains for one in sets]),
            blends=np.array([float(one.blends) for one in sets]),
        )
        self.state = MotionState(
            motion=np.zeros(size_of(MOTION)),
            traces=np.zeros((size_of(TRACE), m)),
            status=np.zeros(size_of(STATUS), dtype=np.int64),
            sensor_status=np.zeros((size_of(SENSOR_STATUS), m), dtype=np.int64),
        )
        self._status = whole_numbers(self.state.status)
        motion = self.state.motion
        self.pose = motion[MOTION.pose :][:6]
        self.rates = motion[MOTION.rate :][:6]
        self.accelerations = motion[MOTION.acceleration :][:6]
        self.angular_velocity = motion[MOTION.angular_velocity :][:3]
        self.angular_acceleration = motion[MOTION.angular_acceleration :][:3]
        self.offsets = self.state.traces[TRACE.offset]

    def update(self, pose: FloatArray, readings: FloatArray, valid: int, steps: int) -> int:
        """Advance by one sample; arguments and result are those of ``estimate_motion``."""
        return estimate_motion(pose, readings, valid, steps, self.model, self.state)

    @property
    def excluded(self) -> int:
        """Bits of the accelerometers that the last sample was estimated without."""
        return self._status[STATUS.excluded]

    @property
    def settled(self) -> bool:
        """Whether the estimate has forgotten its start."""
        return bool(self.state.status[STATUS.settled] >= self.model.counts[COUNT.settling])

    def describe(self, excluded: int) -> str:
        """Return names and reasons of the accelerometers in the bits ``excluded``, for people."""
        reasons = self.state.sensor_status[SENSOR_STATUS.reason]
        return ", ".join(
            f"{name} {REASONS.get(int(reasons[index]), REASONS[INVALID])}"
            for index, name in enumerate(self._names)
            if excluded >> index & 1
        )

    def readmit(self) -> None:
        """Use all accelerometers again (operator's reset); their offsets are learned again."""
        status, sensors = self.state.status, self.state.sensor_status
        for index in range(len(self._names)):
            if status[STATUS.failed] >> index & 1:
                for row in (SENSOR_STATUS.repeated, SENSOR_STATUS.age, SENSOR_STATUS.reason):
                    sensors[row, index] = 0
        status[STATUS.failed] = status[STATUS.suspected] = status[STATUS.jumped] = 0


def _parameters(
    settings: EstimatorSettings, design: MotionDesign, gravity: float, period: float
) -> FloatArray:
    values = np.zeros(size_of(PARAMETER))
    values[PARAMETER.period] = period
    values[PARAMETER.gravity] = gravity
    values[PARAMETER.position_gain :][:3] = design.tracking
    values[PARAMETER.smoothing] = 1.0 - math.exp(-period / SMOOTHING_TIME)
    values[PARAMETER.relative_tolerance] = settings.tolerance_share
    values[PARAMETER.offset_limit] = settings.offset_limit
    values[PARAMETER.offset_gain] = period / settings.offset_time
    values[PARAMETER.decay] = math.exp(-period / MEMORY_TIME)
    values[PARAMETER.jump] = max(settings.jump, 6.0 * design.sensor_noise)
    return values


def _counts(sensors: SensorSettings, settings: EstimatorSettings, period: float) -> IntArray:
    values: IntArray = np.zeros(size_of(COUNT), dtype=np.int64)
    values[COUNT.sensors] = len(sensors.accelerometers)
    values[COUNT.bridged] = round(settings.bridged_gap / period)
    values[COUNT.stuck] = stuck_limit(sensors.acceleration.noise, sensors.acceleration.resolution)
    values[COUNT.settling] = math.ceil(4.0 / (settings.length_bandwidth * period))
    values[COUNT.acquisition] = round(ACQUISITION_TIME / period)
    values[COUNT.averaged] = round(FIRST_AVERAGE / period)
    values[COUNT.confirmation] = round(settings.confirmation / period)
    return values


def _sensor_rows(sensors: SensorSettings, design: MotionDesign) -> FloatArray:
    rows = np.zeros((len(sensors.accelerometers), size_of(SENSOR)))
    for row, sensor, threshold, sensitivity in zip(
        rows, sensors.accelerometers, design.thresholds, design.sensitivity, strict=True
    ):
        row[SENSOR.position :][:3] = sensor.position
        row[SENSOR.direction :][:3] = sensor.direction
        row[SENSOR.scale], row[SENSOR.offset] = sensor.scale, sensor.offset
        row[SENSOR.threshold] = threshold
        row[SENSOR.sensitivity :] = sensitivity
    return rows
