"""Keyboard and gamepad: bytes become keys and events, these become what a car is driven with."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mastd.commands.drive.gamepad import (
    AXIS,
    BUTTON,
    USUAL,
    Axis,
    Device,
    Event,
    EventReader,
    Gamepad,
    mapping_of,
)
from mastd.commands.drive.keyboard import DRIVE, ESCAPE_S, Keyboard, KeyReader, action, gear_of
from mastd.errors import UsageError
from mastd.wire.operators.messages import Drive, Inputs, pack_drive, read_from_client

REPEAT_S = 1.0 / 30.0


def record(value: int, kind: int, number: int) -> bytes:
    """Return a record as Linux gives it: time in ms, value, type, number."""
    return struct.pack("=IhBB", 123456, value, kind, number)


@pytest.mark.parametrize(
    ("data", "keys"),
    [
        (b"wasd", ["up", "left", "down", "right"]),
        (b"WASD", ["up", "left", "down", "right"]),
        (b"\x1b[A\x1b[B\x1b[C\x1b[D", ["up", "down", "right", "left"]),
        (b"\x1bOA\x1bOD", ["up", "left"]),
        (b"\x1b[1;2C", ["right"]),
        (b"\x1b[3~x", ["x"]),
        (b"\x1b\x1b[A", ["escape", "up"]),
        (b"\x1bq", ["escape", "q"]),
        (b" 3\x03", ["full brake", "3", "\x03"]),
        ("ä€".encode(), []),
    ],
)
def test_bytes_become_keys(data: bytes, keys: list[str]) -> None:
    assert KeyReader().feed(data, 0.0) == keys


@given(st.lists(st.sampled_from([b"w", b"\x1b[A", b"\x1bOD", b" ", b"7", b"\x1b[1;5B"])), st.data())
def test_keys_do_not_depend_on_how_their_bytes_are_cut(parts: list[bytes], data: st.DataObject) -> None:
    whole = b"".join(parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    reader = KeyReader()
    found = []
    for begin, end in zip([0, *cuts], [*cuts, len(whole)], strict=True):
        found += reader.feed(whole[begin:end], 0.0)
    assert found == KeyReader().feed(whole, 0.0)


def test_a_lone_escape_is_the_key_after_a_moment() -> None:
    reader = KeyReader()
    assert reader.feed(b"\x1b", 1.0) == []
    assert reader.waited(1.0 + 0.5 * ESCAPE_S) == []
    assert reader.waited(1.0 + 1.5 * ESCAPE_S) == ["escape"]
    assert reader.waited(9.0) == []


@given(st.binary(max_size=200))
def test_whatever_a_terminal_sends_nothing_breaks(data: bytes) -> None:
    reader, keyboard = KeyReader(), Keyboard(0.0)
    for key in [*reader.feed(data, 0.0), *reader.waited(1.0)]:
        keyboard.press(key, 1.0)
    inputs = keyboard.inputs(1.0)
    assert read_from_client(pack_drive(1, 1, inputs)) == Drive(1, 1, *inputs)


def held(keyboard: Keyboard, key: str, begin: float, seconds: float, repeat: float = REPEAT_S) -> float:
    """Hold a key down as a terminal tells it; return the time."""
    now = begin
    while now < begin + seconds:
        keyboard.press(key, now)
        now += repeat
    return now


@pytest.mark.parametrize(("key", "sign"), [("left", 1.0), ("right", -1.0)])
def test_the_steering_follows_a_held_key_and_goes_back_by_itself(key: str, sign: float) -> None:
    keyboard = Keyboard(0.0)
    keyboard.press(key, 0.0)
    tapped = keyboard.inputs(0.0).steering
    assert 0.0 < sign * tapped <= 0.1
    assert abs(keyboard.inputs(0.5).steering) < 0.6 * abs(tapped)
    now = held(keyboard, key, 1.0, 3.0)
    assert sign * keyboard.inputs(now).steering > 0.8
    assert abs(keyboard.inputs(now + 3.0).steering) < 0.02


@pytest.mark.parametrize("repeat", [1 / 200, 1 / 60, 1 / 30, 1 / 15])
def test_how_fast_a_terminal_repeats_does_not_decide_how_fast_values_move(repeat: float) -> None:
    keyboard = Keyboard(0.0)
    now = held(keyboard, "up", 0.0, 0.5, repeat)
    assert keyboard.inputs(now).throttle == pytest.approx(0.5, abs=0.1)


def test_down_leaves_the_throttle_at_once_and_brakes_while_it_is_held() -> None:
    keyboard = Keyboard(0.0)
    now = held(keyboard, "up", 0.0, 2.0)
    assert keyboard.inputs(now + 5.0).throttle == 1.0, "the foot stays where it is"
    keyboard.press("down", 10.0)
    assert keyboard.inputs(10.0).throttle == 0.0
    assert keyboard.inputs(10.0).brake > 0.0
    now = held(keyboard, "down", 10.0, 1.0)
    assert keyboard.inputs(now).brake > 0.8
    assert keyboard.inputs(now + 1.0).brake == 0.0


def test_the_full_brake_stays_until_there_is_throttle() -> None:
    keyboard = Keyboard(0.0)
    held(keyboard, "up", 0.0, 1.0)
    keyboard.press("full brake", 2.0)
    keyboard.press("left", 5.0)
    keyboard.press("down", 6.0)
    inputs = keyboard.inputs(60.0)
    assert (inputs.throttle, inputs.brake) == (0.0, 1.0)
    keyboard.press("up", 61.0)
    inputs = keyboard.inputs(61.0)
    assert inputs.throttle > 0.0
    assert inputs.brake == 0.0


def test_gears_stop_and_leave_have_keys_of_their_own() -> None:
    keyboard = Keyboard(0.0)
    assert keyboard.inputs(0.0) == Inputs(gear=DRIVE)
    for key, gear in {"r": -1, "n": 0, "1": 1, "9": 9, "g": DRIVE}.items():
        keyboard.press(key, 1.0)
        assert (keyboard.inputs(1.0).gear, gear_of(key)) == (gear, gear)
    assert [action(key) for key in ("x", "q", "escape", "\x03", "w")] == ["stop", *["quit"] * 3, ""]


def test_records_become_events() -> None:
    reader = EventReader()
    data = record(-32767, AXIS, 0) + record(1, BUTTON, 5) + record(0, AXIS | 0x80, 2) + record(7, 0x40, 1)
    data += record(-32768, AXIS, 1)
    events = [event for place in range(0, len(data), 3) for event in reader.feed(data[place : place + 3])]
    assert events == [
        Event(AXIS, 0, -1.0, False),
        Event(BUTTON, 5, 1.0, False),
        Event(AXIS, 2, 0.0, True),
        Event(AXIS, 1, -1.0, False),
    ]


def moved(gamepad: Gamepad, number: int, value: float) -> Inputs:
    """Move an axis; return what is sent."""
    gamepad.on_event(Event(AXIS, number, value, False))
    return gamepad.inputs()


def test_a_stick_to_the_left_steers_to_the_left_from_its_dead_zone_on() -> None:
    gamepad = Gamepad(USUAL)
    assert moved(gamepad, 0, -1.0).steering == 1.0
    assert moved(gamepad, 0, 1.0).steering == -1.0
    assert moved(gamepad, 0, 0.04).steering == 0.0
    assert moved(gamepad, 0, -0.5).steering == pytest.approx(0.45 / 0.95)


def test_a_pedal_is_off_until_it_has_been_moved() -> None:
    gamepad = Gamepad(USUAL)
    gamepad.on_event(Event(AXIS, 5, 0.0, True))
    assert gamepad.inputs() == Inputs(gear=DRIVE)
    assert moved(gamepad, 5, 1.0).throttle == 1.0
    assert moved(gamepad, 5, -1.0).throttle == 0.0
    assert moved(gamepad, 2, -0.92).brake == 0.0
    assert moved(gamepad, 2, 0.0).brake == pytest.approx(0.45 / 0.95)


def test_a_wheel_whose_pedals_count_the_other_way_is_mapped() -> None:
    gamepad = Gamepad(mapping_of(["throttle=-2", "brake=-3", "clutch=-1", "steering=-0", "up=12"]))
    assert moved(gamepad, 2, -1.0).throttle == 1.0
    assert moved(gamepad, 2, 1.0).throttle == 0.0
    assert moved(gamepad, 3, -1.0).brake == 1.0
    assert moved(gamepad, 1, -1.0).clutch == 1.0
    assert moved(gamepad, 0, 1.0).steering == 1.0
    assert moved(gamepad, 5, 1.0).throttle == 0.0
    assert mapping_of(["clutch=7"]).axes["clutch"] == Axis(7)


def test_buttons_change_gears_and_stop() -> None:
    gamepad = Gamepad(USUAL)

    def press(number: int, initial: bool = False) -> tuple[str, int]:
        done = gamepad.on_event(Event(BUTTON, number, 1.0, initial))
        assert gamepad.on_event(Event(BUTTON, number, 0.0, initial)) == ""
        return done, gamepad.inputs().gear

    assert press(5) == ("", 1)
    assert press(5) == ("", 2)
    assert [press(4)[1] for _ in range(4)] == [1, 0, -1, -1]
    assert press(0) == ("", DRIVE)
    assert press(4) == ("", 0)
    assert press(1) == ("", -1)
    assert press(3) == ("", 0)
    assert [press(5)[1] for _ in range(12)][-1] == 9
    assert press(6) == ("stop", 9)
    assert press(6, initial=True) == ("", 9)


@given(st.binary(max_size=400))
def test_whatever_a_device_gives_what_is_sent_can_be_read(data: bytes) -> None:
    gamepad = Gamepad(USUAL)
    for event in EventReader().feed(data):
        gamepad.on_event(event)
    inputs = gamepad.inputs()
    assert read_from_client(pack_drive(1, 1, inputs)) == Drive(1, 1, *inputs)


def test_a_mapping_that_says_nothing_is_refused_all_at_once() -> None:
    with pytest.raises(UsageError) as caught:
        mapping_of(["gas=1", "throttle=x", "up=-3", "brake=64", "clutch"])
    lines = str(caught.value).splitlines()
    assert len(lines) == 5
    assert lines[0].startswith("--map gas=1: 'gas' is unknown; axes: steering, throttle, brake, clutch;")
    assert lines[1].startswith("--map throttle=x: expected throttle=NUMBER from 0 to 63, or throttle=-NUMBER")
    assert lines[2] == "--map up=-3: expected up=NUMBER from 0 to 63"


def test_what_is_no_device_is_refused_with_the_place_where_one_is(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"")
    for path, reason in (
        (tmp_path / "js0", "No such file or directory; connect it, usually /dev/input/js0"),
        (file, "is not a joystick device; usually /dev/input/js0"),
        (Path("/dev/null"), "is not a joystick device; usually /dev/input/js0"),
        (tmp_path, "is not a joystick device; usually /dev/input/js0"),
    ):
        with pytest.raises(UsageError) as caught:
            Device(str(path))
        assert str(caught.value) == f"--gamepad {path}: {reason}"


def test_a_device_that_vanishes_is_told(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with Device(str(pipe)) as device:
        writer = os.open(pipe, os.O_WRONLY)
        assert device.read() == b""
        os.write(writer, record(1, BUTTON, 5))
        assert device.read() == record(1, BUTTON, 5)
        os.close(writer)
        with pytest.raises(UsageError, match="disconnected"):
            device.read()
