"""`mastd drive` and other drivers with a real gateway: from keys and events to the loop's block."""

from __future__ import annotations

import contextlib
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import zmq

from mastd import cli
from mastd.commands.drive.keyboard import DRIVE
from mastd.loop.payload.driver_port import DriverPort
from mastd.vehicle.drivers.base import Seen
from mastd.vehicle.drivers.car import Car
from mastd.vehicle.drivers.controls import no_controls
from mastd.vehicle.drivers.manual import ManualDriver
from mastd.vehicle.model.library import find
from mastd.wire.common.blocks import DRIVER, NewestValueBlock
from mastd.wire.common.strict_messages import pack
from mastd.wire.operators.client import OperatorClient
from mastd.wire.operators.drive_client import DriveClient
from mastd.wire.operators.messages import Answer, Close, Command, Hello, Inputs, Welcome, pack_drive
from tests.integration.wire.test_ctl import Table
from tests.integration.wire.test_gateway import heard
from tests.support.wire.operators import wait_for

pytestmark = pytest.mark.real_time

FLOOD = 10_000
AXIS, BUTTON = 2, 1


@pytest.fixture(scope="module")
def common(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Table]:
    table = Table(tmp_path_factory.mktemp("drive"))
    yield table
    table.close()


@pytest.fixture
def table(common: Table) -> Table:
    """A daemon whose lease is free."""
    common.loop.reset()
    with OperatorClient(common.handle.address, "observer", role="observer") as client:
        lease = client.status()["lease"]
    if lease:
        with OperatorClient(common.handle.address, lease["holder"]) as client:
            client.command("release")
    return common


class Driven:
    """`mastd drive` on a terminal of its own."""

    def __init__(self, table: Table, *arguments: str) -> None:
        self.main, self.side = pty.openpty()
        os.set_blocking(self.main, False)
        self.before = termios.tcgetattr(self.side)
        self.text = ""
        self.block = NewestValueBlock(DRIVER, table.loop.driver.descriptor)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "mastd", "drive", *arguments],
            stdin=self.side,
            stdout=self.side,
            stderr=self.side,
            cwd=table.directory,
            env=table.environment,
        )

    def type(self, keys: bytes) -> None:
        os.write(self.main, keys)

    def shown(self) -> Inputs:
        """Return what the loop is shown, and take in what the terminal shows."""
        with contextlib.suppress(BlockingIOError):
            self.text += os.read(self.main, 1 << 16).decode()
        self.block.read()
        _, steering, throttle, brake, clutch, gear = self.block.values.tolist()
        return Inputs(steering, throttle, brake, clutch, int(gear))

    def wait(self, condition: Callable[[Inputs], bool], what: str) -> None:
        wait_for(lambda: condition(self.shown()), what)

    def end(self) -> int:
        """Return the exit code; the terminal is as it was before."""
        wait_for(lambda: self.shown() is not None and self.process.poll() is not None, "it ends")
        self.shown()
        assert termios.tcgetattr(self.side) == self.before
        return int(self.process.returncode)


@pytest.fixture
def drive(table: Table) -> Iterator[Callable[..., Driven]]:
    started: list[Driven] = []

    def start(*arguments: str) -> Driven:
        started.append(Driven(table, *arguments))
        return started[-1]

    yield start
    for driven in started:
        driven.process.kill()
        driven.process.wait()
        os.close(driven.main)
        os.close(driven.side)


def test_keys_drive_the_car_stop_the_table_and_leave(table: Table, drive: Callable[..., Driven]) -> None:
    driven = drive(table.handle.address, "--as", "anna")
    driven.wait(lambda shown: shown.gear == DRIVE, "it drives")
    assert termios.tcgetattr(driven.side) != driven.before
    driven.type(b"\x1b[A\x1b[A")
    driven.wait(lambda shown: shown.throttle > 0.05, "throttle")
    driven.type(b"a")
    driven.wait(lambda shown: shown.steering > 0.05, "to the left")
    driven.type(b"d")
    driven.wait(lambda shown: shown.steering < 0.0, "to the right")
    driven.wait(lambda shown: abs(shown.steering) < 0.05, "straight again by itself")
    driven.type(b" 3")
    driven.wait(lambda shown: (shown.throttle, shown.brake, shown.gear) == (0.0, 1.0, 3), "full brake")
    stops = table.loop.counters()[0]
    driven.type(b"x")
    wait_for(lambda: table.loop.counters()[0] == stops + 1, "the stop")
    driven.wait(lambda shown: "stop: accepted" in driven.text, "the stop's answer")
    driven.type(b"wwq")
    assert driven.end() == 0
    assert driven.shown().throttle == 0.0, "the foot is taken off"
    assert " 45.0 km/h  lever 2  READY  " in driven.text
    assert (
        "quit; the car coasts to standstill. `mastd ctl release --as anna` lets others drive" in driven.text
    )


def test_a_killed_terminal_client_restores_the_terminal(table: Table, drive: Callable[..., Driven]) -> None:
    driven = drive()
    driven.wait(lambda shown: "READY" in driven.text, "it drives")
    driven.process.send_signal(signal.SIGTERM)
    assert driven.end() == 128 + signal.SIGTERM


def event(value: int, kind: int, number: int) -> bytes:
    return struct.pack("=IhBB", 0, value, kind, number)


def test_a_gamepad_drives_until_it_is_gone(
    table: Table, drive: Callable[..., Driven], tmp_path: Path
) -> None:
    pipe = tmp_path / "js0"
    os.mkfifo(pipe)
    device = os.open(pipe, os.O_RDWR)
    for number in range(6):
        os.write(device, event(0, AXIS | 0x80, number))
    driven = drive("--gamepad", str(pipe), "--map", "clutch=1", "--rate", "100")
    driven.wait(lambda shown: shown == Inputs(gear=DRIVE), "the feet are off")
    os.write(device, event(-32767, AXIS, 0) + event(32767, AXIS, 5) + event(1, BUTTON, 4))
    driven.wait(lambda shown: shown == Inputs(1.0, 1.0, 0.0, 0.0, 0), "stick and trigger")
    os.write(device, event(32767, AXIS, 1)[:5])
    os.write(device, event(32767, AXIS, 1)[5:] + event(32767, AXIS, 2))
    driven.wait(lambda shown: (shown.brake, shown.clutch) == (1.0, 1.0), "brake and clutch")
    driven.type(b"w2")
    driven.wait(lambda shown: shown.gear == 2, "keys change gears beside a gamepad")
    os.close(device)
    assert driven.end() == 2
    assert f"--gamepad {pipe}: disconnected" in driven.text
    assert driven.shown().throttle == 0.0


def test_what_is_wrong_is_said_in_a_line(
    table: Table, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with open(os.devnull, encoding="ascii") as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        assert cli.main(["drive", table.handle.address]) == 2
        told = (
            "drive: standard input is not a terminal: keys drive the car, or stop and quit with a gamepad\n"
        )
        assert capsys.readouterr().err == told
        assert cli.main(["drive", "--rate", "5", "--map", "gas=1", "--key", "anna.key_secret"]) == 2
        lines = capsys.readouterr().err.splitlines()
        assert [line.split(":")[0] for line in lines] == [
            "--rate 5",
            "--key and --server-key go together",
            "--map",
            "--map gas=1",
        ]


def test_whoever_is_refused_is_told_why_and_has_the_terminal_back(
    table: Table, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    main, side = pty.openpty()
    before = termios.tcgetattr(side)
    handler = signal.getsignal(signal.SIGTERM)
    try:
        with open(side, encoding="ascii", closefd=False) as terminal:
            monkeypatch.setattr(sys, "stdin", terminal)
            assert cli.main(["drive", f"ipc://{tmp_path}/nobody.operators"]) == 2
            told = capsys.readouterr().err
            assert told.startswith(f"no daemon answers at ipc://{tmp_path}/nobody.operators: start")
            assert cli.main(["drive", "--gamepad", "/dev/null"]) == 2
            assert capsys.readouterr().err.startswith("--gamepad /dev/null: is not a joystick device")
            with OperatorClient(table.handle.address, "bert") as bert:
                assert bert.command("arm").accepted
            assert cli.main(["drive", table.handle.address, "--as", "anna"]) == 6
            told = capsys.readouterr().err
            assert told.startswith("drive is refused: bert has control for another ")
            assert told.count("\n") == 1
            assert termios.tcgetattr(side) == before
            assert signal.getsignal(signal.SIGTERM) == handler
    finally:
        os.close(main)
        os.close(side)


def hello(socket: zmq.Socket[bytes], table: Table, operator: str) -> int:
    """Open a session on a bare socket, as a client in another language does; return its number."""
    socket.linger = 0
    socket.connect(table.handle.address)
    socket.send(pack(Hello(1, "test", operator, "operator")))
    return heard(socket, Welcome).session


def test_a_flood_of_inputs_does_not_hold_up_somebody_elses_stop(table: Table) -> None:
    view = NewestValueBlock(DRIVER, table.loop.driver.descriptor)
    stops = table.loop.counters()[0]
    with (
        OperatorClient(table.handle.address, "carl", role="observer") as carl,
        zmq.Context() as context,
        context.socket(zmq.DEALER) as anna,
        context.socket(zmq.DEALER) as bert,
    ):
        flooding, stopping = hello(anna, table, "anna"), hello(bert, table, "bert")
        before = carl.status()["counters"]
        view.read()
        shown = view.scalar("count")
        sent = []

        def flood() -> None:
            for sequence in range(1, FLOOD + 1):
                anna.send(pack_drive(flooding, sequence, Inputs(throttle=sequence / FLOOD)))
                sent.append(sequence)

        thread = threading.Thread(target=flood)
        # The gateway stands still until the flood has filled the way to it, and the stop comes after that.
        os.kill(table.handle.process_id, signal.SIGSTOP)
        try:
            thread.start()
            wait_for(lambda: len(sent) > FLOOD // 20, "the flood has begun")
            bert.send(pack(Command(stopping, 1, "stop", {})))
            bert.send(pack(Command(stopping, 2, "status", {})))
        finally:
            os.kill(table.handle.process_id, signal.SIGCONT)
        answers = {answer.verb: answer for answer in (heard(bert, Answer), heard(bert, Answer))}
        thread.join()
        snapshot = answers["status"].snapshot
        assert answers["stop"].accepted
        assert snapshot is not None
        taken = snapshot["counters"]["received"] - before["received"]
        assert taken < FLOOD // 20, "what stood before it in another queue did not go before it"
        wait_for(lambda: carl.status()["counters"]["driven"] - before["driven"] == FLOOD, "all are heard")
        wait_for(lambda: view.read() and view.scalar("throttle") == 1.0, "the last one is shown")
        overtaken = carl.status()["counters"]["overtaken"] - before["overtaken"]
    assert table.loop.counters()[0] == stops + 1
    assert view.scalar("count") - shown == FLOOD - overtaken
    assert overtaken > FLOOD // 2


DRIVER_PROCESS = """
import sys
from mastd.wire.operators.drive_client import DriveClient
from mastd.wire.operators.messages import Inputs
client = DriveClient(sys.argv[1], "anna")
client.drive(Inputs(steering=0.5, throttle=0.75, gear=100))
sys.stdin.read()
"""


def test_the_car_of_a_driver_who_dies_coasts_after_the_timeout(table: Table) -> None:
    car = Car.of(find("benchmark_sedan"))
    driver = ManualDriver(car.model, car, timeout=0.3)
    port = DriverPort(NewestValueBlock(DRIVER, table.loop.driver.descriptor))
    with subprocess.Popen(
        [sys.executable, "-c", DRIVER_PROCESS, table.handle.address],
        stdin=subprocess.PIPE,
        env=table.environment,
    ) as process:
        wait_for(port.take, "it drives")
        process.kill()
    assert port.values.tolist() == [0.5, 0.75, 0.0, 0.0, DRIVE]
    driver.receive(port.values, 1.0)
    lost, torque, time = [], [], 1.0
    for look in range(60):
        assert not port.take(), "nobody says anything any more"
        time = 1.0 + 0.01 * look
        times = np.asarray(time + 1e-3 * np.arange(1, 11), dtype=np.float64)
        controls = no_controls(car.model, times)
        seen = Seen(time, np.zeros(3), 0.0, np.array([10.0, 0.0, 0.0]), 0.0, np.full(4, 30.0), 0.0)
        driver.act(seen, times, controls)
        lost.append(driver.lost)
        torque.append(float(controls.drive_torque[-1, 0]))
    assert lost.index(True) in (30, 31), "0.3 s, in the driver's time"
    assert torque[29] == max(torque)
    assert torque[-1] == 0.0
    assert controls.brake_torque[-1].min() > 0.0


def test_a_driver_goes_on_with_a_session_that_the_daemon_has_forgotten(table: Table) -> None:
    view = NewestValueBlock(DRIVER, table.loop.driver.descriptor)
    with DriveClient(table.handle.address, "anna") as client:
        client.drive(Inputs(brake=0.25))
        wait_for(lambda: view.read() and view.scalar("brake") == 0.25, "it drives")
        session = client.welcome.session
        client._socket.send(pack(Close(session)))

        def driving() -> bool:
            client.drive(Inputs(brake=0.75))
            assert client.heard() == ()
            return view.read() and view.scalar("brake") == 0.75

        wait_for(driving, "it drives again")
        assert client.welcome.session != session
