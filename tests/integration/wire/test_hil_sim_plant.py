"""``hil-sim plant`` as users and the daemon start it: the simulated plant as a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hil_sim.plant.client import ask
from mastd.errors import ProtocolError
from mastd.settings.core.loader import load
from mastd.settings.core.starter import find
from mastd.settings.table.table import TableSettings
from mastd.wire.plant.direct_link import DirectLink
from mastd.wire.plant.hello import LinkTerms
from mastd.wire.plant.messages import Command, DriveMode, Sample, SampleFlag, Stage
from mastd.wire.plant.process import PlantProcess
from mastd.wire.plant.provider import PlantRequest, RigidPayload, find_provider
from mastd.wire.plant.socket_link import PlantLink
from tests.support.lab import PATIENCE

pytestmark = pytest.mark.real_time

SECOND = 1_000_000_000
ROOT = Path(__file__).parents[3]
PAYLOAD = RigidPayload(12_000.0, (0.1, 0.0, 2.0), (9e3, 30e3, 30e3))
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


@pytest.fixture(scope="module")
def terms() -> LinkTerms:
    table = load(find("table", "table"), TableSettings)
    return LinkTerms.of(len(table.links), len(table.sensors.accelerometers), "lockstep", 1_000_000)


@pytest.fixture(autouse=True)
def checkout_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


def request(**changes: object) -> PlantRequest:
    entries = {"table_path": find("table", "table"), "mode": "lockstep", "payload": PAYLOAD, "seed": 7}
    return PlantRequest(**{**entries, **changes})  # type: ignore[arg-type]


def samples(link: PlantLink, terms: LinkTerms, cycles: int) -> list[bytes]:
    """Ask for pressure and follow the measured lengths; return the blocks of all samples."""
    sample, command = Sample(terms.sample_layout), Command(terms.command_layout)
    command.mode, command.stage = int(DriveMode.FOLLOW), int(Stage.HIGH)
    blocks = []
    for step in range(cycles):
        assert link.newest(sample, 2 * SECOND) == 1
        assert (sample.step, sample.time_ns) == (step, step * terms.period_ns)
        blocks.append(sample.values.tobytes())
        command.field("lengths")[:] = sample.field("lengths")
        assert link.send(command)
    return blocks


def test_the_process_and_the_object_are_the_same_plant(terms: LinkTerms, tmp_path: Path) -> None:
    provider = find_provider()
    # The table is what the daemon has read of the file, whatever it holds by now.
    edited = tmp_path / "table.yaml"
    edited.write_text("edited meanwhile", encoding="utf-8")
    text = find("table", "table").read_text(encoding="utf-8")
    with PlantProcess(provider, request(table_path=edited, table_text=text)) as plant:
        link = plant.connect(terms)
        assert link.hello.simulated
        over_socket = samples(link, terms, 200)
        link.close()
        assert plant.stop() == 0
    direct = DirectLink(provider.open(request()), terms)
    assert direct.hello.name == link.hello.name
    assert samples(direct, terms, 200) == over_socket
    other = DirectLink(provider.open(request(seed=8)), terms)
    assert samples(other, terms, 200) != over_socket


def test_faults_truth_and_status_over_the_link(terms: LinkTerms) -> None:
    with PlantProcess(find_provider(), request(faults=("length-nan.3@5ms",))) as plant:
        link = plant.connect(terms)
        sample, command = Sample(terms.sample_layout), Command(terms.command_layout)
        assert link.newest(sample, SECOND) == 1
        for _ in range(8):
            link.send(command)
            assert link.newest(sample, SECOND) == 1
        assert np.isnan(sample.field("lengths")).tolist() == [False, False, True, False, False, False, False]
        assert not sample.flags & SampleFlag.ESTOP
        assert ask(plant.address, "inject", fault="estop@0s")["time_ns"] == sample.time_ns
        link.send(command)
        assert link.newest(sample, SECOND) == 1
        link.send(command)
        assert link.newest(sample, SECOND) == 1
        assert sample.flags & SampleFlag.ESTOP

        truth = ask(plant.address, "truth")
        assert truth["time_ns"] == sample.time_ns
        assert [len(truth[key]) for key in ("pose", "velocity", "acceleration", "forces")] == [6, 6, 6, 7]  # type: ignore[arg-type]
        status = ask(plant.address, "status")
        assert f"pid {os.getpid()}" in str(status["daemon"])
        assert status["counters"] == {
            "commands": 10,
            **dict.fromkeys(("lost", "invalid", "old", "late", "strangers", "unsent"), 0),
        }
        for bad in ({"fault": "gremlins@1s"}, {"fault": 3}, {}):
            with pytest.raises(ProtocolError, match="refuses"):
                ask(plant.address, "inject", **bad)
        link.close()


def test_a_silent_plant_takes_commands_and_sends_nothing(terms: LinkTerms) -> None:
    with PlantProcess(find_provider(), request(faults=("silence@5ms:10ms",))) as plant:
        link = plant.connect(terms)
        sample, command = Sample(terms.sample_layout), Command(terms.command_layout)
        assert link.newest(sample, SECOND) == 1
        heard = []
        for _ in range(20):
            link.send(command)
            if link.newest(sample, SECOND // 20):
                heard.append(sample.step)
        assert heard == [1, 2, 3, 4, 5, *range(15, 21)]
        link.close()


def test_a_plant_that_cannot_start_says_why_instead_of_a_time_out(tmp_path: Path, terms: LinkTerms) -> None:
    broken = tmp_path / "table.yaml"
    broken.write_text("name: no table at all\n", encoding="utf-8")
    with (
        PlantProcess(find_provider(), request(table_path=broken)) as plant,
        pytest.raises(ProtocolError, match=rf"ended with code 2: {broken}:1:"),
    ):
        plant.connect(terms)


def test_the_motion_log_holds_one_row_per_period_in_free_run(tmp_path: Path) -> None:
    log = tmp_path / "motion"
    command = [sys.executable, "-m", "hil_sim", "plant", "--motion-log", str(log)]
    command += ["--address", f"ipc://{tmp_path}/plant", "--parent-pid", str(os.getpid())]
    with subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert f"listens at ipc://{tmp_path}/plant (free-run)" in process.stdout.readline()
        answer: dict[str, object] = {"time_ns": 0}
        for _ in range(200):
            answer = ask(f"ipc://{tmp_path}/plant", "truth")
            if int(str(answer["time_ns"])) > 50_000_000:
                break
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
    rows = np.fromfile(log, dtype="<f8").reshape(-1, 19)
    assert rows.shape[0] > 40
    times = rows[:, 0]
    assert np.all(np.diff(times) > 0)
    assert times[0] >= 0.9e-3
    assert np.min(np.diff(times)) == pytest.approx(1e-3)
    lying = rows[:, 1:7]
    assert np.all(lying[:, 2] < -0.04), "the table lies on its lower stops"
    assert np.all(np.abs(lying[:, 3:]) < 0.01)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--address", "somewhere"], "'somewhere'"),
        (["--address", "tcp://192.0.2.1:5570"], "other machines"),
        (["--table", "nothing.yaml"], "nothing.yaml: no such table file"),
        (["--fault", "gremlins@1s"], "no fault 'gremlins'"),
        (["--fault", "estop"], "NAME"),
        (["--period", "1"], "period"),
        (["--period", "1 s"], "0.1 ms to 100 ms"),
        (["--payload", "heavy"], "no such profile"),
        (["--payload", '{"mass": 12000}'], "centre_of_gravity"),
        (
            ["--payload", '{"mass": -1, "centre_of_gravity": [0, 0, 1], "inertia": [1, 1, 1]}'],
            "payload: mass: ",
        ),
        (["--mode", "sometimes"], "sometimes"),
    ],
)
def test_a_wrong_argument_is_one_line_and_exit_code_2(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from hil_sim.cli import main

    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        code = main(["plant", *arguments])
    except SystemExit as ended:
        code = int(str(ended.code))
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    assert code == 2
    assert words in capsys.readouterr().err.splitlines()[-1]


def test_the_help_names_the_subcommands(capsys: pytest.CaptureFixture[str]) -> None:
    from hil_sim.cli import main

    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    assert "plant" in capsys.readouterr().out
