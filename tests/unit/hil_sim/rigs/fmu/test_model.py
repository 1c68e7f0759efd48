"""An FMU that is stepped: compiled here, of FMI 2 and 3; its values, its time, and everything that fails."""

from __future__ import annotations

import math
import subprocess
from pathlib import Path

import pytest

from hil_sim.rigs.fmu.model import MAX_LOGGED, FmuModel
from hil_sim.rigs.fmu.units import conversion
from hil_sim.rigs.fmu.variables import FmuError, Port
from mastd.errors import UsageError
from tests.support.lab import PATIENCE
from tests.support.rigs.fmu_samples import IDENTIFIER, LAG, PLATFORM, description, lag, needs_compiler, pack

pytestmark = needs_compiler
MILLISECOND = 1_000_000


@pytest.fixture(scope="module", params=[2, 3], ids=["FMI 2", "FMI 3"])
def major(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture(scope="module")
def sound(major: int, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An FMU without fault."""
    return lag(tmp_path_factory.mktemp("sound"), major)


def ports(model: FmuModel, *names: str) -> list[Port]:
    """Return variables in SI."""
    found = []
    for name in names:
        variable = model.variables[name]
        found.append(Port(variable, conversion(variable.unit, name, "m" if name in "uy" else "1")))
    return found


def started(model: FmuModel, value: float = 0.0, step_ns: int = MILLISECOND) -> None:
    model.start(ports(model, "u"), ports(model, "y", "steps", "fault"), [value], step_ns)


def test_a_step_response_in_si_units(sound: Path) -> None:
    with FmuModel(sound) as model:
        begin = model.start(ports(model, "u"), ports(model, "y", "steps"), [0.0], MILLISECOND)
        assert begin.tolist() == [0.0, 0.0]
        for k in range(1, 101):
            y, steps = model.step([0.25])
            assert y == pytest.approx(0.25 * (1.0 - math.exp(-1e-3 * k / LAG)), rel=1e-12)
            assert steps == k == model.count
        assert model.time == 0.1


def test_inputs_of_whole_numbers_are_rounded(sound: Path) -> None:
    with FmuModel(sound) as model:
        port = Port(model.variables["whole"])
        for value, whole in ((2.6, 3.0), (-1.4, -1.0)):
            assert model.start([port], [port], [value], MILLISECOND).tolist() == [whole]


def test_a_value_that_is_set_once_stays(sound: Path) -> None:
    with FmuModel(sound) as model:
        whole = model.variables["whole"]
        model.set_now(whole, 7.0)
        assert model.start(ports(model, "u"), [Port(whole)], [0.0], MILLISECOND).tolist() == [7.0]
        assert model.step([1.0]).tolist() == [7.0]


def test_no_step_is_lost_or_doubled_where_sums_of_steps_drift(sound: Path) -> None:
    # 60 steps a second: a sum of them is off by more than the FMU lets pass after a few hundred.
    with FmuModel(sound) as model:
        started(model, step_ns=16_666_667)
        for _ in range(20_000):
            _, steps, fault = model.step([1.0])
        assert (steps, fault) == (20_000, 0)
        assert model.time == 20_000 * 16_666_667 / 1e9


@pytest.mark.evidence
def test_a_million_steps_end_at_n_times_h(sound: Path) -> None:
    with FmuModel(sound) as model:
        started(model)
        for _ in range(1_000_000):
            _, steps, fault = model.step([1.0])
        assert (steps, fault, model.time) == (1_000_000, 0, 1000.0)


def test_the_directory_goes_with_the_model(sound: Path, tmp_path: Path) -> None:
    directory = tmp_path / "here"
    directory.mkdir()
    with FmuModel(sound, directory=directory) as model:
        assert (directory / "modelDescription.xml").is_file()
        started(model)
    assert not directory.exists()


def failing(model: FmuModel, steps: int) -> str:
    """Return why the step after ``steps`` sound ones fails."""
    started(model)
    for _ in range(steps):
        model.step([0.0])
    with pytest.raises(FmuError) as error:
        model.step([0.0])
    assert model.count == steps or "is nan" in str(error.value)
    (line,) = str(error.value).splitlines()
    return line


@pytest.mark.parametrize(("status", "word"), [(2, "discard"), (3, "error"), (4, "fatal")])
def test_a_step_that_fails_is_told_with_its_time(status: int, word: str, major: int, tmp_path: Path) -> None:
    path = lag(tmp_path, major, {"FAIL_AT": 3, "FAIL_STATUS": status})
    with FmuModel(path) as model:
        line = failing(model, 3)
    assert line == f"{path}: step 3 at 0.003 s: fmi{major}DoStep returned {word}"
    assert not model.directory.exists()


def test_an_output_that_is_no_number_is_an_error(major: int, tmp_path: Path) -> None:
    path = lag(tmp_path, major, {"NOT_A_NUMBER_AT": 2})
    with FmuModel(path) as model:
        assert failing(model, 1) == f"{path}: step 2 at 0.001 s: its output y is nan"


def test_an_fmu_that_is_finished_ends_the_rig(tmp_path: Path) -> None:
    path = lag(tmp_path, 3, {"FINISHED_AT": 2})
    with FmuModel(path) as model:
        assert failing(model, 2) == f"{path}: step 2 at 0.002 s: it requests the end of the simulation"


def test_what_it_warns_of_is_passed_on_up_to_a_bound(major: int, tmp_path: Path) -> None:
    path = lag(tmp_path, major, {"LOUD": 1})
    said: list[str] = []
    with FmuModel(path, said.append) as model:
        started(model)
        for _ in range(MAX_LOGGED + 25):
            model.step([0.0])
    text = "step 0 is steep" if major == 2 else "a step is steep"
    assert said[0] == f"lag{major}.fmu: [warning] {text}"
    assert len(said) == MAX_LOGGED + 1
    assert said[-1] == f"lag{major}.fmu: 25 more lines of its log are left out"


def test_an_fmu_without_an_instance_tells_why(major: int, tmp_path: Path) -> None:
    path = lag(tmp_path, major, {"NO_INSTANCE": 1})
    said: list[str] = []
    with FmuModel(path, said.append) as model, pytest.raises(FmuError) as error:
        started(model)
    assert str(error.value) == f"{path}: does not start: no licence for lag"
    assert said == [f"lag{major}.fmu: [error] no licence for lag"]


def test_a_missing_shared_library_is_named(major: int, tmp_path: Path) -> None:
    source = tmp_path / "faraway.c"
    source.write_text("double faraway(void) { return 0.0; }\n", encoding="ascii")
    needed = tmp_path / "libfaraway.so.7"
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-Wl,-soname,libfaraway.so.7", "-o", str(needed), str(source)],
        check=True,
        timeout=PATIENCE,
    )
    path = lag(tmp_path, major, {"OUTSIDE": "faraway"}, str(needed))
    needed.unlink()
    with pytest.raises(UsageError) as error:
        FmuModel(path)
    assert str(error.value) == (
        f"{path}: needs the shared library libfaraway.so.7, which is not on this machine; install it"
    )


def test_a_missing_symbol_is_named(major: int, tmp_path: Path) -> None:
    path = lag(tmp_path, major, {"OUTSIDE": "nowhere_to_be_found"})
    with pytest.raises(UsageError, match=r"lag\.so: undefined symbol: nowhere_to_be_found"):
        FmuModel(path)


def test_a_library_that_lacks_a_function_is_refused(major: int, tmp_path: Path) -> None:
    exported = tmp_path / "exported.map"
    exported.write_text(f"{{ global: *; local: fmi{major}DoStep; }};", encoding="ascii")
    path = lag(tmp_path, major, {}, f"-Wl,--version-script={exported}")
    with pytest.raises(UsageError, match=f"its library lacks the function fmi{major}DoStep"):
        FmuModel(path)


def test_what_is_no_library_is_refused(tmp_path: Path) -> None:
    members = {"modelDescription.xml": description(2), f"binaries/{PLATFORM[2]}/{IDENTIFIER}.so": "MZ"}
    path = pack(tmp_path / "x.fmu", members)
    with pytest.raises(UsageError, match=r"linux64/lag\.so: file too short"):
        FmuModel(path)


def test_a_description_that_contradicts_itself_is_refused(tmp_path: Path) -> None:
    text = description(2).replace('name="y"', 'name="y" variability="fixed"')
    path = lag(tmp_path, 2, text=text)
    with pytest.raises(UsageError, match=r'modelDescription\.xml cannot be understood: Variable "y"'):
        FmuModel(path)


@pytest.mark.parametrize(
    ("fixed", "step_ns", "fits"),
    [
        ("0.001", MILLISECOND, True),
        ("0.0001", MILLISECOND, True),
        ("0.0005", 16_500_000, True),
        ("0.002", 4 * MILLISECOND, True),
        ("0.002", MILLISECOND, False),
        ("0.0003", MILLISECOND, False),
        ("0.002", 3 * MILLISECOND, False),
    ],
)
def test_a_fixed_internal_step_has_to_divide_the_step(
    fixed: str, step_ns: int, fits: bool, tmp_path: Path
) -> None:
    path = lag(tmp_path, 3, text=description(3, extra=f'fixedInternalStepSize="{fixed}"'))
    with FmuModel(path) as model:
        if fits:
            started(model, step_ns=step_ns)
            return
        with pytest.raises(UsageError) as error:
            started(model, step_ns=step_ns)
    assert f"fixed internal step, {1e3 * float(fixed):g} ms, does not divide the step of" in str(error.value)


def test_two_fmus_in_one_process_do_not_disturb_each_other(tmp_path: Path) -> None:
    paths = []
    for major in (2, 3):
        directory = tmp_path / str(major)
        directory.mkdir()
        paths.append(lag(directory, major))
    with FmuModel(paths[0]) as first, FmuModel(paths[0]) as second, FmuModel(paths[1]) as third:
        for model in (first, second, third):
            started(model)
        for _ in range(5):
            first.step([1.0])
        second.step([1.0])
        third.step([2.0])
        assert [model.step([0.0])[1] for model in (first, second, third)] == [6, 2, 2]
