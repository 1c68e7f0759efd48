"""The page of what identify has found: beside the nominal values, and what it rests on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from mastd.arrays import ComplexArray, FloatArray
from mastd.control.identification.body import BodyFit
from mastd.control.identification.findings import ActuatorFindings, Findings
from mastd.report.drawing.blocks import Banner, Block, Facts, Heading, Page, Paragraph, Pictures, Table, cells
from mastd.report.drawing.picture import Bar, Bound, Curve, Panel
from mastd.report.drawing.tones import ACTUATORS, tone_of
from mastd.report.identified_rows import Row
from mastd.report.numbers import figure
from mastd.settings.table.table import TableSettings

_CLOSE_UP_S: Final = 2.0
_WRENCH: Final = (
    "force x, kN",
    "force y, kN",
    "force z, kN",
    "moment x, kN m",
    "moment y, kN m",
    "moment z, kN m",
)
_BOUNDS: Final = 3.0
"""Standard deviations to either side that a bar shows."""


def identified_page(
    found: Findings, rows: Sequence[Row], table: TableSettings, title: str, facts: Sequence[tuple[str, str]]
) -> Page:
    """Return the page; ``facts`` are the origin of the values."""
    blocks: list[Block] = [
        _banner(found, table, title),
        *(Paragraph(note, warning=True) for note in found.notes),
        Heading("Results"),
        Table(
            ("quantity", "of", "nominal", "found", "uncertainty"),
            tuple(cells(*row.texts()) for row in rows),
            numbers=True,
        ),
        Paragraph(
            "The uncertainty is one standard deviation, from the residuals, counted as dependent on"
            " their neighbours, and from what the model leaves out. Errors of scale of the transducers are"
            " not in it."
        ),
        Heading("Actuators compared"),
        Paragraph(f"Bars reach {_BOUNDS:g} standard deviations to either side; the dashed line is nominal."),
        Pictures(_bars(rows)),
        Heading("Valve delay"),
        Paragraph(
            "From the opening commanded by the drive to the spool, in addition to the nominal second-order"
            " lag; a slower spool appears as delay."
        ),
        Pictures(tuple(_delay(actuator, table, number) for number, actuator in enumerate(found.actuators))),
        Heading("Actuator forces, and the part explained by body and friction"),
        Pictures(_balance(found.body)),
        Heading("Traceability"),
        Facts((*facts, *_remains(found))),
    ]  # fmt: skip
    return Page(title, tuple(blocks))


def _banner(found: Findings, table: TableSettings, title: str) -> Banner:
    if found.notes:
        return Banner(title, "DOUBTFUL", "warn", (table.name,))
    return Banner(title, "FOUND", "good", (table.name,))


def _bars(rows: Sequence[Row]) -> tuple[Panel, ...]:
    panels = []
    for quantity in dict.fromkeys(row.quantity for row in rows if row.of[:1].isdigit()):
        own = [row for row in rows if row.quantity == quantity]
        unit = f", {own[0].unit}" if own[0].unit else ""
        nominal = () if own[0].nominal is None else (Bound(own[0].nominal),)
        bars = tuple(
            Bar(
                float(number),
                row.found - _BOUNDS * row.uncertainty,
                row.found + _BOUNDS * row.uncertainty,
                tone_of(ACTUATORS, number - 1),
            )
            for number, row in enumerate(own, start=1)
        )
        panels.append(Panel(f"{quantity}{unit}", "actuator", bars=bars, bounds=nominal))
    return tuple(panels)


def _delay(actuator: ActuatorFindings, table: TableSettings, number: int) -> Panel:
    lag = actuator.lag
    omega = 2.0 * math.pi * lag.frequency

    def delay(response: ComplexArray) -> FloatArray:
        return np.asarray(-1e3 * np.unwrap(np.angle(response)) / omega)

    return Panel(
        f"{number + 1}: {actuator.name}, ms",
        "Hz",
        (
            Curve(lag.frequency, delay(lag.response), tone_of(ACTUATORS, number), "measured", 0.9),
            Curve(lag.frequency, delay(lag.fitted), "reference", "found", 1.2),
        ),
        bounds=(Bound(1e3 * table.types[number].valve.delay),),
        minimum=0.5,
        x_log=True,
    )


def _balance(body: BodyFit) -> tuple[Panel, ...]:
    middle = float(body.times[int(np.argmax(np.linalg.norm(body.wrench[:, :3], axis=1)))])
    reach = (middle - _CLOSE_UP_S / 2, middle + _CLOSE_UP_S / 2)
    near = (body.times >= reach[0]) & (body.times <= reach[1])
    return tuple(
        Panel(
            name,
            "s from the start of the run",
            (
                Curve(body.times[near], 1e-3 * body.explained[near, k], "reference", "explained", 1.8),
                Curve(body.times[near], 1e-3 * body.wrench[near, k], "achieved", "measured", 1.0),
            ),
        )
        for k, name in enumerate(_WRENCH)
    )


def _remains(found: Findings) -> tuple[tuple[str, str], ...]:
    oil = ", ".join(figure(actuator.oil.residual, 1e6, 3) for actuator in found.actuators)
    leakage = ", ".join(figure(actuator.oil.leakage[0], 1e12, 3) for actuator in found.actuators)
    zero = ", ".join(figure(actuator.oil.zero[0], 1e2, 2) for actuator in found.actuators)
    return (
        ("unexplained force", f"{figure(found.body.residual, 1.0, 3)} N per actuator"),
        ("unexplained oil volume, as travel", f"{oil} µm"),
        ("leakage across the pistons", f"{leakage} · 10⁻¹² m³/(s Pa)"),
        ("spool position with the valve closed", f"{zero} %"),
    )
