"""Benches by name: each is a function that measures and returns named figures."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from mastd.errors import UsageError

# Modules whose import registers their benches, in the order of the report.
MODULES = (
    "mastd.bench.kinematics",
    "mastd.bench.estimate",
    "mastd.bench.loop",
    "mastd.bench.gateway",
    "mastd.bench.flood",
    "mastd.bench.watching",
    "mastd.bench.vehicle",
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


Bench = Callable[[], dict[str, Figure]]
_Measure = TypeVar("_Measure", bound=Bench)

_BENCHES: dict[str, Bench] = {}


def bench(*names: str) -> Callable[[_Measure], _Measure]:
    """Register a function under the names of all the figures that it returns."""

    def register(function: _Measure) -> _Measure:
        for name in names:
            _BENCHES[name] = function
        return function

    return register


def figure(values: NDArray[np.float64], unit: str) -> Figure:
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
    """Return the names of all figures, in the order of registration."""
    load()
    return list(_BENCHES)


def measure(wanted: list[str]) -> dict[str, Figure]:
    """Measure the figures ``wanted``, or all; ``fk`` chooses every name that begins with ``fk.``.

    Each bench runs once, whatever number of its figures are asked for. Raises UsageError for unknown names.
    """
    load()
    chosen = [name for name in _BENCHES if not wanted or any(_begins(name, begin) for begin in wanted)]
    problems = []
    for begin in wanted:
        if not any(_begins(name, begin) for name in _BENCHES):
            near = difflib.get_close_matches(begin, _BENCHES, n=1)
            hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(_BENCHES)}"
            problems.append(f"{begin}: no such bench, {hint}")
    if problems:
        raise UsageError("\n".join(problems))
    figures: dict[str, Figure] = {}
    for function in dict.fromkeys(_BENCHES[name] for name in chosen):
        figures |= function()
    return {
        name: value
        for name, value in figures.items()
        if not wanted or any(_begins(name, begin) for begin in wanted)
    }


def _begins(name: str, begin: str) -> bool:
    return name == begin or name.startswith(begin + ".")
