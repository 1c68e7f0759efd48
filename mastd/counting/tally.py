"""Operations by stages: a stage lasts as long as one of its kernels, run as a plain function, is at work.

Stages lie within others: ``constraints/Φ_q`` is what the kernels of Φ_q do
while those of the constraints are at work.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import reduce
from typing import Any, Final

from mastd.counting import number
from mastd.counting.number import Counted, CountedComplex, Operations

Kernel = Callable[..., Any]


NONE = Operations(0, 0, 0, 0, 0)


class Tally:
    """Operations by the path of the stage they were executed in, ``other`` outside of all."""

    def __init__(self) -> None:
        self.stages: dict[str, Operations] = {}
        self._open: list[str] = []
        self._seen = Operations(*number.tally)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count what is done inside for a stage; within itself a stage continues."""
        if name in self._open:
            yield
            return
        self.note()
        self._open.append(name)
        try:
            yield
        finally:
            self.note()
            self._open.pop()

    def note(self) -> None:
        """Give the stage that is under way what was counted since the last time."""
        now = Operations(*number.tally)
        done = Operations(*(x - y for x, y in zip(now, self._seen, strict=True)))
        if done.total:
            path = "/".join(self._open) or "other"
            self.stages[path] = self.stages.get(path, NONE).plus(done)
        self._seen = now


def total(stages: Mapping[str, Operations]) -> Operations:
    """Return the operations of all stages."""
    return reduce(Operations.plus, stages.values(), NONE)


@contextmanager
def counting_kernels(stages: Mapping[str, tuple[Kernel, ...]]) -> Iterator[Tally]:
    """Make the kernels of this process ready for counted numbers, and those of stages tell when they begin.

    Every module's own names of those kernels, and of ``float``, ``complex`` and ``math`` where kernels are
    written, are others as long as this lasts: meant for a process that does nothing else.
    """
    tally = Tally()
    others: dict[int, Kernel] = {}
    for name, kernels in stages.items():
        others.update({id(kernel): _in_stage(tally, name, kernel) for kernel in kernels})
    changed: list[tuple[dict[str, Any], str, Any]] = []
    for module in [module for name, module in sys.modules.items() if name.startswith("mastd.")]:
        names = module.__dict__
        found: dict[str, Any] = {
            name: others[id(value)] for name, value in names.items() if id(value) in others
        }
        if not _DECORATORS.isdisjoint(names):
            found |= {"float": _float, "complex": _complex, "math": _MATH}
        for name, value in found.items():
            changed.append((names, name, names.get(name, _ABSENT)))
            names[name] = value
    try:
        yield tally
    finally:
        tally.note()
        for names, name, value in reversed(changed):
            if value is _ABSENT:
                del names[name]
            else:
                names[name] = value


_ABSENT = object()
_DECORATORS: Final = frozenset(("kernel", "fused_kernel", "merged_kernel", "separate_kernel"))


def _in_stage(tally: Tally, name: str, kernel: Kernel) -> Kernel:
    def staged(*arguments: Any) -> Any:
        with tally.stage(name):
            return kernel(*arguments)

    return staged


def _float(x: Any) -> Any:
    return x if isinstance(x, Counted) else float(x)


def _complex(real: Any, imag: Any = 0.0) -> Any:
    return CountedComplex(real, imag)


class _Math:
    """The functions of ``math`` that kernels call, for counted numbers and floats."""

    def __getattr__(self, name: str) -> Any:
        plain = getattr(math, name)
        if not callable(plain):
            return plain

        def function(*arguments: Any) -> Any:
            first = arguments[0]
            if not isinstance(first, Counted):
                return plain(*arguments)
            if name == "copysign":
                sign = arguments[1].value if isinstance(arguments[1], Counted) else arguments[1]
                return Counted(math.copysign(first.value, sign))
            return getattr(first, name)(*arguments[1:])

        return function


_MATH = _Math()
