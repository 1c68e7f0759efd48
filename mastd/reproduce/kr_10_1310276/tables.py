"""KR 10-1310276 recomputed: implicit Euler with a Jacobian that is updated in part.

The patent prints no number. What it says in words is measured on chains of 4 to 128 links: that update of
a part reduces the cost to O(n) (paragraph 35), and that the error this brings is negligible beside implicit
integration's own (paragraph 10).

What is O(n) in a step is the accelerations and one column, exact or by (5)–(6). What stays O(n²) is the
solution of (4), even with the inverse at hand: f_x q̇, A⁻¹ times a vector, and the inverse that follows the
new column. All columns are O(n²) and the factorisation is O(n³). So the exponent of a whole step lies
between 1 and 2, and how near to 1 depends on how dear f is beside a row of a matrix; links in a plane are
the cheapest there are. In time it is nearer to 1 than in operations: products with a matrix run along
neighbouring numbers, several at a time.

The error is negligible where the patent's own condition holds, that nothing changes quickly: a stiff chain
around its rest shape or a car in the J-turn, columns in turn. It is not in general: see
``chains`` and ``cars``.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

import numpy as np

from mastd.bench.vehicle.timing import interleaved
from mastd.formulations.integrators.implicit_euler import (
    COUNT,
    POLICIES,
    ImplicitEuler,
    Policy,
    implicit_euler,
)
from mastd.reproduce.item import Item, answer, at_most, compare
from mastd.reproduce.kr_10_1310276 import cars
from mastd.reproduce.kr_10_1310276.chains import (
    CASES,
    DEPARTED,
    Case,
    Run,
    departs_at,
    distances,
    drive,
    reference,
)
from mastd.reproduce.kr_10_1310276.operations import (
    ACCELERATIONS,
    EXACT_COLUMN,
    FACTORISATION,
    NUMERICAL_COLUMN,
    PRODUCTS,
    REPLACEMENT,
    Operations,
    step_operations,
)
from mastd.reproduce.models.chain import Chain, accelerate, analytic_column, sum_outboard
from mastd.reproduce.models.chain_stepping import advance_chain, advance_chain_often, numerical_column

SIZES: Final = (4, 8, 16, 32, 64, 128)
LINKS: Final = 16
"""Links of the chains whose error is inspected."""
ROUND_ROBINS: Final = (1, 4)
"""Columns that a round robin updates in a step."""
NEGLIGIBLE: Final = 0.1
"""The patent does not say what is negligible: here a tenth of implicit Euler's own error."""
_LOOKS: Final = 100
_TIMING_ROUNDS: Final = 9
_TIMED_US: Final = 3000.0
_TIMED_STEP: Final = 1e-4
_HALVED: Final = (1e-3, 5e-4)
_DIFFERENCE_ERROR: Final = 1e-5

_PARTS: Final[dict[str, tuple[Callable[[int], float], float, str]]] = {
    "accelerations": (ACCELERATIONS, 1.0, "f(q, q̇) of (2), once"),
    "column": (EXACT_COLUMN, 1.0, "paragraph 35: one column of f_x and f_v, exact"),
    "numerical_column": (NUMERICAL_COLUMN, 1.0, "paragraph 35: one column of f_x and f_v by (5)–(6)"),
    "all_columns": (lambda n: n * EXACT_COLUMN(n), 2.0, "paragraph 23: all columns"),
    "factorisation": (FACTORISATION, 3.0, "paragraph 23: (4) with a new factorisation"),
}


def items() -> list[Item]:
    """Return every comparison with KR 10-1310276; it takes about twenty seconds."""
    return [
        *_parts(),
        *_operations(),
        *time_items(SIZES, _TIMING_ROUNDS),
        *(item for case in CASES for item in case_items(case, LINKS, _LOOKS)),
        _order(),
        *_differences(),
        *cars.items(),
    ]


def exponent(costs: Mapping[int, float]) -> float:
    """Return p of the power law n^p that fits costs by n best, in relative errors."""
    sizes = np.log(np.array(list(costs), dtype=np.float64))
    return float(np.polyfit(sizes, np.log(np.array(list(costs.values()))), 1)[0])


def _parts() -> list[Item]:
    """Exponents of the parts of a step, from 64 to 128 links, where the highest power has the word."""
    found = []
    large = SIZES[-2:]
    for name, (cost, paper, what) in _PARTS.items():
        ours = exponent({n: cost(n) for n in large})
        text = f"{what}: exponent of its operations, {large[0]} to {large[1]} links"
        found.append(compare(f"003.parts.{name}_exponent", text, paper, ours, "1", absolute=0.1))
    solution: dict[str, tuple[Operations, str]] = {
        "replacement": (REPLACEMENT, "the inverse follows one column (rank one)"),
        "products": (PRODUCTS, "(4) with the inverse at hand"),
    }
    for name, (cost, what) in solution.items():
        ours = exponent({n: cost(n) for n in large})
        text = f"{what}: exponent of its operations, O(n²) and not the O(n) of paragraph 35"
        found.append(answer(f"003.parts.{name}_exponent", text, ours, "1", within=abs(ours - 2.0) < 0.1))
    return found


def _operations() -> list[Item]:
    found = []
    exponents = {}
    for kind, numerical in (("exact", False), ("numerical", True)):
        for name, policy in POLICIES.items():
            if policy == Policy.FASTEST or (policy == Policy.NONE and numerical):
                # Of the fastest coordinate: the same operations as in turn. None: no column at all.
                continue
            costs = {n: step_operations(policy, n, numerical=numerical) for n in SIZES}
            where = name if policy == Policy.NONE else f"{name}, {kind} columns"
            key = f"003.operations.{name}.{kind}"
            found += [
                answer(f"{key}.{n}", f"operations of a step, {n} links, {where}", cost, "1")
                for n, cost in costs.items()
            ]
            exponents[name, kind] = exponent(costs)
            found.append(
                _exponent_item(f"{key}.exponent", "operations", where, exponents[name, kind], policy)
            )
            if policy == Policy.ROUND_ROBIN:
                full = step_operations(Policy.FULL, SIZES[-1], numerical=numerical)
                text = f"operations of a step, {SIZES[-1]} links, {kind} columns: full over round-robin"
                gain = full / costs[SIZES[-1]]
                found.append(answer(f"003.operations.gain.{kind}", text, gain, "1", within=gain > 1.0))
    return found


def _exponent_item(identifier: str, kind: str, where: str, ours: float, policy: Policy) -> Item:
    what = f"exponent of the {kind} of a step over {SIZES[0]} to {SIZES[-1]} links, {where}"
    if policy == Policy.FULL:
        return answer(identifier, what, ours, "1", within=ours > 1.5)
    return answer(identifier, f"{what}: between O(n) and O(n²)", ours, "1", within=ours < 2.0)


def time_items(sizes: Sequence[int], rounds: int) -> list[Item]:
    """Return processor times of a step, exact columns: medians of rounds in which all take turns."""
    measures = {
        (name, n): partial(_timed, *_rolling(n), policy) for name, policy in POLICIES.items() for n in sizes
    }
    times = {key: float(np.median(found)) for key, found in interleaved(measures, rounds).items()}
    found = []
    for name, policy in POLICIES.items():
        costs = {n: times[name, n] for n in sizes}
        found += [
            answer(f"003.time.{name}.{n}", f"time of a step, {n} links, {name}, exact columns", cost, "us")
            for n, cost in costs.items()
        ]
        found.append(_exponent_item(f"003.time.{name}.exponent", "time", name, exponent(costs), policy))
    gain = times["full", sizes[-1]] / times["round-robin", sizes[-1]]
    text = f"time of a step, {sizes[-1]} links: full over round-robin"
    found.append(answer("003.time.gain", text, gain, "1", within=gain > 1.0))
    return found


def _rolling(n: int) -> tuple[Chain, ImplicitEuler]:
    """A chain that every policy can follow for as long as it is timed."""
    return CASES[0].chain(n), implicit_euler(n, _TIMED_STEP)


def _timed(chain: Chain, euler: ImplicitEuler, policy: Policy) -> float:
    """Return µs of a step that is not the first one, NaN if the run failed.

    So many steps from the start that they fill a few milliseconds, however dear one is.
    """
    n = len(chain.q)
    guess = step_operations(policy, n, numerical=False) / 2000.0 + 0.2
    steps = max(4, int(_TIMED_US / guess))
    chain.q[:], chain.u[:], euler.counts[:] = 0.0, 0.0, 0
    advance_chain_often(chain, euler, int(policy), 1, False, 1)
    begin = time.process_time_ns()
    done = advance_chain_often(chain, euler, int(policy), 1, False, steps)
    passed = (time.process_time_ns() - begin) * 1e-3 / steps
    whole = done == steps and np.all(np.isfinite(chain.q)) and euler.counts[COUNT.inversions] <= 1
    return passed if whole else math.nan


def case_items(case: Case, n: int, looks: int) -> list[Item]:
    """Return how one chain of ``n`` links moves under each policy, beside full update at the same step."""
    full = drive(case, n, Policy.FULL, looks=looks)
    own = float(distances(full.positions, reference(case, n)).max())
    where = f"{case.spoken}, {n} links, steps of {case.step * 1e3:g} ms"
    prefix = f"003.{case.name}"
    found = [
        answer(
            f"{prefix}.full.error",
            f"largest error of implicit Euler itself in lengths of the chain, {where}",
            own,
            "1",
            within=not full.blown_up,
        ),
        answer(
            f"{prefix}.full.amplification",
            f"largest amplification of an error in a step, full, {where}",
            full.amplification,
            "1",
        ),
    ]
    for name, policy in POLICIES.items():
        if policy == Policy.FULL:
            continue
        for columns in ROUND_ROBINS if policy == Policy.ROUND_ROBIN else (1,):
            run = drive(case, n, policy, columns=columns, looks=looks)
            key = f"{prefix}.{name}" if columns == 1 else f"{prefix}.{name}-{columns}"
            spoken = name if columns == 1 else f"{name} with {columns} columns a step"
            found += _beside_full(key, f"{spoken}, {where}", run, full, own)
    return found


def _beside_full(key: str, where: str, run: Run, full: Run, own: float) -> list[Item]:
    ratio = float(distances(run.positions, full.positions).max()) / own
    what = f"largest distance from full update over implicit Euler's own error, {where}"
    claimed = key.split(".", 1)[1] in ("swing.round-robin", "swing.round-robin-4")
    if claimed:
        text = f"paragraph 10: {what}: negligible"
        found = [at_most(f"{key}.over_error", text, 0.0, ratio, "1", bound=NEGLIGIBLE)]
    else:
        judged = "negligible" if ratio <= NEGLIGIBLE else "not negligible"
        found = [answer(f"{key}.over_error", f"{what}: {judged}", ratio, "1")]
    departed = departs_at(run, full)
    if departed is not None:
        text = f"step at which a joint is {DEPARTED:.0%} of the length away from full update, {where}"
        found.append(answer(f"{key}.departs_at_step", text, departed, "1", within=not claimed))
    if run.blown_up:
        found.append(
            answer(
                f"{key}.blows_up_at_step", f"step at which it blows up, {where}", len(run.positions) + 1, "1"
            )
        )
    text = f"largest amplification of an error in a step, {where}"
    found.append(answer(f"{key}.amplification", text, run.amplification, "1"))
    return found


def _order() -> Item:
    """The columns of a round robin are older by a round at most, which is short where steps are small."""
    case = CASES[0]
    apart = {
        step: float(
            distances(
                drive(case, LINKS, Policy.ROUND_ROBIN, step=step).positions,
                drive(case, LINKS, Policy.FULL, step=step).positions,
            ).max()
        )
        for step in _HALVED
    }
    order = float(np.log2(apart[_HALVED[0]] / apart[_HALVED[1]]))
    what = (
        f"order in the step of the distance between round-robin and full, {case.spoken}, {LINKS} links; "
        "implicit Euler's own error has order 1"
    )
    return answer("003.swing.round-robin.order", what, order, "1", within=order > 1.5)


def _differences() -> list[Item]:
    """Columns by (5)–(6) beside the exact ones, at the middle of each case."""
    found = []
    for case in CASES:
        error = difference_error(case, LINKS)
        what = f"relative error of the columns by (5)–(6), {case.spoken}, {LINKS} links"
        found.append(
            answer(f"003.{case.name}.difference_error", what, error, "1", within=error < _DIFFERENCE_ERROR)
        )
    return found


def difference_error(case: Case, n: int) -> float:
    """Return the larger of the relative errors of f_x and f_v by differences, after 0.3 s of the case."""
    chain, euler = case.chain(n), implicit_euler(n, case.step)
    for done in range(round(0.3 / case.step)):
        chain.rest[:] = case.rest_angle(n, (done + 1) * case.step)
        advance_chain(chain, euler, int(Policy.FULL), 1, False)
    accelerate(chain, chain.acceleration)
    sum_outboard(chain)
    exact, numerical = np.empty((2, n, n)), np.empty((2, n, n))
    for j in range(n):
        analytic_column(chain, j, exact[0, j], exact[1, j])
    for j in range(n):
        numerical_column(chain, j, numerical[0, j], numerical[1, j])
    errors = np.linalg.norm(numerical - exact, axis=(1, 2)) / np.linalg.norm(exact, axis=(1, 2))
    return float(errors.max())
