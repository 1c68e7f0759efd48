"""Two or more runs on one page: spectra and motion over each other, figures side by side, what differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from mastd.record.channels import LENGTH_AXES
from mastd.record.reader import Run
from mastd.record.result import NEEDED
from mastd.report.differences import differences, same_profile
from mastd.report.drawing.blocks import Banner, Block, Cell, Heading, Page, Paragraph, Pictures, Table, cells
from mastd.report.drawing.picture import Panel
from mastd.report.drawing.tones import RUNS
from mastd.report.numbers import counted, figure, moment
from mastd.report.pages.run import run_title, spectra_text, verdict_text, verdict_tone
from mastd.report.pictures.motion import CLOSE_UP_S, curve, max_reference
from mastd.report.pictures.spectra import NamedSpectra, overlaid_spectra
from mastd.report.provenance_table import plant_text
from mastd.report.reading import View, level_text, view_of
from mastd.report.spectrum import Spectra, spectra_of
from mastd.report.tables import EXPLANATION, comparison_rows
from mastd.settings.core.axes import AXES

MAX_RUNS: Final = len(RUNS)
_MAX_ROWS: Final = 400
_MAX_VALUE_LENGTH: Final = 160


@dataclass(frozen=True, eq=False)
class Compared:
    """All that the comparison needs of one run: its document, and the part of its record that is drawn."""

    name: str
    tone: str
    result: Mapping[str, Any]
    view: View
    spectra: Spectra | None

    @property
    def driven(self) -> list[str]:
        """Axes with a commanded motion."""
        return list(self.result["driven"])


def compared(run: Run, result: Mapping[str, Any], number: int) -> Compared:
    """Return the compared data of the run with this number, counted from 0; its label is A, B, …

    Raises FormatError if the record lacks a channel that every page shows.
    """
    return Compared("ABCDEF"[number], RUNS[number], result, view_of(_slender(run)), spectra_of(run))


def _slender(run: Run) -> Run:
    """Return a run with the channels that are drawn, lest six long records fill the memory."""
    kept = {name: column.copy() for name, column in run.columns.items() if name in NEEDED}
    empty = np.empty((0, 0))
    return replace(
        run, columns=kept, series={topic: replace(part, values=empty) for topic, part in run.series.items()}
    )


def compare_page(runs: Sequence[Compared]) -> Page:
    """Return the page of several runs."""
    records = [run.view.run for run in runs]
    same = same_profile(records)
    titles = list(dict.fromkeys(run_title(record) for record in records))
    title = " and ".join(titles) if len(titles) <= 2 else f"{titles[0]} and {len(titles) - 1} other profiles"
    free = [axis for axis in AXES if any(axis in record.freedoms for record in records)]
    driven = [axis for axis in AXES if any(axis in run.driven for run in runs)]
    blocks: list[Block] = [
        Banner(title, f"{len(runs)} RUNS", "", ("compared; letters denote runs",)),
        _runs_table(runs),
        *_remarks(runs, same),
        Heading("Figures"),
        Table(
            ("figure", *(run.name for run in runs)),
            comparison_rows([run.result for run in runs], free),
            numbers=True,
        ),
        Paragraph(EXPLANATION),
        Heading("Differences"),
        *_differences(runs),
        *_spectra(runs, driven),
        Heading("Motion over time"),
        Pictures(tuple(panel for axis in driven or free for panel in _motion(runs, axis, same))),
    ]
    return Page(f"{title}: {len(runs)} runs", tuple(blocks))


def _runs_table(runs: Sequence[Compared]) -> Table:
    rows = [
        (
            Cell(run.name, run.tone),
            Cell(verdict_text(run.result), verdict_tone(run.result)),
            Cell(str(run.result["run"])),
            Cell(moment(run.view.run.metadata.get("started_unix"))),
            Cell(plant_text(run.view.run.metadata)),
            Cell(f"{figure(1.0 / run.view.run.period)} Hz"),
            Cell(level_text(run.view)),
        )
        for run in runs
    ]
    return Table(("", "verdict", "run", "started", "plant", "rate", "level"), tuple(rows))


def _remarks(runs: Sequence[Compared], same: bool) -> list[Block]:
    paragraphs: list[str] = []
    if not same:
        paragraphs.append(
            "The runs have different profiles: figures and spectra refer to each run's own, differences "
            "between"
            " them are partly due to the specification."
        )
    rates = {run.view.run.period for run in runs}
    if len(rates) > 1:
        paragraphs.append(
            "The runs have different rates; each is compared with its own reference at its own rate."
        )
    bands = {run.spectra.band for run in runs if run.spectra is not None}
    if len(bands) > 1:
        paragraphs.append("They are judged in different bands, so no band is shaded.")
    for run in runs:
        if run.view.run.damage_ever is not None:
            paragraphs.append(f"The record of {run.name} is damaged: {run.view.run.damage_ever}.")
        if run.result["cause"]:
            paragraphs.append(f"{run.name} ended in {run.result['state']}: {run.result['cause']}.")
    return [Paragraph(text, warning=True) for text in paragraphs]


def _differences(runs: Sequence[Compared]) -> list[Block]:
    rows, same = differences([run.view.run for run in runs])
    paragraph = Paragraph(
        f"{counted(same, 'other value')} of profile, settings and origin identical in all runs."
    )
    if not rows:
        return [Paragraph("None in profile, settings and origin."), paragraph]
    table = Table(
        ("setting", *(run.name for run in runs)),
        tuple(cells(path, *(_short(value) for value in values)) for path, values in rows[:_MAX_ROWS]),
        folded=f"{len(rows)} differences" if len(rows) > 40 else "",
    )
    if len(rows) > _MAX_ROWS:
        return [table, Paragraph(f"and {len(rows) - _MAX_ROWS} further differences."), paragraph]
    return [table, paragraph]


def _short(text: str) -> str:
    return text if len(text) <= _MAX_VALUE_LENGTH else f"{text[:_MAX_VALUE_LENGTH]} …"


def _spectra(runs: Sequence[Compared], driven: Sequence[str]) -> list[Block]:
    named = [
        NamedSpectra(run.spectra, run.tone, run.tone, run.name, run.driven)
        for run in runs
        if run.spectra is not None
    ]
    if not named or not driven:
        return [Paragraph("All runs are too short for spectra.")]
    texts = [Paragraph(f"{run.name}: {spectra_text(run.spectra)}") for run in runs if run.spectra is not None]
    distinct = list(dict.fromkeys(paragraph.text[3:] for paragraph in texts))
    paragraphs = [Paragraph(distinct[0])] if len(distinct) == 1 else texts
    return [
        Heading("Acceleration spectra and transfer function, command to feedback"),
        *paragraphs,
        Pictures(tuple(panel for axis in driven for panel in overlaid_spectra(named, axis))),
    ]


def _motion(runs: Sequence[Compared], axis: str, same: bool) -> tuple[Panel, ...]:
    """Return the achieved motion of all runs from the profile's start, whole and close-up.

    What was asked stands once if it is the same motion. References stand at the step they are meant for.
    """
    unit = "mm" if axis in LENGTH_AXES else "mrad"
    first = runs[0]
    span = min(run.view.span[0] for run in runs), max(run.view.span[1] for run in runs)
    centre, _ = max_reference(first.view, first.driven or AXES)
    panels = []
    for close in (False, True):
        reach = (centre - CLOSE_UP_S / 2, centre + CLOSE_UP_S / 2) if close else span
        curves = []
        for run in runs[:1] if same else ():
            view = run.view
            asked = 1e3 * view.column(f"reference.{axis}")
            curves.append(curve(view.times + view.run.period, asked, reach, view, "reference", "asked", 1.8))
        for run in runs:
            achieved = 1e3 * run.view.column(f"pose.{axis}")
            curves.append(curve(run.view.times, achieved, reach, run.view, run.tone, run.name, 1.0))
        panels.append(
            Panel(
                f"{axis}, {unit}" + (", close-up" if close else ""),
                first.view.clock,
                tuple(curves),
                x_range=reach,
                minimum=0.02,
                wide=not close,
            )
        )
    return tuple(panels)
