"""Benches by name: each is a function that measures and returns named figures.

Long benches are measured only when they are asked for by name; they are reported which of their figures are
wanted, and within what scope.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TypeVar

import numpy as np

from mastd.arrays import FloatArray
from mastd.errors import UsageError

# Modules whose import registers their benches, in the order of the report.
MODULES = (
    "mastd.bench.kinematics.bench",
    "mastd.bench.estimate",
    "mastd.bench.loop",
    "mastd.bench.wire.gateway",
    "mastd.bench.wire.flood",
    "mastd.bench.wire.watching",
    "mastd.bench.wire.rigs",
    "mastd.bench.vehicle.bench",
    "mastd.bench.formulations.bench",
    "mastd.bench.control.step",
    "mastd.bench.control.bench",
)


@dataclass(frozen=True)
class Figure:
    """One measured figure; ratios of one run have a median alone."""

    median: float
    unit: str
    runs: int
    p99: float | None = None
    p999: float | None = None

    def as_json(self) -> dict[str, float | int | str]:
        """Return the fields under their fixed names."""
        if self.p99 is None or self.p999 is None:
            return {"median": self.median, "unit": self.unit, "runs": self.runs}
        return {
            "median": self.median,
            "p99": self.p99,
            "p999": self.p999,
            "unit": self.unit,
            "runs": self.runs,
        }


@dataclass(frozen=True)
class Scope:
    """How much of a long bench is measured, and where results are kept for the next call."""

    seeds: tuple[int, ...] = tuple(range(1, 11))
    directory: Path = Path("runs/bench")
    report: Callable[[str], None] = lambda _line: None
    """Hears of each play's end."""


Bench = Callable[[], dict[str, Figure]]
LongBench = Callable[[Sequence[str], Scope], dict[str, Figure]]
_Measure = TypeVar("_Measure", bound=Bench)
_LongMeasure = TypeVar("_LongMeasure", bound=LongBench)

_BENCHES: dict[str, Bench] = {}
_LONG_BENCHES: dict[str, LongBench] = {}


def bench(*names: str) -> Callable[[_Measure], _Measure]:
    """Register a function under the names of all the figures that it returns."""

    def register(function: _Measure) -> _Measure:
        for name in names:
            _BENCHES[name] = function
        return function

    return register


def long_bench(*names: str) -> Callable[[_LongMeasure], _LongMeasure]:
    """Register a function that measures those of its figures that are wanted, only when they are named."""

    def register(function: _LongMeasure) -> _LongMeasure:
        for name in names:
            _LONG_BENCHES[name] = function
        return function

    return register


def figure(values: FloatArray, unit: str) -> Figure:
    """Return median and high percentiles of measured values."""
    median, p99, p999 = (float(value) for value in np.quantile(values, (0.5, 0.99, 0.999)))
    return Figure(median, unit, len(values), p99, p999)


def ratio(value: float, runs: int = 1) -> Figure:
    """Return a ratio, or a figure derived from medians of one run."""
    return Figure(value, "1", runs)


def load() -> None:
    """Import the modules that register benches."""
    for module in MODULES:
        import_module(module)


def names() -> list[str]:
    """Return the names of all figures but those of long benches, in the order of registration."""
    load()
    return list(_BENCHES)


def long_names() -> list[str]:
    """Return the names of the figures that are measured only when they are named."""
    load()
    return list(_LONG_BENCHES)


def measure(wanted: list[str], scope: Scope | None = None) -> dict[str, Figure]:
    """Measure the figures ``wanted``, or all but the long ones; ``fk`` chooses all that begin with ``fk.``.

    Each bench runs once, whatever number of its figures are asked for; ``scope`` is for long ones. Raises
    UsageError for unknown names.
    """
    load()
    known = [*_BENCHES, *_LONG_BENCHES]
    problems = []
    for begin in wanted:
        if not any(_begins(name, begin) for name in known):
            near = difflib.get_close_matches(begin, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
            problems.append(f"{begin}: no such bench, {hint}")
    if problems:
        raise UsageError("\n".join(problems))
    chosen = [name for name in _BENCHES if not wanted or _asked(name, wanted)]
    long_ones = [name for name in _LONG_BENCHES if _asked(name, wanted)]
    figures: dict[str, Figure] = {}
    for function in dict.fromkeys(_BENCHES[name] for name in chosen):
        figures |= function()
    for long_function in dict.fromkeys(_LONG_BENCHES[name] for name in long_ones):
        own = [name for name in long_ones if _LONG_BENCHES[name] is long_function]
        figures |= long_function(own, scope or Scope())
    return {name: value for name, value in figures.items() if not wanted or _asked(name, wanted)}


def _asked(name: str, wanted: list[str]) -> bool:
    return any(_begins(name, begin) for begin in wanted)


def _begins(name: str, begin: str) -> bool:
    return name == begin or name.startswith(begin + ".")
