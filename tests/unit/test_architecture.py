"""Rules of the house: who may import whom, how large things may be, and one idiom for each thing."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GROUND = {
    "settings",
    "units",
    "errors",
    "program",
    "kernel",
    "kernel_cache",
    "arrays",
    "index_table",
    "lanes",
    "ring",
    "log",
    "oom_score",
}
PURE = {"kinematics", "dynamics", "roads", "signals", "formats"}
WORKING = {"motion", "control", "vehicle", "safety", "wire", "record"}
PAPERS = {"formulations", "counting"}
MAY_IMPORT: dict[str, set[str]] = {
    **dict.fromkeys(GROUND, GROUND),
    **dict.fromkeys(PURE, GROUND | PURE),
    "motion": GROUND | PURE | {"vehicle", "motion"},
    "control": GROUND | PURE | {"motion", "control"},
    "vehicle": GROUND | PURE | {"vehicle"},
    "formulations": GROUND | PURE | {"vehicle", "formulations"},
    "counting": GROUND | PURE | {"vehicle", "formulations", "counting"},
    "safety": GROUND | {"safety"},
    "wire": GROUND | {"safety", "wire"},
    "record": GROUND | {"signals", "formats", "record"},
    "report": GROUND | {"signals", "formats", "record", "report"},
    "console": GROUND | {"motion", "wire", "console"},
    "loop": GROUND | PURE | WORKING | {"loop"},
    "bench": GROUND | PURE | WORKING | PAPERS | {"loop", "bench"},
    "reproduce": GROUND | PURE | PAPERS | {"vehicle", "bench", "reproduce"},
    "latency": GROUND | {"loop", "latency"},
    "panel": GROUND | {"wire", "panel"},
}
"""Rooms of ``mastd`` and what they import; commands and cli, the roof, may import all."""

FLOORS: dict[str, tuple[str, ...]] = {
    "mastd/settings": ("core", "daemon rigs vehicle", "table", "profile"),
    "mastd/formats": ("core", "mcap mts opencrg sandbox strong_motion tyre", "hdf5 mdf tables"),
    "mastd/motion": ("profile washout", "follower preflight"),
    "mastd/control": ("estimation identification reference table", "iteration sine"),
    "mastd/vehicle": (
        "blocks powertrain",
        "elements joints magic_formula",
        "tyres",
        "model",
        "kinematics state",
        "equations plots",
        "solver",
        "equilibrium",
        "drivers simulation",
        "analysis payload",
        "fmu manoeuvres",
    ),
    "mastd/vehicle/elements": ("anti_roll_bar spring_damper",),
    "mastd/formulations": ("tree", "constraints subsystem", "methods", "integrators"),
    "mastd/wire": ("common", "access plant", "operators", "rigs"),
    "mastd/loop": ("measurement realtime", "rigs", "payload", "cycle", "process", "loading", "service"),
    "mastd/report": ("drawing", "pictures", "pages"),
    "mastd/record": ("service_log",),
    "mastd/reproduce": ("models", "jin_2012 kang_2014 kang_yoon song_kim", "kr_10_1310276"),
    "mastd/bench": ("control kinematics vehicle", "formulations wire"),
    "mastd/commands": ("ctl drive iterate vehicle", "calibrate check identify inspect", "table"),
    "hil_sim": ("plant", "rigs soak", "commands"),
    "hil_sim/rigs": ("fmu",),
}
"""Rooms within rooms, from the ground up: each imports only rooms of floors below its own."""

MAX_FILE_LINES = 450
MAX_FOLDER_FILES = 20
MAX_PREFIX_FILES = 3
MAX_PARAMETERS = 8
MANY_PARAMETERS: dict[str, int] = {}
"""``file::function`` that needs more parameters, and how many."""
NEEDS_THE_MACHINE = re.compile(
    r"\b(Popen|GatewayHandle|PlantProcess|SocketLink)\b|\blab\.(run|start|play)\("
    r"|\btime\.(monotonic|perf_counter|process_time|thread_time)"
)
"""Processes and sockets in real time, and measured times, which a busy neighbour would spoil."""

Graph = Mapping[str, Iterable[str]]


def sources(package: str) -> Iterator[Path]:
    yield from sorted((ROOT / package).rglob("*.py"))


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


@cache
def modules() -> dict[str, Path]:
    """Modules of both packages by dotted name; a package is its ``__init__``."""
    found = [path for package in ("mastd", "hil_sim") for path in sources(package)]
    names = [path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".") for path in found]
    return {name.removesuffix(".__init__"): path for name, path in zip(names, found, strict=True)}


@cache
def imports() -> dict[str, set[str]]:
    """Which module imports which, wherever in the file the import stands."""
    graph: dict[str, set[str]] = {}
    for name, path in modules().items():
        found: set[str] = set()
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
                for alias in node.names:
                    inner = f"{node.module}.{alias.name}"
                    found.add(inner if inner in modules() else node.module)
            elif isinstance(node, ast.Import):
                found.update(alias.name for alias in node.names)
        graph[name] = found & modules().keys() - {name}
    return graph


def circle(graph: Graph) -> list[str]:
    """Return the nodes of one circle of a graph, in order; empty where there is none."""
    state: dict[str, int] = {}

    def visit(node: str, path: list[str]) -> list[str]:
        state[node] = 1
        for other in sorted(graph.get(node, ())):
            if state.get(other) == 1:
                return [*path[path.index(other) :], other]
            if other not in state and (found := visit(other, [*path, other])):
                return found
        state[node] = 2
        return []

    for node in sorted(graph):
        if node not in state and (found := visit(node, [node])):
            return found
    return []


def below(folder: str) -> dict[str, set[str]]:
    """Return the imports between the files and folders of a folder, each with all that is in it."""
    prefix = folder.replace("/", ".") + "."
    graph: dict[str, set[str]] = defaultdict(set)
    for name, others in imports().items():
        for other in others:
            if name.startswith(prefix) and other.startswith(prefix):
                one, two = (each.removeprefix(prefix).split(".")[0] for each in (name, other))
                if one != two:
                    graph[one].add(two)
    return graph


def folders(*packages: str) -> list[str]:
    return sorted({path.parent.relative_to(ROOT).as_posix() for each in packages for path in sources(each)})


@pytest.mark.parametrize("path", list(sources("mastd")), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_room_imports_only_the_rooms_it_stands_on(path: Path) -> None:
    names = list(imported(path))
    assert not [name for name in names if name.split(".")[0] == "hil_sim"], "mastd never imports hil_sim"
    room = path.relative_to(ROOT / "mastd").parts[0].removesuffix(".py")
    allowed = MAY_IMPORT.get(room)
    if allowed is None:
        return
    rooms = {name.split(".")[1] for name in names if name.startswith("mastd.")}
    assert rooms <= allowed, f"{room} must not import {rooms - allowed}"


@pytest.mark.parametrize("room", FLOORS)
def test_a_room_within_a_room_imports_only_floors_below_its_own(room: str) -> None:
    floor = {name: number for number, names in enumerate(FLOORS[room]) for name in names.split()}
    there = {path.parent.name for path in (ROOT / room).glob("*/__init__.py")}
    assert set(floor) == there, "each room within the room has its floor"
    for name, others in below(room).items():
        for other in others & floor.keys():
            if name in floor:
                assert floor[other] < floor[name], f"{room}: {name} must not import {other}"


def test_every_room_with_rooms_has_floors() -> None:
    inside = {path.parent.parent for path in map(Path, folders("mastd", "hil_sim")) for path in [path / "_"]}
    rooms = {path.as_posix() for path in inside} - {"mastd", "."}
    assert rooms == set(FLOORS)


def test_no_module_imports_itself_in_a_circle() -> None:
    assert not circle(imports())


@pytest.mark.parametrize("folder", folders("mastd", "hil_sim"))
def test_files_and_folders_of_a_folder_form_no_circle(folder: str) -> None:
    assert not circle(below(folder))


def test_only_wire_knows_zeromq_and_messagepack() -> None:
    for path in sources("mastd"):
        if path.relative_to(ROOT / "mastd").parts[0] != "wire":
            assert not {"zmq", "msgpack"} & {name.split(".")[0] for name in imported(path)}, path


@pytest.mark.parametrize("package", ["mastd", "hil_sim"])
def test_files_stay_small(package: str) -> None:
    for path in sources(package):
        assert len(path.read_text(encoding="utf-8").splitlines()) <= MAX_FILE_LINES, path


@pytest.mark.parametrize("folder", folders("mastd", "hil_sim", "installer", "tests"))
def test_folders_stay_small_and_a_prefix_is_a_folder(folder: str) -> None:
    names = [path.stem.removeprefix("test_") for path in (ROOT / folder).glob("*.py")]
    names = [name for name in names if not name.startswith("__")]
    assert len(names) <= MAX_FOLDER_FILES, f"{folder} holds {len(names)} files, at most {MAX_FOLDER_FILES}"
    prefixes = Counter(name.partition("_")[0] for name in names)
    crowded = {prefix: count for prefix, count in prefixes.items() if count > MAX_PREFIX_FILES}
    assert not crowded, f"{folder}: a prefix on more than {MAX_PREFIX_FILES} files is a folder"


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return how many parameters a function has, without ``self`` and ``cls``."""
    names = [
        each.arg for each in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    ]
    return len(names) - (names[:1] in (["self"], ["cls"]))


def test_functions_have_few_parameters() -> None:
    found = {
        f"{path.relative_to(ROOT).as_posix()}::{node.name}": parameters(node)
        for path in modules().values()
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and parameters(node) > MAX_PARAMETERS
    }
    assert found == MANY_PARAMETERS


def test_offsets_of_named_numbers_come_from_index_tables() -> None:
    for path in modules().values():
        for node in tree_of(path).body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple):
                counted = isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "range"
                assert not counted, f"{path.relative_to(ROOT)}:{node.lineno}: see mastd/index_table.py"


def test_types_of_arrays_have_one_home() -> None:
    declared = re.compile(r"NDArray\[np\.(float64|int64|bool_|complex128)\]")
    for package in ("mastd", "hil_sim", "tests"):
        for path in sources(package):
            if path.name != "arrays.py" and path != Path(__file__):
                assert not declared.search(path.read_text(encoding="utf-8")), f"{path}: see mastd/arrays.py"


@pytest.mark.parametrize("path", sorted((ROOT / "tests").rglob("test_*.py")), ids=lambda path: path.stem)
def test_what_needs_the_machine_for_itself_is_marked(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    if NEEDS_THE_MACHINE.search(text):
        marked = "pytest.mark.real_time" in text or "pytest.mark.alone" in text
        assert marked, f"{path.name} is run beside other tests"
