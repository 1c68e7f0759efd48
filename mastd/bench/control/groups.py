"""The groups of figures of the control's benches: what is played for them, and what must be there before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from mastd.bench.control.balance import (
    BALANCE,
    BALANCE_FIGURES,
    SINE_FIGURES,
    SINES,
    play_balance,
    play_sine,
)
from mastd.bench.control.cases import CASES, MOTION
from mastd.bench.control.identify import ERRORS
from mastd.bench.control.records import RECORDS, iterate_record, iterate_vehicle, record_figures
from mastd.bench.control.results import Work
from mastd.bench.control.work import (
    MORE_PLAYS,
    RIGID,
    SPRUNG,
    VEHICULAR,
    find_out,
    iterate_noise,
    measure_matrix,
    play_case,
)
from mastd.settings.core.axes import AXES

IDENTIFY = ("identify", "play")


@dataclass(frozen=True)
class Group:
    """``axes`` of its jobs, ``figures`` of each; ``needs``: group and axis of jobs of the same truth."""

    work: Work
    axes: tuple[str, ...]
    figures: tuple[str, ...]
    needs: tuple[tuple[str, str], ...] = ()


_ITERATED = (
    *(*MOTION, "bandwidth_hz", "spectrum_outside_share", "faults", "plays"),
    *("play_0_best_lag_nrmse", "play_0_lag_s", "play_0_cross_axis", "play_0_spectrum_outside_share"),
    *(f"play_{number}_raw_nrmse" for number in range(MORE_PLAYS + 1)),
)
"""Of the play that the iteration takes for its best; then the first play, and what came after it. Noise that
ends at 20 Hz shows no more of the bandwidth than that the drive has it."""

GROUPS: Mapping[str, Group] = MappingProxyType(
    {
        "identify": Group(find_out, ("play",), ERRORS),
        "matrix": Group(measure_matrix, (RIGID, SPRUNG, VEHICULAR), ("coherence",), (IDENTIFY,)),
        **{
            name: Group(play_case, case.axes, case.figures, (IDENTIFY,) if case.known == "identified" else ())
            for name, case in CASES.items()
        },
        "iterated": Group(iterate_noise, AXES, _ITERATED, (IDENTIFY, ("matrix", RIGID))),
        "balance": Group(play_balance, tuple(BALANCE), BALANCE_FIGURES),
        "sine.first": Group(play_sine, tuple(SINES), SINE_FIGURES),
        "sine.corrected": Group(play_sine, tuple(SINES), SINE_FIGURES),
        "sine.identified": Group(play_sine, tuple(SINES), SINE_FIGURES, (IDENTIFY,)),
        "records": Group(
            iterate_record,
            tuple(RECORDS),
            tuple(dict.fromkeys(figure for name in RECORDS for figure in record_figures(name))),
            (IDENTIFY, ("matrix", RIGID)),
        ),
        "hils": Group(iterate_vehicle, AXES, ("scale", *_ITERATED), (IDENTIFY, ("matrix", VEHICULAR))),
        f"{SPRUNG}.iterated": Group(iterate_noise, AXES, _ITERATED, (IDENTIFY, ("matrix", SPRUNG))),
    }
)
