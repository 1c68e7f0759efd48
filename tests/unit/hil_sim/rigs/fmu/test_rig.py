"""An FMU at a table: which variable is which channel, when it is stepped, how it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hil_sim.cli import main
from hil_sim.rigs.fmu.model import FmuModel
from hil_sim.rigs.fmu.rig import MAX_BEHIND, FmuAtTable, rig_name
from hil_sim.rigs.fmu.units import DeclaredUnit
from hil_sim.rigs.fmu.variables import FmuError, Variable
from hil_sim.rigs.fmu.wiring import wire
from mastd.errors import UsageError
from tests.support.lab import PATIENCE, ROOT
from tests.support.rigs.fmu_samples import description, lag, needs_compiler, needs_fmpy

NEWTON, METRE = DeclaredUnit("N"), DeclaredUnit("m")


def variables(*names: str) -> dict[str, Variable]:
    """Return variables: ``>`` begins an input's name, ``<`` an output's, others are parameters."""
    causality = {">": "input", "<": "output"}
    found = {}
    for k, name in enumerate(names):
        unit = NEWTON if ".f" in name else METRE
        own = name.lstrip("<>")
        found[own] = Variable(own, "Real", causality.get(name[0], "parameter"), k, unit, "")
    return found


CAR = variables(">pose.heave", ">pose.surge", "<wrench.fz", "<extra", "mass")


def test_names_are_channels_where_nothing_else_is_said() -> None:
    wiring = wire(CAR)
    assert wiring.channels == ("pose.heave", "pose.surge")
    ports, places = wiring.inputs([("pose.surge", "m"), ("pose.heave", "m")])
    assert [port.variable.name for port in ports] == ["pose.heave", "pose.surge"]
    assert places == [1, 0]
    assert [port.variable.name for port in wiring.outputs([("wrench.fz", "N")])] == ["wrench.fz"]


def test_a_map_renames_either_way_and_a_star_many_at_once() -> None:
    wiring = wire(CAR, ["smoothed_pose.*=pose.*", "damper_force.fl = wrench.fz"])
    assert wiring.channels == ("smoothed_pose.heave", "smoothed_pose.surge")
    assert [port.variable.name for port in wiring.outputs([("damper_force.fl", "N")])] == ["wrench.fz"]
    # One channel may feed several inputs.
    twice = wire(CAR, ["pose.heave=pose.surge"])
    assert twice.channels == ("pose.heave",)
    assert twice.inputs([("pose.heave", "m")])[1] == [0, 0]


def test_an_input_that_is_set_follows_nothing() -> None:
    wiring = wire(CAR, settings=["pose.surge=0.2", "mass=12"])
    assert wiring.channels == ("pose.heave",)
    assert wiring.fixed == {"pose.surge": 0.2, "mass": 12.0}


@pytest.mark.parametrize(
    ("maps", "says"),
    [
        (["a"], "--map a: write CHANNEL=VARIABLE"),
        (["a=nothing"], "the FMU has no variable nothing; it has pose.heave, pose.surge, wrench.fz"),
        (["a=mass"], "mass is neither input nor output but parameter"),
        (["a=pose.heave", "b=pose.heave"], "the input pose.heave has its value already"),
        (["a=wrench.fz", "a=extra"], "the channel a has its variable already"),
        (["a.*=bare.*"], "the FMU has no input or output bare.*"),
    ],
)
def test_maps_that_cannot_be(maps: Sequence[str], says: str) -> None:
    with pytest.raises(UsageError) as error:
        wire(CAR, maps)
    assert says in str(error.value)


@pytest.mark.parametrize(
    ("units", "settings", "says"),
    [
        (["extra=mm"], [], "--unit extra=mm: extra states its unit, m; omit --unit"),
        (["bare=lightyear"], [], "the unit lightyear is not known"),
        ([], ["mass=heavy"], "--set mass=heavy: heavy is not a number"),
        ([], ["extra=1"], "extra is output, not input or parameter"),
    ],
)
def test_units_and_values_that_cannot_be(units: Sequence[str], settings: Sequence[str], says: str) -> None:
    bare = Variable("bare", "Real", "input", 9, None, "")
    with pytest.raises(UsageError) as error:
        wire({**CAR, "bare": bare}, units=units, settings=settings)
    assert says in str(error.value)


def test_a_unit_that_is_stated_is_converted_from() -> None:
    bare = Variable("bare", "Real", "input", 9, None, "")
    (port,), _ = wire({"bare": bare}, ["pose.heave=bare"], ["bare=mm"]).inputs([("pose.heave", "m")])
    assert port.conversion.from_si(0.5) == 500.0


def test_channels_that_nothing_gives_and_units_that_differ_are_all_named() -> None:
    wiring = wire(CAR, ["gone=extra"])
    with pytest.raises(UsageError) as error:
        wiring.outputs([("wrench.fz", "N"), ("wrench.fx", "N")])
    lines = str(error.value).splitlines()
    assert lines[0] == "--map gone=extra: the rig has no channel gone; it has wrench.fz, wrench.fx"
    assert lines[1].startswith("wrench.fx: no output of the FMU has this name; add --map wrench.fx=VARIABLE")
    with pytest.raises(UsageError, match=r"^extra: is in m, wrench\.fx is in N: not the same quantity$"):
        wire(CAR, ["wrench.fx=extra"]).outputs([("wrench.fx", "N")])


@dataclass
class Shown:
    time: float
    values: Any


@dataclass
class Channel:
    name: str
    unit: str


@dataclass
class Table:
    """The place of a rig that reads a pose and gives two numbers."""

    period: float = 1e-3
    reads: Sequence[tuple[str, str]] = (("pose.heave", "m"),)
    channels: Sequence[Channel] = (Channel("auxiliary.y", "m"), Channel("auxiliary.steps", "1"))


MAPS = ("pose.heave=u", "auxiliary.y=y", "auxiliary.steps=steps")
SET = ("whole=0",)


def followed(path: Path, periods: Sequence[int], step_ns: int | None = None) -> list[int]:
    """Return how many steps the FMU had taken at each of these periods of the plant's time."""
    with FmuModel(path) as model:
        law = FmuAtTable(model, wire(model.variables, MAPS, settings=SET), Table(), step_ns)
        return [round(law.answer(Shown(1e-3 * k, np.array([1.0])))[1]) for k in periods]


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lag(tmp_path_factory.mktemp("sample"), 3)


@needs_compiler
def test_its_time_is_that_of_the_plant_since_the_first_motion(sample: Path) -> None:
    # Periods that were missed are caught up with; a motion that comes again is answered again.
    assert followed(sample, [700, 701, 702, 703, 706, 706, 707]) == [0, 1, 2, 3, 6, 6, 7]


@needs_compiler
def test_a_longer_step_answers_the_periods_between_with_its_last_values(sample: Path) -> None:
    assert followed(sample, [10, 11, 12, 13, 15, 16], 2_000_000) == [0, 0, 1, 1, 2, 3]


@needs_compiler
@pytest.mark.parametrize("step_ns", [500_000, 1_500_000])
def test_a_step_that_is_no_multiple_of_the_period_is_refused(step_ns: int, sample: Path) -> None:
    with pytest.raises(UsageError, match=r"ms is no multiple of the daemon's period, 1 ms"):
        followed(sample, [0, 1], step_ns)


@needs_compiler
def test_an_fmu_that_is_slower_than_the_table_gives_up(sample: Path) -> None:
    behind = round(MAX_BEHIND * 1e3)
    assert followed(sample, [0, behind]) == [0, behind]
    with pytest.raises(FmuError, match=r"is slower than the table: 1\.0 s behind"):
        followed(sample, [0, behind + 1])


@needs_fmpy
def test_a_name_comes_from_the_file() -> None:
    assert rig_name(Path("runs/My Car (2).fmu")) == "my_car_2"


@needs_compiler
def test_check_shows_what_an_fmu_has(sample: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rig", "fmu", str(sample), "--check"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "lag3.fmu: lag, co-simulation, FMI 3.0"
    assert lines[1].split() == ["input", "u", "mm"]
    assert lines[2].split() == ["output", "y", "mm"]


@needs_compiler
@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--step", "2"], "--step: 2 has no unit"),
        (["--step", "0 s"], "--step: 0 s is not above zero"),
        (["--step", "3 ms"], "fixed internal step, 2 ms, does not divide the step of 3 ms"),
        (["--map", "x=z"], "--map x=z: the FMU has no variable z"),
    ],
)
def test_options_that_do_not_fit(
    options: Sequence[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = lag(tmp_path, 3, text=description(3, extra='fixedInternalStepSize="0.002"'))
    assert main(["rig", "fmu", str(path), *options]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert says in line


PROGRAM = """
import itertools, sys, time, types
import numpy as np

class Table:
    mode, period, reads, errors = "free-run", 1e-3, (("pose.heave", "m"),), (0, "")
    channels = (types.SimpleNamespace(name="auxiliary.y", unit="m"),)
    def __init__(self): self.steps = itertools.count()
    @classmethod
    def join(cls, name, **rest): return cls()
    def __enter__(self): return self
    def __exit__(self, *error): print("left", flush=True)
    def receive(self, timeout):
        time.sleep(1e-3)
        step = next(self.steps)
        return types.SimpleNamespace(step=step, time=1e-3 * step, state="OFF", values=np.zeros(1))
    def send(self, values, motion):
        if motion.step == 5: print("steps", flush=True)

module = types.ModuleType("mastd.wire.rigs.client")
module.RigClient = Table
sys.modules[module.__name__] = module
from hil_sim.cli import main
sys.exit(main(sys.argv[1:]))
"""
"""The command at a table that is not there: what follows a signal is the command's own."""


def at_a_table(path: Path, scratch: Path) -> subprocess.Popen[str]:
    """Start the command for an FMU at that table."""
    scratch.mkdir()
    arguments = [str(path), "--map", MAPS[0], "--map", MAPS[1], "--set", SET[0]]
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "rig", "fmu", *arguments],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(scratch), "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(path: Path, scratch: Path, number: signal.Signals, word: str = "steps") -> tuple[int, str]:
    """Run an FMU, send the signal once it says this word; return exit code and standard error."""
    process = at_a_table(path, scratch)
    try:
        assert process.stdout is not None
        while (line := process.stdout.readline()) != f"{word}\n":
            assert line, process.communicate()
        assert list(scratch.glob("mastd-fmu-*/modelDescription.xml"))
        process.send_signal(number)
        _, errors = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    assert not list(scratch.glob("mastd-fmu-*"))
    return process.returncode, errors


@needs_compiler
@pytest.mark.real_time
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_and_removes_what_was_extracted(
    number: signal.Signals, sample: Path, tmp_path: Path
) -> None:
    assert ended(sample, tmp_path / "scratch", number) == (0, "")


@needs_compiler
@pytest.mark.real_time
def test_an_fmu_that_fails_gives_its_place_back_and_says_why(tmp_path: Path) -> None:
    path = lag(tmp_path, 2, {"FAIL_AT": 20, "FAIL_STATUS": 3})
    process = at_a_table(path, tmp_path / "scratch")
    output, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2
    assert output == "steps\nleft\n"
    assert errors == f"{path}: step 20 at 0.02 s: fmi2DoStep returned error\n"
    assert not list((tmp_path / "scratch").iterdir())


@needs_compiler
@pytest.mark.real_time
def test_a_signal_ends_an_fmu_that_never_comes_back(tmp_path: Path) -> None:
    path = lag(tmp_path, 2, {"HANG_AT": 6})
    code, errors = ended(path, tmp_path / "scratch", signal.SIGTERM, "hangs")
    assert code == 3
    assert errors == "killed: did not end on request for 2 s\n"


def test_without_fmpy_it_is_told_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr("mastd.formats.core.packages.find_spec", lambda name: None)
    assert main(["rig", "fmu", "x.fmu"]) == 2
    assert capsys.readouterr().err == "running an FMU needs the package fmpy: pip install 'mastd[fmi]'\n"
    assert not list(tmp_path.iterdir())
