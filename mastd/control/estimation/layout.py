"""Constants and state of the estimator of rates and accelerations, as its kernels take them.

m accelerometers; sets of sensors are bits, sensor 1 lowest.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from mastd.arrays import FloatArray, IntArray
from mastd.index_table import Entry, index_table


class ParameterRow(NamedTuple):
    """Numbers of the estimator."""

    period: Annotated[int, Entry("s", "period of the loop")]
    gravity: Annotated[int, Entry("m/s2", "of the table file")]
    position_gain: Annotated[int, Entry("1", "of the tracking filter")]
    rate_gain: Annotated[int, Entry("1/s", "of the tracking filter")]
    acceleration_gain: Annotated[int, Entry("1/s2", "of the tracking filter")]
    smoothing: Annotated[int, Entry("1", "of the comparison with the lengths, per period")]
    relative_tolerance: Annotated[int, Entry("1", "allowed difference over the recent acceleration")]
    offset_limit: Annotated[int, Entry("m/s2", "maximum offset of a sensor")]
    offset_gain: Annotated[int, Entry("1", "of the mean that is the offset, per period")]
    decay: Annotated[int, Entry("1", "of the recent acceleration, per period")]
    jump: Annotated[int, Entry("m/s2", "change within a period beyond which a sensor jumps")]


class CountRow(NamedTuple):
    """Whole numbers of the estimator, in periods where nothing else is said."""

    sensors: Annotated[int, Entry("1", "number of accelerometers")]
    bridged: Annotated[int, Entry("1", "longest gap that is bridged")]
    stuck: Annotated[int, Entry("1", "equal readings of a stuck sensor, 0 for never")]
    settling: Annotated[int, Entry("1", "until the start is forgotten")]
    acquisition: Annotated[int, Entry("1", "in which a sensor may differ by its maximum offset")]
    averaged: Annotated[int, Entry("1", "of the first mean of an offset")]
    confirmation: Annotated[int, Entry("1", "for which a sensor must differ alone")]


class SensorRow(NamedTuple):
    """Constants of an accelerometer, in P."""

    position: Annotated[int, Entry("m", "from C", 3)]
    direction: Annotated[int, Entry("1", "unit vector", 3)]
    scale: Annotated[int, Entry("1", "of its calibration")]
    offset: Annotated[int, Entry("m/s2", "of its calibration")]
    threshold: Annotated[int, Entry("m/s2", "allowed difference from the lengths")]
    sensitivity: Annotated[int, Entry("1, m", "row of H", 6)]


class MotionRow(NamedTuple):
    """State of the estimate; axes B, Euler angles, where nothing else is said."""

    pose: Annotated[int, Entry("m, rad", "filtered", 6)]
    rate: Annotated[int, Entry("m/s, rad/s", "of the pose", 6)]
    acceleration: Annotated[int, Entry("m/s2, rad/s2", "of the pose, without gravity", 6)]
    angular_velocity: Annotated[int, Entry("rad/s", "of the table", 3)]
    angular_acceleration: Annotated[int, Entry("rad/s2", "of the table", 3)]
    tracked: Annotated[int, Entry("m, rad", "pose of the tracking filter on the lengths", 6)]
    tracked_rate: Annotated[int, Entry("m/s, rad/s", "its rate", 6)]
    tracked_acceleration: Annotated[int, Entry("m/s2, rad/s2", "its acceleration", 6)]
    body: Annotated[int, Entry("m/s2, rad/s2", "acceleration of C and angular acceleration in P", 6)]
    tracked_body: Annotated[int, Entry("m/s2, rad/s2", "the same of the tracking filter", 6)]
    missed: Annotated[int, Entry("m, rad", "measured less predicted pose", 6)]
    work: Annotated[int, Entry("1", "scratch", 12)]


class TraceRow(NamedTuple):
    """Rows of the memory of the accelerometers, one number per sensor each."""

    seen: Annotated[int, Entry("m/s2", "reading without gravity, centripetal part and offset")]
    previous: Annotated[int, Entry("m/s2", "of the last cycle")]
    shadow: Annotated[int, Entry("m", "position error of the sensor in the shadow filter")]
    shadow_rate: Annotated[int, Entry("m/s", "rate error in the shadow filter")]
    shadow_acceleration: Annotated[int, Entry("m/s2", "reading as the tracking filter would see it")]
    difference: Annotated[int, Entry("m/s2", "from the lengths, smoothed")]
    offset: Annotated[int, Entry("m/s2", "learned")]
    recent: Annotated[int, Entry("m/s2", "recent maximum of the tracked acceleration")]
    last: Annotated[int, Entry("m/s2", "raw reading")]


class StatusRow(NamedTuple):
    """Whole numbers of the state."""

    failed: Annotated[int, Entry("1", "bits of the sensors that are excluded until a reset")]
    started: int
    settled: Annotated[int, Entry("1", "periods since the start")]
    suspected: Annotated[int, Entry("1", "cycles in which one sensor alone differed")]
    jumper: Annotated[int, Entry("1", "sensor that jumps")]
    jumped: Annotated[int, Entry("1", "cycles in which it has jumped")]
    pending: Annotated[int, Entry("1", "periods since the last pose")]
    excluded: Annotated[int, Entry("1", "bits of the sensors that are reported")]


class SensorStatusRow(NamedTuple):
    """Rows of the whole numbers of the accelerometers, one per sensor each."""

    missing: Annotated[int, Entry("1", "unusable readings in a row")]
    repeated: Annotated[int, Entry("1", "equal readings in a row")]
    age: Annotated[int, Entry("1", "cycles of the learned offset")]
    reason: Annotated[int, Entry("1", "why it is excluded")]


PARAMETER = index_table(ParameterRow)
COUNT = index_table(CountRow)
SENSOR = index_table(SensorRow)
MOTION = index_table(MotionRow)
TRACE = index_table(TraceRow)
STATUS = index_table(StatusRow)
SENSOR_STATUS = index_table(SensorStatusRow)


class MotionModel(NamedTuple):
    """Constants; the last five hold a matrix for each set of sensors, as in ``motion_design``.

    ``parameters``, ``counts`` and ``sensors`` (m, 15) as in ``PARAMETER``, ``COUNT`` and ``SENSOR``; estimate
    K (s, 6, m), unobserved N (s, 6, 6), parity Π (s, m, m), gains (s, 2, 6) on position and rate, ``blends``
    (s,): 1 where N is not 0.
    """

    parameters: FloatArray
    counts: IntArray
    sensors: FloatArray
    estimate: FloatArray
    unobserved: FloatArray
    parity: FloatArray
    gains: FloatArray
    blends: FloatArray


class MotionState(NamedTuple):
    """What is remembered: ``MOTION``, ``TRACE`` (9, m), ``STATUS`` and ``SENSOR_STATUS`` (4, m)."""

    motion: FloatArray
    traces: FloatArray
    status: IntArray
    sensor_status: IntArray
