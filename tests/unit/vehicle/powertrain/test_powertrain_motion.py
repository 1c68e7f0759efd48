"""Clutch, gears, differentials and the twisted shaft in motion: momenta, energies, limits, steps."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mastd.arrays import FloatArray
from mastd.vehicle.powertrain.fields import DRIVE, STATE
from mastd.vehicle.powertrain.model import (
    ChangeMap,
    Clutch,
    Converter,
    Differential,
    Powertrain,
    pack,
    problems,
    reflected_inertia,
)
from mastd.vehicle.powertrain.step import drive_wheels
from mastd.vehicle.solver.generalized_alpha import Formula
from tests.support.vehicle.powertrain_rig import (
    AXLE,
    CONVERTER,
    GEARBOX,
    Rig,
    Rotor,
    car,
    eight_by_eight,
    engine,
)

LOSSY = replace(GEARBOX, efficiency=0.95)


def test_a_clutch_that_closes_keeps_the_momentum_and_loses_what_two_bodies_lose() -> None:
    rig = Rig(car(gearbox=replace(GEARBOX, synchroniser_torque=1e6)), step=1e-4)
    rig.gear, rig.clutch = 2, 1.0
    rig.run(0.01)
    rig.state[STATE.engine_speed] = 300.0
    rig.clutch = 0.0
    energy, slips = 0.0, []
    for _ in range(20000):
        before = rig.engine_speed
        rig.advance()
        energy += 1e-4 * rig.clutch_torque * 0.5 * (rig.engine_speed + before)
        energy -= 1e-4 * rig.input_torque * rig.input_speed
        energy += 1e-4 * 40.0 * (rig.output_speed - rig.wheel_speed) ** 2
        slips.append(rig.clutch_slip)
    ratio = 2.0
    behind = 0.02 + (0.03 + 2.0 * 60.0 / 16.0) / ratio**2
    common = 0.2 * 300.0 / (0.2 + behind)
    assert slips[-1] == 0.0
    assert min(slips) == 0.0
    assert rig.engine_speed == rig.input_speed == pytest.approx(common, rel=1e-4)
    assert energy == pytest.approx(0.5 * 0.2 * behind / (0.2 + behind) * 300.0**2, rel=5e-3)


def test_a_clutch_holds_up_to_its_capacity_without_creep_and_slips_with_it_beyond() -> None:
    rig = Rig(car(engine=engine(torque=250.0))).under_way(0.0, 1)
    rig.throttle = 1.0
    for _ in range(1000):
        rig.advance()
        assert rig.clutch_slip == 0.0
    rig = Rig(car(engine=engine(torque=500.0)), inertias=(3000.0,) * 4).under_way(0.0, 1)
    rig.throttle = 1.0
    rig.run(1.0)
    assert rig.clutch_torque == rig.input_torque == 400.0
    before = rig.engine_speed
    rig.run(0.2)
    assert (rig.engine_speed - before) / 0.2 == pytest.approx((500.0 - 400.0) / 0.2, rel=1e-6)
    rig.clutch = 0.5
    assert rig.run(0.1).clutch_torque == pytest.approx(200.0)


def test_the_synchroniser_takes_its_time_for_a_gear() -> None:
    rig = Rig(car(), free=False).under_way(20.0, 2)
    rig.clutch, rig.gear = 1.0, 3
    rig.run(0.001)
    assert rig.state[STATE.engaged] == 0.0
    time = 0.02 * (2.0 - 1.3) * 80.0 / 40.0
    rig.run(0.9 * time)
    assert rig.state[STATE.engaged] == 0.0
    rig.run(0.2 * time)
    assert rig.state[STATE.engaged] == 1.0
    assert rig.input_speed == pytest.approx(1.3 * rig.output_speed, rel=1e-12)


def unequal(**lock: Any) -> Rig:
    """Return a driven axle whose wheels turn at 20 and 24 rad/s."""
    rig = Rig(car(driveline=replace(AXLE, **lock)), free=False).under_way([0.0, 0.0, 20.0, 24.0], 2)
    rig.throttle = 1.0
    return rig.run(3.0)


def test_an_open_differential_gives_equal_torques_at_unequal_speeds() -> None:
    rig = unequal()
    assert rig.torques[2:] == pytest.approx([600.0, 600.0], rel=1e-6)
    assert rig.engine_speed == pytest.approx(2.0 * 4.0 * 22.0, rel=1e-6)


def test_limited_slip_gives_the_slower_wheel_more_by_preload_and_share() -> None:
    rig = unequal(preload=50.0, torque_share=0.2)
    moved = 50.0 + 0.2 * 1200.0
    assert rig.torques[2:] == pytest.approx([600.0 + moved, 600.0 - moved], rel=1e-6)


@pytest.mark.parametrize(("preload", "together"), [(math.inf, True), (120.0, True), (80.0, False)])
def test_a_lock_holds_wheels_together_as_far_as_it_can(preload: float, together: bool) -> None:
    rig = Rig(car(driveline=replace(AXLE, preload=preload))).under_way([0.0, 0.0, 4.0, 6.0], 1)
    rig.throttle = 0.2
    rig.resistance[2] = 200.0
    rig.run(4.0)
    if together:
        assert rig.spins[2] == pytest.approx(rig.spins[3], rel=1e-9)
        assert rig.torques[2] - rig.torques[3] == pytest.approx(200.0, rel=1e-6)
    else:
        assert rig.torques[2] - rig.torques[3] == pytest.approx(2.0 * preload)
        rate = (200.0 - 2.0 * preload) / 60.0
        before = rig.spins[3] - rig.spins[2]
        rig.run(1.0)
        assert rig.spins[3] - rig.spins[2] - before == pytest.approx(rate, rel=1e-3)


def test_a_locked_8x8_turns_all_wheels_alike_under_unequal_loads() -> None:
    rig = Rig(car(driveline=eight_by_eight(math.inf)), inertias=(60.0,) * 8)
    rig.under_way(np.arange(8.0), 1).throttle = 0.5
    rig.resistance[:] = [300.0, 0.0, 0.0, 50.0, 0.0, 0.0, 0.0, 120.0]
    rig.run(4.0)
    assert rig.spins == pytest.approx([rig.spins[0]] * 8, rel=1e-6)
    assert rig.torques - rig.resistance == pytest.approx(
        [(rig.torques - rig.resistance).mean()] * 8, rel=1e-3
    )


def test_the_shaft_swings_at_its_natural_frequency() -> None:
    def frequency(free: bool) -> float:
        rig = Rig(car(damping=0.0), step=2e-5, free=free).under_way(0.0, 1)
        rig.state[STATE.output_speed], rig.state[STATE.input_speed], rig.state[STATE.engine_speed] = (
            1.0,
            3.6,
            3.6,
        )
        twists = []
        for _ in range(20000):
            rig.advance()
            twists.append(rig.twist)
        turning = np.flatnonzero(np.diff(np.sign(np.diff(twists))))
        return float((len(turning) - 1) / (2.0 * 2e-5 * (turning[-1] - turning[0])))

    inertia = 0.03 + 3.6**2 * (0.02 + 0.2)
    assert frequency(False) == pytest.approx(math.sqrt(2000.0 / inertia) / (2.0 * math.pi), rel=3e-3)
    wheels = reflected_inertia(AXLE, (60.0,) * 4)
    assert wheels == pytest.approx(7.5)
    both = 2000.0 * (1.0 / inertia + 1.0 / wheels)
    assert frequency(True) == pytest.approx(math.sqrt(both) / (2.0 * math.pi), rel=3e-3)


MAP = ChangeMap(
    np.array([0.0, 1.0]), np.array([200.0, 450.0]), np.array([80.0, 200.0]), 0.4, throttle_share=0.3, hold=0.5
)
AUTOMATIC = replace(GEARBOX, changes=MAP)


def swept(rig: Rig, spins: FloatArray) -> list[tuple[float, float]]:
    """Return the gears that come with given spins, each with the input speed before it."""
    found = [(rig.state[STATE.gear], 0.0)]
    for spin in spins:
        rig.spins[:] = spin
        speed = rig.state[STATE.ratio] * rig.output_speed
        rig.advance()
        if rig.state[STATE.gear] != found[-1][0]:
            found.append((float(rig.state[STATE.gear]), float(speed)))
    return found


@pytest.mark.parametrize(("throttle", "up", "down"), [(0.0, 200.0, 80.0), (0.5, 325.0, 140.0)])
def test_an_automatic_gearbox_changes_at_its_speeds_with_hysteresis(
    throttle: float, up: float, down: float
) -> None:
    rig = Rig(car(launch=CONVERTER, gearbox=AUTOMATIC), free=False, throttle=throttle, gear=DRIVE)
    rig.run(1.0)
    rising = np.linspace(0.0, 110.0, 30000)
    there = swept(rig, rising)
    assert [gear for gear, _ in there] == [1.0, 2.0, 3.0, 4.0]
    assert [speed for _, speed in there[1:]] == pytest.approx([up] * 3, rel=5e-3)
    back = swept(rig, rising[::-1])
    assert [gear for gear, _ in back] == [4.0, 3.0, 2.0, 1.0]
    assert [speed for _, speed in back[1:]] == pytest.approx([down] * 3, rel=0.02)


def test_a_change_under_load_is_smooth_takes_its_time_and_takes_back_the_throttle() -> None:
    rig = Rig(car(launch=CONVERTER, gearbox=AUTOMATIC), free=False, throttle=0.5, gear=DRIVE)
    rig.run(1.0).spins[:] = 18.0
    rig.run(3.0).spins[:] = 23.0
    ratios = [(rig.run(0.001).state[STATE.ratio], rig.state[STATE.throttle]) for _ in range(700)]
    steps = np.diff([ratio for ratio, _ in ratios])
    assert ratios[0][0] == 3.6
    assert ratios[-1][0] == 2.0
    assert abs(steps).max() == pytest.approx((3.6 - 2.0) * 0.001 / 0.4, rel=1e-9)
    assert min(throttle for _, throttle in ratios) == pytest.approx(0.15)
    assert ratios[-1][1] == pytest.approx(0.5)


def test_a_gear_chosen_by_the_lever_is_kept_by_an_automatic_gearbox() -> None:
    strong = replace(AUTOMATIC, synchroniser_torque=1000.0)
    rig = Rig(car(launch=CONVERTER, gearbox=strong), free=False, gear=2.0)
    assert [gear for gear, _ in swept(rig, np.linspace(0.0, 110.0, 10000))] == [0.0, 2.0]
    rig.gear = DRIVE
    rig.run(3.0)
    assert rig.state[STATE.gear] == 4.0
    rig.gear = -1.0
    rig.spins[:] = 0.0
    rig.run(2.0)
    assert (rig.state[STATE.ratio], rig.state[STATE.engaged]) == (-3.2, 1.0)


def launched(step: float) -> Rig:
    """Return a car after a start with the clutch and a change into the second gear."""
    table = engine(drag=-20.0, idle_speed=80.0, limit_speed=600.0)
    rig = Rig(car(engine=table, gearbox=LOSSY), step=step, throttle=0.3, clutch=1.0, gear=1)
    rig.run(0.5).clutch = 0.45
    rig.run(1.0).clutch = 0.0
    rig.run(1.5)
    rig.throttle, rig.clutch, rig.gear = 0.0, 1.0, 2
    rig.run(0.3)
    rig.throttle, rig.clutch = 0.5, 0.0
    return rig.run(1.0)


def test_a_step_of_a_millisecond_is_as_good_as_a_tenth_of_it() -> None:
    fine, coarse, middle = launched(1e-4), launched(1e-3), launched(5e-4)
    assert fine.spins[2] > 10.0
    assert coarse.spins == pytest.approx(fine.spins, rel=3e-3)
    assert abs(middle.spins - fine.spins).max() < 0.7 * abs(coarse.spins - fine.spins).max()


def balanced(rig: Rig, seconds: float) -> tuple[float, float]:
    """Return the engine's work and what became of it: stored, lost, given to the wheels."""
    p, work, rest = rig.powertrain, 0.0, -rig.stored()
    for _ in range(round(seconds / rig.step)):
        spins = rig.advance()
        s, h = rig.state, rig.step
        wheel_power = float(rig.torques @ spins)
        work += h * s[STATE.engine_torque] * s[STATE.engine_speed]
        rest += h * (
            s[STATE.clutch_torque] * s[STATE.engine_speed] - s[STATE.input_torque] * s[STATE.input_speed]
        )
        rest += h * s[STATE.mesh_torque] * (s[STATE.input_speed] - s[STATE.ratio] * s[STATE.output_speed])
        rest += h * p.damping * (s[STATE.output_speed] - s[STATE.wheel_speed]) ** 2
        shaft_power = s[STATE.shaft_torque] * s[STATE.wheel_speed]
        gears = (1.0 - p.gearbox.efficiency) * abs(shaft_power)
        axle = (1.0 - p.driveline.efficiency) * (abs(shaft_power) - gears)
        rest += h * (gears + axle + wheel_power)
    return work, rest + rig.stored()


@pytest.mark.parametrize("launch", [Clutch(400.0, closing_speeds=(90.0, 180.0)), CONVERTER])
def test_the_engines_work_is_stored_lost_or_given_to_the_wheels(launch: Clutch | Converter) -> None:
    gearbox = replace(AUTOMATIC, efficiency=0.95)
    whole = car(
        engine=engine(drag=-20.0, idle_speed=80.0, limit_speed=600.0),
        launch=launch,
        gearbox=gearbox,
        driveline=replace(AXLE, efficiency=0.97),
    )
    misses = []
    for step in (1e-3, 1e-4):
        rig = Rig(whole, step=step, throttle=1.0, gear=DRIVE)
        work, rest = balanced(rig, 5.0)
        assert rig.state[STATE.gear] >= 2.0
        misses.append(abs(work - rest) / work)
    assert misses[0] < 0.01
    assert misses[1] < 0.25 * misses[0]


SPEEDS = st.floats(-40.0, 40.0)
PEDALS = st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from([-1.0, 0.0, 1.0, 2.0, 4.0]))


@given(
    spins=st.lists(st.tuples(SPEEDS, SPEEDS), min_size=1, max_size=6),
    pedals=st.lists(PEDALS, min_size=6, max_size=6),
    efficiency=st.sampled_from([1.0, 0.9]),
    speed=st.floats(0.0, 600.0),
)
def test_without_throttle_nothing_is_a_source_of_energy(
    spins: list[tuple[float, float]],
    pedals: list[tuple[float, float]],
    efficiency: float,
    speed: float,
) -> None:
    gearbox = replace(GEARBOX, efficiency=efficiency)
    driveline = replace(AXLE, efficiency=efficiency)
    passive = car(engine=engine(drag=-25.0), gearbox=gearbox, driveline=driveline)
    rig = Rig(passive, free=False)
    rig.state[STATE.engine_speed] = speed
    for pair, (clutch, gear) in zip(spins, pedals, strict=False):
        rig.spins[2:], rig.clutch, rig.gear = pair, clutch, gear
        for _ in range(60):
            before = rig.stored()
            rig.advance()
            gained = rig.stored() - before
            received = -rig.step * float(rig.torques @ rig.spins)
            assert gained <= received + 1e-9 * (1.0 + abs(gained) + abs(received))
            assert np.isfinite(rig.state).all()


@given(spin=st.floats(10.0, 90.0), gear=st.integers(1, 4), launch=st.sampled_from([Clutch(400.0), CONVERTER]))
def test_wheels_are_braked_in_overrun(spin: float, gear: int, launch: Clutch | Converter) -> None:
    rig = Rig(car(engine=engine(drag=-25.0), launch=launch, gearbox=LOSSY), free=False)
    rig.under_way(spin, gear).run(1.0)
    for _ in range(200):
        rig.advance()
        assert rig.torques @ rig.spins <= 0.0


@pytest.mark.parametrize("damping", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("inertia", [1e-2, 1.0, 1e3])
def test_the_stiffest_shaft_that_is_allowed_is_stable_with_the_vehicles_formula(
    damping: float, share: float, inertia: float
) -> None:
    step = 1e-3
    wheels = reflected_inertia(AXLE, (1.0,) * 4)
    shaft = car(
        stiffness=(1.0 - share) * wheels / step**2,
        damping=share * 0.5 * wheels / step,
        gearbox=replace(GEARBOX, input_inertia=1e-9, output_inertia=inertia),
        engine=engine(inertia=1e-9),
    )
    assert problems(shaft, (1.0,) * 4, 0.999 * step) == []
    (line,) = problems(shaft, (1.0,) * 4, 1.01 * step)
    assert "take a step up to 1 ms" in line
    assert swings(shaft, step, damping) < 2.0


def swings(shaft: Powertrain, step: float, damping: float) -> float:
    """Return the largest spin late in the motion of wheels that were pushed at 1 rad/s, ρ = ``damping``."""
    formula = Formula.of(step, damping)
    constants, state = pack(shaft, [Rotor(1.0)] * 4)
    driver = np.array([0.0, 0.0, 0.0, 1.0])
    spins, torques = np.zeros((2, 4))
    spins[2:] = 1.0
    acceleration, mean = np.zeros((2, 4))
    seen = []
    for _ in range(4000):
        following = (acceleration - formula.alpha_m * mean) / (1.0 - formula.alpha_m)
        spins += step * ((1.0 - formula.gamma) * mean + formula.gamma * following)
        drive_wheels(constants, state, driver, spins, step, torques)
        change = torques - acceleration
        acceleration, mean = torques.copy(), following + formula.mean * change
        spins += formula.velocity * change
        seen.append(abs(spins).max())
    return float(max(seen[-500:]))


def test_differentials_of_a_tree_are_found_by_the_wheels_numbers() -> None:
    crossed = Differential("axle", 3, 0, ratio=2.0, torque_split=0.3)
    rig = Rig(car(driveline=crossed), free=False).under_way([1.0, 5.0, 5.0, 2.0], 1)
    rig.throttle = 1.0
    rig.run(3.0)
    torque = 150.0 * 3.6 * 2.0
    assert rig.torques == pytest.approx([0.7 * torque, 0.0, 0.0, 0.3 * torque], rel=1e-6)
    assert rig.state[STATE.wheel_speed] == pytest.approx(2.0 * (0.3 * 2.0 + 0.7 * 1.0))
