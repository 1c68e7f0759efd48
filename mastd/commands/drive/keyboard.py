"""Driving by a keyboard: bytes of a terminal become keys, keys become what a car is driven with.

A terminal tells when a key is pressed and, after a while, that it is still pressed, never that it is let go.
So every press pushes a value a little further, one that is held at most at a certain rate, and steering and
brake go back by themselves.
"""

from __future__ import annotations

import math
import re
from typing import Final

from mastd.wire.operators.messages import MAX_GEAR, Inputs

DRIVE: Final = MAX_GEAR
"""Gear lever: the car chooses."""
STEP: Final = 0.1
"""Share that one press moves a value."""
STEERING_RATE: Final = 1.5
THROTTLE_RATE: Final = 0.8
BRAKE_RATE: Final = 3.0
"""1/s: how fast keys that are held move values, at most."""
CENTRING_TIME: Final = 0.7
"""s in which the steering goes back to 1/e."""
BRAKE_TIME: Final = 0.8
"""s in which the brake is let go from its end."""
ESCAPE_S: Final = 0.05
"""An escape that nothing follows for so long is the key."""

GAMEPAD_HELP = "1…9 gear   r reverse   n neutral   g automatic   x stop the table   q quit"
HELP = "arrows or WASD: steer, throttle, brake   space: full brake until throttle\n" + GAMEPAD_HELP
_SEQUENCE: Final = re.compile(rb"\x1b(?:\[[0-9;?]*([@-~])|O([@-~]))")
_ARROWS: Final = {b"A": "up", b"B": "down", b"C": "right", b"D": "left"}
_NAMES: Final = {"w": "up", "s": "down", "a": "left", "d": "right", " ": "full brake"}
_GEARS: Final = {**{str(gear): gear for gear in range(1, 10)}, "r": -1, "n": 0, "g": DRIVE}
_ACTIONS: Final = {"x": "stop", "q": "quit", "escape": "quit", "\x03": "quit", "\x04": "quit"}
_MAX_SEQUENCE: Final = 16


class KeyReader:
    """Cuts what a terminal sends into keys: ``up``, ``escape``, or the character in lower case."""

    def __init__(self) -> None:
        self._rest = b""
        self._since = 0.0

    def feed(self, data: bytes, now: float) -> list[str]:
        """Return the keys that end within ``data``; ``now`` in s."""
        data, self._rest, self._since = self._rest + data, b"", now
        keys, index = [], 0
        while index < len(data):
            if data[index] != 0x1B:
                character = data[index : index + 1].decode("ascii", "ignore").lower()
                keys += [_NAMES.get(character, character)] if character else []
                index += 1
                continue
            match = _SEQUENCE.match(data, index)
            if match:
                arrow = _ARROWS.get(match[1] or match[2])
                keys += [arrow] if arrow else []
                index = match.end()
            elif data[index + 1 : index + 2] in (b"", b"[", b"O") and len(data) - index < _MAX_SEQUENCE:
                self._rest = data[index:]
                break
            else:
                keys.append("escape")
                index += 1
        return keys

    def waited(self, now: float) -> list[str]:
        """Return the escape key if its byte has been alone for long enough."""
        if not self._rest or now - self._since < ESCAPE_S:
            return []
        self._rest = b""
        return ["escape"]


def action(key: str) -> str:
    """Return a key's action besides driving: stop, quit, or nothing."""
    return _ACTIONS.get(key, "")


def gear_of(key: str) -> int | None:
    """Return the gear that a key engages, None for other keys."""
    return _GEARS.get(key)


class Keyboard:
    """What is driven with; ``press`` for each key, ``inputs`` when they are sent."""

    def __init__(self, now: float) -> None:
        """Begin straight ahead, the feet off, the gear left to the car; ``now`` in s."""
        self._steering = 0.0
        self._throttle = 0.0
        self._brake = 0.0
        self._full_brake = False
        self._gear = DRIVE
        self._now = now
        self._pressed: dict[str, float] = {}

    def press(self, key: str, now: float) -> None:
        """Take a key."""
        self._pass_time(now)
        gear = gear_of(key)
        if gear is not None:
            self._gear = gear
        elif key == "left":
            self._steering = min(max(self._steering, 0.0) + self._push(key, STEERING_RATE), 1.0)
        elif key == "right":
            self._steering = max(min(self._steering, 0.0) - self._push(key, STEERING_RATE), -1.0)
        elif key == "up":
            self._brake, self._full_brake = 0.0, False
            self._throttle = min(self._throttle + self._push(key, THROTTLE_RATE), 1.0)
        elif key == "down":
            self._throttle = 0.0
            self._brake = min(self._brake + self._push(key, BRAKE_RATE), 1.0)
        elif key == "full brake":
            self._throttle, self._full_brake = 0.0, True

    def inputs(self, now: float) -> Inputs:
        """Return the inputs to send."""
        self._pass_time(now)
        brake = 1.0 if self._full_brake else self._brake
        return Inputs(self._steering, self._throttle, brake, 0.0, self._gear)

    def _push(self, key: str, rate: float) -> float:
        """Return how far a press moves its value: a step, less if the key repeats quickly."""
        passed = self._now - self._pressed.get(key, -math.inf)
        self._pressed[key] = self._now
        return min(STEP, rate * passed)

    def _pass_time(self, now: float) -> None:
        passed = max(0.0, now - self._now)
        self._now = max(now, self._now)
        self._steering *= math.exp(-passed / CENTRING_TIME)
        self._brake = max(0.0, self._brake - passed / BRAKE_TIME)
