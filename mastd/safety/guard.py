"""The guard: limits, delays and memory of the compiled detectors, and their findings in words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from mastd.arrays import FloatArray, IntArray
from mastd.index_table import size_of
from mastd.safety.codes import CODES, Code, bits
from mastd.safety.inspection import LIMIT, LIMITS, MEMORY, READING, GuardModel, GuardState
from mastd.settings.daemon.daemon import GuardSettings
from mastd.settings.table.actuators import force_readings
from mastd.settings.table.internal_forces import force_patterns
from mastd.settings.table.table import TableSettings

OIL = bits(Code.OIL_TEMPERATURE, Code.OIL_LEVEL, Code.FILTER_PRESSURE_DROP)
"""Watched while the supply is on, but not on the way down, which such a fault only hastens."""
POSE = bits(
    Code.FORWARD_KINEMATICS,
    Code.REDUNDANCY,
    Code.LENGTH_DRIFT,
    Code.CONDITIONING,
    Code.SENSOR_FROZEN,
    Code.SPOOL_LOST,
)
RESTING = POSE | OIL
"""Watched while the drive holds the table on its lower stops."""
LOWERING = POSE | bits(
    Code.VELOCITY,
    Code.FORCE,
    Code.FOLLOWING_ERROR,
    Code.LENGTH_STUCK,
    Code.ACCELERATION,
    Code.INTERNAL_FORCE,
    Code.SUPPLY_FLOW,
    Code.UNASKED_MOTION,
)
"""Watched on the way down: a supply that fails only hastens what is under way."""
STOPPING = LOWERING | OIL | bits(Code.SUPPLY_PRESSURE)
"""Watched while a stop is under way: a hard one, from the measured pose, may need more jerk."""
MOTION = STOPPING | bits(Code.JERK)
"""Watched while the drive follows the daemon's set-points away from the end stops."""
RAISED = MOTION | bits(Code.STROKE)
"""Watched while the table is up."""


SUPPLY_SCALARS = {
    Code.SUPPLY_PRESSURE: ("supply_pressure", "minimum_pressure", ""),
    Code.SUPPLY_FLOW: ("supply_flow", "", "maximum_flow"),
    Code.OIL_TEMPERATURE: ("oil_temperature", "", "maximum_oil_temperature"),
    Code.OIL_LEVEL: ("oil_level", "minimum_oil_level", ""),
    Code.FILTER_PRESSURE_DROP: ("filter_pressure_drop", "", "maximum_filter_pressure_drop"),
}
"""Value of a sample with the least and the largest one of ``SupplyLimitSettings``."""


@dataclass(frozen=True)
class Scalar:
    """A condition that is one number of the frame: good within [lowest, highest]."""

    code: Code
    field: str
    lowest: float
    highest: float
    leaks: bool = False
    """A good sample takes one off the count instead of clearing it."""
    index: int = -1
    """Of the supply, where there are several."""


def scalars(table: TableSettings) -> tuple[Scalar, ...]:
    """Return the conditions that are one number of the frame each."""
    limits = table.limits
    residual, drift = limits.redundancy_residual, limits.redundancy_drift
    return (
        Scalar(Code.REDUNDANCY, "redundancy_residual", -residual, residual),
        Scalar(Code.LENGTH_DRIFT, "redundancy_residual", -drift, drift, leaks=True),
        Scalar(Code.CONDITIONING, "conditioning", 0.0, limits.conditioning),
        *(one for code in SUPPLY_SCALARS for one in _of_supplies(table, code)),
    )


def _of_supplies(table: TableSettings, code: Code) -> Iterator[Scalar]:
    """Yield a condition of the supplies, for each of them."""
    field, lowest, highest = SUPPLY_SCALARS[code]
    several = len(table.packs) > 1
    for index, supply in enumerate(table.packs.values()):
        low = getattr(supply.limits, lowest) if lowest else 0.0 if code is Code.OIL_TEMPERATURE else -math.inf
        high = getattr(supply.limits, highest) if highest else math.inf
        yield Scalar(code, f"sample.{field}", low, high, index=index if several else -1)


def _limits(table: TableSettings, guard: GuardSettings) -> FloatArray:
    limits, sensors = table.limits, table.sensors
    values = np.zeros(LIMITS)
    values[LIMIT.stroke_margin] = limits.stroke_margin
    values[LIMIT.velocity] = max(table.velocities)
    values[LIMIT.following_minimum] = limits.following_error.minimum
    values[LIMIT.following_at_velocity] = limits.following_error.at_maximum_velocity
    values[LIMIT.jerk] = limits.jerk
    values[LIMIT.stuck_band] = guard.stuck_band
    values[LIMIT.stuck_travel] = guard.stuck_travel
    values[LIMIT.overrange] = sensors.length.overrange
    values[LIMIT.jump_margin] = guard.jump_margin
    return values


def _delays(guard: GuardSettings) -> dict[Code, float]:
    return {
        Code.STROKE: guard.limit_delay,
        Code.VELOCITY: guard.limit_delay,
        Code.FORCE: guard.limit_delay,
        Code.FOLLOWING_ERROR: guard.following_delay,
        Code.FORWARD_KINEMATICS: guard.sample_delay,
        Code.REDUNDANCY: guard.limit_delay,
        Code.LENGTH_STUCK: guard.limit_delay,
        Code.LENGTH_DRIFT: guard.drift_delay,
        Code.ACCELERATION: guard.limit_delay,
        Code.INTERNAL_FORCE: guard.limit_delay,
        Code.CONDITIONING: guard.limit_delay,
        Code.SUPPLY_PRESSURE: guard.supply_delay,
        Code.SUPPLY_FLOW: guard.supply_delay,
        Code.OIL_TEMPERATURE: guard.supply_delay,
        Code.OIL_LEVEL: guard.supply_delay,
        Code.FILTER_PRESSURE_DROP: guard.supply_delay,
        Code.SENSOR_FROZEN: guard.frozen_delay,
        Code.SPOOL_LOST: guard.sample_delay,
    }


class Guard:
    """Arrays for ``mastd.safety.inspection``, built once from the settings.

    ``columns`` gives the first column of each field of the frame; ``speed_ratios`` (d,): how fast each
    displacement transducer can move over the velocity of the actuators.
    """

    def __init__(
        self,
        table: TableSettings,
        guard: GuardSettings,
        period: float,
        columns: Mapping[str, int],
        speed_ratios: FloatArray,
    ) -> None:
        checks, n, readings = scalars(table), len(table.links), force_readings(table)
        beside = table.sensors.displacement
        self._patterns = force_patterns(table)
        self._actuators = [link.name for link in table.links]
        self._supplies = list(table.packs)
        delays: IntArray = np.zeros(CODES, dtype=np.int64)
        for code, delay in _delays(guard).items():
            delays[code] = round(delay / period)
        self.model = GuardModel(
            neutral_lengths=np.array(
                [*(one.neutral_length for one in table.links), *(one.neutral_length for one in beside)]
            ),
            strokes=np.array([*(one.stroke for one in table.links), *(one.range for one in beside)]),
            reaches=max(table.velocities) * np.append(np.ones(n), speed_ratios),
            velocities=np.array(table.velocities),
            forces=table.limits.force_share * np.array([type_.body.maximum_force for type_ in table.types]),
            accelerations=np.full(n, table.limits.acceleration),
            patterns=np.array([pattern.limit for pattern in self._patterns]),
            limits=_limits(table, guard),
            ranges=np.array([one.range for one in readings]).reshape(-1, 2),
            scalars=np.array(
                [[columns[one.field] + max(one.index, 0), one.code, one.leaks, one.index] for one in checks]
            ),
            bounds=np.array([[one.lowest, one.highest] for one in checks]),
            delays=delays,
        )
        self.state = GuardState(
            memory=np.zeros((size_of(MEMORY), n)),
            readings=np.zeros((size_of(READING), len(readings) + n)),
            counts=np.zeros(CODES, dtype=np.int64),
            detail=np.zeros((CODES, 3)),
        )

    @property
    def following_peak(self) -> FloatArray:
        """Maximum following error of each actuator (n,) in m while it was watched, since the last reset."""
        peaks: FloatArray = self.state.memory[MEMORY.following_peak]
        return peaks

    def reset_following_peak(self) -> None:
        """Reset the peaks."""
        self.following_peak[:] = 0.0

    def describe(self, code: Code) -> str:
        """Return what was measured against which limit, for the fault's cause."""
        detail_format = _DETAILS.get(code)
        index, value, limit = self.state.detail[code]
        if code is Code.INTERNAL_FORCE:
            return self._describe_pattern(int(index), value, limit)
        if detail_format is None:
            return ""
        if code in SUPPLY_SCALARS:
            name = f"supply {self._supplies[int(index)]}: " if index >= 0 else ""
            return name + detail_format.text(-1, value, limit)
        return detail_format.text(int(index), value, limit)

    def _describe_pattern(self, index: int, value: float, limit: float) -> str:
        pattern = self._patterns[index]
        largest = max(pattern.actuators, key=lambda i: abs(pattern.vector[i]))
        own = value * float(pattern.vector[largest])
        return (
            f"{pattern.name}: {value * 1e-3:+.1f} kN, limit ±{limit * 1e-3:.1f} kN, of it "
            f"{own * 1e-3:+.1f} kN in {self._actuators[largest]}"
        )


@dataclass(frozen=True)
class _DetailFormat:
    """How a condition is reported: value and limit in a unit that people use."""

    pattern: str
    unit: str
    factor: float = 1.0
    offset: float = 0.0

    def text(self, index: int, value: float, limit: float) -> str:
        actuator = f"actuator {index + 1} " if index >= 0 else ""
        value, limit = ((number - self.offset) * self.factor for number in (value, limit))
        return actuator + self.pattern.format(value, abs(limit), unit=self.unit)


_SYMMETRIC = "at {:+.2f} {unit}, limit ±{:.2f} {unit}"
_MAXIMUM = "{:.1f} {unit}, maximum {:.1f} {unit}"
_MINIMUM = "{:.1f} {unit}, minimum {:.1f} {unit}"
_DETAILS: dict[Code, _DetailFormat] = {
    Code.STROKE: _DetailFormat(_SYMMETRIC, "mm", 1e3),
    Code.VELOCITY: _DetailFormat(_SYMMETRIC, "mm/s", 1e3),
    Code.FORCE: _DetailFormat(_SYMMETRIC, "kN", 1e-3),
    Code.FOLLOWING_ERROR: _DetailFormat("{:+.2f} {unit}, limit ±{:.2f} {unit}", "mm", 1e3),
    Code.REDUNDANCY: _DetailFormat("residual {:+.3f} {unit}, limit ±{:.3f} {unit}", "mm", 1e3),
    Code.LENGTH_DRIFT: _DetailFormat("residual {:+.3f} {unit}, limit ±{:.3f} {unit}", "mm", 1e3),
    Code.LENGTH_STUCK: _DetailFormat(
        "did not move while {:.2f} {unit} were commanded, limit {:.2f} {unit}", "mm", 1e3
    ),
    Code.ACCELERATION: _DetailFormat(_SYMMETRIC, "m/s2"),
    Code.JERK: _DetailFormat("commanded {:+.0f} {unit}, limit ±{:.0f} {unit}", "m/s3"),
    Code.CONDITIONING: _DetailFormat("condition number {:.2f}{unit}, limit {:.2f}{unit}", ""),
    Code.SUPPLY_PRESSURE: _DetailFormat(_MINIMUM, "bar", 1e-5),
    Code.SUPPLY_FLOW: _DetailFormat(_MAXIMUM, "L/min", 6e4),
    Code.OIL_TEMPERATURE: _DetailFormat(_MAXIMUM, "degC", 1.0, 273.15),
    Code.OIL_LEVEL: _DetailFormat(_MINIMUM, "%", 1e2),
    Code.FILTER_PRESSURE_DROP: _DetailFormat(_MAXIMUM, "bar", 1e-5),
}
