"""Bump and rebound stops: F = stiffness · x · (1 + (x / doubling)²) at a compression x > 0 of the stop."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

from mastd.arrays import FloatArray, aligned_zeros
from mastd.kernel import fused_kernel
from mastd.lanes import LANES
from mastd.settings.vehicle.forces import StopSettings
from mastd.vehicle.elements.spring_damper.law import Law

BUMP, REBOUND = -1.0, 1.0
"""Direction in which the spring-damper's length changes until the stop is touched."""


@dataclass(frozen=True)
class Stop(Law):
    """A bump or rebound stop."""

    contact_length: float
    """Length of the spring-damper at which the stop is touched, m."""
    stiffness: float
    doubling: float
    """Compression at which the force is twice the linear one; inf: linear."""

    def moved(self, longer: float) -> Self:
        """Return the stop of a spring-damper that is longer in the design position."""
        return replace(self, contact_length=self.contact_length + longer)


def stop_of(settings: StopSettings, length: float, direction: float) -> Stop:
    """Return the stop of a spring-damper with this design length, ``BUMP`` or ``REBOUND``."""
    return Stop(length + direction * settings.gap, settings.stiffness, settings.doubling or math.inf)


def pack_stops(
    stops: Sequence[Stop | None], item_lanes: Mapping[int, tuple[int, int]], items: int
) -> FloatArray:
    """Return (springs, 3, LANES): length at contact, stiffness, 1 / doubling; stiffness 0: none."""
    values = aligned_zeros((items, 3, LANES))
    for index, stop in enumerate(stops):
        if stop is not None:
            item, lane = item_lanes[index]
            values[item, :, lane] = stop.contact_length, stop.stiffness, 1.0 / stop.doubling
    return values


@fused_kernel
def stop_force(stiffness: float, inverse_doubling: float, compression: float) -> tuple[float, float]:
    """Return force and slope of a stop, zero where it is not touched."""
    if not (compression > 0.0):
        return 0.0, 0.0
    ratio = compression * inverse_doubling
    force = stiffness * compression * (1.0 + ratio * ratio)
    return force, stiffness * (1.0 + 3.0 * ratio * ratio)


@fused_kernel
def bump_force(stops: FloatArray, item: int, lane: int, length: float) -> tuple[float, float]:
    """Return the force of a bump stop, compression positive, and its slope by length."""
    force, slope = stop_force(stops[item, 1, lane], stops[item, 2, lane], stops[item, 0, lane] - length)
    return force, -slope


@fused_kernel
def rebound_force(stops: FloatArray, item: int, lane: int, length: float) -> tuple[float, float]:
    """Return the force of a rebound stop, compression positive, and its slope by length."""
    force, slope = stop_force(stops[item, 1, lane], stops[item, 2, lane], length - stops[item, 0, lane])
    return -force, -slope
