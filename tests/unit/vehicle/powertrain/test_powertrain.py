"""Engine to wheels: steady torques, accelerations, engine and converter, against closed formulas."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mastd.vehicle.powertrain.fields import DRIVE, STATE
from mastd.vehicle.powertrain.model import Clutch, Converter, Differential, Engine, Gearbox, LockUp, start
from tests.support.vehicle.powertrain_rig import (
    AXLE,
    CONVERTER,
    GEARBOX,
    RPM,
    Rig,
    Rotor,
    car,
    eight_by_eight,
    engine,
)

LOSSY = Gearbox((3.6, 2.0), (-3.2,), 0.95, 0.02, 0.03, 40.0)
FOUR = Differential(
    "centre",
    Differential("front", 0, 1, 3.0, 0.9),
    Differential("rear", 2, 3, 4.0, 0.98),
    ratio=1.5,
    efficiency=0.97,
    torque_split=0.4,
)


@pytest.mark.parametrize(("gear", "ratio"), [(1, 3.6), (2, 2.0), (-1, -3.2)])
def test_torque_at_the_wheels_is_the_engines_times_ratios_efficiencies_and_shares(
    gear: int, ratio: float
) -> None:
    rig = Rig(car(gearbox=LOSSY, driveline=FOUR), free=False).under_way(np.sign(gear) * 10.0, gear)
    rig.throttle = 1.0
    rig.run(3.0)
    at_box = 150.0 * ratio * 0.95 * 1.5 * 0.97
    front, rear = 0.4 * at_box * 3.0 * 0.9 / 2.0, 0.6 * at_box * 4.0 * 0.98 / 2.0
    assert rig.torques == pytest.approx([front, front, rear, rear], rel=1e-6)
    assert rig.engine_speed == pytest.approx(abs(ratio) * 1.5 * (0.4 * 30.0 + 0.6 * 40.0), rel=1e-6)


def test_in_overrun_the_losses_brake_the_wheels() -> None:
    rig = Rig(car(engine=engine(drag=-30.0), gearbox=LOSSY), free=False).under_way(20.0, 2)
    rig.run(3.0)
    assert rig.torques == pytest.approx([0.0, 0.0, -126.0, -126.0], rel=1e-6)


def test_an_8x8_shares_out_by_its_tree() -> None:
    rig = Rig(car(driveline=eight_by_eight(efficiency=0.98)), inertias=(50.0,) * 8, free=False)
    rig.under_way(6.0, 1).throttle = 1.0
    rig.run(3.0)
    assert rig.torques == pytest.approx([150.0 * 3.6 * 1.2 * 2.0 * 3.0 * 0.98**2 / 8.0] * 8, rel=1e-6)


@pytest.mark.parametrize(
    ("gear", "driveline", "inertia"),
    [(1, AXLE, 2 * 60.0 / 4.0**2), (3, AXLE, 7.5), (2, eight_by_eight(), 8 * 60.0 / 7.2**2)],
)
def test_everything_accelerates_with_the_inertia_seen_by_the_engine(
    gear: int, driveline: Differential, inertia: float
) -> None:
    rig = Rig(car(driveline=driveline), inertias=(60.0,) * 8).under_way(0.0, gear)
    rig.throttle = 1.0
    rig.run(2.0)
    before = rig.engine_speed
    rig.run(2.0)
    ratio = GEARBOX.forward[gear - 1]
    total = 0.2 + 0.02 + (0.03 + inertia) / ratio**2
    assert (rig.engine_speed - before) / 2.0 == pytest.approx(150.0 / total, rel=1e-4)


def test_an_electric_machine_drives_from_rest_both_ways_and_recovers() -> None:
    machine = Engine(
        0.05,
        np.array([0.0, 0.2, 1.0]),
        np.array([0.0, 400.0, 1200.0]),
        np.array([[-60.0, -60.0, -20.0], [0.0, 0.0, 0.0], [300.0, 300.0, 100.0]]),
    )
    direct = car(engine=machine, launch=None, gearbox=replace(GEARBOX, forward=(2.5,), reverse=(-2.5,)))
    rig = Rig(direct, free=False).under_way(0.0, 1)
    rig.throttle = 1.0
    rig.run(2.0)
    assert rig.torques[2] == pytest.approx(300.0 * 2.5 * 4.0 / 2.0, rel=1e-6)
    rig.throttle = 0.0
    rig.run(2.0)
    assert rig.torques[2] == pytest.approx(0.0, abs=1e-6)
    rig.under_way(20.0, 1).run(2.0)
    assert rig.torques[2] == pytest.approx(-60.0 * 2.5 * 4.0 / 2.0, rel=1e-6)
    rig.throttle = 0.6
    rig.run(2.0)
    assert rig.torques[2] == pytest.approx(150.0 * 2.5 * 4.0 / 2.0, rel=1e-6)
    rig.under_way(-20.0, -1).run(2.0)
    assert rig.torques[2] == pytest.approx(-150.0 * 2.5 * 4.0 / 2.0, rel=1e-6)


def idling(**changes: Any) -> Engine:
    return engine(drag=-20.0, idle_speed=80.0, limit_speed=600.0, **changes)


def test_the_idle_controller_holds_its_speed_without_and_with_load() -> None:
    rig = Rig(car(engine=idling()), free=False).run(3.0)
    assert rig.engine_speed == pytest.approx(80.0, rel=1e-6)
    assert rig.engine_torque == pytest.approx(0.0, abs=1e-6)
    creeping = Rig(car(engine=idling(), launch=CONVERTER), free=False)
    creeping.gear = 1
    creeping.run(5.0)
    assert creeping.engine_speed == pytest.approx(80.0, rel=1e-6)
    assert creeping.torques[2] == pytest.approx(4e-3 * 80.0**2 * 2.0 * 3.6 * 4.0 / 2.0, rel=1e-6)


def test_the_engine_falls_back_to_idle_without_undershoot_and_is_held_by_the_limiter() -> None:
    rig = Rig(car(engine=idling()), free=False)
    rig.throttle = 1.0
    rig.run(5.0)
    assert 600.0 < rig.engine_speed < 1.02 * 600.0
    assert rig.engine_torque == pytest.approx(0.0, abs=1e-6)
    rig.throttle = 0.0
    lowest = min(rig.run(0.01).engine_speed for _ in range(1200))
    assert lowest > 0.98 * 80.0
    assert rig.engine_speed == pytest.approx(80.0, rel=1e-3)


@pytest.mark.parametrize(("stall_speed", "after"), [(40.0, 0.0), (0.0, 80.0)])
def test_an_engine_that_is_held_stops_and_stays_out_if_it_can_stall(stall_speed: float, after: float) -> None:
    rig = Rig(car(engine=idling(stall_speed=stall_speed), launch=Clutch(800.0)), free=False)
    rig.gear, rig.clutch = 1, 1.0
    rig.run(0.5).clutch = 0.0
    rig.run(2.0)
    assert abs(rig.engine_speed) < 1.0
    assert np.isfinite(rig.state).all()
    rig.clutch = 1.0
    rig.run(4.0)
    assert rig.engine_speed == pytest.approx(after, abs=0.05)


def test_a_converter_stalls_where_pump_and_engine_torque_meet() -> None:
    rig = Rig(car(launch=CONVERTER), free=False).under_way(0.0, 2)
    rig.throttle = 1.0
    rig.run(5.0)
    assert rig.engine_speed == pytest.approx(math.sqrt(150.0 / 4e-3), rel=1e-6)
    assert rig.torques[2] == pytest.approx(2.0 * 150.0 * 2.0 * 4.0 / 2.0, rel=1e-6)


@pytest.mark.parametrize(("share", "factor", "ratio"), [(0.25, 3.9e-3, 1.75), (0.85, 2.85e-3, 1.06)])
def test_a_converter_multiplies_torque_as_its_table_says(share: float, factor: float, ratio: float) -> None:
    pump = math.sqrt(150.0 / factor)
    rig = Rig(car(launch=CONVERTER), free=False).under_way(share * pump / (2.0 * 4.0), 2)
    rig.throttle = 1.0
    rig.run(5.0)
    assert rig.engine_speed == pytest.approx(pump, rel=1e-6)
    assert rig.torques[2] == pytest.approx(ratio * 150.0 * 2.0 * 4.0 / 2.0, rel=1e-6)


def test_a_faster_turbine_turns_the_engine() -> None:
    rig = Rig(car(engine=engine(drag=-20.0), launch=CONVERTER), free=False).under_way(30.0, 2)
    rig.run(5.0)
    turbine = 240.0
    speed = np.linspace(0.5 * turbine, turbine, 200001)
    torque = np.interp(speed / turbine, CONVERTER.speed_ratios, CONVERTER.factors) * turbine**2
    assert rig.engine_speed == pytest.approx(speed[np.argmin(abs(torque - 20.0))], rel=1e-4)
    assert rig.torques[2] == pytest.approx(-20.0 * 2.0 * 4.0 / 2.0, rel=1e-6)


def test_a_light_turbine_that_turns_freely_comes_to_the_pumps_speed_without_ringing() -> None:
    light = replace(GEARBOX, input_inertia=1e-3)
    rig = Rig(car(engine=idling(), launch=CONVERTER, gearbox=light), free=False)
    rig.throttle = 1.0
    slips = [rig.run(0.001).clutch_slip for _ in range(2000)]
    assert min(slips) > -1e-6
    assert np.diff(slips[100:]).max() < 0.01
    assert slips[-1] < 0.01 * rig.engine_speed


def bridged(**changes: Any) -> Converter:
    return replace(CONVERTER, lock_up=replace(LockUp(300.0, 0.8, 2, 100.0, 0.3), **changes))


def test_the_lock_up_closes_in_its_gears_and_opens_below_its_speed() -> None:
    rig = Rig(car(launch=bridged()), free=False).under_way(25.0, 2)
    rig.throttle = 0.5
    rig.run(3.0)
    assert rig.clutch_slip == pytest.approx(0.0, abs=1e-9)
    assert rig.torques[2] == pytest.approx(75.0 * 2.0 * 4.0 / 2.0, rel=1e-6)
    rig.spins[:] = 12.0
    rig.run(3.0)
    assert rig.clutch_slip > 1.0
    first = Rig(car(launch=bridged()), free=False).under_way(25.0, 1)
    first.throttle = 0.5
    assert first.run(3.0).clutch_slip > 1.0


def test_the_lock_up_slips_at_its_capacity() -> None:
    rig = Rig(car(launch=bridged(capacity=50.0)), free=False).under_way(25.0, 2)
    rig.throttle = 1.0
    rig.run(5.0)
    pump, turbine = rig.engine_speed, 200.0
    factor = np.interp(turbine / pump, CONVERTER.speed_ratios, CONVERTER.factors)
    assert rig.clutch_slip > 1.0
    assert factor * pump**2 + 50.0 == pytest.approx(150.0, rel=1e-6)


def test_wheels_in_numbers_that_are_none_give_torques_that_are_none() -> None:
    rig = Rig(car(launch=CONVERTER), free=False).under_way(10.0, 1)
    rig.spins[3] = np.nan
    rig.advance()
    assert np.isnan(rig.torques[2:]).all()
    rig = Rig(car(), free=False).under_way(10.0, 1)
    rig.throttle = np.nan
    rig.run(0.01)
    assert np.isnan(rig.torques[2:]).all()


@pytest.mark.parametrize("lever", [7.0, -2.0, np.nan, np.inf, DRIVE])
def test_a_gear_that_is_not_there_is_neutral(lever: float) -> None:
    rig = Rig(car(), free=False).under_way(10.0, 2)
    rig.gear, rig.throttle = lever, 1.0
    rig.run(2.0)
    assert rig.state[STATE.gear] == 0.0
    assert rig.torques == pytest.approx(np.zeros(4), abs=1e-6)


def test_a_start_in_a_gear_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match="gear 5 is not one of the gearbox's"):
        start(car(), [Rotor(1.0)] * 4, np.zeros(4), 5)


def test_the_car_drives_backwards_in_reverse() -> None:
    rig = Rig(car(engine=idling(), launch=Clutch(400.0, closing_speeds=(90.0, 180.0))))
    rig.gear = -1
    rig.throttle = 0.5
    rig.run(3.0)
    assert rig.engine_speed > 80.0
    assert rig.spins[2] == rig.spins[3] < -1.0
    assert rig.spins[0] == 0.0


def test_a_clutch_that_closes_with_speed_starts_the_car_without_the_pedal() -> None:
    rig = Rig(car(engine=idling(stall_speed=40.0), launch=Clutch(400.0, closing_speeds=(90.0, 180.0))))
    rig.gear = 1
    rig.run(1.0)
    assert rig.spins[2] == pytest.approx(0.0, abs=1e-9)
    rig.throttle = 0.4
    lowest = min(rig.run(0.01).engine_speed for _ in range(400))
    assert lowest > 75.0
    assert rig.clutch_slip == 0.0
    assert rig.spins[2] > 5.0
    assert rig.engine_speed > RPM * 2000
