"""Wheels that lift off a table in a burst of heave, and land."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from mastd.arrays import FloatArray
from mastd.vehicle.equilibrium.settle import weight
from mastd.vehicle.model.library import find
from tests.support.vehicle.cosimulation import standing

STEP = 1e-3
REST = 0.2
"""s before the burst."""


@dataclass(frozen=True)
class Burst:
    """z(t) = amplitude · sin²(π u) · sin(2π frequency t) for u = t / duration in 0…1."""

    amplitude: float
    frequency: float
    cycles: int
    seconds: float
    """s that are looked at."""

    def height(self, time: float) -> float:
        """Return z, m."""
        share = (time - REST) * self.frequency / self.cycles
        if not 0.0 < share < 1.0:
            return 0.0
        sine = np.sin(2.0 * np.pi * self.frequency * (time - REST))
        return float(self.amplitude * np.sin(np.pi * share) ** 2 * sine)


SLOW = Burst(48e-3, 1.6, 6, 4.5)
"""Near the car's own frequency, within what the table can do: 0.5 m/s², 0.5 g, ±50 mm."""
FAST = Burst(40e-3, 10.0, 3, 0.8)
"""A table that goes down with sixteen g."""


@dataclass(frozen=True, eq=False)
class Ride:
    loads: FloatArray
    """(n, wheels) N."""
    forces: FloatArray
    """(n) N on the table, up."""
    missed: int

    @property
    def changes(self) -> FloatArray:
        """How often each wheel has touched down or lifted off."""
        return np.asarray(np.sum(np.diff((self.loads > 0.0).astype(int), axis=0) != 0, axis=0))


def ride(name: str, burst: Burst, step: float) -> Ride:
    vehicle = standing(find(name), step)
    columns, missed = vehicle.layout.wheel(0), 0
    loads, forces = [], []
    for k in range(1, round(burst.seconds / step) + 1):
        vehicle.follow(np.array([0.0, 0.0, burst.height(k * step), 0.0, 0.0, 0.0]), 1)
        missed += vehicle.missed
        loads.append(vehicle.signals[columns].copy())
        forces.append(vehicle.wrench[2])
    return Ride(np.array(loads), np.array(forces), missed)


def judge(name: str, burst: Burst, finer: float, peaks: float) -> None:
    found, reference = ride(name, burst, STEP), ride(name, burst, finer)
    aloft = found.loads <= 0.0
    print(
        f"{name}: aloft {1e3 * STEP * aloft.sum(axis=0)} ms, {finer / STEP:g} of the step "
        f"{1e3 * finer * (reference.loads <= 0.0).sum(axis=0)} ms, changes {found.changes}, peaks off by "
        f"{100.0 * np.abs(found.loads.max(axis=0) / reference.loads.max(axis=0) - 1.0).max():.2f} %"
    )
    assert found.missed == reference.missed == 0
    assert aloft.any()
    # Neither more nor fewer contacts than in steps a fraction as long.
    assert np.array_equal(found.changes, reference.changes)
    assert np.all(found.loads >= 0.0)
    assert found.loads.max(axis=0) == pytest.approx(reference.loads.max(axis=0), rel=peaks)
    # The force on the table is that of the tyres, none where all are aloft, and never pulls.
    assert found.forces == pytest.approx(-found.loads.sum(axis=1), abs=1e-3 * weight(find(name)))
    assert found.forces.max() < 1e-3 * weight(find(name))


def test_wheels_lift_off_and_land_without_chatter() -> None:
    judge("sedan", FAST, STEP / 5.0, 0.01)


@pytest.mark.evidence
@pytest.mark.parametrize("burst", [SLOW, FAST], ids=["slow", "fast"])
@pytest.mark.parametrize("name", ["sedan", "mcpherson_hatchback", "transporter_8x8"])
def test_every_vehicle_lifts_off_and_lands_without_chatter(name: str, burst: Burst) -> None:
    judge(name, burst, STEP / 10.0, 0.01)
