"""Frames that nobody may take: for rigs' gateway, operators' gateway and plant, drawn from a seed.

Each ``Frame`` says under which of the receiver's counters it may be counted. Valid stops and emergency stops
are no part of it: they are always taken.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Final

import msgpack
import numpy as np
from msgspec import structs

from mastd.wire.access.verbs import COMMANDING
from mastd.wire.common.layout import command_layout
from mastd.wire.common.strict_messages import pack
from mastd.wire.operators import messages as operators
from mastd.wire.operators.messages import MAX_OPERATOR_MESSAGE
from mastd.wire.plant.messages import Command
from mastd.wire.rigs.messages import MAX_RIG_MESSAGE, Close, Heartbeat, RigHello, RigValues

FIRST: Final = 1 << 40
"""True messages count from here: whatever is below has been."""
NEVER: Final = 1 << 60
_BOMBS: Final = (b"\xdd\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff", b"\xc6\xff\xff\xff\xff", b"\x91" * 4000)
_ODD: Final[tuple[Any, ...]] = (1.0, True, None, "1", -1, (1 << 64) - 1, float("nan"), [], {}, b"")
_LOST: Final = frozenset({"unknown_session"})
"""A place may be lost meanwhile: then nothing of that session is taken."""


@dataclass(frozen=True)
class Frame:
    """A message of one or more frames; ``counters``: one of them counts it, none for what is not counted."""

    kind: str
    frames: tuple[bytes, ...]
    counters: frozenset[str]


def mutated(random: Random, data: bytes) -> bytes:
    """Return bytes with some bits flipped, some left out, or some put in."""
    changed = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 5))):
        place = random.randrange(len(changed))
        way = random.randrange(4)
        if way < 2:
            changed[place] ^= 1 << random.randrange(8)
        elif way == 2 and len(changed) > 1:
            del changed[place]
        else:
            changed.insert(place, random.randrange(256))
    return bytes(changed)


def shapeless(random: Random, whole: bytes, largest: int) -> Frame:
    """Return what is no message of any protocol; ``whole``: one that would be."""
    kind = random.choice(("junk", "cut", "longer", "bomb", "two frames", "too long"))
    malformed = frozenset({"malformed"})
    if kind == "junk":
        return Frame(kind, (b"\xc1" + random.randbytes(random.randrange(200)),), malformed)
    if kind == "cut":
        return Frame(kind, (whole[: random.randrange(len(whole))],), malformed)
    if kind == "longer":
        return Frame(kind, (whole + random.randbytes(random.randrange(1, 9)),), malformed)
    if kind == "bomb":
        return Frame(kind, (random.choice(_BOMBS),), malformed)
    if kind == "two frames":
        return Frame(kind, (b"", whole), malformed)
    size = random.randrange(largest + 1, 60_000)
    return Frame(kind, (bytes(size),), frozenset({"oversize"}))


class RigFrames:
    """What a rig that has its place, or nobody, may not say."""

    def __init__(self, random: Random, channels: int, hello: RigHello) -> None:
        self.session = 1
        self.sequence = FIRST
        """Of the newest message that was taken."""
        self._random = random
        self._channels = channels
        self._hello = hello
        self._sent: list[bytes] = []

    def true(self) -> bytes:
        """Return good values; they have no answer."""
        self.sequence += 1
        data = pack(RigValues(self.session, self.sequence, -1, 1, self._block(self._channels)))
        self._sent = [*self._sent[-9:], data]
        return data

    def new_session(self, session: int) -> None:
        """Count on in another session."""
        self.session, self._sent = session, []

    def draw(self) -> Frame:
        """Return one frame."""
        random, session = self._random, self.session
        draws: tuple[Callable[[], Frame], ...] = (
            self._old,
            self._old,
            self._new_but_wrong,
            self._of_no_session,
            self._mistyped,
            self._mutated,
            self._hello_of_others,
            lambda: shapeless(random, self._values(session, 5), MAX_RIG_MESSAGE),
        )
        return random.choice(draws)()

    def _block(self, channels: int) -> bytes:
        return np.array([self._random.uniform(-1.0, 1.0) for _ in range(channels)], dtype="<f8").tobytes()

    def _values(self, session: int, sequence: int, step: int = -1) -> bytes:
        return pack(RigValues(session, sequence, step, 1, self._block(self._channels)))

    def _old(self) -> Frame:
        random, counters = self._random, frozenset({"out_of_order"}) | _LOST
        kind = random.choice(("repeated", "replayed", "reordered", "old beat", "old bye"))
        if kind == "replayed" and self._sent:
            return Frame(kind, (random.choice(self._sent),), counters)
        sequence = self.sequence if kind == "repeated" else self.sequence - random.randrange(1, 1000)
        if kind == "old beat":
            return Frame(kind, (pack(Heartbeat(self.session, sequence, 1, 0, 0, -1)),), counters)
        if kind == "old bye":
            return Frame(kind, (pack(Close(self.session, sequence)),), counters)
        return Frame("reordered", (self._values(self.session, sequence),), counters)

    def _new_but_wrong(self) -> Frame:
        random, sequence = self._random, self.sequence + random_step(self._random)
        kind = random.choice(("wrong channels", "ahead", "not finite"))
        if kind == "ahead":
            data = self._values(self.session, sequence, NEVER + random.randrange(1000))
            return Frame(kind, (data,), frozenset({"ahead", "too_many"}) | _LOST)
        if kind == "wrong channels":
            count = random.choice([k for k in range(20) if k != self._channels])
            data = pack(RigValues(self.session, sequence, -1, 1, self._block(count)))
            return Frame(kind, (data,), frozenset({"wrong_channels", "too_many"}) | _LOST)
        block = np.frombuffer(self._block(self._channels)).copy()
        block[random.randrange(self._channels)] = random.choice((np.nan, np.inf, -np.inf))
        data = pack(RigValues(self.session, sequence, -1, 1, block.tobytes()))
        return Frame(kind, (data,), frozenset({"malformed"}))

    def _of_no_session(self) -> Frame:
        random = self._random
        session, sequence = random.randrange(1, 1 << 61), self.sequence + random_step(random)
        data = random.choice(
            (
                self._values(session, sequence),
                pack(Heartbeat(session, sequence, 1, 0, 0, -1)),
                pack(Close(session, sequence)),
            )
        )
        return Frame("no session", (data,), frozenset({"unknown_session"}))

    def _mistyped(self) -> Frame:
        random = self._random
        entries: list[Any] = ["values", self.session, self.sequence + 1, -1, 1, self._block(self._channels)]
        place = random.randrange(6)
        entries[place] = random.choice([odd for odd in _ODD if not _fits(place, odd)])
        return Frame("mistyped", (bytes(msgpack.packb(entries)),), frozenset({"malformed"}))

    def _mutated(self) -> Frame:
        data = mutated(self._random, self._values(self.session, 5))
        counters = frozenset({"malformed", "unknown_session", "out_of_order"})
        return Frame("mutated", (data,), counters)

    def _hello_of_others(self) -> Frame:
        random, hello = self._random, self._hello
        changes: dict[str, Any] = random.choice(
            (
                {"magic": "nothing"},
                {"version_lowest": 7, "version_highest": 9},
                {"name": "nobody"},
                {"role": "seat"},
                {"units": "inch"},
                {"mode": "lockstep"},
                {"period_ns": 7},
                {"reads": ("no.such",) * random.randrange(1, 20)},
                {"channels": (("brake", "1"),), "channels_sha256": "0" * 64},
            )
        )
        data = pack(structs.replace(hello, resume=self.session, **changes))
        if random.random() < 0.5:
            return Frame("hello of others", (data,), frozenset({"refused"}))
        data = mutated(random, pack(structs.replace(hello, magic="zzzzzzzzz")))
        return Frame("mutated hello", (data,), frozenset({"refused", "malformed"}))


class OperatorFrames:
    """What an observer, or nobody, may not say to the operators' gateway."""

    def __init__(self, random: Random) -> None:
        self.session = 1
        self.sequence = FIRST
        self.answered: dict[int, bytes] = {}
        """Answers to commands of this session, which their repetition must get again."""
        self._random = random

    def true(self) -> bytes:
        """Return a command that is carried out."""
        self.sequence += 1
        return self.command(self.sequence)

    def command(self, sequence: int) -> bytes:
        """Return the command of a sequence that has been carried out, or will be."""
        return pack(operators.Command(self.session, sequence, "status", {}))

    def draw(self) -> Frame:
        """Return one frame."""
        random = self._random
        draws: tuple[Callable[[], Frame], ...] = (
            self._again,
            self._old,
            self._beyond,
            self._of_no_session,
            self._mistyped,
            self._mutated,
            self._hello,
            lambda: shapeless(random, self.command(5), MAX_OPERATOR_MESSAGE),
        )
        return random.choice(draws)()

    def _again(self) -> Frame:
        sequence = self._random.choice(list(self.answered)) if self.answered else 5
        counters = frozenset({"replayed"} if self.answered else {"out_of_order"})
        return Frame("carried out before", (self.command(sequence),), counters)

    def _old(self) -> Frame:
        data = self.command(self._random.randrange(FIRST - 1000))
        return Frame("old", (data,), frozenset({"out_of_order"}))

    def _beyond(self) -> Frame:
        random = self._random
        verb = random.choice(sorted(COMMANDING))
        arguments: dict[str, dict[str, object]] = {
            "load": {"profile": "class_b_road"},
            "level": {"share": 0.5},
            "jog": {"axis": "heave", "amount": 0.001},
        }
        self.sequence += 1
        data = pack(operators.Command(self.session, self.sequence, verb, arguments.get(verb, {})))
        return Frame("beyond the role", (data,), frozenset({"not_allowed", "too_many"}))

    def _of_no_session(self) -> Frame:
        random = self._random
        verb = random.choice(sorted(COMMANDING - {"load", "level", "jog"}))
        data = pack(operators.Command(random.randrange(1, 1 << 61), random.randrange(1000), verb, {}))
        return Frame("no session", (data,), frozenset({"unknown_session"}))

    def _mistyped(self) -> Frame:
        random = self._random
        entries: dict[str, Any] = {
            "kind": "command",
            "session": self.session,
            "sequence": self.sequence + 1,
            "verb": "raise",
            "arguments": {},
        }
        name = random.choice(("kind", "session", "sequence", "verb", "arguments"))
        entries[name] = random.choice([odd for odd in _ODD if not (odd == {} and name == "arguments")])
        if random.random() < 0.3:
            entries["arguments"] = {"colour": 7}
        return Frame("mistyped", (bytes(msgpack.packb(entries)),), frozenset({"malformed"}))

    def _mutated(self) -> Frame:
        counters = frozenset({"malformed", "unknown_session", "out_of_order"})
        return Frame("mutated", (mutated(self._random, self.command(5)),), counters)

    def _hello(self) -> Frame:
        random = self._random
        entries: dict[str, Any] = {
            "kind": "hello",
            "protocol_version": random.choice((0, 2, 99)),
            "name": "fuzz",
            "operator": "fuzz",
            "role": "engineer",
        }
        if random.random() < 0.5:
            entries |= {"protocol_version": 1, "role": random.choice(("king", "", 7, None))}
        return Frame("hello of others", (bytes(msgpack.packb(entries)),), frozenset({"malformed"}))


class PlantFrames:
    """What a stranger may say to the plant of a daemon, and the plant does not do."""

    def __init__(self, random: Random, actuators: int) -> None:
        self._random = random
        self._command = Command(command_layout(actuators))

    def draw(self) -> Frame:
        """Return one frame."""
        random = self._random
        kind = random.choice(("command", "mutated", "mistyped", "shapeless", "request"))
        if kind == "command":
            return Frame(kind, (self._packed(),), frozenset({"strangers"}))
        if kind == "mutated":
            return Frame(kind, (mutated(random, self._packed()),), frozenset({"strangers", "invalid"}))
        if kind == "mistyped":
            entries: list[Any] = msgpack.unpackb(self._packed())
            del entries[random.randrange(len(entries))]
            return Frame(kind, (bytes(msgpack.packb(entries)),), frozenset({"invalid"}))
        if kind == "shapeless":
            frame = shapeless(random, self._packed(), MAX_RIG_MESSAGE)
            return replace(frame, counters=frozenset({"invalid"}))
        wrong: tuple[dict[str, Any], ...] = ({}, {"fault": random.random()}, {"fault": "such@0s"}, {"x": [1]})
        entry = {"kind": random.choice(("inject", "nothing", "hello", "HELLO", "")), **random.choice(wrong)}
        return Frame(kind, (bytes(msgpack.packb(entry)),), frozenset())

    def _packed(self) -> bytes:
        command, random = self._command, self._random
        command.sequence, command.step = random.randrange(1 << 50), random.randrange(1 << 50)
        command.values[:] = random.uniform(-1.0, 1.0)
        return command.pack()


def random_step(random: Random) -> int:
    """Return by how much a sequence goes on."""
    return random.randrange(1, 1000)


def _fits(place: int, odd: object) -> bool:
    """Return whether an odd entry could stand in a message of values after all."""
    return (type(odd) is int and place == 3) or (odd == b"" and place == 5)
