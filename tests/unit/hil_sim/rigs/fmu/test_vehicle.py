"""A vehicle on the table written as an FMU: valid, of the native trajectory, and back as a rig's vehicle."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from hil_sim.rigs.fmu.model import FmuModel
from hil_sim.rigs.fmu.rig import FmuAtTable
from hil_sim.rigs.fmu.variables import FmuError, Port
from hil_sim.rigs.fmu.wiring import wire
from mastd.arrays import FloatArray
from mastd.cli import main
from mastd.errors import UsageError
from mastd.settings.core.loader import load
from mastd.settings.core.starter import find
from mastd.settings.rigs.channels import POSES, VEHICLE, WRENCH, signal
from mastd.settings.table.payload import VehiclePayload
from mastd.settings.table.table import TableSettings
from mastd.vehicle.fmu.slave import columns
from mastd.vehicle.payload.load import vehicle_on_table
from tests.support.lab import PATIENCE, ROOT
from tests.support.rigs.fmu_samples import needs_fmpy

for _needed in ("fmpy", "pythonfmu", "pythonfmu3"):
    pytest.importorskip(_needed, reason=f"{_needed} is not installed: mastd[fmi]")

pytestmark = needs_fmpy
STEP = 1e-3
MILLISECOND = 1_000_000
STEPS = 300
VEHICLE_NAME = "sedan"


def poses() -> FloatArray:
    """Return (STEPS, 6) poses of a table that lies low and begins to move in all axes."""
    times = STEP * np.arange(1, STEPS + 1)[:, np.newaxis]
    rates = 2.0 * np.pi * np.array([1.3, 0.9, 2.1, 1.7, 1.1, 0.7])
    moved = np.minimum(times / 0.2, 1.0) ** 3 * [4e-3, 5e-3, 8e-3, 6e-3, 4e-3, 3e-3] * np.sin(rates * times)
    return np.asarray(START + moved)


START = np.array([1e-3, -2e-3, -0.05, 0.004, -0.002, 0.01])


@pytest.fixture(scope="module")
def native() -> FloatArray:
    """Return wrench and signals of the vehicle itself at the start and after each pose."""
    payload = VehiclePayload(kind="vehicle", vehicle=str(find("vehicle", VEHICLE_NAME)))
    vehicle = vehicle_on_table(payload, load(find("table", "table"), TableSettings), STEP)
    vehicle.lie(START)
    rows = [np.concatenate([vehicle.wrench, vehicle.signals[columns(vehicle.layout)]])]
    for pose in poses():
        vehicle.follow(pose, 1)
        assert vehicle.missed == 0
        rows.append(np.concatenate([vehicle.wrench, vehicle.signals[columns(vehicle.layout)]]))
    return np.array(rows)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The vehicle as an FMU, by version of FMI."""
    directory = tmp_path_factory.mktemp("exported")
    paths = {version: directory / f"{VEHICLE_NAME}{version}.fmu" for version in ("2", "3")}
    for version, path in paths.items():
        assert main(["vehicle", "fmu", VEHICLE_NAME, "-o", str(path), "--fmi", version]) == 0
    return paths


@pytest.fixture(params=["2", "3"], ids=["FMI 2", "FMI 3"])
def exported(request: pytest.FixtureRequest, files: dict[str, Path]) -> Path:
    return files[request.param]


def by_causality(model: FmuModel, causality: str) -> list[Port]:
    return [Port(variable) for variable in model.variables.values() if variable.causality == causality]


def test_it_passes_validation_and_says_what_its_variables_are(exported: Path) -> None:
    from fmpy import read_model_description
    from fmpy.validation import validate_fmu

    assert validate_fmu(str(exported)) == []
    description = read_model_description(str(exported))
    assert float(description.defaultExperiment.stepSize) == STEP
    if description.fmiVersion == "3.0":
        assert float(description.coSimulation.fixedInternalStepSize) == STEP
    assert "must have it (pip install mastd)" in description.description
    units = {variable.name: variable.unit for variable in description.modelVariables}
    due = [(name, VEHICLE) for name in WRENCH] + [(name, "pose") for name in POSES]
    assert all(units[name] == known.unit for name, kind in due if (known := signal(kind, name)))
    for variable in description.modelVariables:
        assert variable.description
        assert (variable.start == "0") is (variable.causality == "input")


def test_it_gives_the_native_trajectory(exported: Path, native: FloatArray) -> None:
    with FmuModel(exported) as model:
        outputs = by_causality(model, "output")
        rows = [model.start(by_causality(model, "input"), outputs, START.tolist(), MILLISECOND).copy()]
        rows += [model.step(pose.tolist()).copy() for pose in poses()]
    found = np.array(rows)
    assert found.shape == native.shape
    scale = np.abs(native).max(axis=0)
    assert np.abs(found - native).max(initial=0.0, where=scale == 0.0) == 0.0
    assert (np.abs(found - native) <= 1e-12 * scale).all()


def test_several_steps_at_once_pass_on_a_straight_line(exported: Path, native: FloatArray) -> None:
    with FmuModel(exported) as model:
        outputs = by_causality(model, "output")
        model.start(by_causality(model, "input"), outputs, START.tolist(), 10 * MILLISECOND)
        for pose in poses()[9::10]:
            last = model.step(pose.tolist()).copy()
    assert last[:3] == pytest.approx(native[-1, :3], rel=0.02, abs=50.0)


def test_a_step_that_is_no_multiple_of_its_own_is_refused(exported: Path) -> None:
    said: list[str] = []
    with FmuModel(exported, said.append) as model:
        ports, rest = (by_causality(model, "input"), by_causality(model, "output")), [0.0] * 6
        if model.interface.major == 3:
            with pytest.raises(UsageError, match=r"1 ms, does not divide the step of 1\.5 ms"):
                model.start(*ports, rest, 1_500_000)
            return
        model.start(*ports, rest, 1_500_000)
        with pytest.raises(FmuError, match=r"step 0 at 0 s: fmi2DoStep returned discard"):
            model.step(rest)
    assert said == [f"{exported.name}: [error] communication step 0.0015 s: expected 1 to 100 times 0.001 s"]


class Shown:
    def __init__(self, time: float, values: FloatArray) -> None:
        self.time, self.values = time, values


class Channel:
    def __init__(self, name: str) -> None:
        known = signal(VEHICLE, name)
        assert known is not None
        self.name, self.unit = name, known.unit


class Table:
    """The place of a vehicle outside, which reads what a payload follows."""

    period = STEP
    channels = tuple(Channel(name) for name in WRENCH)
    # In another order than the FMU's inputs, as a daemon may have them.
    order = (3, 4, 5, 0, 1, 2)
    reads = tuple((f"smoothed_{POSES[k]}", "m" if k < 3 else "rad") for k in order)


def test_back_as_a_rig_of_kind_vehicle_its_wrench_is_the_native_one(
    exported: Path, native: FloatArray
) -> None:
    table = Table()
    with FmuModel(exported) as model:
        wiring = wire(model.variables, ["smoothed_pose.*=pose.*"])
        assert set(wiring.channels) == {name for name, _ in table.reads}
        law = FmuAtTable(model, wiring, table, None)
        motions = np.vstack([START, poses()])[:, table.order]
        wrenches = [law.answer(Shown(7.0 + STEP * k, row)).copy() for k, row in enumerate(motions)]
    assert np.array(wrenches) == pytest.approx(native[:, :6], rel=1e-12, abs=1e-12)


def test_both_run_in_a_process_that_knows_nothing_of_mastd(
    files: dict[str, Path], native: FloatArray
) -> None:
    program = """
import sys
from fmpy import simulate_fmu
for file in sys.argv[1:]:
    found = simulate_fmu(file, stop_time=0.02, output_interval=1e-3, output=["wrench.fz"])
    print(len(found), repr(float(found["wrench.fz"][-1])))
"""
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, files.values())],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 2
    for line in lines:
        count, force = line.split()
        assert count == "21"
        assert float(force) == pytest.approx(native[0, 2], rel=1e-3)


def test_without_mastd_one_line_says_what_is_missing(exported: Path) -> None:
    program = """
import sys
sys.modules["mastd"] = None
from fmpy import simulate_fmu
simulate_fmu(sys.argv[1], stop_time=0.01, debug_logging=True)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(exported)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode != 0
    line = "this FMU runs mastd, which this Python does not have ("
    assert line in done.stdout
    assert "pip install mastd" in done.stdout


def test_the_same_vehicle_gives_the_same_file_and_it_holds_what_it_needs(
    exported: Path, tmp_path: Path
) -> None:
    again = tmp_path / "again.fmu"
    version = exported.stem[-1]
    assert main(["vehicle", "fmu", VEHICLE_NAME, "-o", str(again), "--fmi", version]) == 0
    assert again.read_bytes() == exported.read_bytes()
    with zipfile.ZipFile(exported) as archive:
        data = archive.read("resources/vehicle.json").decode()
        names = archive.namelist()
    assert str(find("vehicle", VEHICLE_NAME).parent) not in data
    assert [name for name in names if name.startswith("resources/tyres/")]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["sedan", "-o", "car.zip"], "car.zip: an FMU's name ends in .fmu"),
        (["sedam", "-o", "car.fmu"], "sedam: no such vehicle, did you mean sedan?"),
        (["sedan", "-o", "gone/car.fmu"], "gone/car.fmu: cannot be written: No such file or directory"),
        (["transporter_8_axles", "-o", "car.fmu"], "wheel off the table"),
    ],
)
def test_what_cannot_be_written_is_refused(
    arguments: Sequence[str],
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["vehicle", "fmu", *arguments]) == 2
    assert says in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
