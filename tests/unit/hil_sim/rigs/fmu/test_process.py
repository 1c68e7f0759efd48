"""An FMU in a process of its own: the same numbers, and nothing that it does ends the rig."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from hil_sim.rigs.fmu import process
from hil_sim.rigs.fmu.fence import FILE, FIRST_TO_GO, MEMORY
from hil_sim.rigs.fmu.process import FmuProcess
from hil_sim.rigs.fmu.units import conversion
from hil_sim.rigs.fmu.variables import FmuError, Port
from mastd.errors import UsageError
from tests.support.rigs.fmu_samples import LAG, lag, needs_compiler

pytestmark = needs_compiler
MILLISECOND = 1_000_000


def ports(model: FmuProcess, *names: str) -> list[Port]:
    """Return variables in SI."""
    found = [model.variables[name] for name in names]
    return [Port(each, conversion(each.unit, each.name, "m" if each.name in "uy" else "1")) for each in found]


def started(model: FmuProcess) -> None:
    model.start(ports(model, "u"), ports(model, "y", "steps"), [0.0], MILLISECOND)


def stepped(model: FmuProcess, count: int) -> None:
    for _ in range(count):
        model.step([0.25])


@pytest.mark.parametrize("major", [2, 3])
def test_it_gives_what_the_fmu_gives_in_si_units(major: int, tmp_path: Path) -> None:
    with FmuProcess(lag(tmp_path, major)) as model:
        assert (model.name, model.interface.major) == ("lag", major)
        started(model)
        for k in range(1, 21):
            y, steps = model.step([0.25])
            assert y == pytest.approx(0.25 * (1.0 - math.exp(-1e-3 * k / LAG)), rel=1e-12)
            assert steps == k == model.count
        assert model.time == 0.02
        directory = model.directory
    assert not directory.exists()


def test_it_is_fenced_before_it_is_loaded(tmp_path: Path) -> None:
    with FmuProcess(lag(tmp_path, 3)) as model:
        proc = Path("/proc") / str(model.process_id)
        limits = {line[:26].strip(): line[26:].split()[:2] for line in (proc / "limits").open()}
        assert limits["Max data size"] == [str(MEMORY)] * 2
        assert limits["Max file size"] == [str(FILE)] * 2
        assert limits["Max core file size"] == ["0", "0"]
        assert "NoNewPrivs:\t1\n" in (proc / "status").read_text()
        assert int((proc / "oom_score_adj").read_text()) == FIRST_TO_GO


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ({"CRASH_AT": 3}, "step 3 at 0.003 s: its process has ended: Aborted"),
        ({"GREEDY_AT": 3}, "step 3 at 0.003 s: fmi2DoStep returned error"),
        ({"HANG_AT": 3}, "step 3 at 0.003 s: does not come back within 2 s"),
        ({"NOT_A_NUMBER_AT": 4}, "its output y is nan"),
    ],
)
def test_an_fmu_that_fails_is_told_in_one_line(
    fault: dict[str, int], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "STEP_S", 2.0)
    path = lag(tmp_path, 2, fault)
    with FmuProcess(path) as model:
        started(model)
        with pytest.raises(FmuError) as error:
            stepped(model, 9)
        assert str(error.value).startswith(f"{path}: ")
        assert says in str(error.value)
        assert model.count == 3


def test_what_is_no_fmu_is_refused_as_before(tmp_path: Path) -> None:
    path = tmp_path / "x.fmu"
    path.write_bytes(b"no archive")
    with pytest.raises(UsageError) as error:
        FmuProcess(path)
    assert str(error.value).startswith(f"{path}: ")
    assert "\n" not in str(error.value)
