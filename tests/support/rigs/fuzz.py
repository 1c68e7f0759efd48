"""A million frames that nobody may take, at every ROUTER of a running daemon: ``make wire-fuzz``.

``mastd serve`` on ``hil-sim plant``, with a rig that has its place and an observer who has a session. Frames
of ``tests/support/wire/wire_frames.py`` go over real sockets in batches: to the rigs' gateway, to the
operators' and to the plant, beside raw bytes into the socket files. Each is to be answered with an error that
fits it, the counters are to say the same as the answers, and state, processes and memory are to stay as they
are.
"""

from __future__ import annotations

import argparse
import socket as machine
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any, Final

import msgpack
import zmq
from msgspec import structs

from mastd.errors import UsageError
from mastd.wire.common.strict_messages import pack
from mastd.wire.operators.client import OperatorClient
from mastd.wire.operators.messages import Hello
from tests.support.lab import PATIENCE, Lab, quick_lab, replaced
from tests.support.rigs.handler import HELLO
from tests.support.wire.wire_frames import Frame, OperatorFrames, PlantFrames, RigFrames

BATCH: Final = 32
GROWTH_MB: Final = 8.0
"""By how much the memory of a process may grow."""
START_S: Final = 600.0
"""The first start compiles the kernels."""
ANSWER_S: Final = 20.0
WARM_S: Final = 60.0
"""Time, or half of the frames, before the memory is looked at first: till then the recorder fills
what it keeps of the past."""
MAX_LOST: Final = 0.05
"""Share of the rig's frames that may find its place lost, where this machine is too busy."""
RIGS: Final = """
rigs:
  - name: pedals
    kind: signals
    message_rate: 20000 1/s
    motion_rate: 10 1/s
    channels: [{channel: steering}, {channel: throttle}]
"""
_Socket = zmq.Socket[bytes]


@dataclass
class Tally:
    """What was sent, by kind, and what the answers say that it was counted as."""

    sent: Counter[str] = field(default_factory=Counter)
    counted: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    def check(self, frame: Frame, error: str) -> None:
        """Note how a frame was answered."""
        self.counted[error] += 1
        if error not in frame.counters and len(self.problems) < 20:
            self.problems.append(f"{frame.kind} was answered {error}: {frame.frames[-1][:80].hex(' ')}")


class RigsTarget:
    """The rigs' gateway, through one connection that has a rig's place."""

    name = "rigs"

    def __init__(self, socket: _Socket, random: Random) -> None:
        self.tally = Tally()
        self.frames = RigFrames(random, 2, HELLO)
        self.said = 0
        """Messages that were sent, of any kind."""
        self.raw = 0
        """How often something was said that is not even of ZeroMQ's own protocol."""
        self._socket = socket
        self._true = 0
        self._join()

    def _join(self) -> None:
        socket = self._socket
        for _ in range(200):
            socket.send(pack(structs.replace(HELLO, resume=self.frames.session)))
            self.said += 1
            answer = _answer(socket, "welcome", "refused")
            if answer["kind"] == "welcome":
                self.frames.new_session(int(answer["session"]))
                return
            self.tally.counted["refused"] += 1
            time.sleep(0.05)
        raise AssertionError("no place for the rig")

    def _came_too_late(self, answer: Mapping[str, Any]) -> bool:
        """Return whether this is the answer to good values: the place was lost before."""
        mark = (answer.get("error"), answer.get("sequence"))
        if mark != ("unknown_session", self._true):
            return False
        self.tally.counted["unknown_session"] += 1
        return True

    def batch(self, count: int) -> None:
        """Send frames, and look at the answer to each."""
        socket = self._socket
        socket.send(self.frames.true())
        self._true = self.frames.sequence
        self.said += 1 + count
        frames = [self.frames.draw() for _ in range(count)]
        for frame in frames:
            socket.send_multipart(frame.frames)
        lost = False
        for frame in frames:
            answer = _answer(socket, "error", "refused")
            if not lost and frame is frames[0] and self._came_too_late(answer):
                lost = True
                answer = _answer(socket, "error", "refused")
            error = "refused" if answer["kind"] == "refused" else str(answer["error"])
            lost = lost or (error == "unknown_session" and frame.kind != "no session")
            self.tally.sent[frame.kind] += 1
            self.tally.check(frame, error)
        if lost:
            self._join()


class OperatorsTarget:
    """The operators' gateway, through one connection of an observer."""

    name = "operators"

    def __init__(self, socket: _Socket, random: Random) -> None:
        self.tally = Tally()
        self.frames = OperatorFrames(random)
        self._socket = socket
        socket.send(pack(Hello(1, "fuzz", "fuzz", "observer")))
        self.frames.session = int(_answer(socket, "welcome")["session"])

    def batch(self, count: int) -> None:
        """Carry out one command, send frames, and look at the answer to each."""
        socket, own = self._socket, self.frames
        socket.send(own.true())
        data = _bytes(socket, "answer", "error")
        own.answered = {own.sequence: data}
        if (answer := msgpack.unpackb(data))[
            "kind"
        ] == "error":  # beyond the rate, like others of its session
            own.answered = {}
            self.tally.counted[answer["error"]] += 1
        frames = [own.draw() for _ in range(count)]
        for frame in frames:
            socket.send_multipart(frame.frames)
        for frame in frames:
            data = _bytes(socket, "answer", "error")
            answer = msgpack.unpackb(data)
            if answer["kind"] == "error":
                error = str(answer["error"])
            elif frame.kind == "carried out before" and data in own.answered.values():
                error = "replayed"
            else:
                error = "accepted" if answer["accepted"] else "not_allowed"
            self.tally.sent[frame.kind] += 1
            self.tally.check(frame, error)


class PlantTarget:
    """The plant, through one connection of a stranger; it complains now and then only, but counts."""

    name = "plant"

    def __init__(self, socket: _Socket, random: Random) -> None:
        self.tally = Tally()
        self.frames = PlantFrames(random, 7)
        self._socket = socket
        self.status: Mapping[str, Any] = {}
        self.least: Counter[str] = Counter()
        """What the counters must have risen by at least."""
        self.refresh()

    def batch(self, count: int) -> None:
        """Send frames, and ask for the counters behind them."""
        for _ in range(count):
            frame = self.frames.draw()
            self._socket.send_multipart(frame.frames)
            self.tally.sent[frame.kind] += 1
            if len(frame.counters) == 1:
                self.least[next(iter(frame.counters))] += 1
            self.tally.counted["counted" if frame.counters else "answered"] += 1
        self.refresh()

    def refresh(self) -> None:
        """Take the plant's status."""
        self._socket.send(bytes(msgpack.packb({"kind": "status"})))
        while "counters" not in (answer := _answer(self._socket, "answer")):
            pass
        self.status = answer


Target = RigsTarget | OperatorsTarget | PlantTarget


def _bytes(socket: _Socket, *kinds: str) -> bytes:
    """Return the next message of one of these kinds."""
    end = time.monotonic() + ANSWER_S
    while (left := end - time.monotonic()) > 0.0:
        if socket.poll(round(1e3 * left) + 1):
            data = socket.recv()
            message = msgpack.unpackb(data)
            if isinstance(message, dict) and message["kind"] in kinds:
                return data
    raise AssertionError(f"no {' or '.join(kinds)} has come")


def _answer(socket: _Socket, *kinds: str) -> dict[str, Any]:
    message: dict[str, Any] = msgpack.unpackb(_bytes(socket, *kinds))
    return message


class Daemon:
    """``mastd serve`` with rigs on ``hil-sim plant``."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        runtime = lab.environment["XDG_RUNTIME_DIR"]
        self.addresses = {
            "rigs": f"ipc://{runtime}/mastd.rigs",
            "operators": f"ipc://{runtime}/mastd.operators",
            "plant": f"ipc://{runtime}/plant",
        }
        (lab.directory / "rigs.yaml").write_text(RIGS, encoding="utf-8")
        text = replaced(
            lab.config.read_text(encoding="utf-8"), r"command_rate: \S+ 1/s", "command_rate: 1000 1/s"
        )
        text = replaced(text, r"burst: \d+", "burst: 1000")
        # How busy this machine is, is no question here.
        text = replaced(text, r"sample_stale: 150 ms", "sample_stale: 1.5 s")
        lab.config.write_text(f"{text}rigs: rigs.yaml\n", encoding="utf-8")
        words = ("plant", "--table", lab.table, "--address", self.addresses["plant"], "--mode", "free-run")
        self._out = (lab.directory / "out.txt").open("w")
        self.plant = self._start(lab.command(*words, program="hil-sim"))
        serve = ("serve", "--table", lab.table, "--config", lab.config, "--plant", self.addresses["plant"])
        self.process = self._start(lab.command(*serve))

    def _start(self, words: list[str]) -> subprocess.Popen[bytes]:
        lab = self.lab
        return subprocess.Popen(
            words, stdout=self._out, stderr=self._out, cwd=lab.directory, env=lab.environment
        )

    def wait(self) -> OperatorClient:
        """Return an observer as soon as the loop runs."""
        end = time.monotonic() + START_S
        while time.monotonic() < end and self.process.poll() is None and self.plant.poll() is None:
            with suppress(UsageError):
                client = OperatorClient(self.addresses["operators"], "watch", role="observer")
                if client.status()["loop"] == "running":
                    return client
                client.close()
            time.sleep(0.1)
        raise AssertionError(f"the daemon is not there: {(self.lab.directory / 'out.txt').read_text()}")

    def memory(self) -> dict[str, float]:
        """Return the resident memory of every process, MB; blocks that they share are not theirs."""
        found = {}
        for pid in (self.plant.pid, *_family(self.process.pid)):
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            name = next((word.decode() for word in words[1:] if b"mastd" in word or b"hil_sim" in word), "?")
            status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
            size = next(line for line in status.splitlines() if line.startswith("RssAnon"))
            found[f"{name} {words[words.index(name.encode()) + 1].decode()[:8]} {pid}"] = (
                int(size.split()[1]) / 1e3
            )
        return found

    def close(self) -> None:
        """End both."""
        for process in (self.process, self.plant):
            if process.poll() is None:
                process.terminate()
                with suppress(subprocess.TimeoutExpired):
                    process.wait(PATIENCE)
            if process.poll() is None:
                process.kill()
                process.wait()
        self._out.close()


def _family(pid: int) -> Iterator[int]:
    yield pid
    for thread in Path(f"/proc/{pid}/task").iterdir():
        for child in (thread / "children").read_text(encoding="ascii").split():
            yield from _family(int(child))


@contextmanager
def dealer(context: zmq.Context[_Socket], address: str) -> Iterator[_Socket]:
    """Yield a connected DEALER that can queue whatever comes."""
    with context.socket(zmq.DEALER) as socket:
        socket.linger = 0
        socket.set_hwm(10_000)
        socket.connect(address)
        yield socket


def raw_bytes(random: Random, addresses: Mapping[str, str]) -> None:
    """Say something into every socket file that is not even of ZeroMQ's own protocol, or too long for it."""
    for address in addresses.values():
        begin = random.choice((b"", b"\xff\0\0\0\0\0\0\0\x01\x7f", b"\xff\0\0\0\0\0\0\0\x01\x7f\x03\0NULL"))
        with machine.socket(machine.AF_UNIX) as raw, suppress(OSError):
            raw.settimeout(1.0)
            raw.connect(address.removeprefix("ipc://"))
            raw.sendall(begin + random.randbytes(random.randrange(200)))


@dataclass
class Outcome:
    """What was found; ``problems`` is empty if all is well."""

    frames: int
    seconds: float
    sent: dict[str, Counter[str]]
    memory: dict[str, tuple[float, float]]
    problems: list[str]


def _steady(status: Mapping[str, Any]) -> dict[str, Any]:
    """Return what must not change of a status."""
    names = ("name", "pid", "loop", "state", "profile", "level", "lease", "loading", "vehicle", "reload")
    return {name: status[name] for name in names} | {"supply": status["supply"]["stage"]}


def fuzz(lab: Lab, frames: int, seed: int) -> Outcome:
    """Start a daemon, send ``frames`` frames, and return what was found."""
    with ExitStack() as stack:
        daemon = Daemon(lab)
        stack.callback(daemon.close)
        watch = stack.enter_context(daemon.wait())
        random = Random(seed)
        context: zmq.Context[_Socket] = zmq.Context()
        stack.callback(context.term)
        sockets = {
            name: stack.enter_context(dealer(context, address)) for name, address in daemon.addresses.items()
        }
        targets = (
            RigsTarget(sockets["rigs"], random),
            OperatorsTarget(sockets["operators"], random),
            PlantTarget(sockets["plant"], random),
        )
        return _attack(daemon, watch, targets, random, frames)


def _attack(
    daemon: Daemon,
    watch: OperatorClient,
    targets: tuple[RigsTarget, OperatorsTarget, PlantTarget],
    random: Random,
    frames: int,
) -> Outcome:
    rigs, operators, plant = targets
    before, begun = _settled(watch, rigs), time.monotonic()
    for target in targets:
        target.tally = Tally()
    memory: dict[str, float] = {}
    plant_before, done = dict(plant.status), 0
    plant.least.clear()
    while done < frames:
        for target in targets:
            count = min(BATCH, frames - done)
            target.batch(count)
            done += count
        if random.random() < 0.02:
            raw_bytes(random, daemon.addresses)
            rigs.raw += 1
        if not memory and (done >= frames // 2 or time.monotonic() - begun > WARM_S):
            memory = daemon.memory()
    seconds = time.monotonic() - begun
    after = _settled(watch, rigs)
    plant.refresh()
    problems = [f"{target.name}: {line}" for target in targets for line in target.tally.problems]
    old, new = _steady(before), _steady(after)
    problems += [
        f"{name} was {old[name]}, is {new[name]}: {after['cause']}" for name in old if old[name] != new[name]
    ]
    problems += _counted("rigs", before["rig_counters"], after["rig_counters"], rigs.tally.counted, rigs.raw)
    problems += _counted(
        "operators", before["counters"], after["counters"], operators.tally.counted, rigs.raw
    )
    problems += _plant_problems(plant_before, plant, rigs.raw)
    lost = rigs.tally.counted["unknown_session"] - rigs.tally.sent["no session"]
    if lost > MAX_LOST * sum(rigs.tally.sent.values()) + rigs.tally.sent["mutated"]:
        problems.append(f"rigs: the place was lost for {lost} frames")
    grown = {name: (size, daemon.memory().get(name, -1.0)) for name, size in memory.items()}
    for name, (first, last) in grown.items():
        if not 0.0 < last < first + GROWTH_MB:
            problems.append(f"{name}: memory was {first:.1f} MB, is {last:.1f} MB")
    sent = {target.name: target.tally.sent for target in targets}
    return Outcome(done, seconds, sent, grown, problems)


def _settled(watch: OperatorClient, rigs: RigsTarget) -> dict[str, Any]:
    """Return a status whose counters hold everything that was said to the rigs' gateway."""
    end = time.monotonic() + ANSWER_S
    while time.monotonic() < end:
        status: dict[str, Any] = watch.status()
        if rigs.said <= status["rig_counters"]["received"] <= rigs.said + rigs.raw:
            return status
        time.sleep(0.05)  # the gateway shows them ten times a second
    raise AssertionError(f"{rigs.said} messages were sent: {status['rig_counters']}")


def _counted(
    name: str, before: Mapping[str, int], after: Mapping[str, int], expected: Counter[str], raw: int
) -> list[str]:
    """Compare what the answers said with the counters.

    Raw bytes may be whole messages of an older ZeroMQ's protocol: then they are malformed, and who has sent
    them may be gone when the answer is.
    """
    known = set(after) - {"received", "commands", "values", "overtaken"}
    problems = []
    for counter in sorted(known | set(expected)):
        more = after.get(counter, 0) - before.get(counter, 0) - expected[counter]
        if not 0 <= more <= (raw if counter in {"malformed", "unsent"} else 0):
            problems.append(
                f"{name}: {expected[counter]} answers said {counter}, the counter rose by {more} more"
            )
    return problems


def _plant_problems(before: Mapping[str, Any], plant: PlantTarget, raw: int) -> list[str]:
    counters = plant.status["counters"]
    rise = {name: counters[name] - before["counters"][name] for name in ("invalid", "strangers")}
    problems = []
    if plant.status["daemon"] != before["daemon"]:
        problems.append(f"plant: the daemon was {before['daemon']}, is {plant.status['daemon']}")
    sent = plant.tally.counted["counted"]
    if not 0 <= sum(rise.values()) - sent <= raw:
        problems.append(f"plant: {sent} frames were sent, {rise} were counted")
    problems += [
        f"plant: {least} frames were {name}, {rise[name]} were counted"
        for name, least in plant.least.items()
        if rise[name] < least
    ]
    return problems


def main() -> int:
    """Fuzz, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mastd-fuzz-") as directory:
        lab = replace(quick_lab(Path(directory)), runtime=Path(directory))
        outcome = fuzz(lab, given.frames, given.seed)
    print(f"{outcome.frames} frames in {outcome.seconds:.0f} s, seed {given.seed}")
    for target, sent in outcome.sent.items():
        print(f"{target}: " + ", ".join(f"{kind} {count}" for kind, count in sorted(sent.items())))
    for name, (first, last) in outcome.memory.items():
        print(f"{name}: {first:.1f} MB, then {last:.1f} MB")
    for problem in outcome.problems:
        print(f"PROBLEM {problem}")
    return 1 if outcome.problems else 0


if __name__ == "__main__":
    sys.exit(main())
