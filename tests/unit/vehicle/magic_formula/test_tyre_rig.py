"""One Magic Formula tyre that is led over the ground: it relaxes, slides, sticks, lifts and lands."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from mastd.arrays import FloatArray
from mastd.vehicle.magic_formula.formula import peak_friction, relaxation_lengths, rolling_radius, slip_forces
from tests.support.vehicle.magic_cars import Rig

LOAD = 4000.0


@pytest.fixture(scope="module")
def rig() -> Rig:
    return Rig()


def radius(rig: Rig, load: float = LOAD) -> float:
    return float(rolling_radius(rig.tyre.coefficients, load))


STEADY = {
    "small slip angle": (10.0, 0.1, 10.0),
    "small driving slip": (10.0, 0.0, 10.2),
    "large slip angle": (10.0, 2.0, 10.0),
    "braked in a bend": (10.0, 1.0, 8.0),
    "locked": (5.0, 0.0, 0.0),
    "locked and sliding sideways": (5.0, 3.0, 0.0),
    "locked at walking pace": (0.5, 0.0, 0.0),
    "dragged sideways": (0.0, 1.0, 0.0),
    "spinning on the spot": (0.0, 0.0, 6.0),
    "spinning on the spot while it is dragged": (0.0, 0.3, 6.0),
    "backwards": (-5.0, 0.2, -5.0),
    "backwards, locked": (-5.0, 0.0, 0.0),
    "backwards, spinning forwards": (-3.0, 0.0, 3.0),
}


@pytest.mark.parametrize("name", STEADY)
def test_constant_slip_ends_in_the_formulas_own_force(rig: Rig, name: str) -> None:
    """Within six relaxation lengths, at the slips −V_sx / V and V_sy / V, V = max(|V_x|, |V_s| / 1.5)."""
    forward, sideways, rolling = STEADY[name]
    c, slip = rig.tyre.coefficients, forward - rolling
    speed = max(abs(forward), float(np.hypot(slip, sideways)) / 1.5)
    length = max(relaxation_lengths(c, LOAD, 0.0))
    rig.put(LOAD)
    spin = rolling / radius(rig)
    forces = rig.drive(np.array([forward, sideways, 0.0]), spin, round(6.0 * length / speed / rig.step))
    offsets = rolling**2 / (rolling**2 + 0.25)
    due = slip_forces(c, LOAD, -slip / speed, sideways / speed, 0.0, rolling, 1.0, offsets)
    assert float(np.hypot(due[0], due[1])) > 500.0
    assert forces[-1, :2] == pytest.approx(np.array(due[:2]), abs=0.004 * LOAD)
    assert forces[-1, 2] == pytest.approx(LOAD)


@pytest.mark.parametrize("load", [2000.0, 6000.0])
@pytest.mark.parametrize("axis", [0, 1])
def test_small_slip_is_answered_over_the_relaxation_length(rig: Rig, axis: int, load: float) -> None:
    """F = F_∞ (1 − exp(−s / σ)); σ is the slip's stiffness over the carcass' of the property file."""
    speed, slip, carcass = 2.0, 0.002, (380e3, 130e3)[axis]
    rig.put(load)
    spin = speed / radius(rig, load)
    straight = rig.drive(np.array([speed, 0.0, 0.0]), spin, 2000)[-1]
    if axis == 0:
        found = rig.drive(np.array([speed, 0.0, 0.0]), (1.0 + slip) * spin, 2000)
    else:
        found = rig.drive(np.array([speed, slip * speed, 0.0]), spin, 2000)
    share = (found[:, axis] - straight[axis]) / (found[-1, axis] - straight[axis])
    sigma = abs(found[-1, axis] - straight[axis]) / slip / carcass
    way = speed * rig.step * np.arange(1, 2001)
    assert np.max(np.abs(share - (1.0 - np.exp(-way / sigma)))) < 0.04
    assert way[np.argmax(share > 1.0 - np.exp(-1.0))] == pytest.approx(sigma, rel=0.03)


Motion = Callable[[float], tuple[float, float, float, float]]
"""Velocity (3) and speed of rolling for a time from 0 to 1."""
SWEEPS: dict[str, Motion] = {
    "rolling backwards": lambda t: (2.0 - 4.0 * t, 0.1, 0.0, 2.1 - 4.0 * t),
    "locked, to and fro": lambda t: (0.5 * np.cos(20.0 * t), 0.3 * np.sin(17.0 * t), 0.0, 0.0),
    "spin reversed": lambda t: (0.0, 0.0, 0.0, 1.0 - 2.0 * t),
    "slip angle reversed": lambda t: (3.0, 2.0 - 4.0 * t, 0.0, 3.0),
    "braked to rest": lambda t: (max(0.0, 2.0 - 4.0 * t), 0.05, 0.0, max(0.0, 1.8 - 3.6 * t)),
    "bouncing": lambda t: (3.0, 0.3, 0.25 * np.cos(6.0 * np.pi * t), 2.9),
    "bouncing, locked": lambda t: (0.3, 0.1, 0.25 * np.cos(6.0 * np.pi * t), 0.0),
}


def sweep(motion: Motion, count: int) -> tuple[FloatArray, FloatArray]:
    """Return forces (count, 3) and speeds (count, 2) over the ground of 2 s of a motion, in so many steps."""
    rig = Rig(step=2.0 / count)
    rig.put(LOAD)
    place, forces, slips = np.array([0.0, 0.0, rig.height(LOAD)]), [], []
    for k in range(1, count + 1):
        *velocity, rolling = motion(k / count)
        place = place + rig.step * np.array(velocity)
        forces.append(rig.lead(place, rolling / radius(rig)))
        slips.append([velocity[0] - rolling, velocity[1]])
    return np.array(forces), np.array(slips)


@pytest.mark.parametrize("name", SWEEPS)
def test_forces_have_no_jumps(name: str) -> None:
    """Through standstill, reversal, lift-off and landing: four times the steps, a quarter of the change."""
    motion = SWEEPS[name]
    coarse, fine = (sweep(motion, count)[0] for count in (500, 2000))
    changes = [np.max(np.abs(np.diff(forces, axis=0)), axis=0) for forces in (coarse, fine)]
    for axis in range(3):
        assert changes[1][axis] < 0.5 * changes[0][axis] + 1e-6
    assert np.max(changes[1]) < 800.0
    if name.startswith("bouncing"):
        assert np.min(fine[:, 2]) == 0.0
        assert np.count_nonzero(np.diff(np.sign(fine[:, 2]))) >= 5
        assert np.all(fine[fine[:, 2] == 0.0] == 0.0)


def test_a_wheel_that_lifts_and_lands_is_never_pulled_the_way_it_slides() -> None:
    forces, slips = sweep(SWEEPS["bouncing"], 2000)
    assert np.max(-forces[:, 1] * np.sign(slips[:, 1])) > 4000.0
    assert np.all(forces[:, 1] * slips[:, 1] <= 1e-9)


def round_trip(rig: Rig, way: float) -> tuple[FloatArray, FloatArray]:
    """Return force before and after a standing wheel was led in the plane, pressed and relieved, and back."""
    rig.put(LOAD)
    start = np.array([0.0, 0.0, rig.height(LOAD)])
    there = start + np.array([0.3 * way, -0.2 * way, 0.0])
    for share in np.linspace(0.0, 1.0, 200):
        rig.lead(start + share * (there - start))
    for _ in range(100):
        before = rig.lead(there)
    for phase in np.linspace(0.0, 2.0 * np.pi, 1500):
        loop = np.array([way * np.sin(phase), way * np.sin(2.0 * phase), 0.0])
        rig.lead(there + loop + np.array([0.0, 0.0, 4e-3 * np.sin(3.0 * phase)]))
    for _ in range(100):
        after = rig.lead(there)
    return before, after


def test_a_standing_tyre_holds_by_where_it_stands(rig: Rig) -> None:
    """As long as nothing slides, its force is the same after any way round, shaken at whatever load."""
    before, after = round_trip(rig, 1.5e-3)
    assert np.hypot(before[0], before[1]) > 150.0
    assert after == pytest.approx(before, rel=1e-9)


def test_a_standing_tyre_that_was_dragged_has_forgotten_where_it_stood(rig: Rig) -> None:
    before, after = round_trip(rig, 0.05)
    assert np.hypot(*(after - before)[:2]) > 500.0
    friction = max(peak_friction(rig.tyre.coefficients, LOAD, 0.0))
    assert np.hypot(after[0], after[1]) <= 1.05 * friction * LOAD


def test_a_tyre_that_slid_springs_back_by_a_centimetre(rig: Rig) -> None:
    """Not by its relaxation length: the carcass yields no more where the force does not grow."""
    rig.put(LOAD)
    rig.drive(np.array([5.0, 0.0, 0.0]), 0.0, 400)
    assert 0.005 < np.hypot(*rig.deflection) < 0.02


def test_the_carcass_turns_with_the_wheel_over_the_ground(rig: Rig) -> None:
    """Turned on the spot, a deflection keeps its place on the ground: what was along is across."""
    rig.put(LOAD)
    for share in np.linspace(0.0, 1.0, 100):
        rig.lead(np.array([0.0, 1e-3 * share, rig.height(LOAD)]))
    assert rig.deflection == pytest.approx(np.array([0.0, 1e-3]), abs=1e-12)
    rate = 0.5 * np.pi / 2.0
    for _ in range(round(2.0 / rig.step)):
        rig.lead(np.array([0.0, 1e-3, rig.height(LOAD)]), yaw_rate=rate)
    # Rim 1 mm to the left of the contact, then turned to the left: 1 mm behind it is the contact's way.
    assert rig.deflection == pytest.approx(np.array([-1e-3, 0.0]), abs=5e-6)
