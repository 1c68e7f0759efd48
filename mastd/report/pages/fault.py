"""The page of a fault history: the cause, what to do, and the seconds around it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mastd.record.reader import Run
from mastd.report.drawing.blocks import Banner, Block, Facts, Heading, Page, Paragraph, Pictures
from mastd.report.numbers import counted, plain, quantity
from mastd.report.pages.run import actuator_pictures, event_blocks
from mastd.report.pictures.cycles import cycle_panels
from mastd.report.pictures.motion import axis_panels
from mastd.report.provenance_table import provenance_facts, rights_table
from mastd.report.reading import view_of


def fault_page(run: Run, result: Mapping[str, Any]) -> Page:
    """Return the page of a fault history with the document that ``make_fault_result`` gives of it.

    Raises FormatError if the record lacks a channel that every page shows.
    """
    view = view_of(run)
    lines = [
        f"{plain(result['code'])} · action {plain(result['action'])} · {plain(result['time'])}",
        f"in state {plain(result['state'])}, then {plain(result['state_after'])}",
    ]
    blocks: list[Block] = [Banner(plain(result["cause"] or "cause unknown"), "FAULT", "bad", tuple(lines))]
    if result["hint"]:
        blocks.append(Paragraph(f"Remedy: {result['hint']}", warning=True))
    if run.damage_ever is not None:
        blocks.append(Paragraph(f"The file is damaged: {run.damage_ever}.", warning=True))
    blocks += [
        Facts(
            (
                ("fault", plain(result["code"])),
                ("cycle", plain(result["cycle"])),
                ("run", plain(result["of_run"])),
                ("in that run", _after(result["time_in_run_s"])),
                ("this file holds", _extent(result)),
            )
        ),
        Heading("Events"),
        *event_blocks(view),
        Heading("Motion around the fault"),
        Pictures(axis_panels(view, run.freedoms, run.freedoms)),
        Heading("Actuators and supply"),
        actuator_pictures(view),
        Heading("Cycle times"),
        Pictures(cycle_panels(view)),
        Heading("Traceability"),
        provenance_facts(run, result),
        *(table for table in (rights_table(run),) if table is not None),
    ]  # fmt: skip
    return Page(f"fault history: {plain(result['cause'])}", tuple(blocks))


def _after(time: object) -> str:
    return quantity(time, "s after its first frame")


def _extent(result: Mapping[str, Any]) -> str:
    lost = result["lost_frames"]
    return (
        f"{result['before_s']:.3f} s before and {result['after_s']:.3f} s after the fault"
        + (f", {counted(lost, 'frame')} lost" if lost else "")
    )  # fmt: skip
