"""Profiles that use rigs: what is refused, what is proved before motion, what records and pages say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mastd.errors import MastdError
from mastd.loop.cycle.slots import ProfileSlots
from mastd.loop.payload.external_vehicle import ExternalVehicle
from mastd.loop.payload.prepare import driven_vehicle, ready_profile
from mastd.loop.payload.profile_inputs import ProfileInputs
from mastd.loop.payload.rig_motion import PoseDrive, SeatDrive
from mastd.motion.preflight.envelope import Envelope
from mastd.motion.preflight.limits import Limit
from mastd.motion.preflight.preflight import check
from mastd.motion.washout.design import Boxes, boxes
from mastd.report.profile_text import payload_text, stream_text
from mastd.safety.states import Conditions, Event, State, next_state
from mastd.settings.core.export import as_json
from mastd.settings.core.loader import load, load_text
from mastd.settings.core.starter import find
from mastd.settings.profile.profile import ProfileSettings
from mastd.settings.profile.rig_checks import rigs_problems
from mastd.settings.profile.stream import PoseStream
from mastd.settings.rigs.rigs import RigsSettings
from mastd.settings.table.payload import NoPayload
from mastd.settings.table.table import TableSettings
from tests.support.rigs.profiles import heave, pose_stream, vehicle_of_rig

PERIOD = 1e-3
HEAVE = heave("25 mm")
STREAM = pose_stream("20 s", HEAVE)
SEAT = """name: seat
mode: stream
stream:
  kind: seat
  rig: simulator
  duration: 20 s
  cabin_seat: [0 m, 0 m, 1.5 m]
  cueing: {kind: washout}
"""
SEGMENTS = "segments: [{kind: sine, frequency: 1 Hz, duration: 4 s, axes: {heave: {amplitude: 5 mm}}}]\n"
BODY = "mass: 2 t, centre_of_gravity: [0 m, 0 m, 1.5 m], inertia: [1 t m2, 2 t m2, 2 t m2]"
EXTERNAL = "rigs: [pedals]\n" + vehicle_of_rig(SEGMENTS, BODY)


@pytest.fixture(scope="module")
def table() -> TableSettings:
    """Return the starter table."""
    return load(find("table", "table"), TableSettings)


def read(text: str) -> ProfileSettings:
    return load_text(text, "p.yaml", ProfileSettings)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (STREAM + SEGMENTS, "segments: in mode stream a rig generates the motion: remove segments"),
        ("name: x\nmode: stream\n", "stream is missing: mode stream needs this group"),
        (
            STREAM.replace("mode: stream", "mode: segments") + SEGMENTS,
            "stream: is for mode: stream, this profile runs its segments",
        ),
        (STREAM.replace(HEAVE, ""), "stream: no axis given: expected limits for one or more of surge"),
        (
            STREAM.replace("160 m/s3", "40 m/s3"),
            "stream.heave.jerk: is 40 m/s3, too little to follow at the bandwidth of 10 Hz: at least 157.1",
        ),
        (STREAM.replace("25 mm", "25"), "stream.heave.travel: 25 has no unit"),
        (STREAM.replace("kind: pose", "kind: pos"), "'pos': expected one of pose, seat, did you mean 'pose'"),
        (STREAM.replace("rig: source", "rig: The Source"), "stream.rig: The Source does not have the form"),
        (STREAM.replace("  heave:", "  heaf:"), "stream.heaf: unknown key 'heaf', did you mean 'heave'"),
        (
            STREAM + f"payload: {{kind: rig, rig: car, {BODY}}}\n",
            "stream: in mode stream the payload must be rigid or none",
        ),
        (EXTERNAL.replace("rig: car, ", ""), "payload.rig: key 'rig' is missing"),
        (EXTERNAL.replace("[pedals]", "[pedals, ecu, pedals]"), "rigs[2]: pedals is listed twice"),
        (
            EXTERNAL.replace("[pedals]", "[a, b, c, d, e, f, g, h, i]"),
            "rigs: 9 items, there must be at most 8",
        ),
    ],
)
def test_what_does_not_go_together_is_refused_in_a_line(text: str, line: str) -> None:
    with pytest.raises(MastdError) as refused:
        read(text)
    assert line in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1


def test_all_rigs_of_a_profile_are_told_once_those_of_signals_first() -> None:
    assert read(EXTERNAL).all_rigs() == ("pedals", "car")
    assert read(STREAM + "rigs: [source, ecu]\n").all_rigs() == ("source", "ecu")
    assert read(SEAT).all_rigs() == ("simulator",)
    assert read(SEAT).made_duration == 20.0
    assert read(EXTERNAL).made_duration is None


def test_a_rig_of_another_kind_or_none_is_told_with_both() -> None:
    rigs = load_text(
        "rigs:\n"
        "  - {name: source, kind: seat}\n"
        "  - {name: car, kind: vehicle}\n"
        "  - {name: pedals, kind: pose}\n",
        "rigs.yaml",
        RigsSettings,
    )
    assert rigs_problems(read(STREAM), rigs) == ["stream.rig: rig source is of kind seat, expected kind pose"]
    assert rigs_problems(read(EXTERNAL), rigs) == [
        "rigs[0]: rig pedals is of kind pose, expected kind signals"
    ]
    assert rigs_problems(read(SEAT), rigs) == [
        "stream.rig: the rigs' settings have no rig 'simulator', there are: source, car, pedals"
    ]
    assert rigs_problems(read(EXTERNAL), RigsSettings())[1].endswith(
        "the rigs' settings have no rig 'car', there are: none; give the rigs file with --rigs or in the "
        "daemon's settings"
    )


def test_a_stream_of_poses_is_proved_for_whatever_the_rig_gives(table: TableSettings) -> None:
    verdict = check(read(STREAM), table)
    assert verdict.ok
    assert verdict.duration == 20.0
    assert verdict.scale > 1.0
    worst = {limit.name: limit.worst for limit in verdict.limits}
    assert 0.025 <= worst["stroke"] < 0.03
    assert "span of the axes' velocities" in verdict.text()
    fast = read(STREAM.replace("160 m/s3", "4000 m/s3").replace("2.5 m/s2", "60 m/s2"))
    refused = check(fast, table)
    assert not refused.ok
    assert 0.0 < refused.scale < 1.0
    far = check(read(STREAM.replace("25 mm", "300 mm")), table)
    assert not far.ok
    assert far.scale == 0.0


def test_the_proof_of_a_stream_holds_where_its_box_is_filled(table: TableSettings) -> None:
    """The heave alone moves vertical actuators one to one: their worst is the box itself."""
    stream = read(STREAM).stream
    assert isinstance(stream, PoseStream)
    found = boxes(stream)
    assert isinstance(found, Boxes)
    assert found.velocity.tolist() == [0.0, 0.0, 0.15, 0.0, 0.0, 0.0]
    limits = named(Envelope(found, np.zeros(3), table, NoPayload()).limits())
    assert 0.15 * 0.95 < limits["velocity"].worst < 0.15 * 1.1
    assert 2.5 * 0.95 < limits["acceleration"].worst < 2.5 * 1.15


def named(limits: tuple[Limit, ...]) -> dict[str, Limit]:
    return {limit.name: limit for limit in limits}


def test_a_seat_of_a_rig_is_proved_as_one_that_is_driven_here(table: TableSettings) -> None:
    driven = read(
        "name: driven\nmode: oils\noils: {vehicle: sedan, cabin_seat: [0 m, 0 m, 1.5 m], speed: 10 m/s,"
        " duration: 20 s, cueing: {kind: washout}}\n"
    )
    assert check(read(SEAT), table).limits == check(driven, table).limits


def test_the_check_says_that_the_forces_of_a_vehicle_outside_are_not_known(table: TableSettings) -> None:
    (warning,) = check(read(EXTERNAL), table).warnings
    assert "rig car" in warning
    assert "2000 kg" in warning


def test_a_profile_with_rigs_comes_through_a_slot(table: TableSettings) -> None:
    slots = ProfileSlots()
    for text, kind in ((STREAM, PoseDrive), (SEAT, SeatDrive), (EXTERNAL, ExternalVehicle)):
        ready = ready_profile(ProfileInputs.read(read(text), table), PERIOD, 1.0, slot=0)
        slots.write(0, ready)
        found = slots.read(0, 1)
        assert found is not None
        assert found.rigs == ready.rigs == read(text).all_rigs()
        assert isinstance(found.driven or found.vehicle, kind)
        assert found.payload_key == ready.payload_key
    slots.close()


def test_the_longest_names_of_the_most_rigs_have_room(table: TableSettings) -> None:
    many = [f"{letter}{'x' * 29}" for letter in "abcdefgh"]
    text = EXTERNAL.replace("[pedals]", f"[{', '.join(many)}]").replace("rig: car", f"rig: {'c' * 30}")
    slots = ProfileSlots()
    slots.write(1, ready_profile(ProfileInputs.read(read(text), table), PERIOD, 1.0, slot=1))
    found = slots.read(1, 1, vehicles=False)
    assert found is not None
    assert found.rigs == (*many, "c" * 30)
    slots.close()


def test_two_vehicles_outside_are_told_apart(table: TableSettings) -> None:
    keys = [
        ready_profile(ProfileInputs.read(read(text), table), PERIOD, 1.0).vehicle_key
        for text in (EXTERNAL, EXTERNAL.replace("rig: car", "rig: van"))
    ]
    assert keys[0] != keys[1]
    assert min(keys) > 0


def test_a_bandwidth_that_the_rate_does_not_carry_is_refused() -> None:
    wide = read(
        STREAM.replace("  duration", "  bandwidth: 20 Hz\n  duration").replace("160 m/s3", "400 m/s3")
    )
    assert driven_vehicle(wide, PERIOD) is not None
    with pytest.raises(MastdError, match=r"stream\.bandwidth: 20 Hz is too high for a rate of 100 Hz"):
        driven_vehicle(wide, 1e-2)


def test_pages_say_what_a_rig_gives() -> None:
    assert (
        stream_text(as_json(read(STREAM))["stream"])
        == "pose of rig source, followed with 10 Hz: heave ± 25 mm"
    )
    assert "rig simulator, cueing: washout" in stream_text(as_json(read(SEAT))["stream"])
    assert payload_text(as_json(read(EXTERNAL))["payload"]) == "vehicle of rig car, of 2 t"


@pytest.mark.parametrize(("event", "state"), [(Event.ARM, State.READY), (Event.START, State.ARMED)])
def test_nothing_is_armed_or_started_without_the_profiles_rigs(event: Event, state: State) -> None:
    there = Conditions(raised=True, supply_on=True, profile_loaded=True, at_start=True)
    assert not next_state(state, event, there).refusal
    away = Conditions(raised=True, supply_on=True, profile_loaded=True, at_start=True, missing_rig="pedals")
    refused = next_state(state, event, away)
    assert refused.state is state
    assert refused.refusal == f"{event.value} is refused: rig pedals has not joined; start it first"


@pytest.mark.parametrize("name", ["pose_stream", "external_vehicle"])
def test_the_starters_pass(name: str, table: TableSettings) -> None:
    path = Path(find("profile", name))
    verdict = check(load(path, ProfileSettings), table)
    assert verdict.ok, verdict.text()
