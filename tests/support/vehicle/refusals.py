"""Settings with one wrong line: the table of the cases, and the lines of the refusal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from mastd.errors import SettingsError
from mastd.vehicle.model import library


def wrong_lines(cases: Mapping[str, tuple[str, str, str]]) -> pytest.MarkDecorator:
    """Return the parameters of a test, by the name of each case.

    They are ``text``, ``part`` (what the message points at) and ``message`` (without file and position).
    """
    return pytest.mark.parametrize(
        ("text", "part", "message"), [pytest.param(*case, id=name) for name, case in cases.items()]
    )


def refused(read: Callable[[], object]) -> list[str]:
    """Return the lines with which settings are refused, each a single one."""
    with pytest.raises(SettingsError) as error:
        read()
    assert error.value.exit_code == 2
    assert not any("\n" in line for line in error.value.problems)
    return list(error.value.problems)


def refused_vehicle(directory: Path, text: str) -> list[str]:
    """Return the lines of the refusal of a vehicle file in ``directory``, without the file's name."""
    path = directory / "vehicle.yaml"
    path.write_text(text, encoding="utf-8")
    lines = refused(lambda: library.find(str(path)))
    assert all(line.startswith(f"{path}:") for line in lines)
    return [line.removeprefix(f"{path}:") for line in lines]
