"""The examples in C, built as their Makefile says, against the real daemon; sanitized, against nonsense."""

from __future__ import annotations

import json
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import msgpack
import numpy as np
import pytest
import zmq

from mastd.kinematics.geometry import Geometry
from mastd.kinematics.workspace import jacobians_at, lengths_at
from mastd.settings.core.loader import load
from mastd.settings.core.starter import find
from mastd.settings.table.table import TableSettings
from mastd.wire.common.layout import table_layout
from mastd.wire.operators.client import OperatorClient
from mastd.wire.plant.hello import LinkTerms, Mode
from mastd.wire.plant.messages import Command, DriveMode, Sample, SampleFlag, Stage
from mastd.wire.plant.socket_link import AddressInUseError, connect
from mastd.wire.plant.table_block import table_block
from tests.support.lab import PATIENCE, ROOT, Lab
from tests.support.large_table import large_table
from tests.support.wire.operators import wait_for

pytestmark = pytest.mark.alone

EXAMPLES = ROOT / "examples"
PACKAGES = "gcc libc6-dev libzmq3-dev libmsgpack-dev"
SECOND = 1_000_000_000
STARTER = load(find("table", "table"), TableSettings)
ACTUATORS, ACCELEROMETERS = 7, 8
RESTING = np.array([1.15] * 4 + [np.hypot(1.2, 0.05)] * 3)
SESSION = 7
COMMAND_SIZE = 5 * ACTUATORS + 6
SOFTLY = """
name: softly
fade: 0.2 s
segments:
  - {kind: sine, frequency: 1 Hz, axes: {heave: {amplitude: 5 mm}}, duration: 1 s}
"""
Start = Callable[..., "Bridge"]
Join = Callable[["Bridge"], "Raw"]
StartRig = Callable[[str], "Program"]


def terms(mode: Mode) -> LinkTerms:
    return LinkTerms.of(ACTUATORS, ACCELEROMETERS, mode, 1_000_000, table_block(STARTER, RESTING))


class Program:
    """An example that runs: what it printed, and how it ended."""

    def __init__(self, *command: object) -> None:
        self.process = subprocess.Popen(
            [str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def line(self) -> str:
        """Return the next line that it prints, an empty text at its end."""
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """Send a signal; return the exit code and what else was printed, errors too."""
        self.process.send_signal(number)
        output, errors = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, output + errors

    def close(self) -> None:
        """End it for certain."""
        self.process.kill()
        self.process.communicate()


class Bridge(Program):
    """A plant in C, listening."""

    def __init__(self, *command: object) -> None:
        super().__init__(*command)
        said = self.line()
        assert " listens at " in said, self.process.communicate()[1]
        self.address = said.split()[3]

    def figures(self) -> dict[str, int]:
        """End it as a service ends; return what it has counted."""
        code, printed = self.end()
        assert code == 0, printed
        assert printed.count("\n") == 1, printed
        return {name: int(count) for name, count in map(str.split, printed.split(", "))}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the examples are, as users build them, and below `sanitized` with every access checked."""
    probe = "#include <zmq.h>\n#include <msgpack.h>\n"
    tools = shutil.which("cc") and shutil.which("make")
    look = ["cc", "-E", "-"]
    if not tools or subprocess.run(look, input=probe, text=True, capture_output=True, check=False).returncode:
        pytest.skip(f"the examples in C need more to be built; on Debian: apt-get install make {PACKAGES}")
    directory = tmp_path_factory.mktemp("examples")
    (directory / "sanitized").mkdir()
    builds = [
        subprocess.Popen(
            ["make", "-s", "-C", EXAMPLES, f"BUILD={build}", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for build, options in ((directory, ()), (directory / "sanitized", ("SANITIZE=1",)))
    ]
    printed = [build.communicate(timeout=PATIENCE)[0] for build in builds]
    assert [build.returncode for build in builds] == [0, 0], "\n".join(printed)
    assert printed == ["", ""], "built without a warning"
    return directory


@pytest.fixture
def start(built: Path) -> Iterator[Start]:
    """Return a function that starts an example, and end them all."""
    programs: list[Program] = []

    def start(mode: Mode, *options: object, address: str = "tcp://127.0.0.1:*", build: str = ".") -> Bridge:
        bridge = Bridge(
            built / build / "plant_bridge", "--mode", mode, "--address", address, *map(str, options)
        )
        programs.append(bridge)
        return bridge

    yield start
    for program in programs:
        program.close()


class Raw:
    """A daemon written with plain ZeroMQ and MessagePack, which may say anything."""

    def __init__(self, address: str) -> None:
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context.instance()
        self.socket = context.socket(zmq.DEALER)
        self.socket.setsockopt(zmq.LINGER, 0)
        self.socket.connect(address)

    def hello(self, **changes: object) -> Any:
        """Say hello, in lockstep; return the answer."""
        self.socket.send(packed(hello(**changes)))
        return self.answer()

    def seated(self) -> Any:
        """Say hello, wait for the welcome whatever comes before it, and return the sample behind it."""
        answer = self.hello()
        while not (isinstance(answer, dict) and answer["kind"] == "welcome"):
            answer = self.answer()
        return self.sample()

    def command(self, sequence: int, step: int, first: float = 1.2) -> None:
        self.socket.send(packed(command(sequence, step, first)))

    def answer(self, patience_ms: int = 2000) -> Any:
        assert self.socket.poll(patience_ms), "no answer"
        return msgpack.unpackb(self.socket.recv())

    def heard(self, turn: int) -> None:
        """Wait until the plant has read all that was sent, and refuses a version that only this one has."""
        answer = self.hello(protocol_version=1000 + turn)
        while not (isinstance(answer, dict) and f"daemon {1000 + turn}" in str(answer.get("reasons"))):
            answer = self.answer()

    def sample(self) -> Any:
        """Return the next sample; complaints and probes that come before it are let pass."""
        while isinstance(answer := self.answer(), dict):
            pass
        assert answer[0] == "sample"
        return answer

    def close(self) -> None:
        self.socket.close()


def packed(message: object) -> bytes:
    return bytes(msgpack.packb(message))


def hello(**changes: object) -> dict[str, object]:
    agreed = terms("lockstep")
    entries = {
        "kind": "hello",
        "protocol_version": 3,
        "sample_sha256": agreed.sample_layout.sha256,
        "command_sha256": agreed.command_layout.sha256,
        "mode": "lockstep",
        "period_ns": 1_000_000,
        "actuators": ACTUATORS,
        "accelerometers": ACCELEROMETERS,
        "table": agreed.table,
        "name": "Prüfer",
        "pid": 4711,
        "host": "rig",
    }
    return {**entries, **changes}


def command(sequence: int, step: int, first: float = 1.2) -> list[object]:
    return ["command", sequence, step, 1, 2, struct.pack(f"<{COMMAND_SIZE}d", first, *[0.0] * 40)]


@pytest.fixture
def join() -> Iterator[Callable[[Bridge], Raw]]:
    """Return a function that connects such a daemon, and close them all."""
    daemons: list[Raw] = []

    def join(bridge: Bridge) -> Raw:
        daemons.append(Raw(bridge.address))
        return daemons[-1]

    yield join
    for daemon in daemons:
        daemon.close()


def test_the_daemon_raises_plays_and_lowers_against_the_bridge(lab: Lab, start: Start, join: Join) -> None:
    """In both modes; meanwhile another daemon is refused with the first one's name."""
    free, step_by_step = start("free-run"), start("lockstep")
    options = ("run", lab.profile(SOFTLY), "--table", lab.table, "--config", lab.config, "--json")
    run = lab.start(*options, "--plant", free.address)
    try:
        stranger = join(free)

        def seated() -> bool:
            assert run.poll() is None, run.communicate()
            stranger.command(0, 0)
            return (
                bool(stranger.socket.poll(100)) and "the plant is in use" in stranger.answer()["reasons"][0]
            )

        wait_for(seated, "the daemon has the place", PATIENCE)
        with pytest.raises(AddressInUseError, match=rf"the plant is in use by mastd \(pid {run.pid} on "):
            connect(free.address, terms("free-run"))
        played, errors = run.communicate(timeout=PATIENCE)
    finally:
        run.kill()
        run.communicate()
    lockstep = lab.run(*options, "--plant", step_by_step.address, "--lockstep")
    ended = ((run.returncode, played, errors), (lockstep.returncode, lockstep.stdout, lockstep.stderr))
    for code, document, said in ended:
        assert code == 0, said
        result = json.loads(document)
        assert (result["verdict"], result["state"]) == ("pass", "READY"), result["cause"]
        assert result["axes"]["heave"]["best_lag_nrmse"] < 0.01
    assert result["indicated"] == [], "in lockstep no load of the machine can be told"
    assert free.figures()["commands"] > 2000
    figures = step_by_step.figures()
    assert figures["steps"] == figures["commands"] > 2000
    # The sample that answers the last command may find the daemon gone.
    assert figures.pop("unsent") <= 1
    assert sum(figures.values()) == 2 * figures["steps"], "nothing lost, late, old or invalid"


@pytest.mark.parametrize(
    ("table", "axis"), [("eight_actuators", "heave"), ("uniaxial", "surge"), ("uniaxial_electric", "surge")]
)
def test_the_same_bridge_serves_the_table_of_another_laboratory(
    lab: Lab, start: Start, table: str, axis: str
) -> None:
    """Raised, played and lowered, in lockstep; of axes that guides hold nothing is reported."""
    path = ROOT / "config" / "tables" / table / "table.yaml"
    bridge = start("lockstep")
    options = ("--table", path, "--config", lab.config, "--json", "--lockstep", "--plant", bridge.address)
    played = lab.run("run", lab.profile(SOFTLY.replace("heave", axis)), *options)
    assert played.returncode == 0, played.stderr
    result = json.loads(played.stdout)
    assert (result["verdict"], result["state"]) == ("pass", "READY"), result["cause"]
    assert result["axes"][axis]["best_lag_nrmse"] < 0.01
    assert result["indicated"] == []
    page = (lab.directory / result["page"]).read_text(encoding="utf-8")
    assert ("pitch" in page) == (table == "eight_actuators")
    figures = bridge.figures()
    assert figures["steps"] == figures["commands"] > 2000


def test_the_bridge_finds_the_pose_and_the_internal_forces_of_the_table_it_is_told_of(
    start: Start, join: Join, tmp_path: Path
) -> None:
    """24 actuators hold a tilted pose: accelerometers feel gravity, a wrong length shows in forces."""
    path = tmp_path / "table.yaml"
    path.write_text(large_table(), encoding="utf-8")
    table = load(path, TableSettings)
    geometry, n, m = Geometry.from_settings(table), 24, ACCELEROMETERS
    pose = np.array([0.1, -0.05, 0.02, 0.03, -0.02, 0.04])
    resting = lengths_at(geometry, np.array([[0.0, 0.0, -0.5, 0.0, 0.0, 0.0]]))[0]
    wanted, misfit = lengths_at(geometry, pose)[0], 1e-3
    agreed = LinkTerms.of(n, m, "lockstep", 1_000_000, table_block(table, resting))
    link = connect(start("lockstep").address, agreed)
    sample, order = Sample(agreed.sample_layout), Command(agreed.command_layout)
    order.mode, order.stage = int(DriveMode.FOLLOW), int(Stage.HIGH)

    def held(lengths: Any) -> tuple[Any, Any]:
        """Return forces and accelerations once the table is at rest there."""
        forces, accelerations = np.empty((200, n)), np.empty((200, m))
        for step in range(1500):
            assert link.newest(sample, SECOND) == 1
            pressures = np.array(sample.field("pressures")).reshape(n, 2)
            forces[step % 200] = 0.22 * (pressures[:, 0] - pressures[:, 1])
            accelerations[step % 200] = sample.field("accelerometers")
            order.field("lengths")[:] = lengths
            assert link.send(order)
        return forces.mean(axis=0), accelerations.mean(axis=0)

    try:
        forces, accelerations = held(wanted)
        roll, pitch = pose[3:5]
        upwards = np.array([-np.sin(pitch), np.sin(roll) * np.cos(pitch), np.cos(roll) * np.cos(pitch)])
        directions = np.array([sensor.direction for sensor in table.sensors.accelerometers])
        assert accelerations == pytest.approx(9.80665 * directions @ upwards, abs=2e-3)
        assert np.max(np.abs(forces)) < 2e3, "nothing but the pressures' noise"
        wanted[3] += misfit
        forces, _ = held(wanted)
    finally:
        link.close()
    jacobian = jacobians_at(geometry, pose)[0]
    bound = np.eye(n) - jacobian @ np.linalg.pinv(jacobian)
    stiffness = 7e8 * 0.44 * (10 / 1.02 + 14 / 0.52) / n
    assert forces == pytest.approx(stiffness * misfit * bound[3], abs=2e3)


def test_the_bridge_serves_one_actuator_of_a_table_on_guides(start: Start) -> None:
    """Surge alone, as a block written by hand: the accelerometer along it feels the second derivative."""
    layout, omega, amplitude = table_layout(1, 1), 2.0 * np.pi * 2.0, 0.02
    described: dict[str, float | list[float]] = {
        "table_joints": [-1.0, 0.0, 0.1],
        "base_joints": [-3.0, 0.0, 1.1],
        "neutral_position": [0.0, 0.0, 1.0],
        "freedoms": [1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        "neutral_lengths": 2.0,
        "strokes": 0.1,
        "resting_lengths": 2.0,
        "feedback": 1.0,
        "piston_areas": [0.01, 0.008],
        "no_load_speeds": 1.5,
        "accelerometer_positions": 0.0,
        "accelerometer_directions": [1.0, 0.0, 0.0],
        "gravity": 9.8,
        "return_pressure": 4e5,
        "low_pressure": 70e5,
        "high_pressure": 210e5,
    }
    block = np.empty(layout.size)
    for name, value in described.items():
        block[layout.slices[name]] = value
    agreed = LinkTerms.of(1, 1, "lockstep", 1_000_000, block.tobytes())
    link = connect(start("lockstep", build="sanitized").address, agreed)
    sample, order = Sample(agreed.sample_layout), Command(agreed.command_layout)
    order.mode, order.stage = int(DriveMode.FOLLOW), int(Stage.HIGH)
    order.field("force_references")[:] = -5e3
    rows = []
    for step in range(1500):
        assert link.newest(sample, SECOND) == 1
        front, back = sample.field("pressures")
        rows.append((0.01 * front - 0.008 * back, sample.field("accelerometers")[0]))
        order.field("lengths")[:] = 2.0 + amplitude * np.sin(omega * 1e-3 * step)
        order.field("rates")[:] = amplitude * omega * np.cos(omega * 1e-3 * step)
        assert link.send(order)
    link.close()
    forces, felt = np.array(rows)[1000:].T
    assert np.mean(forces) == pytest.approx(-5e3, abs=50.0)
    assert np.sqrt(2.0) * np.std(felt) == pytest.approx(amplitude * omega**2, rel=0.02)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"actuators": 25}, "plant 1 to 24 actuators and at most 64 accelerometers, daemon 25 and 8"),
        ({"actuators": 0}, "daemon 0 and 8"),
        ({"accelerometers": 65}, "daemon 7 and 65"),
        ({"actuators": "7"}, "actuators and accelerometers must be integers"),
        ({"actuators": 8}, "table must be 157 finite numbers"),
        ({"table": b""}, "table must be 145 finite numbers"),
        ({"table": {"strokes": 0.0}}, "a stroke must be above 0 and below the neutral length"),
        ({"table": {"gravity": np.nan}}, "table must be 145 finite numbers"),
        ({"table": {"freedoms": 0.0}}, "no axis is free"),
        ({"table": {"low_pressure": 0.0}}, "pressures must rise"),
    ],
)
def test_a_table_that_the_bridge_cannot_serve_is_refused_with_what_is_wrong(
    start: Start, join: Join, changes: dict[str, Any], reason: str
) -> None:
    daemon = join(start("lockstep", build="sanitized"))
    if isinstance(values := changes.get("table"), dict):
        layout = table_layout(ACTUATORS, ACCELEROMETERS)
        block = np.frombuffer(terms("lockstep").table).copy()
        for name, value in values.items():
            block[layout.slices[name]] = value
        changes = {"table": block.tobytes()}
    answer = daemon.hello(**changes)
    assert answer["kind"] == "refused"
    assert len(answer["reasons"]) == 1
    assert reason in answer["reasons"][0]
    assert daemon.hello()["kind"] == "welcome"


def test_a_bridge_that_has_served_a_table_refuses_another_one(start: Start, join: Join) -> None:
    daemon = join(start("lockstep"))
    daemon.seated()
    moved = np.frombuffer(terms("lockstep").table).copy()
    moved[0] += 1e-3
    assert "another one than this drive has served" in daemon.hello(table=moved.tobytes())["reasons"][0]


def test_a_daemon_that_is_killed_frees_the_place(start: Start) -> None:
    """In lockstep, where the plant sends it nothing by itself, and long before its silence would count."""
    bridge = start("lockstep")
    words = (
        "import sys, time; from mastd.wire.plant.socket_link import LinkTerms, connect; "
        f"sizes = {ACTUATORS}, {ACCELEROMETERS}, 'lockstep', 1_000_000; "
        "link = connect(sys.argv[1], LinkTerms.of(*sizes, bytes.fromhex(sys.argv[2]))); "
        "print('seated', flush=True); time.sleep(60)"
    )
    first = subprocess.Popen(
        [sys.executable, "-c", words, bridge.address, terms("lockstep").table.hex()],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    assert first.stdout is not None
    with first:
        assert first.stdout.readline() == "seated\n"
        with pytest.raises(AddressInUseError, match=rf"\(pid {first.pid} on "):
            connect(bridge.address, terms("lockstep"))
        first.kill()
    begun = time.monotonic()

    def free() -> bool:
        try:
            connect(bridge.address, terms("lockstep")).close()
        except AddressInUseError:
            return False
        return True

    wait_for(free, "the place is free")
    assert time.monotonic() - begun < 1.5
    connect(bridge.address, terms("lockstep")).close()  # a bye gives it back at once
    connect(bridge.address, terms("lockstep")).close()


def test_a_hello_that_does_not_fit_is_refused_with_both_values(start: Start, join: Join) -> None:
    daemon = join(start("lockstep"))
    odd: dict[str, object] = {"mode": "free-run", "period_ns": 2_000_000, "sample_sha256": "abc"}
    assert daemon.hello(**odd) == {
        "kind": "refused",
        "reasons": [
            f"sample layout: plant {terms('lockstep').sample_layout.sha256}, daemon abc",
            "mode: plant lockstep, daemon free-run",
            "period: plant 1000000 ns, daemon 2000000 ns",
        ],
        "holder": "",
    }
    assert daemon.hello(protocol_version=1, **odd)["reasons"] == ["protocol version: plant 3, daemon 1"]
    assert "must be text" in daemon.hello(name=3)["reasons"][0]
    welcome = daemon.hello(something="new")
    assert (welcome["kind"], welcome["name"], welcome["simulated"]) == ("welcome", "plant_bridge", True)
    assert daemon.sample()[3] == 0


def test_a_bye_gives_the_place_back_but_only_that_of_who_says_it(start: Start, join: Join) -> None:
    bridge = start("lockstep")
    daemon, other = join(bridge), join(bridge)
    daemon.seated()
    other.socket.send(packed({"kind": "bye"}))
    assert other.hello()["holder"] == "Prüfer (pid 4711 on rig)"
    daemon.socket.send(packed({"kind": "bye"}))
    daemon.command(0, 0)  # read after the bye, so the place is free
    while "send hello first" not in str(daemon.answer()):
        pass
    assert other.hello()["kind"] == "welcome"


def test_only_commands_in_order_from_new_samples_of_the_seated_daemon_are_applied(
    start: Start, join: Join
) -> None:
    bridge = start("lockstep")
    daemon, stranger = join(bridge), join(bridge)
    first = daemon.seated()
    assert first[2:6] == [0, 0, 0, -1]
    assert first[1] >= 0
    for step in range(150):
        daemon.command(step, step)
        sample = daemon.sample()
        assert sample[2:6] == [step + 1, step + 1, (step + 1) * 1_000_000, step]
    refused = stranger.hello()
    assert (refused["kind"], refused["holder"]) == ("refused", "Prüfer (pid 4711 on rig)")
    daemon.command(149, 150)  # twice
    daemon.command(3, 150)  # out of order
    daemon.command(150, 129)  # from a sample too old
    daemon.command(151, 151)  # from one that is still to come
    daemon.command(152, 150, first=float("nan"))
    stranger.command(153, 150)
    daemon.command(154, 130)
    assert daemon.sample()[3:6:2] == [151, 154]
    assert daemon.seated()[3:6:2] == [151, -1], "the session begins anew, plant time goes on"
    daemon.command(0, 151)
    assert daemon.sample()[3:6:2] == [152, 0]
    figures = bridge.figures()
    assert figures["steps"] == figures["commands"] == 152
    assert (figures["old"], figures["late"], figures["invalid"], figures["strangers"]) == (2, 2, 1, 1)
    assert figures["lost"] == 4


def test_without_commands_the_drive_fades_holds_and_is_there_again(start: Start) -> None:
    bridge = start("free-run")
    link = connect(bridge.address, terms("free-run"))
    sample, order = Sample(terms("free-run").sample_layout), Command(terms("free-run").command_layout)
    order.mode, order.stage = int(DriveMode.FOLLOW), int(Stage.HIGH)
    flags = SampleFlag(0)

    def commanded() -> bool:
        nonlocal flags
        assert link.newest(sample, SECOND) > 0
        flags = SampleFlag(sample.flags)
        order.field("lengths")[:] = 1.2
        assert link.send(order)
        return sample.stage == Stage.HIGH and not flags

    def silent() -> bool:
        nonlocal flags
        assert link.newest(sample, SECOND) > 0
        flags = SampleFlag(sample.flags)
        return bool(flags)

    wait_for(commanded, "the supply is high, the drive follows")
    step = sample.step
    wait_for(silent, "the drive has missed commands")
    assert flags == SampleFlag.DRIVE_TIMED_OUT | SampleFlag.DRIVE_FADING
    assert 100 < sample.step - step < 400
    wait_for(commanded, "it follows again")
    link.close()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--address", "tcp://192.0.2.1:5570"], "--allow-remote permits it"),
        (["--address", "somewhere"], "ipc:///path"),
        (["--address", "ipc:///" + "x" * 200], "at most 107 bytes"),
        (["--mode", "sometimes"], "free-run or lockstep"),
        (["--period-ns", "1"], "100000 to 100000000"),
        (["--period-ns", "1000000x"], "100000 to 100000000"),
        (["--colour"], "no option '--colour'"),
        (["--address"], "ipc:///path"),
    ],
)
def test_a_wrong_argument_is_one_line_and_exit_code_2(built: Path, options: list[str], words: str) -> None:
    ended = subprocess.run(
        [built / "sanitized" / "plant_bridge", *options],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert ended.returncode == 2
    assert words in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_a_second_bridge_at_the_same_socket_file_gives_up(built: Path, start: Start, runtime: Path) -> None:
    address = f"ipc://{runtime}/plant"
    first = start("free-run", address=address)
    ended = subprocess.run(
        [built / "plant_bridge", "--address", address],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (ended.returncode, "a plant listens here already" in ended.stderr) == (2, True)
    assert first.end(signal.SIGINT)[0] == 0
    assert start("free-run", address=address).figures()["commands"] == 0


def mutated(random: Random, frame: bytes) -> bytes:
    """Return a valid frame with one to three things wrong."""
    data = bytearray(frame)
    for _ in range(random.randrange(1, 4)):
        place = random.randrange(len(data) + 1)
        match random.randrange(5):
            case 0:
                data[place:] = b""
            case 1:
                data[place : place + 1] = random.randbytes(1)
            case 2:
                data[place:place] = random.randbytes(random.randrange(1, 9))
            case 3:
                del data[place : place + random.randrange(1, 9)]
            case 4:  # a count or width of another kind, where a value begins
                data[place : place + 1] = bytes([random.choice(HEADS)]) + random.randbytes(4)
    return bytes(data)


TURNS = 40
HEADS = (*range(0x80, 0xA0), *range(0xC0, 0xE0))
NASTY = (
    b"",
    b"\xdd\xff\xff\xff\xff",
    b"\xdf\xff\xff\xff\xff",
    b"\xdb\xff\xff\xff\xff",
    b"\xc6\xff\xff\xff\xff",
    b"\x91" * 60_000,
    b"\xdd\x00\x00\xea\x60" * 12_000,
    b"\xdc\xea\x60" + b"\xc0" * 60_000,
    bytes(64 * 1024),
    packed({"kind": "x" * 201}),
    packed({"kind": b"hello"}),
    packed({"kind": "status"}) * 2,
    b"\x81\xa4kind\xa5hell\xff",
    packed(hello(name="n" * 200, host="h" * 200, mode="m" * 200, sample_sha256="s" * 200)),
    packed(hello(name="𝅘𝅥𝅮" * 66, host="𝅘𝅥𝅮" * 66)),
    packed(hello(period_ns=(1 << 64) - 1)),
    packed(hello(pid=-(1 << 63))),
    packed(["command", (1 << 63) - 1, 0, 1, 2, bytes(8 * COMMAND_SIZE)]),
    packed(["command", -(1 << 63), -(1 << 63), 1, 2, bytes(8 * COMMAND_SIZE)]),
    packed(["command", 0, 0, 3, -1, bytes(8 * COMMAND_SIZE)]),
    packed(["command", 0, 0, 1, 2, bytes(8 * COMMAND_SIZE + 1)]),
    packed(["command", 0, 0, 1, 2, bytes(8)]),
    packed(["command", 0, 0, 1, 2, None]),
    packed(["command", 0, 0]),
    packed(["motion", SESSION, 1, 1, 0, 0, 0, 0.0, False, b""]),
    packed(["motion", SESSION]),
    packed([]),
    packed({"kind": "refused", "reasons": ["the place of "] * 30}),
)


def test_nonsense_neither_ends_the_bridge_nor_moves_its_plant(start: Start, join: Join) -> None:
    bridge = start("lockstep", build="sanitized")
    daemon, stranger = join(bridge), join(bridge)
    random = Random(11)
    valid = [packed(hello()), packed(command(0, 0)), packed({"kind": "status"}), packed({"kind": "probe"})]
    daemon.seated()
    for turn in range(TURNS):
        for _ in range(100):
            peer = random.choice((daemon, stranger))
            peer.socket.send(mutated(random, random.choice(valid)))
        for frame in NASTY if turn % 10 == 0 else ():
            stranger.socket.send(frame)
        stranger.socket.send_multipart([b"two", b"frames"])
        daemon.heard(turn)
        while stranger.socket.poll(0):
            stranger.socket.recv()
    step = daemon.seated()[3]
    daemon.command(0, step)
    assert daemon.sample()[3] == step + 1
    figures = bridge.figures()
    assert figures["steps"] == figures["commands"] == step + 1
    assert figures["invalid"] > 50 * TURNS


RIGS = """
rigs:
  - name: pedals
    kind: signals
    ramp: 100 ms
    channels:
      - {channel: steering}
      - {channel: throttle}
      - {channel: gear, neutral: 100}
"""
DRIVEN = """
name: driven from outside
mode: oils
rigs: [pedals]
oils:
  vehicle: benchmark_sedan
  cabin_seat: [0 m, 0 m, 1.5 m]
  speed: 0 km/h
  duration: 60 s
  driver: {kind: operator}
  cueing: {kind: washout}
"""


@pytest.fixture
def rig(built: Path) -> Iterator[StartRig]:
    """Return a function that starts the rig in C, sanitized, at an address, and end them all."""
    started: list[Program] = []

    def start(address: str) -> Program:
        started.append(Program(built / "sanitized" / "rig", "pedals", address))
        return started[-1]

    yield start
    for program in started:
        program.close()


class Gateway:
    """The daemon's end of the rigs' socket, written with plain ZeroMQ and MessagePack."""

    def __init__(self, address: str) -> None:
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context.instance()
        self.socket = context.socket(zmq.ROUTER)
        self.socket.setsockopt(zmq.LINGER, 0)
        self.socket.bind(address)
        self.sequence = self.step = 0
        self.peer = b""

    def heard(self, kind: str) -> Any:
        """Return the rig's next message of this kind."""
        while True:
            assert self.socket.poll(3000), f"no {kind} came"
            self.peer, data = self.socket.recv_multipart()
            message = msgpack.unpackb(data)
            if kind == (message["kind"] if isinstance(message, dict) else message[0]):
                return message

    def say(self, message: object) -> None:
        self.socket.send_multipart([self.peer, message if isinstance(message, bytes) else packed(message)])

    def welcome(self, session: int = SESSION, **changes: object) -> dict[str, object]:
        bounds = [-1.0, 1.0, None, 0.0, "ramp"]
        entries = {
            "kind": "welcome",
            "protocol_version": 1,
            "session": session,
            "name": "stand-in",
            "pid": 1,
            "mode": "lockstep",
            "period_ns": 1_000_000,
            "channels": [["steering", "1", *bounds], ["gear", "1", *bounds], ["clutch", "1", *bounds]],
            "channels_sha256": "",
            "reads": [["vehicle.speed", "m/s"]],
            "reads_sha256": "",
            "timeout_s": 0.05,
            "message_rate": 2000.0,
            "motion_rate": 1000.0,
            "predict_s": 0.0,
            "beat_s": 0.1,
            "lost_s": 0.3,
            "states": ["OFF"],
        }
        return {**entries, **changes}

    def motion(self, session: int = SESSION) -> list[object]:
        self.sequence += 1
        self.step += 1
        now, plant = time.monotonic_ns(), self.step * 1_000_000
        return [
            *("motion", session, self.sequence, self.step, now, plant, 0, 1.0, True),
            struct.pack("<d", 3.0),
        ]

    def beat(self, echo_ns: int = 0) -> dict[str, object]:
        self.sequence += 1
        entries = {"session": SESSION, "sequence": self.sequence, "time_ns": time.monotonic_ns() + SECOND}
        return {"kind": "beat", **entries, "echo_ns": echo_ns, "held_ns": 0, "step": self.step}


@pytest.fixture
def gateway(runtime: Path) -> Iterator[Gateway]:
    gateway = Gateway(f"ipc://{runtime}/mastd.rigs")
    yield gateway
    gateway.socket.close()


def test_the_rig_says_what_the_page_says(gateway: Gateway, rig: StartRig, runtime: Path) -> None:
    program = rig(f"ipc://{runtime}/mastd.rigs")
    assert gateway.heard("hello") == {
        "kind": "hello",
        "magic": "mastd-rig",
        "version_lowest": 1,
        "version_highest": 1,
        "name": "pedals",
        "program": "examples/rig.c",
        "role": "signals",
        "frame": "iso8855",
        "units": "SI",
        "mode": "any",
        "period_ns": 0,
        "channels": [],
        "channels_sha256": "",
        "reads": ["vehicle.speed"],
        "resume": 0,
    }
    gateway.say({"kind": "refused", "reasons": ["the place of pedals is taken by somebody"]})
    gateway.heard("hello")  # it waits for the place
    gateway.say(gateway.welcome())
    assert program.line() == f"joined as pedals (lockstep), session {SESSION}\n"
    sequences = []
    for step in (1, 2, 3):
        gateway.say(gateway.motion())
        _, session, sequence, answered, at_ns, block = gateway.heard("values")
        assert (session, answered) == (SESSION, step)
        assert abs(at_ns - time.monotonic_ns()) < SECOND
        steering, gear, clutch = struct.unpack("<3d", block)
        assert (gear, clutch) == (100.0, 0.0)
        assert steering == pytest.approx(0.05 * np.sin(1.5e-3 * step))
        sequences.append(sequence)
    beat = gateway.heard("beat")
    assert (beat["session"], beat["step"]) == (SESSION, 3)
    assert beat["sequence"] > sequences[-1] > sequences[0]
    gateway.say(gateway.beat(echo_ns=beat["time_ns"]))
    hello = gateway.heard("hello")  # the loop is silent
    assert hello["resume"] == SESSION
    gateway.say(gateway.welcome())
    assert program.line() == f"resumed as pedals (lockstep), session {SESSION}\n"
    gateway.step -= 1
    gateway.say(gateway.motion())  # the loop still waits for the answer to the same step
    values = gateway.heard("values")
    assert values[2] > beat["sequence"], "the numbers go on"
    assert values[3] == gateway.step
    for error in ("unknown_session", "ended"):
        gateway.say({"kind": "error", "error": error, "reason": "so", "sequence": -1})
        gateway.heard("hello")
        gateway.say(gateway.welcome(SESSION + 1))
        program.line()
    gateway.say(gateway.motion(SESSION))
    gateway.say(gateway.motion(SESSION + 1))
    values = gateway.heard("values")
    assert (values[1], values[3]) == (SESSION + 1, gateway.step), "that of another session is not answered"
    program.process.send_signal(signal.SIGUSR1)
    stop = gateway.heard("stop")
    assert gateway.heard("stop")["sequence"] > stop["sequence"], "until it is done"
    gateway.say({"kind": "done", "of": "stop", "session": SESSION + 1, "sequence": stop["sequence"]})
    code, printed = program.end()
    assert gateway.heard("bye")["session"] == SESSION + 1
    assert code == 0
    offset = float(printed.partition("offset ")[2].partition(" s")[0])
    assert offset == pytest.approx(1.0, abs=0.02), "the stand-in's clock is a second ahead"


@pytest.mark.parametrize(
    "answer",
    [
        {"kind": "refused", "reasons": ["role: daemon vehicle, rig signals", "the place of pedals is taken"]},
        {"kind": "refused", "reasons": []},
        {"kind": "refused"},
        {"reads": [["vehicle.spin", "m/s"]]},
        {"reads": [["vehicle.speed", "km/h"]]},
        {"channels": [["steering"]]},
        {"channels": [["x", "1", -1.0, 1.0, None, 0.0, "ramp"]] * 65},
        {"lost_s": float("nan")},
    ],
)
def test_what_cannot_go_well_ends_the_rig_with_2(
    gateway: Gateway, rig: StartRig, runtime: Path, answer: dict[str, object]
) -> None:
    program = rig(f"ipc://{runtime}/mastd.rigs")
    gateway.heard("hello")
    gateway.say(answer if "kind" in answer else gateway.welcome(**answer))  # type: ignore[arg-type]
    _, errors = program.process.communicate(timeout=PATIENCE)
    assert program.process.returncode == 2
    assert "see above" in errors


def test_nonsense_does_not_end_the_rig(gateway: Gateway, rig: StartRig, runtime: Path) -> None:
    program = rig(f"ipc://{runtime}/mastd.rigs")
    gateway.heard("hello")
    gateway.say(gateway.welcome())
    random = Random(12)
    for turn in range(TURNS):
        for _ in range(50):
            valid = packed(random.choice((gateway.motion(), gateway.beat())))
            gateway.say(mutated(random, valid))
        for frame in NASTY if turn % 10 == 0 else ():
            gateway.say(frame)
        gateway.step += 1 << 20  # above whatever a mutated step may have been, but for the largest
        gateway.say(gateway.welcome(SESSION + 1 + turn))
        gateway.say(gateway.motion(SESSION + 1 + turn))
        while gateway.heard("values")[1] != SESSION + 1 + turn:
            pass
    code, printed = program.end()
    assert code == 0, printed
    assert "ERROR" not in printed


def test_the_rig_drives_is_killed_comes_back_and_stops_the_table(
    lab: Lab, start: Start, rig: StartRig, runtime: Path
) -> None:
    """Both examples with the real daemon between them, the table moved by what the rig does."""
    nobody = rig(f"ipc://{runtime}/nobody")
    (lab.directory / "rigs.yaml").write_text(RIGS, encoding="utf-8")
    options = ("--table", lab.table, "--config", lab.config, "--rigs", "rigs.yaml", "--json")
    run = lab.start("run", lab.profile(DRIVEN), *options, "--plant", start("free-run").address)
    try:
        place = runtime / "mastd.rigs"
        wait_for(lambda: place.exists() or run.poll() is not None, "a place for rigs", PATIENCE)
        first = rig(f"ipc://{runtime}/mastd.rigs")
        assert first.line().startswith("joined as pedals (free-run), session "), first.process.stderr
        with OperatorClient(f"ipc://{runtime}/mastd.operators", "watcher", role="observer") as watcher:

            def drives(least: float) -> bool:
                status = watcher.status()
                vehicle, rigs = status["vehicle"] or {}, [known["name"] for known in status["rigs"]]
                return "pedals" in rigs and (vehicle.get("speed") or 0.0) > least

            wait_for(lambda: drives(0.3), "it drives", PATIENCE)
            first.process.kill()
            wait_for(lambda: "RIG_LOST" in watcher.status()["active"], "it is missed")
            second = rig(f"ipc://{runtime}/mastd.rigs")
            assert second.line().startswith("joined as pedals")
            wait_for(lambda: drives(1.0), "it drives on", PATIENCE)
            second.process.send_signal(signal.SIGUSR1)
        document, errors = run.communicate(timeout=PATIENCE)
    finally:
        run.kill()
        run.communicate()
    assert run.returncode == 5, errors
    assert json.loads(document)["verdict"] == "stopped"
    assert second.end()[0] == 0
    _, errors = nobody.process.communicate(timeout=PATIENCE)
    assert (nobody.process.returncode, "is the daemon there" in errors) == (1, True)
