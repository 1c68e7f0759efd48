"""The gateway as a real process with real sockets, before a loop that only answers."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import msgpack
import pytest
import zmq

from mastd.errors import ProtocolError, UsageError
from mastd.safety.states import State
from mastd.wire.access.keys import KeyRing
from mastd.wire.access.verbs import Verb
from mastd.wire.common.strict_messages import pack
from mastd.wire.operators.client import ClientKeys, OperatorClient
from mastd.wire.operators.messages import (
    Answer,
    Command,
    Error,
    Hello,
    Welcome,
    read_from_client,
    read_from_gateway,
)
from tests.support.wire.operators import FLAT_MEMORY_KB, Daemon, free_port, settings, wait_for

pytestmark = pytest.mark.real_time

STRANGE_MESSAGES = 20_000
"""In the normal suite; the evidence sends 100,000."""


StartDaemon = Callable[..., Daemon]


@pytest.fixture
def start_daemon(tmp_path: Path) -> Iterator[StartDaemon]:
    daemons: list[Daemon] = []

    def start(**changes: object) -> Daemon:
        daemons.append(Daemon(tmp_path, **changes))
        return daemons[-1]

    yield start
    for daemon in daemons:
        daemon.close()


@pytest.fixture
def fresh(start_daemon: StartDaemon) -> Daemon:
    """A daemon that nobody has spoken to."""
    return start_daemon()


@pytest.fixture(scope="module")
def common(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    daemon = Daemon(tmp_path_factory.mktemp("gateway"))
    yield daemon
    daemon.close()


@pytest.fixture
def daemon(common: Daemon) -> Daemon:
    """A daemon that stands in READY and obeys nobody; starting one for each test takes too long."""
    common.loop.reset()
    with common.client("observer", role="observer") as client:
        lease = client.status()["lease"]
    if lease:
        with common.client(lease["holder"]) as client:
            client.command("release")
    return common


@contextlib.contextmanager
def bare(daemon: Daemon) -> Iterator[zmq.Socket[bytes]]:
    """Give a bare socket, as a client in another language has one."""
    with zmq.Context() as context, context.socket(zmq.DEALER) as socket:
        socket.linger = 0
        socket.connect(daemon.handle.address)
        yield socket


@pytest.fixture
def dealer(daemon: Daemon) -> Iterator[zmq.Socket[bytes]]:
    with bare(daemon) as socket:
        yield socket


_Message = TypeVar("_Message", Welcome, Answer)


def hello(socket: zmq.Socket[bytes], operator: str = "anna") -> Welcome:
    socket.send(pack(Hello(1, "test", operator, "operator")))
    return heard(socket, Welcome)


def heard(socket: zmq.Socket[bytes], kind: type[_Message]) -> _Message:
    """Return the next message, which is of this kind."""
    assert socket.poll(10_000), "no answer"
    message = read_from_gateway(socket.recv())
    assert isinstance(message, kind), message
    return message


def test_commands_are_answered_by_the_loop(daemon: Daemon) -> None:
    with daemon.client() as client:
        assert client.welcome.pid == os.getpid()
        arm = client.command("arm")
        assert (arm.accepted, arm.state, arm.lease) == (True, "ARMED", "anna")
        hold = client.command("hold")
        assert (hold.accepted, hold.reason, hold.needed) == (
            False,
            "hold is refused in ARMED",
            "a profile must be running",
        )
        assert client.command("jog", {"link": 5, "amount": 0.01}).reason == "jog is refused in ARMED"
        assert client.command("stop").accepted
        assert client.command("estop").state == "ESTOP"
        assert [verb for verb, _ in daemon.loop.taken] == [Verb.ARM, Verb.STOP, Verb.ESTOP]
        with pytest.raises(ProtocolError, match="axis 'up' is not known"):
            client.command("jog", {"axis": "up", "amount": 0.01})


def test_the_status_says_what_the_technician_must_know(daemon: Daemon) -> None:
    daemon.loop.fault, daemon.loop.cause = 10, "following error: actuator 3, 12.0 mm"
    with daemon.client() as client:
        client.command("arm")
        status = client.status()
    assert status["state"] == "ARMED"
    assert status["loop"] == "running"
    assert status["cause"]["name"] == "FOLLOWING_ERROR"
    assert status["cause"]["text"] == "following error: actuator 3, 12.0 mm"
    assert "does not follow" in status["cause"]["hint"]
    assert status["active"] == ["FOLLOWING_ERROR"]
    assert status["lease"]["holder"] == "anna"
    assert status["profile"]["time_s"] is None
    assert len(status["lengths_m"]) == 7
    json.dumps(status, allow_nan=False)


def test_whoever_watches_sees_the_state_change(fresh: Daemon) -> None:
    with fresh.client() as client:
        snapshots = client.watch()
        first = next(snapshots)
        assert first["state"] == "READY"
        client.command("arm")
        for snapshot in snapshots:
            assert snapshot["number"] > first["number"]
            if snapshot["state"] == "ARMED":
                break
        fresh.loop.pause()
        fresh.loop.show(ended=True)
        assert [snapshot["loop"] for snapshot in snapshots][-1] == "ended"
    wait_for(lambda: not fresh.handle.alive(), "the gateway ends with its loop")
    assert not list(fresh.directory.glob("mastd.*s"))


def test_the_same_command_twice_is_carried_out_once(daemon: Daemon, dealer: zmq.Socket[bytes]) -> None:
    session = hello(dealer).session
    packed = pack(Command(session, 1, "jog", {"axis": "heave", "amount": 0.001}))
    for _ in range(5):
        dealer.send(packed)
    first = heard(dealer, Answer)
    dealer.send(packed)
    assert heard(dealer, Answer) == first
    dealer.send(pack(Command(session, 2, "status", {})))
    while True:
        answer = heard(dealer, Answer)
        if answer.verb == "status":
            break
        assert answer == first
    assert [verb for verb, _ in daemon.loop.taken] == [Verb.JOG]


def test_one_commands_and_everybody_stops(daemon: Daemon) -> None:
    with daemon.client("anna") as anna, daemon.client("bert") as bert:
        assert anna.command("arm").accepted
        refused = bert.command("start")
        assert "anna has control for another 60 s" in refused.reason
        assert bert.command("stop").accepted
        assert daemon.loop.state is State.READY
        assert not bert.command("release").accepted
        assert anna.command("release").accepted
        assert bert.command("arm").lease == "bert"


def test_a_lease_runs_out(start_daemon: StartDaemon) -> None:
    daemon = start_daemon(limits=settings(lease=1.0))
    with daemon.client("anna") as anna, daemon.client("bert") as bert:
        anna.command("arm")
        for snapshot in bert.watch():
            if snapshot["lease"] is None:
                break
        assert bert.command("start").accepted


def test_a_stuck_loop_is_shown_and_takes_no_commands(daemon: Daemon) -> None:
    with daemon.client() as client:
        client.command("arm")
        daemon.loop.pause()
        snapshot = next(s for s in client.watch() if s["loop"] == "stuck")
        assert "the drive lowers the table by itself; restart the daemon" in snapshot["advice"]
        refused = client.command("start")
        assert not refused.accepted
        assert "the loop has not moved for" in refused.reason
        stop = client.command("stop")
        assert not stop.accepted
        assert "was not answered by the loop" in stop.reason
        daemon.loop.run()  # it wakes up, and finds the stop
        wait_for(lambda: daemon.loop.state is State.READY, "the stop is taken")
        assert client.command("arm").accepted


def test_a_flooding_client_is_slowed_down_and_others_are_served(start_daemon: StartDaemon) -> None:
    daemon = start_daemon(limits=settings(command_rate=20.0, burst=5))
    enough = threading.Event()

    def flood() -> None:
        with zmq.Context() as context, context.socket(zmq.DEALER) as socket:
            socket.linger = 0
            socket.connect(daemon.handle.address)
            session = hello(socket, "flood").session
            for sequence in range(1 << 30):
                with contextlib.suppress(zmq.Again):
                    socket.send(pack(Command(session, sequence, "arm", {})), zmq.NOBLOCK)
                if enough.is_set():
                    return

    thread = threading.Thread(target=flood)
    with daemon.client("bert") as bert:
        thread.start()
        wait_for(lambda: bert.status()["counters"]["too_many"] > 500, "the flood has begun")
        for _ in range(20):
            assert bert.command("stop").accepted
        enough.set()
        thread.join()
        assert daemon.loop.counters()[0] == 20
        assert len(daemon.loop.taken) < 500


def test_a_client_that_never_reads_loses_only_its_own_answers(
    daemon: Daemon, dealer: zmq.Socket[bytes]
) -> None:
    session = hello(dealer, "deaf").session
    dealer.set_hwm(10)
    before = daemon.resident_kb
    with daemon.client("bert") as bert:
        for sequence in range(3000):
            with contextlib.suppress(zmq.Again):
                dealer.send(pack(Command(session, sequence, "status", {})), zmq.NOBLOCK)
            if sequence % 300 == 0:
                assert bert.command("stop").accepted
        assert bert.status()["clients"] >= 2
    assert daemon.resident_kb - before < 3 * FLAT_MEMORY_KB


CLIENT = """
import sys
from mastd.wire.operators.client import OperatorClient
client = OperatorClient(sys.argv[1], "carl")
print(client.command("arm").accepted, flush=True)
client.send("start", {})
sys.stdin.read()
"""


def test_a_client_that_dies_in_the_middle_changes_nothing_for_others(daemon: Daemon) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", CLIENT, daemon.handle.address],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "True\n"
        process.kill()
        process.wait()
    with daemon.client("bert") as bert:
        assert "carl has control" in bert.command("arm").reason
        assert bert.command("stop").accepted
        assert bert.command("status").accepted


def strange(source: random.Random, session: int, count: int) -> Iterator[tuple[str, bytes | list[bytes]]]:
    """Give messages that change nothing, each with the counter that counts it."""
    valid = pack(Command(session, 1000, "jog", {"axis": "heave", "amount": 0.01}))
    for _ in range(count):
        kind = source.randrange(8)
        if kind == 0:
            yield "malformed", b"\xc1" + source.randbytes(source.randrange(200))
        elif kind == 1:
            yield "malformed", valid[: source.randrange(len(valid))]
        elif kind == 2:
            yield "malformed", msgpack.packb({"kind": "command", "session": session, "sequence": True})
        elif kind == 3:
            yield "malformed", [valid, valid]
        elif kind == 4:
            yield "oversize", valid + bytes(20_000)
        elif kind == 5:
            yield "unknown_session", pack(Command(session + 1 + source.randrange(99), 2000, "stop", {}))
        elif kind == 6:
            yield "replayed", valid
        else:
            yield "out_of_order", pack(Command(session, source.randrange(900), "estop", {}))


def bombard(daemon: Daemon, socket: zmq.Socket[bytes], count: int) -> None:
    """Send strange messages; nothing changes, everything is counted by its kind, memory stays."""
    session = hello(socket).session
    socket.send(pack(Command(session, 1000, "jog", {"axis": "heave", "amount": 0.01})))
    heard(socket, Answer)
    before = daemon.loop.counters()
    taken = list(daemon.loop.taken)
    expected: dict[str, int] = {}
    answered = 0
    memory = 0
    for number, (kind, message) in enumerate(strange(random.Random(3), session, count)):
        if isinstance(message, list):
            socket.send_multipart(message)
        else:
            socket.send(message)
        expected[kind] = expected.get(kind, 0) + 1
        while socket.poll(0):
            socket.recv()
            answered += 1
        if number == count // 4:
            memory = daemon.resident_kb
    with daemon.client("bert") as client:
        wait_for(
            lambda: sum(client.status()["counters"][kind] for kind in expected) >= count,
            "everything has been heard",
            60.0,
        )
        counters = client.status()["counters"]
        state = client.status()["state"]
    assert {kind: counters[kind] for kind in expected} == expected
    assert daemon.resident_kb - memory < FLAT_MEMORY_KB
    assert daemon.loop.counters() == before
    assert daemon.loop.taken == taken
    assert state == "READY"
    assert daemon.handle.alive()


def test_strange_messages_change_nothing(fresh: Daemon) -> None:
    with bare(fresh) as socket:
        bombard(fresh, socket, STRANGE_MESSAGES)


@pytest.mark.evidence
def test_100_000_strange_messages_change_nothing(fresh: Daemon) -> None:
    with bare(fresh) as socket:
        bombard(fresh, socket, 100_000)


def test_a_frame_that_is_far_too_long_ends_its_connection_only(
    daemon: Daemon, dealer: zmq.Socket[bytes]
) -> None:
    hello(dealer)
    dealer.send(bytes(1 << 20))
    with daemon.client("bert") as bert:
        assert bert.command("stop").accepted
    hello(dealer)  # ZeroMQ has connected anew


def test_a_session_that_lost_its_place_says_hello_by_itself(fresh: Daemon) -> None:
    with fresh.client() as client, contextlib.ExitStack() as crowd:
        context = crowd.enter_context(zmq.Context())
        for number in range(64):
            socket = crowd.enter_context(context.socket(zmq.DEALER))
            socket.linger = 0
            socket.connect(fresh.handle.address)
            hello(socket, f"guest {number}")
        assert client.command("arm").accepted
        counters = client.status()["counters"]
        assert counters["unknown_session"] == 1
        assert counters["sessions_dropped"] == 2


LOADER = """
import json, sys
job = json.loads(sys.stdin.readline())
if job["profile"].endswith("slow"):
    open(job["profile"]).read()  # a pipe that nobody has opened for writing yet
ok = "bad" not in job["profile"]
if "broken" in job["profile"]:
    raise SystemExit("the loader's own words")
print(json.dumps({"ok": ok, "text": "passes" if ok else "stroke: worst 60 mm", **job}))
raise SystemExit(0 if ok else 1)
"""


def test_a_profile_is_loaded_beside_everything_else(start_daemon: StartDaemon, tmp_path: Path) -> None:
    daemon = start_daemon(loader=(sys.executable, "-c", LOADER), slot=0)
    with daemon.client() as client, daemon.client("bert") as bert:
        loaded = client.command("load", {"profile": "good"})
        assert (loaded.accepted, loaded.reason) == (True, "passes")
        assert daemon.loop.taken == [(Verb.LOAD, (1.0, 1.0, 0.0, 0.0))]
        assert client.command("load", {"profile": "bad"}).reason == "load is refused: stroke: worst 60 mm"
        broken = client.command("load", {"profile": "broken"})
        assert broken.reason == "load is refused: the loader ended with code 1: the loader's own words"
        assert len(daemon.loop.taken) == 1
        pipe = tmp_path / "slow"
        os.mkfifo(pipe)
        client.send("load", {"profile": str(pipe)})
        wait_for(lambda: bert.status()["loading"] == str(pipe), "loading has begun")
        assert "is being loaded" in daemon.client().command("load", {"profile": "x"}).reason
        assert bert.command("stop").accepted
        pipe.write_bytes(b"")
        wait_for(lambda: len(daemon.loop.taken) == 3, "the profile is loaded")
        assert daemon.loop.taken[-1] == (Verb.LOAD, (0.0, 4.0, 0.0, 0.0))
        client.command("arm")
        refused = client.command("load", {"profile": "good"})
        assert (refused.reason, refused.needed) == ("load is refused in ARMED", "load in OFF or READY")


def test_whoever_waits_is_told_that_the_daemon_ends(fresh: Daemon) -> None:
    with bare(fresh) as socket:
        session = hello(socket).session
        fresh.loop.pause()
        for sequence, verb in enumerate(("arm", "start", "stop")):
            socket.send(pack(Command(session, sequence, verb, {})))
        wait_for(lambda: fresh.loop.counters()[0] == 1, "the stop is in the block")
        assert "has requested stop" in heard(socket, Answer).reason
        fresh.loop.show(ended=True)
        answers = [heard(socket, Answer) for _ in range(2)]
    assert {answer.verb for answer in answers} == {"arm", "stop"}
    assert all("the daemon has ended" in answer.reason for answer in answers)


@pytest.mark.parametrize("verb", ["lower", "stop"])
def test_a_command_whose_session_was_lost_is_not_sent_blindly_again(tmp_path: Path, verb: str) -> None:
    """A gateway that hears a command twice, forgets the session, and may have carried it out."""
    address = f"ipc://{tmp_path}/forgetful"
    heard_verbs: list[str] = []

    def forget() -> None:
        commands = 0
        while True:
            peer, data = router.recv_multipart()
            message = read_from_client(data)
            if isinstance(message, Hello):
                reply = pack(Welcome(1, 7, "x", 1, "operator", "anna", "", 60.0, 5.0))
            elif isinstance(message, Command):
                commands += 1
                heard_verbs.append(message.verb)
                if commands == 1:
                    continue
                answer = Answer(7, message.sequence, message.verb, True, "", "", "READY", "", "")
                complaint = Error("unknown_session", "say hello", message.sequence)
                reply = pack(complaint) if commands == 2 else pack(answer)
            else:
                return
            router.send_multipart((peer, reply))

    with zmq.Context() as context, context.socket(zmq.ROUTER) as router:
        router.linger = 0
        router.bind(address)
        thread = threading.Thread(target=forget)
        thread.start()
        with OperatorClient(address, "anna") as client:
            if verb == "stop":
                assert client.command(verb).accepted
            else:
                with pytest.raises(UsageError, match="whether it was carried out is not known"):
                    client.command(verb)
        thread.join()
    assert heard_verbs == [verb] * (3 if verb == "stop" else 2)


def test_one_daemon_per_socket(daemon: Daemon) -> None:
    with pytest.raises(UsageError, match=f"by the daemon with process id {os.getpid()} already"):
        Daemon(daemon.directory)
    with daemon.client() as client:
        assert client.command("arm").accepted


def test_without_a_daemon_the_client_says_what_to_start(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no daemon answers at .*: start `mastd serve` or `mastd run`"):
        OperatorClient(f"ipc://{tmp_path}/mastd.operators")


def test_only_this_user_reaches_the_socket_and_signals_do_not_end_the_gateway(daemon: Daemon) -> None:
    for name in ("mastd.operators", "mastd.status"):
        assert stat.S_IMODE((daemon.directory / name).stat().st_mode) & 0o077 == 0
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(daemon.handle.process_id, number)
    with daemon.client() as client:
        assert client.command("stop").accepted


PARENT = """
import sys
from pathlib import Path
from mastd.wire.operators.gateway import GatewayHandle
from tests.support.wire.operators import StandInLoop, job
loop = StandInLoop()
handle = GatewayHandle.start(job(Path(sys.argv[1])), loop.request, loop.status, loop.driver)
print(handle.process_id, flush=True)
sys.stdin.read()
"""


def test_the_gateway_of_a_killed_daemon_ends_and_removes_its_sockets(tmp_path: Path) -> None:
    root = str(Path(__file__).parents[3])
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": root},
    ) as parent:
        assert parent.stdout is not None
        gateway = int(parent.stdout.readline())
        descriptor = os.pidfd_open(gateway)
        parent.kill()
        parent.wait()
        watcher = zmq.Poller()
        watcher.register(descriptor, zmq.POLLIN)
        assert watcher.poll(20_000), "the gateway is still there"
        os.close(descriptor)
    wait_for(lambda: not list(tmp_path.glob("mastd.*s")), "the socket files are gone")


def test_the_heartbeat_goes_on_while_nothing_is_said(daemon: Daemon) -> None:
    view = daemon.loop.request
    seen = set()

    def alive() -> bool:
        view.read()
        seen.add(view.scalar("heartbeat"))
        return len(seen) > 5

    wait_for(alive, "the heartbeat rises")
    assert max(seen) - min(seen) >= 5


def test_over_the_network_only_with_a_key(start_daemon: StartDaemon, tmp_path: Path) -> None:
    ring = KeyRing(tmp_path / "keys")
    server = ring.make_server()
    ring.new("anna")
    ring.new("otto", "observer")
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    daemon = start_daemon(limits=settings(address=address), keys=str(ring.directory))

    def keys(name: str) -> ClientKeys:
        return ClientKeys(ring.directory / "private" / f"{name}.key_secret", server)

    with OperatorClient(address, "somebody else", keys=keys("anna")) as anna:
        assert anna.welcome.operator == "anna"
        assert anna.command("arm").lease == "anna"
        assert next(anna.watch())["state"] == "ARMED"
        with OperatorClient(address, keys=keys("otto")) as otto:
            assert otto.status()["lease"]["holder"] == "anna"
            assert "observer" in otto.command("start").reason
            assert otto.command("stop").accepted
            ring.revoke("otto")
            with pytest.raises(UsageError, match="does not answer"):
                otto.command("stop", timeout_s=0.5)
        assert anna.status()["counters"]["revoked"] > 0
    KeyRing(tmp_path / "others").new("mallory")
    mallory = ClientKeys(tmp_path / "others" / "private" / "mallory.key_secret", server)
    for stranger in (None, mallory):
        with pytest.raises(UsageError, match="no daemon answers"):
            OperatorClient(address, keys=stranger, patience_s=0.5)
    assert daemon.loop.taken[-1][0] is Verb.STOP


def test_a_network_address_without_keys_is_refused(start_daemon: StartDaemon) -> None:
    with pytest.raises(UsageError, match="a network address needs keys"):
        start_daemon(limits=settings(address="tcp://127.0.0.1:5580"))


def test_a_stop_is_in_the_block_before_a_second_client_could_say_a_word(daemon: Daemon) -> None:
    """The order of the block is the order in which the gateway has read the messages."""
    with daemon.client("anna") as anna, daemon.client("bert") as bert:
        anna.command("arm")
        daemon.loop.pause()
        stops, _, requests = daemon.loop.counters()
        bert.send("stop", {})
        wait_for(lambda: daemon.loop.counters()[0] == stops + 1, "the stop is in the block")
        anna.send("start", {})
        wait_for(lambda: daemon.loop.counters()[2] == requests + 1, "the start is in the block")
        daemon.loop.cycle()
        assert daemon.loop.state is State.READY
        assert [verb for verb, _ in daemon.loop.taken] == [Verb.ARM, Verb.STOP]
        daemon.loop.run()
