"""The rules between the rooms: who may import whom, and how long a file may be."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GROUND = {"settings", "units", "errors", "kernel", "lanes", "ring", "log"}
PURE = {"kinematics", "dynamics", "roads", "signals", "formats"}
WORKING = {"motion", "control", "vehicle", "safety", "wire", "record"}
MAY_IMPORT: dict[str, set[str]] = {
    **dict.fromkeys(GROUND, GROUND),
    **dict.fromkeys(PURE, GROUND | PURE),
    "motion": GROUND | PURE | {"vehicle", "motion"},
    "control": GROUND | PURE | {"motion", "control"},
    "vehicle": GROUND | PURE | {"vehicle"},
    "safety": GROUND | {"safety"},
    "wire": GROUND | {"safety", "wire"},
    "record": GROUND | {"signals", "formats", "record"},
    "report": GROUND | {"signals", "formats", "record", "report"},
    "console": GROUND | {"motion", "wire", "console"},
    "loop": GROUND | PURE | WORKING | {"loop"},
    "reproduce": GROUND | PURE | {"vehicle", "bench", "reproduce"},
    "bench": GROUND | PURE | WORKING | {"loop", "bench"},
    "latency": GROUND | {"loop", "latency"},
    "panel": GROUND | {"wire", "panel"},
}
MAX_FILE_LENGTH = 450
NEEDS_THE_MACHINE = re.compile(
    r"\b(Popen|GatewayHandle|PlantProcess|SocketLink)\b|\blab\.(run|start|play)\("
    r"|\btime\.(monotonic|perf_counter|process_time|thread_time)"
)
"""Processes and sockets in real time, and measured times, which a busy neighbour would spoil."""


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
        assert len(path.read_text(encoding="utf-8").splitlines()) <= MAX_FILE_LENGTH, path


@pytest.mark.parametrize("path", sorted((ROOT / "tests").rglob("test_*.py")), ids=lambda path: path.stem)
def test_what_needs_the_machine_for_itself_is_marked(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    if NEEDS_THE_MACHINE.search(text):
        assert "pytest.mark.alone" in text, f"{path.name} is run beside other tests"
