"""What rigs give a simulated vehicle in the loop: its wheels, and in place of its driver's hands and feet."""

from __future__ import annotations

import numpy as np
import pytest

from mastd.arrays import FloatArray
from mastd.errors import UsageError
from mastd.loop.payload.hils import TableVehicle
from mastd.loop.payload.oils import DrivenVehicle
from mastd.loop.payload.pickling import pack, unpack
from mastd.loop.rigs.bound_rig import BoundRig
from mastd.safety.codes import Code
from mastd.vehicle.model.library import find
from mastd.wire.common.vehicle_block import DRIVER, DRIVER_NUMBERS, VEHICLE_NUMBERS
from tests.support.vehicle.cosimulation import standing
from tests.support.vehicle.virtual_drives import PERIOD, by_hand, drive_of
from tests.unit.vehicle.payload.test_on_table import shaken

OPERATOR = np.array([0.2, 0.3, 0.0, 0.0, 100.0])


def rig(name: str, **values: float) -> BoundRig:
    """Return a rig that is there, and gives these channels; ``__`` in a name is a dot."""
    channels = tuple(channel.replace("__", ".") for channel in values)
    bound = BoundRig(0, name, "signals", channels, np.array(list(values.values()), dtype=np.float64))
    bound.present = True
    return bound


def on_table() -> TableVehicle:
    model = find("benchmark_sedan")
    vehicle = TableVehicle(standing(model, PERIOD), model.seats[0], PERIOD, 7)
    again = unpack(pack(vehicle))  # as the loop gets it
    assert isinstance(again, TableVehicle)
    again.lie(np.zeros(6), np.zeros(VEHICLE_NUMBERS))
    return again


def on_road(*, operator: bool = True) -> DrivenVehicle:
    drive = by_hand() if operator else drive_of()
    vehicle = DrivenVehicle(drive, PERIOD, by_hand=operator)
    again = unpack(pack(vehicle))
    assert isinstance(again, DrivenVehicle)
    again.begin(np.zeros((4, 6)), np.zeros(VEHICLE_NUMBERS))
    return again


def ridden(vehicle: TableVehicle, bound: BoundRig | None = None, count: int = 120) -> FloatArray:
    """Return wrenches (count, 6) on the shaking table; the rig's values change on the way."""
    wrenches = []
    for k, pose in enumerate(shaken(count)):
        if bound is not None:
            bound.values[:] = 100.0 * np.sin(0.1 * k + np.arange(len(bound.values)))
        assert vehicle.ride(pose, 1, np.zeros(VEHICLE_NUMBERS)) == []
        wrenches.append(vehicle.wrench.copy())
    return np.array(wrenches)


def steps(
    vehicle: DrivenVehicle, seconds: float, receive: FloatArray | None = None
) -> tuple[FloatArray, set[Code]]:
    """Drive on, an operator being heard if told; return the last of what the driver does, and all faults."""
    numbers, codes = np.zeros(VEHICLE_NUMBERS), set()
    for _ in range(round(seconds / PERIOD)):
        if receive is not None:
            vehicle.receive(receive)
        vehicle.step(numbers)
        codes |= {report.code for report in vehicle.reports()}
    return numbers[DRIVER : DRIVER + DRIVER_NUMBERS], codes


def test_a_vehicle_on_the_table_takes_what_a_rig_gives_its_wheels() -> None:
    channels = {"damper_force__rr": 0.0, "wheel_torque__fl": 0.0, "auxiliary__light": 0.0}
    bound = rig("dampers", **channels)
    vehicle = on_table()
    vehicle.bind_signals([bound])
    found = ridden(vehicle, bound)
    model = find("benchmark_sedan")
    direct, wrenches = standing(model, PERIOD), []
    for k, pose in enumerate(shaken(120)):
        value = 100.0 * np.sin(0.1 * k + np.arange(3))
        direct.give(np.array([value[1], 0.0, 0.0, 0.0]), np.array([0.0, 0.0, 0.0, value[0]]))
        direct.follow(pose, 1)
        wrenches.append(direct.wrench.copy())
    assert np.array_equal(found, np.array(wrenches))
    # Bound to nothing, and put down, it is as it was without.
    vehicle.bind_signals([])
    vehicle.lie(np.zeros(6), np.zeros(VEHICLE_NUMBERS))
    assert np.array_equal(ridden(vehicle), ridden(on_table()))


def test_a_lost_rig_gives_what_its_loss_policy_says() -> None:
    here, there = rig("dampers", damper_force__fl=800.0), rig("dampers", damper_force__fl=800.0)
    there.present = False
    vehicles = []
    for bound in (here, there):
        vehicle = on_table()
        vehicle.bind_signals([bound])
        for _ in range(50):
            vehicle.ride(np.zeros(6), 1, np.zeros(VEHICLE_NUMBERS))
        vehicles.append(vehicle.wrench)
    assert np.array_equal(vehicles[0], vehicles[1])
    assert abs(vehicles[0][4] - on_table().wrench[4]) > 1.0


def test_a_driven_vehicle_takes_what_a_rig_gives_its_wheels() -> None:
    vehicle, plain = on_road(), on_road()
    vehicle.bind_signals([rig("motors", wheel_torque__rl=300.0, wheel_torque__rr=300.0)])
    gained = []
    for _ in range(2):
        for each in (vehicle, plain):
            steps(each, 0.5, np.zeros(5))
        gained.append(float(vehicle._drive.signals[3] - plain._drive.signals[3]))
    # 2 · 300 N m / 0.31 m on 1.4 t.
    assert (gained[1] - gained[0]) / 0.5 == pytest.approx(1.35, rel=0.05)


@pytest.mark.parametrize(
    ("channel", "text"),
    [
        ("wheel_torque.fx", "rig box: wheel_torque.fx: benchmark sedan: no wheel 'fx', "),
        ("damper_force.3l", "rig box: damper_force.3l: benchmark sedan: no wheel '3l', "),
        ("throttle", "rig box: throttle: benchmark sedan is on the table: it has no driver"),
    ],
)
def test_what_a_vehicle_on_the_table_cannot_take_is_refused_in_a_line(channel: str, text: str) -> None:
    vehicle = on_table()
    kept = rig("dampers", damper_force__fl=500.0)
    vehicle.bind_signals([kept])
    bound = BoundRig(1, "box", "signals", ("wheel_torque.fl", channel), np.zeros(2))
    with pytest.raises(UsageError) as refused:
        vehicle.bind_signals([bound])
    assert str(refused.value).startswith(text)
    assert "\n" not in str(refused.value)
    # What was bound before still is.
    before = vehicle.wrench.copy()
    for _ in range(30):
        vehicle.ride(np.zeros(6), 1, np.zeros(VEHICLE_NUMBERS))
    assert np.abs(vehicle.wrench - before).max() > 1.0


def test_two_rigs_do_not_give_the_same_and_all_problems_are_told() -> None:
    first = rig("left", wheel_torque__fl=0.0, damper_force__q=0.0)
    second = rig("right", wheel_torque__fl=0.0)
    with pytest.raises(UsageError) as refused:
        on_table().bind_signals([first, second])
    lines = str(refused.value).splitlines()
    assert len(lines) == 2
    assert lines[1] == "rig right: wheel_torque.fl: rig left also drives it; keep only one of them"


def test_rigs_of_other_kinds_are_passed_over() -> None:
    other = BoundRig(0, "carrier", "vehicle", ("wrench.fx",), np.ones(1))
    vehicle = on_table()
    vehicle.bind_signals([other])
    assert np.array_equal(ridden(vehicle), ridden(on_table()))


def test_hands_of_a_rig_need_an_operator_to_drive() -> None:
    vehicle = on_road(operator=False)
    with pytest.raises(UsageError, match="rig pedals: brake: sedan has a scripted driver; set `driver: "):
        vehicle.bind_signals([rig("pedals", brake=0.0)])
    vehicle.bind_signals([rig("dampers", damper_force__fl=0.0)])


def test_a_rig_and_an_operator_drive_together() -> None:
    vehicle = on_road()
    pedals = rig("pedals", throttle=0.6)
    vehicle.bind_signals([pedals])
    done, codes = steps(vehicle, 1.0, OPERATOR)
    assert codes == set()
    assert done[:3] == pytest.approx([0.2, 0.6, 0.0], abs=1e-4)
    # The operator goes: straight on, the pedals as they are, and the driver is there.
    done, codes = steps(vehicle, 2.0)
    assert codes == set()
    assert done[:3] == pytest.approx([0.0, 0.6, 0.0], abs=1e-4)


def test_a_rig_drives_alone_and_is_lost_like_an_operator() -> None:
    vehicle = on_road()
    hands = rig("cab", steering=-0.1, throttle=0.4, brake=0.0, clutch=0.0, gear=3.7)
    vehicle.bind_signals([hands])
    done, codes = steps(vehicle, 1.0)
    assert codes == set()
    assert done[:2] == pytest.approx([-0.1, 0.4], abs=1e-4)
    # A lever is in one gear or another.
    assert done[4] == 4.0
    hands.present = False
    hands.values[:] = [0.0, 0.9, 0.0, 0.0, 3.0]
    _, codes = steps(vehicle, 0.2)
    assert codes == set()
    # Neither what the loss policy says nor an operator's messages keep the driver: the car coasts, braked.
    done, codes = steps(vehicle, 0.5, OPERATOR)
    assert codes == {Code.DRIVER_LOST}
    assert done[1] == 0.0
    assert done[2] > 0.0
    hands.present = True
    steps(vehicle, 0.5)
    done, codes = steps(vehicle, 0.5)
    assert codes == set()
    # Somebody helps with the clutch, and eases the throttle for that.
    assert done[1] > 0.5


def test_without_hands_of_a_rig_the_operator_drives_as_ever() -> None:
    vehicle, plain = on_road(), on_road()
    vehicle.bind_signals([rig("dampers", damper_force__fl=0.0, auxiliary__bell=1.0)])
    assert np.array_equal(steps(vehicle, 0.5, OPERATOR)[0], steps(plain, 0.5, OPERATOR)[0])
    assert np.array_equal(vehicle._drive.signals, plain._drive.signals)
    assert steps(vehicle, 0.5)[1] == {Code.DRIVER_LOST}
