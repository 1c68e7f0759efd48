"""What a rig makes of the table while a profile is played: the whole drive, the loss of the rig, the end."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from mastd.arrays import FloatArray
from mastd.errors import UsageError
from mastd.loop.payload import pickling
from mastd.loop.payload.external_vehicle import TAKEOVER, ExternalVehicle
from mastd.loop.payload.rig_motion import COMES_BACK, PoseDrive, SeatDrive
from mastd.loop.rigs.bound_rig import BoundRig
from mastd.settings.profile.cueing import WashoutSettings
from mastd.settings.profile.oils import LaneChange
from mastd.settings.profile.stream import PoseStream, SeatStream, TranslationBox
from mastd.settings.table.payload import ExternalPayload
from mastd.units import STANDARD_GRAVITY
from mastd.wire.common import vehicle_block as b
from tests.support.rigs.rigs import joined
from tests.support.vehicle.virtual_drives import CABIN_SEAT, PERIOD, drive_of

HEAVE = TranslationBox(travel=0.025, velocity=0.15, acceleration=2.5, jerk=160.0)
AT_REST = np.zeros((4, 6))


def numbers() -> FloatArray:
    return np.full(b.VEHICLE_NUMBERS, np.nan)


def pose_drive(duration: float = 6.0, *, derivatives: bool = False) -> tuple[PoseDrive, BoundRig]:
    drive = PoseDrive(PoseStream(kind="pose", rig="source", duration=duration, heave=HEAVE), PERIOD)
    rig = joined("source", "pose", derivatives=derivatives)
    drive.bind({"source": rig})
    drive.begin(AT_REST, numbers())
    return drive, rig


def play(
    drive: PoseDrive | SeatDrive, seconds: float, give: Callable[[float], None] | None = None
) -> FloatArray:
    """Return the heave at each step; ends early when the drive has finished."""
    heights = []
    for step in range(round(seconds / PERIOD)):
        if drive.finished:
            break
        if give is not None:
            give(step * PERIOD)
        drive.step(numbers())
        heights.append(drive.motion[0, 2])
    return np.array(heights)


def test_a_stream_of_poses_fades_in_follows_and_comes_home_at_its_end() -> None:
    drive, rig = pose_drive(3.0, derivatives=True)

    def swing(time: float) -> None:
        omega = 2.0 * math.pi
        rig.values[2] = 0.01 * math.cos(omega * time)
        rig.values[8] = -0.01 * omega * math.sin(omega * time)
        rig.values[14] = -0.01 * omega**2 * math.cos(omega * time)

    heights = play(drive, 10.0, swing)
    times = PERIOD * np.arange(len(heights))
    asked = 0.01 * np.cos(2.0 * np.pi * times)
    assert drive.finished
    assert 4.0 <= len(heights) * PERIOD < 4.5, "the duration, and a second for the way home"
    inside = (times > 1.2) & (times < 2.95)
    assert np.abs(heights - asked)[inside].max() < 0.05e-3
    assert heights[: round(0.05 / PERIOD)].max() < 0.2e-3, "no jump to where the rig is"
    assert np.abs(drive.motion[:2]).max() < 1e-4
    assert np.abs(np.diff(heights, 3)).max() / PERIOD**3 < HEAVE.jerk * 1.001


def test_a_lost_rig_that_ramps_takes_the_table_home_and_one_on_hold_keeps_it() -> None:
    for left, expected in ((0.0, 0.0), (0.012, 0.012)):
        drive, rig = pose_drive(600.0)
        rig.values[2] = 0.012
        play(drive, 3.0)
        assert drive.motion[0, 2] == pytest.approx(0.012, abs=1e-6)
        rig.present = False
        rig.values[2] = left  # what the rigs' part of the loop makes of it: ramp to neutral, or hold
        lost = play(drive, 60.0)
        assert drive.finished
        assert len(lost) * PERIOD == pytest.approx(COMES_BACK, abs=0.1)
        assert drive.motion[0, 2] == pytest.approx(expected, abs=1e-4)
        rig.present, rig.values[2] = True, -0.02
        for _ in range(500):
            drive.step(numbers())
        assert drive.motion[0, 2] == pytest.approx(expected, abs=1e-4), "its drive is over"


def test_a_rig_that_comes_back_in_time_is_followed_again() -> None:
    drive, rig = pose_drive(600.0)
    rig.values[2] = 0.01
    play(drive, 2.0)
    rig.present, rig.values[2] = False, 0.0
    play(drive, COMES_BACK - 1.0)
    rig.present, rig.values[2] = True, 0.015
    play(drive, COMES_BACK + 2.0)
    assert not drive.finished
    assert drive.motion[0, 2] == pytest.approx(0.015, abs=1e-6)


@pytest.mark.parametrize("kind", ["pose", "seat"])
def test_a_rig_that_never_came_ends_the_drive_where_it_stands(kind: str) -> None:
    drive, rig = pose_drive(600.0) if kind == "pose" else seat_drive(600.0)
    rig.present = False
    drive.begin(AT_REST, numbers())
    assert len(play(drive, 60.0)) * PERIOD == pytest.approx(COMES_BACK, abs=0.1)
    assert not drive.motion.any()


def test_a_stream_starts_from_where_the_table_stands() -> None:
    drive, _ = pose_drive()
    start = AT_REST.copy()
    start[0] = [0.004, 0.0, -0.006, 0.002, 0.0, 0.0]
    drive.begin(start, numbers())
    assert np.array_equal(drive.motion, start)
    play(drive, 3.0)
    assert np.abs(drive.motion[:2]).max() < 1e-5


def seat_drive(duration: float) -> tuple[SeatDrive, BoundRig]:
    stream = SeatStream(
        kind="seat",
        rig="simulator",
        duration=duration,
        cabin_seat=CABIN_SEAT,
        cueing=WashoutSettings(kind="washout"),
    )
    drive = SeatDrive(stream, PERIOD)
    rig = joined("simulator", "seat")
    drive.bind({"simulator": rig})
    drive.begin(AT_REST, numbers())
    return drive, rig


def test_what_is_felt_in_a_rigs_seat_moves_the_table_as_that_of_the_vehicle_here_does() -> None:
    """Bit for bit, from the start through the end and the way home."""
    here = drive_of(duration=4.0, driver=LaneChange(kind="lane_change"))
    here.begin(AT_REST)
    outside, rig = seat_drive(4.0)
    found, steps = numbers(), 0
    while not here.finished:
        here.step()
        rig.values[:] = here.felt
        outside.step(found)
        steps += 1
        assert np.array_equal(here.motion, outside.motion)
        assert np.array_equal(here.given, found[b.GIVEN : b.GIVEN + 6])
        assert here.finished is outside.finished
    assert steps > 4000
    assert np.ptp(here.signals) > 0.0
    assert found[b.SEAT : b.SEAT + 3] == pytest.approx(here.felt[:3] - [0.0, 0.0, STANDARD_GRAVITY])
    assert np.isnan(found[b.SPEED])


def test_the_cue_of_a_lost_seat_goes_and_comes_again() -> None:
    drive, rig = seat_drive(600.0)
    rig.values[0] = 3.0
    play(drive, 1.0)
    tilted = drive.motion[0, 4]
    assert abs(tilted) > 1e-3
    rig.present = False
    rig.values[0] = 0.0
    play(drive, 4.0)
    assert abs(drive.motion[0, 4]) < 0.2 * abs(tilted)
    rig.present, rig.values[0] = True, 3.0
    play(drive, 4.0)
    assert abs(drive.motion[0, 4]) > 0.8 * abs(tilted)


PAYLOAD = ExternalPayload(
    kind="rig", rig="car", mass=1500.0, centre_of_gravity=(0.1, -0.2, 1.1), inertia=(600.0, 2400.0, 2600.0)
)


def external() -> tuple[ExternalVehicle, BoundRig]:
    vehicle = ExternalVehicle(PAYLOAD, STANDARD_GRAVITY, PERIOD, 7)
    rig = joined("car", "vehicle")
    vehicle.bind({"car": rig})
    return vehicle, rig


def test_a_vehicle_outside_is_its_rigs_wrench_bit_for_bit() -> None:
    vehicle, rig = external()
    random = np.random.default_rng(5)
    found = numbers()
    for step in range(50):
        rig.values[:] = 1e4 * random.standard_normal(6)
        if step < 5:
            vehicle.lie(np.full(6, 0.01), found)
        else:
            assert vehicle.ride(np.full(6, 0.01), 1, found) == []
        assert np.array_equal(vehicle.wrench, rig.values)
    assert np.isnan(found).all(), "nothing is known of the vehicle itself"


def test_a_vehicle_whose_rig_is_lost_becomes_a_dead_weight_and_comes_back() -> None:
    vehicle, rig = external()
    given = np.array([900.0, -400.0, -20_000.0, 300.0, -200.0, 100.0])
    pose = np.array([0.01, 0.0, 0.02, 0.03, -0.02, 0.01])
    rig.values[:] = given
    vehicle.lie(pose, numbers())
    rig.present = False
    rig.values[:] = 0.0
    steps = round(TAKEOVER / PERIOD)
    course = []
    for _ in range(steps):
        vehicle.ride(pose, 1, numbers())
        course.append(vehicle.wrench.copy())
    turn = _turn(pose[3], pose[4], pose[5])
    force = turn.T @ np.array([0.0, 0.0, -1500.0 * STANDARD_GRAVITY])
    dead = np.concatenate((force, np.cross(PAYLOAD.centre_of_gravity, force)))
    assert vehicle.wrench == pytest.approx(dead, abs=1e-9)
    track = np.array([given, *course])
    assert np.abs(np.diff(track, axis=0)).max(axis=0) == pytest.approx(np.abs(dead - given) / steps, rel=1e-6)
    rig.present = True
    rig.values[:] = given
    for _ in range(steps + 1):
        vehicle.ride(pose, 1, numbers())
    assert np.array_equal(vehicle.wrench, given)
    vehicle.ride(pose, 0, numbers())
    assert np.array_equal(vehicle.wrench, given)


def _turn(roll: float, pitch: float, yaw: float) -> FloatArray:
    sr, cr, sp, cp, sy, cy = (f(angle) for angle in (roll, pitch, yaw) for f in (math.sin, math.cos))
    about_x = np.array([[1.0, 0.0, 0.0], [0.0, cr, -sr], [0.0, sr, cr]])
    about_y = np.array([[cp, 0.0, sp], [0.0, 1.0, 0.0], [-sp, 0.0, cp]])
    about_z = np.array([[cy, -sy, 0.0], [sy, cy, 0.0], [0.0, 0.0, 1.0]])
    return np.asarray(about_z @ about_y @ about_x)


def test_a_rig_that_is_not_there_or_of_another_kind_is_refused() -> None:
    drive, _ = pose_drive()
    with pytest.raises(UsageError, match="uses rig source, the daemon's settings name: car, pedals"):
        drive.bind({"car": joined("car", "vehicle"), "pedals": joined("pedals", "seat")})
    with pytest.raises(
        UsageError, match="rig source as kind pose, in the daemon's settings it is of kind seat"
    ):
        drive.bind({"source": joined("source", "seat")})


def test_what_a_rig_drives_comes_out_of_a_parcel_and_takes_its_rig_there() -> None:
    for packed in (
        PoseDrive(PoseStream(kind="pose", rig="source", duration=6.0, heave=HEAVE), PERIOD),
        ExternalVehicle(PAYLOAD, STANDARD_GRAVITY, PERIOD, 7),
    ):
        again = pickling.unpack(pickling.pack(packed))
        assert isinstance(again, PoseDrive | ExternalVehicle)
        assert again.name == packed.name
        again.bind({"source": joined("source", "pose"), "car": joined("car", "vehicle")})
