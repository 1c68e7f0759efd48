"""Malformed, replayed and out-of-order messages at both ends of the plant link, over real sockets.

The daemon's end: a peer in the plant's place sends nonsense before every true sample of the real plant; the
cycle has to send the same commands as without it. The plant's end: the daemon that has the place and a
stranger send nonsense; nothing of it may be applied. Messages are counted by kind.
"""

from __future__ import annotations

import contextlib
import hashlib
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import msgpack
import pytest
import zmq

from hil_sim.plant.endpoint import Event, PlantEndpoint
from hil_sim.plant.plant import Plant
from hil_sim.plant.provider import provider
from hil_sim.plant.requests import PlantRequests
from hil_sim.soak.soak import resident_memory
from mastd.loop.process.installation import Plan
from mastd.safety.states import State
from mastd.wire.access.verbs import Verb
from mastd.wire.plant.hello import DaemonHello, LinkTerms, PlantHello, pack_hello, pack_map, pack_welcome
from mastd.wire.plant.messages import Command, Sample
from mastd.wire.plant.provider import PlantRequest
from mastd.wire.plant.socket_link import MAX_MESSAGE, OTHERS_PER_CALL, SocketLink, connect
from tests.support.lab import Lab

pytestmark = pytest.mark.real_time

SECOND = 1_000_000_000
PER_CYCLE = 100
GROWTH_MIB = 8.0
PROFILE = """
name: shaking
segments:
  - {kind: sine, frequency: 2 Hz, duration: 30 s, axes: {heave: {amplitude: 5 mm}}}
"""
COUNTS = [20_000, pytest.param(100_000, marks=pytest.mark.evidence)]


def corrupted(random: Random, parts: list[object], integers: range) -> bytes:
    """Return a message of these parts that no decoder may take: one thing is wrong with it."""
    block = parts[-1]
    assert isinstance(block, bytes)
    choice = random.randrange(10)
    if choice == 0:
        return random.randbytes(random.randrange(0, 200))
    if choice == 1:
        return bytes(msgpack.packb(parts))[: random.randrange(1, 300)]
    if choice == 2:
        return bytes(msgpack.packb(parts)) + random.randbytes(random.randrange(1, 9))
    if choice == 3:
        return bytes(msgpack.packb(parts[: random.randrange(len(parts))]))
    if choice == 4:
        return bytes(msgpack.packb([*parts, 0]))
    if choice == 5:
        wrong: tuple[object, ...] = (b"sample", "smaple", None, 7, ["sample"], "sample\0")
        return bytes(msgpack.packb([random.choice(wrong), *parts[1:]]))
    if choice == 6:
        return bytes(msgpack.packb([*parts[:-1], block[: random.randrange(len(block))]]))
    if choice == 7:
        return bytes(msgpack.packb([*parts[:-1], random.choice((None, "x", 1.0, [0.0] * 10, block * 2))]))
    if choice == 8:
        changed = list(parts)
        odd: tuple[object, ...] = (1.0, True, None, "1", 1 << 63, float("nan"), [], {})
        changed[random.choice(integers)] = random.choice(odd)
        return bytes(msgpack.packb(changed))
    return b"\xdd\xff\xff\xff\xff" + random.randbytes(8)  # an array of four thousand million


class FalsePlant:
    """A ROUTER in the plant's place that greets one daemon and then sends what it likes."""

    def __init__(self, address: str, terms: LinkTerms, boot_id: int) -> None:
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self.socket = self._context.socket(zmq.ROUTER)
        self.socket.linger = 0
        self.socket.set_hwm(1000)
        self.socket.setsockopt(zmq.ROUTER_HANDOVER, 1)
        self.socket.bind(address)
        self.peer = b""
        self._welcome = pack_welcome(PlantHello.of(terms, boot_id, "false plant", simulated=True))

    def connected(self, address: str, terms: LinkTerms) -> SocketLink:
        """Return a daemon's link to this plant."""
        greeter = threading.Thread(target=self._greet)
        greeter.start()
        link = connect(address, terms)
        greeter.join()
        return link

    def _greet(self) -> None:
        self.peer = self.socket.recv()
        self.socket.recv()
        self.send(self._welcome)

    def send(self, data: bytes) -> None:
        self.socket.send(self.peer, zmq.SNDMORE)
        self.socket.send(data)

    def last_command(self) -> bytes:
        """Return the command that the daemon has just sent."""
        assert self.socket.poll(2000)
        self.socket.recv()
        return self.socket.recv()

    def close(self) -> None:
        self.socket.close()
        self._context.term()


@pytest.fixture
def plan(lab: Lab) -> Plan:
    return Plan.load(lab.table, lab.profile(PROFILE), lab.config)


def nonsense(random: Random, sample: Sample, sent: list[bytes]) -> tuple[str, bytes]:
    """Return under what the daemon has to count a message that it must not take, and the message."""
    parts: list[object] = list(msgpack.unpackb(sample.pack()))
    choice = random.randrange(6)
    if choice == 0 and sent:
        return "old", random.choice(sent)
    if choice == 1 and sent:
        # Numbers nobody measured, under a number that has been.
        parts[2], parts[-1] = random.randrange(-5, sample.sequence), random.randbytes(len(sample.values) * 8)
        return "old", bytes(msgpack.packb(parts))
    if choice == 2:
        parts[1], parts[2] = random.getrandbits(62), sample.sequence + random.randrange(5)
        return "other_boot", bytes(msgpack.packb(parts))
    if choice == 3:
        kind = random.choice(("probe", "answer", "bye", "hello", "nothing"))
        return "ignored", pack_map(kind, {"x": random.random()})
    if choice == 4 and sent:
        mutated = bytearray(random.choice(sent))
        mutated[random.randrange(8)] ^= 1 << random.randrange(8)  # head of the array, kind
        return "invalid", bytes(mutated)
    return "invalid", corrupted(random, parts, range(1, 8))


class Play:
    """The real plant and the real cycle with a socket and a liar between them."""

    def __init__(self, plan: Plan, directory: Path, name: str) -> None:
        plant = provider.open(PlantRequest(plan.table_path, mode="lockstep"))
        assert isinstance(plant, Plant)
        self.plant = plant
        self.cycle = plan.cycle()
        address = f"ipc://{directory}/{name}"
        self.false = FalsePlant(address, plan.terms("free-run"), plant.boot_id)
        self.link = self.false.connected(address, plan.terms("free-run"))
        self.digest = hashlib.sha256()
        self.counted: Counter[str] = Counter()
        self.unread = 0
        """Messages that are no samples, and would be ignored, beyond those that one call reads."""
        self._period_ns = plan.daemon.period_ns
        self._true = Sample(plant.sample_layout)
        self._command = Command(plant.command_layout)
        self._sent: list[bytes] = []
        self._random = Random(1)
        self._sequence = 0
        self._now = 0

    def step(self, verb: Verb = Verb.NONE, lies: int = 0) -> None:
        """One cycle, with ``lies`` messages before the true sample."""
        self.plant.read(self._true)
        self._true.sequence = self._sequence
        self._true.step = self.plant.time_ns // self._period_ns
        others = 0
        for _ in range(lies):
            kind, message = nonsense(self._random, self._true, self._sent)
            self.false.send(message)
            others += kind in ("ignored", "invalid")
            self.counted[kind] += 1
            self.unread += kind == "ignored" and others > OTHERS_PER_CALL
        true = self._true.pack()
        self.false.send(true)
        self._sent = [*self._sent[-9:], true]
        self._sequence += 1
        sample = self.cycle.sample
        assert self.link.newest(sample, 2 * SECOND) == 1, "nothing but the true sample is taken"
        assert sample.pack() == true
        self._now += self._period_ns
        self.cycle.step(1, self._now, verb)
        assert self.link.send(self.cycle.command)
        self._command.unpack(self.false.last_command())
        self.digest.update(self._command.values.tobytes())
        self.plant.advance(self._command, self._period_ns)

    def until(self, state: State) -> None:
        for _ in range(20_000):
            if self.cycle.supervisor.state is state:
                return
            self.step()
        raise AssertionError(f"{state.name} not reached")

    def start(self) -> None:
        """Raise, arm and start."""
        self.step()
        self.step(Verb.RAISE)
        self.until(State.READY)
        self.step(Verb.ARM)
        self.step(Verb.START)
        assert self.cycle.supervisor.state is State.RUNNING

    def close(self) -> None:
        self.link.close()
        self.false.close()


@pytest.mark.parametrize("messages", COUNTS)
def test_a_daemon_takes_nothing_but_true_samples(plan: Plan, tmp_path: Path, messages: int) -> None:
    with (
        contextlib.closing(Play(plan, tmp_path, "liar")) as liar,
        contextlib.closing(Play(plan, tmp_path, "honest")) as honest,
    ):
        _lie(liar, honest, messages)


def _lie(liar: Play, honest: Play, messages: int) -> None:
    for play in (liar, honest):
        play.start()
    memory = 0.0
    for k in range(messages // PER_CYCLE):
        liar.step(lies=PER_CYCLE)
        honest.step()
        assert liar.cycle.supervisor.state is State.RUNNING
        if k == 50:
            memory = resident_memory()
    assert resident_memory() - memory < GROWTH_MIB
    assert liar.digest.digest() == honest.digest.digest()
    assert liar.cycle.supervisor.latch.first is None
    counters = liar.link.counters
    assert counters.old == liar.counted["old"]
    assert counters.other_boot == liar.counted["other_boot"]
    assert counters.invalid == liar.counted["invalid"] + liar.unread
    assert sum(liar.counted.values()) == messages
    assert min(liar.counted.values()) > messages // 12
    assert (counters.lost, counters.unsent) == (0, 0)
    print(dict(liar.counted))


def test_a_message_that_is_too_large_loses_the_plant_and_nothing_else(plan: Plan, tmp_path: Path) -> None:
    """The socket drops the connection and does not open it again: the plant is lost, as after its death."""
    with contextlib.closing(Play(plan, tmp_path, "large")) as play:
        _send_too_large(play)


def _send_too_large(play: Play) -> None:
    for _ in range(20):
        play.step()
    link, sample = play.link, play.cycle.sample
    before = sample.pack()
    play.false.send(bytes(MAX_MESSAGE + 1))
    for _ in range(200):
        if not link.send(play.cycle.command):
            break
        assert link.newest(sample, SECOND // 100) == 0
    assert not link.send(play.cycle.command)
    assert link.newest(sample, 0) == 0
    assert sample.pack() == before
    assert link.counters.received == 20


@pytest.fixture
def served(plan: Plan, tmp_path: Path) -> Iterator[tuple[PlantEndpoint, Plant, str]]:
    plant = provider.open(PlantRequest(plan.table_path, mode="lockstep"))
    assert isinstance(plant, Plant)
    terms = plan.terms("lockstep")
    address = f"ipc://{tmp_path}/plant"
    hello = PlantHello.of(terms, plant.boot_id, plant.name, simulated=True)
    endpoint = PlantEndpoint(address, terms, hello, PlantRequests(plant))
    yield endpoint, plant, address
    endpoint.close()


def false_command(
    random: Random, command: Command, held: bool, step: int, counted: Counter[str]
) -> list[bytes]:
    """Return the frames of a message that the plant must not apply, and count under what it is counted."""
    parts: list[object] = list(msgpack.unpackb(command.pack()))
    block = parts[-1]
    assert isinstance(block, bytes)
    choice = random.randrange(7)
    if choice == 0:
        counted["old" if held else "strangers"] += 1
        parts[1] = random.randrange(-3, command.sequence + 1)
        return [bytes(msgpack.packb(parts))]
    if choice == 1:
        counted["late" if held else "strangers"] += 1
        parts[1] = command.sequence + 1 + random.randrange(1000)
        parts[2] = step + random.choice((-1, 1)) * random.randrange(101, 1 << 40)
        return [bytes(msgpack.packb(parts))]
    if choice == 2:
        counted["invalid" if held else "strangers"] += 1
        parts[1], parts[2] = command.sequence + 1, step
        broken = random.choice((b"\0\0\0\0\0\0\xf8\x7f", b"\0\0\0\0\0\0\xf0\x7f", b"\xff" * 8))
        at = 8 * random.randrange(len(block) // 8)
        parts[-1] = block[:at] + broken + block[at + 8 :]
        return [bytes(msgpack.packb(parts))]
    if choice == 3:
        counted["invalid"] += 1
        return [command.pack()] * random.randrange(2, 5)
    if choice == 4:
        counted["answered"] += 1
        wrong: tuple[dict[str, object], ...] = (
            {},
            {"fault": random.random()},
            {"fault": "estop"},
            {"x": [1]},
        )
        return [pack_map(random.choice(("inject", "nothing", "hello", "HELLO", "")), random.choice(wrong))]
    counted["invalid"] += 1
    return [corrupted(random, parts, range(1, 5))]


@pytest.mark.parametrize("messages", COUNTS)
def test_a_plant_applies_nothing_but_the_next_command_of_its_daemon(
    served: tuple[PlantEndpoint, Plant, str], plan: Plan, messages: int
) -> None:
    with (
        zmq.Context() as context,
        context.socket(zmq.DEALER) as daemon,
        context.socket(zmq.DEALER) as stranger,
    ):
        _command_falsely(served, plan, messages, daemon, stranger)


def _command_falsely(
    served: tuple[PlantEndpoint, Plant, str],
    plan: Plan,
    messages: int,
    daemon: zmq.Socket[bytes],
    stranger: zmq.Socket[bytes],
) -> None:
    endpoint, plant, address = served
    command, arrived = Command(plant.command_layout), Command(plant.command_layout)
    for socket in (daemon, stranger):
        socket.linger = 0
        socket.set_hwm(1000)
        socket.connect(address)
    daemon.send(pack_hello(DaemonHello.of(plan.terms("lockstep"), "the one")))
    taken(endpoint, arrived, 0, lambda event: event is Event.WELCOMED)
    random, counted = Random(2), Counter[str]()
    memory, status = 0.0, plant.time_ns
    for step in range(messages // PER_CYCLE):
        before = arrived.pack()
        command.sequence = step - 1
        seen = 0
        for _ in range(PER_CYCLE):
            held = random.random() < 0.7
            (daemon if held else stranger).send_multipart(false_command(random, command, held, step, counted))
        while seen < PER_CYCLE:
            event = endpoint.receive(arrived, step, wait=True)
            assert event is not Event.COMMAND
            assert event is not Event.WELCOMED
            seen += event is not Event.NOTHING
        assert arrived.pack() == before
        assert plant.time_ns == status, "nothing moves the plant"
        assert endpoint.daemon is not None
        assert endpoint.daemon.name == "the one"
        command.sequence, command.step = step, step
        daemon.send(command.pack())
        taken(endpoint, arrived, step, lambda event: event is Event.COMMAND)
        assert arrived.sequence == step
        while daemon.poll(0):  # the stranger never reads
            daemon.recv()
        if step == 50:
            memory = resident_memory()
    assert resident_memory() - memory < GROWTH_MIB
    counters = vars(endpoint.counters)
    assert {name: counters[name] for name in ("old", "late", "strangers", "invalid")} == {
        name: counted[name] for name in ("old", "late", "strangers", "invalid")
    }
    assert counters["commands"] == messages // PER_CYCLE
    assert counters["lost"] == 0
    print(dict(counted))


def taken(endpoint: PlantEndpoint, arrived: Command, step: int, wanted: Callable[[Event], bool]) -> None:
    """Receive until the wanted event comes."""
    for _ in range(100):
        if wanted(endpoint.receive(arrived, step, wait=True)):
            return
    raise AssertionError("it does not come")
