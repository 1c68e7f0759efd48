"""How an iteration converges, and the frequency response matrix that it learns by, as a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from mastd.arrays import BoolArray, FloatArray
from mastd.report.drawing.blocks import Banner, Block, Cell, Heading, Page, Paragraph, Pictures, Table, cells
from mastd.report.drawing.drawing import draw
from mastd.report.drawing.picture import Curve, Mark, Panel
from mastd.report.drawing.svg import svg
from mastd.report.drawing.tones import ACTUATORS, TONES, tone_of
from mastd.report.numbers import figure, quantity
from mastd.settings.core.axes import AXES

_MAX_RESPONSES: Final = 24
"""Responses of which the matrix is drawn."""


@dataclass(frozen=True, eq=False)
class MatrixPicture:
    """Frequency (f,) in Hz, magnitude (f, r, d) of the responses to the drives, coherence (f, r)."""

    frequency: FloatArray
    magnitude: FloatArray
    coherence: FloatArray


def iteration_page(document: Mapping[str, Any], matrix: MatrixPicture | None = None) -> Page:
    """Return the page of an iteration's document (``mastd.control.iteration.history``)."""
    blocks: list[Block] = [_banner(document), Heading("Convergence"), Pictures((convergence(document),))]
    if document["ended"]:
        blocks.append(Paragraph(str(document["ended"])))
    blocks += [_plays(document), Paragraph(_EXPLANATION)]
    if matrix is not None:
        names = [str(one["name"]) for one in document["plays"][0]["figures"]]
        blocks += [
            Heading("Frequency response matrix"),
            Pictures(tuple(matrix_panels(matrix, names, tuple(document["band_hz"]), AXES))),
        ]
    return Page(f"{document['name']}: iteration", tuple(blocks))


def convergence_svg(document: Mapping[str, Any]) -> str:
    """Return the picture of the convergence alone, as a file of its own on light ground."""
    panel = convergence(document)
    own = svg(draw(panel), panel.title)
    rules = "".join(
        f".l.{tone}{{stroke:{light}}}.f.{tone}{{fill:{light}}}" for tone, (light, _) in TONES.items()
    )
    plain = "text{font-family:sans-serif}.l{fill:none}.dotted{stroke-dasharray:1.5 3}"
    style = f"<style>{plain}{rules}</style>"
    head = '<svg xmlns="http://www.w3.org/2000/svg"'
    return own.replace("<svg", head, 1).replace(">", f">{style}", 1) + "\n"


def convergence(document: Mapping[str, Any]) -> Panel:
    """Return the panel with the error of each response over the number of the play."""
    plays = document["plays"]
    numbers = np.array([play["number"] for play in plays], dtype=np.float64)
    curves = [Curve(numbers, _column([play["error"] for play in plays]), "reference", "all", 2.0)]
    asked = _asked(plays)
    for k, (name, short) in enumerate(zip(asked, _short(asked), strict=True)):
        values = [one["nrmse"] for play in plays for one in play["figures"] if one["name"] == name]
        curves.append(Curve(numbers, _column(values), tone_of(ACTUATORS, k), short))
    best = document["best"]
    return Panel(
        "error, rms over that of the target",
        "play",
        tuple(curves),
        marks=(Mark(float(best), "best", "event"),) if best is not None else (),
        x_range=(-0.2, max(1.0, float(numbers[-1])) + 0.2) if len(numbers) else None,
        y_log=True,
        wide=True,
        height=260.0,
    )


def _column(values: Sequence[float]) -> FloatArray:
    return np.maximum(np.array(values, dtype=np.float64), 1e-6)


def _short(names: Sequence[str]) -> list[str]:
    """Return the last parts of names, the whole names where two would be alike."""
    last = [name.rpartition(".")[2] for name in names]
    return last if len(set(last)) == len(last) else list(names)


def _asked(plays: Sequence[Mapping[str, Any]]) -> list[str]:
    return [str(one["name"]) for one in plays[0]["figures"] if one["asked"]] if plays else []


def moved_responses(plays: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return which responses are asked for or move in any play: an axis that guides hold does neither."""
    each = zip(*(play["figures"] for play in plays), strict=True)
    return [k for k, own in enumerate(each) if any(one["asked"] or one["nrmse"] > 0.0 for one in own)]


def _banner(document: Mapping[str, Any]) -> Banner:
    best = next((play for play in document["plays"] if play["number"] == document["best"]), None)
    low, high = document["band_hz"]
    lines = [f"{quantity(document['duration_s'], 's')}, judged from {figure(low)} to {quantity(high, 'Hz')}"]
    noise = document["noise"]
    if noise is not None:
        lines.append(
            f"frequency response matrix from {quantity(noise['duration'], 's')} of noise"
            if noise["duration"]
            else f"frequency response matrix: {noise['source']}"
        )
    verdict = "NO RUN" if best is None else f"RUN {best['number']}: {figure(best['error'], digits=3)}"
    return Banner(str(document["name"]), verdict, "", tuple(lines))


def _plays(document: Mapping[str, Any]) -> Table:
    plays = document["plays"]
    moved = moved_responses(plays)
    names = [str(plays[0]["figures"][k]["name"]) for k in moved]
    head = ("play", "error", *_short(names), "from", "gain", "step", "held by")
    rows = []
    for play in plays:
        best = "good" if play["number"] == document["best"] else ""
        made = play["made_from"]
        rows.append(
            (
                Cell(str(play["number"]), best),
                Cell(figure(play["error"], digits=3), best),
                *(Cell(figure(play["figures"][k]["nrmse"], digits=3)) for k in moved),
                *cells(
                    "profile" if made is None else f"run {made}",
                    figure(play["gain"]),
                    f"{play['share']:.0%}",
                    play["limit"] or "–",
                ),
            )
        )
    return Table(head, tuple(rows), numbers=True)


_EXPLANATION: Final = (
    "Error: rms of target minus response over the rms of the target, in the judged band, without shifting in"
    " time; for a response that should be zero, over the largest of its kind. All: root of the mean square"
    " over the responses with a target. Step: fraction of the correction that the check permits."
)


def _shown(magnitude: FloatArray) -> FloatArray:
    """Return magnitudes with NaN where a drive drives nothing."""
    return np.where(magnitude > 0.0, magnitude, np.nan)


def matrix_panels(
    matrix: MatrixPicture, names: Sequence[str], band: tuple[float, float], drives: Sequence[str]
) -> list[Panel]:
    """Return two panels for each response: its magnitude over each drive, and its coherence."""
    shown = (matrix.frequency >= 0.5 * band[0]) & (matrix.frequency <= 2.0 * band[1])
    frequency = matrix.frequency[shown]
    if len(frequency) < 2:
        return []
    span = (float(frequency[0]), float(frequency[-1]))
    panels = []
    moved: BoolArray = np.any(
        matrix.magnitude > 0.0, axis=0
    )  # an axis that guides hold neither answers nor drives
    for k, name in enumerate(names[:_MAX_RESPONSES]):
        if not moved[k].any():
            continue
        curves = tuple(
            Curve(frequency, _shown(matrix.magnitude[shown, k, axis]), tone_of(ACTUATORS, axis), drive)
            for axis, drive in enumerate(drives)
            if moved[:, axis].any()
        )
        coherence = Curve(frequency, matrix.coherence[shown, k], "achieved")
        panels += [
            Panel(
                name, "Hz", curves, x_range=span, x_log=True, y_log=True, shade=band, wide=True, height=180.0
            ),
            Panel(
                "coherence",
                "Hz",
                (coherence,),
                x_range=span,
                y_range=(0.0, 1.05),
                x_log=True,
                shade=band,
                height=180.0,
            ),
        ]
    return panels
