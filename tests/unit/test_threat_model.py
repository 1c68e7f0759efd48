"""The threat model names, for each door, who, what, which limits, what is left open, and tests that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "threat-model.md").read_text(encoding="utf-8")
DOORS = {text.partition("\n")[0]: text for text in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]}
NAMED = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")


def test_every_door_is_there() -> None:
    assert list(DOORS) == [
        "Plant link",
        "Operators on this machine",
        "Operators on the network",
        "Rigs",
        "Drivers' streams",
        "Console",
        "Files given to load and formats",
        "FMUs",
        "Kernel cache",
        "Shared memory",
        "Installation and systemd",
    ]


@pytest.mark.parametrize("door", DOORS)
def test_of_each_door_everything_is_said_and_its_tests_exist(door: str) -> None:
    heads = re.findall(r"^- \*\*(.+?):\*\* ", DOORS[door], flags=re.MULTILINE)
    assert heads == ["Who", "Trusted", "Limits", "Not defended", "Tests"]
    named = NAMED.findall(DOORS[door].partition("- **Tests:**")[2])
    assert named
    for file, function in named:
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        assert any(name.startswith("test_") for name in functions), file
        assert not function or function in functions, f"{file}::{function}"
