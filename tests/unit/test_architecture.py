"""The rules between the rooms: who may import whom, how long a file may be, and what the documents repeat."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from mastd.safety import faults

ROOT = Path(__file__).resolve().parents[2]
GROUND = {"settings", "units", "errors", "kernel"}
PURE = {"kinematics", "dynamics", "roads", "signals", "formats"}
WORKING = {"motion", "control", "vehicle", "safety", "wire", "record"}
MAY_IMPORT: dict[str, set[str]] = {
    **dict.fromkeys(GROUND, GROUND),
    **dict.fromkeys(PURE, GROUND | PURE),
    "motion": GROUND | PURE | {"motion"},
    "control": GROUND | PURE | {"motion", "control"},
    "safety": GROUND | {"safety"},
    "wire": GROUND | {"safety", "wire"},
    "record": GROUND | {"signals", "record"},
    "loop": GROUND | PURE | WORKING | {"loop"},
    "reproduce": GROUND | PURE | {"reproduce"},
    "bench": GROUND | PURE | WORKING | {"loop", "bench"},
}
LONGEST_FILE = 450


def sources(package: str) -> Iterator[Path]:
    yield from sorted((ROOT / package).rglob("*.py"))


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


@pytest.mark.parametrize("path", list(sources("mastd")), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_room_imports_only_the_rooms_it_stands_on(path: Path) -> None:
    modules = list(imported(path))
    assert not [name for name in modules if name.split(".")[0] == "hil_sim"], "mastd never imports hil_sim"
    room = path.relative_to(ROOT / "mastd").parts[0].removesuffix(".py")
    allowed = MAY_IMPORT.get(room)
    if allowed is None:
        return
    rooms = {name.split(".")[1] for name in modules if name.startswith("mastd.")}
    assert rooms <= allowed, f"{room} must not import {rooms - allowed}"


def test_only_wire_knows_zeromq_and_messagepack() -> None:
    for path in sources("mastd"):
        if path.relative_to(ROOT / "mastd").parts[0] != "wire":
            assert not {"zmq", "msgpack"} & {name.split(".")[0] for name in imported(path)}, path


@pytest.mark.parametrize("package", ["mastd", "hil_sim"])
def test_files_stay_small(package: str) -> None:
    for path in sources(package):
        assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST_FILE, path


def test_the_table_of_faults_is_complete_and_documented() -> None:
    assert {row.code for row in faults.TABLE} == set(faults.Code) - {faults.Code.NONE}
    assert (ROOT / "docs" / "faults.md").read_text(encoding="utf-8") == faults.markdown()


def test_every_threshold_and_delay_of_a_fault_is_a_setting() -> None:
    from mastd.settings.daemon import DaemonSettings
    from mastd.settings.loader import load
    from mastd.settings.table import TableSettings

    homes = (
        load(ROOT / "config" / "table.yaml", TableSettings),
        load(ROOT / "config" / "daemon" / "simulated.yaml", DaemonSettings),
    )
    for row in faults.TABLE:
        for path in filter(None, (row.threshold, row.delay)):
            assert any(_has(home, path) for home in homes), f"{row.code.name}: no setting {path}"


def _has(home: object, path: str) -> bool:
    for part in path.split("."):
        if not hasattr(home, part):
            return False
        home = getattr(home, part)
    return True
