"""Clients and example rigs at the real gateway of rigs; the test is the loop behind it."""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import pty
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from hil_sim import cli
from hil_sim.rigs import damper
from mastd.errors import UsageError
from mastd.safety.states import State
from mastd.settings.core.loader import load_text
from mastd.settings.rigs.rigs import RigsSettings
from mastd.wire.common.blocks import NewestValueBlock, status_layout
from mastd.wire.common.rig_block import (
    ESTOPS,
    FIRST_RIG,
    FRAME_HEAD,
    FRAME_HEAD_SIZE,
    RIG_ROW,
    RIG_WIDTH,
    STOPS,
    RigLink,
)
from mastd.wire.common.rig_status import RIG_STATUS
from mastd.wire.rigs.client_async import AsyncRigClient
from mastd.wire.rigs.client_session import RigRefusedError
from mastd.wire.rigs.config import RigGatewayConfig, rig_configs
from mastd.wire.rigs.gateway import RigGatewayHandle
from tests.support.lab import PATIENCE, ROOT
from tests.support.wire.operators import wait_for

pytestmark = pytest.mark.real_time

COLUMNS = (("profile_time", "s"), ("pose.heave", "m"))
RIGS = """
rigs:
  - {name: pedals, kind: signals, channels: [{channel: throttle}, {channel: brake}]}
  - {name: ecu, kind: signals, channels: [{channel: damper_force.fl}]}
"""


class Desk:
    """The gateway as a process, and the loop's ends of its blocks."""

    def __init__(self, directory: Path) -> None:
        self.address = f"ipc://{directory}/mastd.rigs"
        self._status = NewestValueBlock(status_layout(7))
        self._rig_status = NewestValueBlock(RIG_STATUS)
        self._link = RigLink.of(len(COLUMNS))
        job = RigGatewayConfig(
            name="mastd",
            address=self.address,
            mode="free-run",
            period_ns=1_000_000,
            rigs=rig_configs(load_text(RIGS, "rigs.yaml", RigsSettings)),
            columns=COLUMNS,
            spare=0,
            states=tuple(state.name for state in State),
            actuators=7,
        )
        self._gateway = RigGatewayHandle.start(job, self._link, self._status, self._rig_status)
        self._number = 0
        self._over = threading.Event()
        self._loop = threading.Thread(target=self._turn)
        self._loop.start()

    @property
    def head(self) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """What the loop reads."""
        self._link.values.read()
        return self._link.values.values

    def row(self, rig: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """Return what the loop sees of one rig."""
        start = FIRST_RIG + rig * RIG_WIDTH
        return self.head[start : start + RIG_WIDTH]

    def close(self) -> None:
        self._over.set()
        self._loop.join()
        self._gateway.close()
        self._link.close()
        self._status.close()
        self._rig_status.close()

    def _turn(self) -> None:
        """Show a frame every few ms, as a loop does."""
        values = self._link.frame.values
        while not self._over.wait(0.005):
            self._number += 1
            values[FRAME_HEAD.number], values[FRAME_HEAD.plant_time] = self._number, self._number * 1e-3
            values[FRAME_HEAD.state], values[FRAME_HEAD.speed], values[FRAME_HEAD.asked] = (
                State.RUNNING,
                1.0,
                0.0,
            )
            values[FRAME_HEAD_SIZE:] = self._number * 1e-3, 0.25
            self._link.frame.publish()
            self._link.shown.set()


@pytest.fixture(scope="module")
def common(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    desk = Desk(tmp_path_factory.mktemp("desk"))
    yield desk
    desk.close()


@pytest.fixture
def desk(common: Desk) -> Desk:
    """A desk whose places are free."""
    wait_for(
        lambda: bool(common.row(0)[RIG_ROW.joined] == common.row(1)[RIG_ROW.joined] == 0.0),
        "both places are free",
    )
    return common


def test_the_asynchronous_client_joins_answers_stops_and_leaves(desk: Desk) -> None:
    async def drive() -> None:
        stops, estops = desk.head[[STOPS, ESTOPS]]
        async with await AsyncRigClient.join("pedals", reads=("pose.heave",), address=desk.address) as rig:
            assert [channel.name for channel in rig.channels] == ["throttle", "brake"]
            assert (rig.mode, rig.period, rig.reads) == ("free-run", 1e-3, (("pose.heave", "m"),))
            steps = []
            for _ in range(60):
                motion = await rig.receive(1.0)
                assert motion is not None
                assert (motion.state, motion.values.tolist()) == ("RUNNING", [0.25])
                steps.append(motion.step)
                await rig.send((0.5, 0.25), motion)
            assert steps == sorted(set(steps))
            assert rig.errors == (0, "")
            assert rig.offset is not None
            assert abs(rig.offset) < 0.1, "it is the same machine's clock"
            wait_for(lambda: bool(desk.row(0)[RIG_ROW.step] >= steps[-1]), "the loop has the values")
            assert desk.row(0)[RIG_ROW.values : RIG_ROW.values + 2].tolist() == [0.5, 0.25]
            with pytest.raises(ValueError, match="3 values, expected 2 channels"):
                await rig.send((1.0, 2.0, 3.0), steps[-1])
            with pytest.raises(RigRefusedError, match="the place of pedals is taken"):
                await AsyncRigClient.join("pedals", address=desk.address, patience=0.2)
            # Several wait at the same time, as on asyncio they may.
            other = await AsyncRigClient.join("ecu", address=desk.address)
            both = await asyncio.gather(rig.receive(1.0), other.receive(1.0))
            assert all(both)
            await other.leave()
            await rig.stop()
            await rig.estop()
            wait_for(
                lambda: bool(desk.head[[STOPS, ESTOPS]].tolist() == [stops + 1, estops + 1]), "both stops"
            )
        assert rig.rejoined == 0

    asyncio.run(drive())
    wait_for(lambda: bool(desk.row(0)[RIG_ROW.joined] == 0.0), "it has left")


def test_the_asynchronous_client_finds_nobody(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no daemon serves rigs at"):
        asyncio.run(AsyncRigClient.join("pedals", address=f"ipc://{tmp_path}/nobody", patience=0.1))


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("damper", "--name", "pedals"), "include throttle, brake, this rig sends damper_force.WHEEL;"),
        (("pose", "--name", "pedals", "--sine", "heave", "1 mm", "1 Hz"), "role: daemon signals, rig pose"),
        (("quarter_car",), "no rig 'external_vehicle' in the daemon's rigs file; there are pedals, ecu"),
        (
            ("driver", "--name", "ecu", "--follow", "straight"),
            "include damper_force.fl, this rig sends",
        ),
        (("driver", "--script", "none.csv"), "none.csv: cannot be read: No such file"),
        (("driver", "--keyboard"), "standard input is not a terminal"),
        (("pose",), "expected one of --sine, --sweep and --file"),
        (
            ("pose", "--sine", "up", "1 mm", "1 Hz"),
            "--sine up: axes are surge, sway, heave, roll, pitch, yaw",
        ),
        (("replay", "none", "--rig", "pedals"), "none"),
        (("vehicle",), "expected either VEHICLE or --profile"),
        (("damper", "--key", "mine"), "--key and --server-key go together"),
        (("damper", "--duration", "5"), "--duration"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(
    desk: Desk, arguments: tuple[str, ...], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["rig", *arguments, "--address", desk.address, "--wait", "1 s"]) == 2
    told = capsys.readouterr()
    assert line in told.err
    assert (told.err.count("\n"), told.out) == (1, "")


def test_a_script_drives_and_leaves_after_its_duration(desk: Desk, tmp_path: Path) -> None:
    script = tmp_path / "script.csv"
    script.write_text("time_s,steering,throttle,brake\n0,0,0.3,0.125\n", encoding="utf-8")
    process = program(desk, "driver", "--name", "pedals", "--script", script, "--duration", "0.1 s")
    out, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out, errors) == (0, "", "")
    assert desk.row(0)[RIG_ROW.values : RIG_ROW.values + 2].tolist() == [0.3, 0.125]
    assert desk.row(0)[RIG_ROW.given] > 0


def test_a_rig_leaves_with_its_parent(desk: Desk) -> None:
    parent = subprocess.Popen(["sleep", "60"])
    process = program(desk, "damper", "--name", "ecu", "--parent-pid", parent.pid)
    try:
        wait_for(lambda: bool(desk.row(1)[RIG_ROW.given] > 0), "in time", 30.0)
    finally:
        parent.kill()
        parent.wait()
    assert process.communicate(timeout=PATIENCE) == ("", "")
    assert process.returncode == 0


def test_values_that_are_not_finite_end_a_rig_with_a_line_and_exit_code_3(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(damper.Skyhook, "step", lambda *_: [math.nan])
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        assert cli.main(["rig", "damper", "--name", "ecu", "--address", desk.address]) == 3
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    assert re.fullmatch(r"ecu: values at [0-9.]+ s are not finite; it leaves\n", capsys.readouterr().err)
    wait_for(lambda: bool(desk.row(1)[RIG_ROW.joined] == 0.0), "it has left")


def test_a_keyboard_drives_stops_and_leaves(desk: Desk) -> None:
    main, side = pty.openpty()
    stops = desk.head[STOPS]
    process = program(desk, "driver", "--name", "pedals", "--keyboard", stdin=side, stdout=side)
    text = b""

    def shown(word: bytes) -> bool:
        nonlocal text
        with contextlib.suppress(BlockingIOError):
            text += os.read(main, 65536)
        return word in text

    try:
        os.set_blocking(main, False)
        wait_for(lambda: shown(b"joined in free-run, sends throttle, brake"), "in time", 30.0)
        os.write(main, b"w")
        wait_for(lambda: bool(desk.row(0)[RIG_ROW.values] == pytest.approx(0.1)), "the throttle")
        wait_for(lambda: bool(shown(b"throttle  10%")), "the throttle is shown")
        os.write(main, b"x")
        wait_for(lambda: bool(desk.head[STOPS] == stops + 1), "a stop")
        os.write(main, b"q")
        wait_for(lambda: bool(shown(b"\n") and process.poll() is not None), "it has left")
        assert process.returncode == 0
    finally:
        process.kill()
        process.wait()
        os.close(main)
        os.close(side)


def program(
    desk: Desk, *arguments: object, stdin: int | None = None, stdout: int = subprocess.PIPE
) -> subprocess.Popen[str]:
    """Start a rig at the desk."""
    return subprocess.Popen(
        [sys.executable, "-m", "hil_sim", "rig", *map(str, arguments), "--address", desk.address],
        stdin=stdin,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
