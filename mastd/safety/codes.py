"""Fault codes and actions; the table itself is ``mastd.safety.rows``."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Action(enum.IntEnum):
    """Actions of a fault, by rising severity."""

    INDICATE = 0
    HOLD = 1
    STOP = 2
    POWER_OFF = 3

    @property
    def title(self) -> str:
        """Name for people."""
        return self.name.lower().replace("_", " ")


class Code(enum.IntEnum):
    """Number of a fault, as records and status blocks hold it; 0 is none.

    Records keep the numbers for ever: a new fault takes the next free one. All stay below 63, so that a set
    of faults is an integer of 64 bits.
    """

    NONE = 0
    PLANT_LOST = 1
    SAMPLE_STALE = 2
    SAMPLE_MISSING = 3
    SAMPLE_NOT_FINITE = 4
    SAMPLE_INVALID = 5
    PLANT_REFUSES = 6
    STROKE = 7
    VELOCITY = 8
    FORCE = 9
    FOLLOWING_ERROR = 10
    FORWARD_KINEMATICS = 11
    SUPPLY_PRESSURE = 12
    SUPPLY_FAULT = 13
    SUPPLY_TIMEOUT = 14
    DRIVE_TIMED_OUT = 15
    OVERRUN = 16
    STALL = 17
    COMMAND_NOT_FINITE = 18
    ESTOP = 19
    RECORDER_LOST = 20
    REDUNDANCY = 21
    LENGTH_STUCK = 22
    LENGTH_JUMP = 23
    LENGTH_DRIFT = 24
    LENGTH_RANGE = 25
    PRESSURE_RANGE = 26
    ACCELERATION = 27
    JERK = 28
    INTERNAL_FORCE = 29
    CONDITIONING = 30
    SUPPLY_FLOW = 31
    OIL_TEMPERATURE = 32
    OIL_LEVEL = 33
    FILTER_PRESSURE_DROP = 34
    LOOP_STUCK = 35
    LOOP_EXCEPTION = 36
    GATEWAY_LOST = 37
    LATE_CYCLES = 38
    CLOCK = 39
    PATH_BLOCKED = 40
    ACCELEROMETER = 41
    PROFILE_LIMIT = 42
    SENSOR_FROZEN = 43
    SPOOL_LOST = 44
    VEHICLE_FAILED = 45
    VEHICLE_LOST = 46
    DRIVER_LOST = 47
    PAYLOAD_MISMATCH = 48
    BALANCE_SATURATED = 49
    CONTROL_SATURATED = 50
    RIG_LOST = 51
    LINE_DELAY = 52
    FEEDBACK_OFF = 53
    UNASKED_MOTION = 54
    COMMAND_MISSING = 55


CODES = max(int(code) for code in Code) + 1
"""Length of an array indexed by code."""


def bits(*codes: Code) -> int:
    """Return the mask of ``codes``: bit k stands for code k."""
    return sum(1 << int(code) for code in codes)


@dataclass(frozen=True)
class Row:
    """One fault: what is watched, how long it may last, what happens, and what the technician does."""

    code: Code
    title: str
    detector: str
    action: Action
    clear: str
    hint: str
    threshold: str = ""
    """Path of the setting that holds the threshold, empty where there is none."""
    delay: str = ""
    """Path of the setting that holds the time the condition may last, empty for none."""
    also: tuple[str, ...] = ()
    """Paths of further settings that the detector reads."""
