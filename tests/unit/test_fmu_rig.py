"""An FMU at a table: which variable is which channel, when it is stepped, how it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hil_sim.cli import main
from hil_sim.rigs.fmu import MOST_BEHIND, follow, rig_name
from hil_sim.rigs.fmu_model import FmuModel, Variable
from hil_sim.rigs.fmu_units import DeclaredUnit
from hil_sim.rigs.fmu_wiring import wire
from mastd.errors import UsageError
from tests.fmu_samples import description, lag, needs_compiler, needs_fmpy
from tests.lab import ROOT

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
        (["extra=mm"], [], "--unit extra=mm: extra says its unit, m; leave it out"),
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
    assert lines[0] == "--map gone=extra: the rig gives no gone; it gives wrench.fz, wrench.fx"
    assert lines[1].startswith("wrench.fx: no output of the FMU has this name; add --map wrench.fx=VARIABLE")
    with pytest.raises(UsageError, match=r"^extra: is in m, wrench\.fx is in N: not the same quantity$"):
        wire(CAR, ["wrench.fx=extra"]).outputs([("wrench.fx", "N")])


@dataclass
class Shown:
    step: int
    values: Any


@dataclass
class Channel:
    name: str
    unit: str


@dataclass
class Table:
    """A table that shows motions at these steps and keeps what it is given."""

    steps: Sequence[int]
    period: float = 1e-3
    reads: Sequence[tuple[str, str]] = (("pose.heave", "m"),)
    channels: Sequence[Channel] = (Channel("auxiliary.y", "m"), Channel("auxiliary.steps", "1"))
    given: list[tuple[int, list[float]]] = field(default_factory=list)
    shown: int = 0

    def receive(self, timeout: float) -> Shown | None:
        step = self.steps[self.shown]
        self.shown += 1
        return None if step < 0 else Shown(step, np.array([1.0]))

    def send(self, values: Sequence[float], motion: Shown) -> None:
        self.given.append((motion.step, list(values)))

    def over(self) -> bool:
        return self.shown == len(self.steps)


MAPS = ("pose.heave=u", "auxiliary.y=y", "auxiliary.steps=steps")
SET = ("whole=0",)


def followed(path: Path, table: Table, step_ns: int | None = None) -> list[tuple[int, int]]:
    """Return the table's steps that were answered, each with how many the FMU had taken."""
    with FmuModel(path) as model:
        follow(model, wire(model.variables, MAPS, settings=SET), table, step_ns, table.over)
    return [(step, round(values[1])) for step, values in table.given]


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lag(tmp_path_factory.mktemp("sample"), 3)


@needs_compiler
def test_its_time_is_that_of_the_table_since_the_first_motion(sample: Path) -> None:
    table = Table([-1, 700, 701, 702, -1, 703, 706, 706, 707])
    # Periods that were missed are caught up with; a motion that comes again is answered again.
    assert followed(sample, table) == [(700, 0), (701, 1), (702, 2), (703, 3), (706, 6), (706, 6), (707, 7)]


@needs_compiler
def test_a_longer_step_answers_the_periods_between_with_its_last_values(sample: Path) -> None:
    assert followed(sample, Table([10, 11, 12, 13, 15, 16]), 2_000_000) == [
        (10, 0),
        (11, 0),
        (12, 1),
        (13, 1),
        (15, 2),
        (16, 3),
    ]


@needs_compiler
@pytest.mark.parametrize("step_ns", [500_000, 1_500_000])
def test_a_step_that_is_no_multiple_of_the_period_is_refused(step_ns: int, sample: Path) -> None:
    with pytest.raises(UsageError, match=r"ms is no multiple of the daemon's period, 1 ms"):
        followed(sample, Table([0, 1]), step_ns)


@needs_compiler
def test_an_fmu_that_is_slower_than_the_table_gives_up(sample: Path) -> None:
    behind = round(MOST_BEHIND * 1e3)
    assert followed(sample, Table([0, behind])) == [(0, 0), (behind, behind)]
    with pytest.raises(UsageError, match=r"is slower than the table: 1\.0 s behind"):
        followed(sample, Table([0, behind + 1]))


@needs_compiler
def test_an_fmu_that_fails_leaves_what_it_gave_as_it_was(tmp_path: Path) -> None:
    path = lag(tmp_path, 2, {"FAIL_AT": 2, "FAIL_STATUS": 3})
    table = Table([0, 1, 2, 3, 4])
    with pytest.raises(Exception, match=r"step 2 at 0\.002 s: fmi2DoStep returned error"):
        followed(path, table)
    assert [step for step, _ in table.given] == [0, 1, 2]


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
        (["--key", "a"], "--key and --server-key go together"),
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
    mode, period, reads = "free-run", 1e-3, (("pose.heave", "m"),)
    channels = (types.SimpleNamespace(name="auxiliary.y", unit="m"),)
    def __init__(self): self.steps = itertools.count()
    @classmethod
    def join(cls, name, **rest): return cls()
    def __enter__(self): return self
    def __exit__(self, *error): print("left", flush=True)
    def receive(self, timeout):
        time.sleep(1e-3)
        return types.SimpleNamespace(step=next(self.steps), values=np.zeros(1))
    def send(self, values, motion):
        if motion.step == 5: print("steps", flush=True)

module = types.ModuleType("mastd.wire.rig_client")
module.RigClient = Table
sys.modules[module.__name__] = module
from hil_sim.cli import main
sys.exit(main(sys.argv[1:]))
"""
"""The command at a table that is not there: what follows a signal is the command's own."""


def ended(path: Path, scratch: Path, number: signal.Signals, word: str = "steps") -> tuple[int, str]:
    """Run an FMU, send the signal once it says this word; return exit code and standard error."""
    scratch.mkdir()
    arguments = [str(path), "--map", MAPS[0], "--map", MAPS[1], "--set", SET[0]]
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "rig", "fmu", *arguments],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(scratch), "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        while (line := process.stdout.readline()) != f"{word}\n":
            assert line, process.communicate()
        assert list(scratch.glob("mastd-fmu-*/modelDescription.xml"))
        process.send_signal(number)
        _, errors = process.communicate(timeout=30)
    finally:
        process.kill()
    assert not list(scratch.glob("mastd-fmu-*"))
    return process.returncode, errors


@needs_compiler
@pytest.mark.alone
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_and_removes_what_was_extracted(
    number: signal.Signals, sample: Path, tmp_path: Path
) -> None:
    assert ended(sample, tmp_path / "scratch", number) == (0, "")


@needs_compiler
@pytest.mark.alone
def test_a_signal_ends_an_fmu_that_never_comes_back(tmp_path: Path) -> None:
    path = lag(tmp_path, 2, {"HANG_AT": 6})
    code, errors = ended(path, tmp_path / "scratch", signal.SIGTERM, "hangs")
    assert code == 1
    assert errors == "ended by force: told to end, and did not come back for 2 s\n"


def test_without_fmpy_it_is_told_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr("mastd.formats.packages.find_spec", lambda name: None)
    assert main(["rig", "fmu", "x.fmu"]) == 2
    assert capsys.readouterr().err == "running an FMU needs the package fmpy: pip install 'mastd[fmi]'\n"
    assert not list(tmp_path.iterdir())
