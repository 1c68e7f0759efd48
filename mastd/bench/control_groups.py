"""The groups of figures of the control's benches: what is played for them, and what must be there before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from mastd.bench.control_balance import (
    BALANCE,
    BALANCE_FIGURES,
    SINE_FIGURES,
    SINES,
    play_balance,
    play_sine,
)
from mastd.bench.control_cases import CASES, MOTION
from mastd.bench.control_identify import ERRORS
from mastd.bench.control_results import Work
from mastd.bench.control_work import (
    MOST_PLAYS,
    RIGID,
    SPRUNG,
    find_out,
    iterate_noise,
    measure_matrix,
    play_case,
)
from mastd.settings.segments import AXES

IDENTIFY = ("identify", "play")


@dataclass(frozen=True)
class Group:
    """``axes`` of its jobs, ``figures`` of each; ``needs``: group and axis of jobs of the same truth."""

    work: Work
    axes: tuple[str, ...]
    figures: tuple[str, ...]
    needs: tuple[tuple[str, str], ...] = ()


_ITERATED = (*MOTION, "spectrum_outside_share", *(f"play_{n}_raw_nrmse" for n in range(MOST_PLAYS + 1)))

GROUPS: Mapping[str, Group] = MappingProxyType(
    {
        "identify": Group(find_out, ("play",), ERRORS),
        "matrix": Group(measure_matrix, (RIGID, SPRUNG), ("coherence",), (IDENTIFY,)),
        **{
            name: Group(play_case, case.axes, case.figures, (IDENTIFY,) if case.known == "identified" else ())
            for name, case in CASES.items()
        },
        "iterated": Group(iterate_noise, AXES, _ITERATED, (IDENTIFY, ("matrix", RIGID))),
        "balance": Group(play_balance, tuple(BALANCE), BALANCE_FIGURES),
        "sine.first": Group(play_sine, tuple(SINES), SINE_FIGURES),
        "sine.corrected": Group(play_sine, tuple(SINES), SINE_FIGURES),
        "sine.identified": Group(play_sine, tuple(SINES), SINE_FIGURES, (IDENTIFY,)),
        f"{SPRUNG}.iterated": Group(iterate_noise, AXES, _ITERATED, (IDENTIFY, ("matrix", SPRUNG))),
    }
)
