"""What differs between the heads of several records: settings, profile, origin."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from mastd.record.reader import Run
from mastd.report.numbers import NOTHING, group, plain

COMPARED: Final = (
    ("profile", "profile"),
    ("daemon", "daemon"),
    ("table", "table"),
    ("versions", "versions"),
    ("seeds", "seeds"),
    ("serials", "serials"),
    ("plant", "plant"),
    ("host", "machine"),
)
"""Keys of a record's head, and what their contents are called."""
_LEFT_OUT: Final = frozenset({"plant.boot_id"})
"""Differs from run to run by its nature."""


def differences(runs: Sequence[Run]) -> tuple[list[tuple[str, list[str]]], int]:
    """Return the entries that differ between runs, as path and the value of each run, and their number."""
    heads = [dict(_flat(run)) for run in runs]
    rows, same = [], 0
    for path in dict.fromkeys(path for head in heads for path in head):
        values = [head.get(path, NOTHING) for head in heads]
        if path in _LEFT_OUT:
            continue
        if len(set(values)) > 1:
            rows.append((path, values))
        else:
            same += 1
    rate = [f"{1.0 / run.period:.6g} Hz" for run in runs]
    if len(set(rate)) > 1:
        rows.insert(0, ("rate of the record", rate))
    return rows, same


def same_profile(runs: Sequence[Run]) -> bool:
    """Return whether all runs have the same commanded motion, whatever their profile's name and criteria."""
    asked = []
    for run in runs:
        profile = run.metadata.get("profile")
        if not isinstance(profile, Mapping):
            return False
        asked.append(
            {key: value for key, value in profile.items() if key not in ("name", "description", "verdict")}
        )
    return all(profile == asked[0] for profile in asked)  # fmt: skip


def _flat(run: Run) -> Iterator[tuple[str, str]]:
    for key, title in COMPARED:
        yield from _paths(title, run.metadata.get(key))
    for name, digest in group(run.metadata, "input_files_sha256").items():
        yield f"SHA-256 of {name}", plain(digest)


def _paths(path: str, value: object) -> Iterator[tuple[str, str]]:
    """Yield each value with its path; lists of plain values stay whole."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _paths(f"{path}.{key}", item)
    elif isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
        for number, item in enumerate(value, start=1):
            yield from _paths(f"{path}.{number}", item)
    elif value is not None:
        yield path, plain(value)
