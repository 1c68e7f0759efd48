"""The page of a run: what was asked, what was done, how well, and where it comes from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from mastd.record.reader import Run
from mastd.record.result import missed_cycles_note
from mastd.report.drawing.blocks import (
    Banner,
    Beside,
    Block,
    Cell,
    Facts,
    Heading,
    Page,
    Paragraph,
    Pictures,
    Source,
    Table,
    cells,
)
from mastd.report.numbers import NOTHING, counted, figure, group, moment, part, plain, quantity, seconds
from mastd.report.pictures.cycles import cycle_panels, cycle_time_rows
from mastd.report.pictures.motion import (
    axis_panels,
    force_panels,
    internal_force_panels,
    length_panels,
    ride_panels,
    supply_panel,
)
from mastd.report.pictures.spectra import NamedSpectra, spectrum_row
from mastd.report.profile_text import (
    driving_text,
    payload_text,
    segment_duration,
    segment_text,
    stream_text,
)
from mastd.report.provenance_table import plant_text, provenance_facts, rights_table, serials_table
from mastd.report.reading import View, level_text, view_of
from mastd.report.spectrum import Spectra, spectra_of
from mastd.report.tables import (
    ACCELERATION_EXPLANATION,
    EXPLANATION,
    acceleration_table,
    axis_table,
    criteria_table,
    cue_table,
    seat_table,
    wheel_table,
)

Result = Mapping[str, Any]

_VERDICT_TONES: Final = {"pass": "good", "fail": "bad", "stopped": "warn", "fault": "bad"}
_MAX_SEGMENTS: Final = 100
_FEW_EVENTS: Final = 25
_MAX_SOURCE_LENGTH: Final = 20_000


def run_page(run: Run, result: Result) -> Page:
    """Return the page of a run with the document that ``make_result`` gives of it.

    Raises FormatError if the record lacks a channel that every page shows.
    """
    view = view_of(run)
    spectra = spectra_of(run)
    title = run_title(run)
    blocks: list[Block] = [
        Banner(title, verdict_text(result), verdict_tone(result), _summary(view, result)),
        *_warnings(view, result),
        Heading("Results"),
        *_judgement(result, run.freedoms),
        Beside(
            (Heading("Test specification"), *_asked(view)),
            (Heading("Test execution"), _done(view, result)),
        ),
        *_pictures(view, result, spectra),
        *_ride(view, result),
        Heading("Events"),
        *event_blocks(view),
        Heading("Traceability"),
        provenance_facts(run, result),
        *(table for table in (rights_table(run), serials_table(run)) if table is not None),
        *_sources(run),
    ]  # fmt: skip
    return Page(f"{title}: {verdict_text(result)}", tuple(blocks))


def run_title(run: Run) -> str:
    """Return the name of the profile, or of the run where that is not known."""
    name = part(run.metadata, "profile", "name") or run.metadata.get("name")
    return plain(name) if name else run.path.parent.name


def verdict_text(result: Result) -> str:
    """Return the verdict as shown on the page."""
    return str(result["verdict"]).upper()


def verdict_tone(result: Result) -> str:
    """Return how the verdict is shown."""
    return _VERDICT_TONES.get(str(result["verdict"]), "")


def _summary(view: View, result: Result) -> tuple[str, ...]:
    run = view.run
    ended = f"ended in {result['state']}" + (f": {result['cause']}" if result["cause"] else "")
    return (
        f"{moment(run.metadata.get('started_unix'))} · {plant_text(run.metadata)}",
        f"{ended} · {counted(result['cycles'], 'cycle')} at {figure(1.0 / run.period)} Hz,"
        f" {result['missed']} missed,"
        f" {'at least ' if result['damage'] else ''}{counted(result['lost_frames'], 'frame')} lost",
    )


def _warnings(view: View, result: Result) -> list[Block]:
    paragraphs: list[str] = []
    if view.run.damage_ever is not None:
        paragraphs.append(f"The record is damaged: {view.run.damage_ever}.")
    if result["lost_frames"]:
        paragraphs.append(
            f"{counted(result['lost_frames'], 'frame')} of the record lost; figures interpolate them"
            " linearly, plots show gaps."
        )
    if result["degraded_rt"]:
        paragraphs.append("DEGRADED_RT: real-time rights were missing, see below.")
    paragraphs += [f"Indicated: {cause}" for cause in result["indicated"]]
    return [Paragraph(text, warning=True) for text in paragraphs]


def _judgement(result: Result, axes: Sequence[str]) -> list[Block]:
    criteria = result["criteria"]
    judged: list[Block] = [
        criteria_table(criteria) if criteria else Paragraph("The profile sets no criteria.")
    ]
    if result["verdict"] == "stopped":
        judged.append(Paragraph("The profile did not run to its end, so the run cannot pass its criteria."))
    if note := missed_cycles_note(result):
        judged.append(Paragraph(f"{note}.", warning=True))
    accelerations = acceleration_table(result, axes)
    more: list[Block] = [] if accelerations is None else [accelerations, Paragraph(ACCELERATION_EXPLANATION)]
    return [Beside(tuple(judged), (axis_table(result, axes),)), Paragraph(EXPLANATION), *more]


def _asked(view: View) -> list[Block]:
    metadata = view.run.metadata
    profile = group(metadata, "profile")
    band = metadata.get("band")
    rows = [("profile", run_title(view.run))]
    if profile.get("description"):
        rows.append(("description", plain(profile["description"])))
    rows.append(("duration", quantity(metadata.get("duration"), "s")))
    if isinstance(band, list) and len(band) == 2:
        rows.append(("band", f"{figure(band[0])} … {figure(band[1])} Hz"))
    rows += [
        ("payload", payload_text(group(profile, "payload"))),
        ("control point of the motion", plain(profile.get("point"))),
        ("gain", figure(profile.get("gain"))),
        ("level", level_text(view)),
        ("seed", plain(profile.get("seed"))),
    ]
    if profile.get("repeats") not in (None, 1):
        rows.append(("played", f"{plain(profile['repeats'])} times"))
    if profile.get("oils"):
        rows.append(("drive", driving_text(group(profile, "oils"))))
    if profile.get("stream"):
        rows.append(("stream", stream_text(group(profile, "stream"))))
    if profile.get("rigs"):
        rows.append(("rigs", plain(profile["rigs"])))
    blocks: list[Block] = [Facts(tuple(rows))]
    segments = [segment for segment in _list(profile.get("segments")) if isinstance(segment, Mapping)]
    if segments:
        blocks.append(
            Table(
                ("", "segment", "duration"),
                tuple(
                    cells(str(number), segment_text(segment), quantity(segment_duration(segment), "s"))
                    for number, segment in enumerate(segments[:_MAX_SEGMENTS], start=1)
                ),
            )
        )
    if len(segments) > _MAX_SEGMENTS:
        blocks.append(Paragraph(f"and {len(segments) - _MAX_SEGMENTS} further segments."))
    limits = [plain(limit) for limit in _list(profile.get("limits"))]
    if limits:
        blocks.append(Facts(tuple(("own limit", limit) for limit in limits)))
    return blocks


def _done(view: View, result: Result) -> Facts:
    run = view.run
    requests = [
        happening.text.removeprefix("requested: ")
        + (f" at {seconds(happening.time)} s" if happening.time is not None else "")
        for happening in view.happenings
        if happening.text.startswith("requested: ")
    ]
    ended = run.end.get("ended_unix")
    gaps = sum(1 for event in run.events if event.get("event") == "gap")
    return Facts(
        (
            ("outcome", f"{result['verdict']}, ended in {result['state']}"),
            *((("cause", plain(result["cause"])),) if result["cause"] else ()),
            ("started", moment(run.metadata.get("started_unix"))),
            ("record closed", moment(ended) if ended is not None else "not closed (truncated)"),
            ("cycles while running", f"{result['cycles']}, {result['missed']} missed"),
            ("frames recorded", f"{len(run.times)}, {result['lost_frames']} lost in {counted(gaps, 'gap')}"),
            ("round trip of the plant link", f"at most {quantity(result['round_trip_s'], 'ms', 1e3)}"),
            *cycle_time_rows(view),
            (
                "internal force",
                f"{quantity(result['internal_force_rms_n'], 'kN rms', 1e-3)}, at most"
                f" {quantity(result['internal_force_peak_n'], 'kN', 1e-3)}",
            ),
            *_nearest_pattern(result),
            ("requests", "; ".join(requests[:_FEW_EVENTS]) or "none"),
        )
    )


def _nearest_pattern(result: Result) -> list[tuple[str, str]]:
    """Return the pattern of internal force that came nearest to its limit, of several."""
    known = [one for one in result["internal_forces"] if one["peak_n"] is not None]
    if len(known) < 2:
        return []
    worst = max(known, key=lambda one: one["peak_n"] / one["limit_n"])
    reached, limit = (quantity(worst[key], "kN", 1e-3) for key in ("peak_n", "limit_n"))
    return [("nearest to its limit", f"{worst['name']}: {reached}, limit {limit}")]


def _pictures(view: View, result: Result, spectra: Spectra | None) -> list[Block]:
    driven = list(result["driven"])
    idle = [axis for axis in view.run.freedoms if axis not in driven]
    blocks: list[Block] = [Heading("Motion over time")]
    if driven:
        blocks.append(Pictures(axis_panels(view, driven, driven)))
        if idle:
            blocks.append(
                Pictures(axis_panels(view, idle, driven), f"Axes without command: {', '.join(idle)}")
            )
    else:
        blocks.append(Pictures(axis_panels(view, view.run.freedoms, driven)))
    if driven:
        blocks += _spectra(driven, spectra)
    blocks += [
        Heading("Actuators and supply"),
        actuator_pictures(view),
        Heading("Cycle times"),
        Pictures(cycle_panels(view)),
    ]  # fmt: skip
    return blocks


def actuator_pictures(view: View) -> Pictures:
    """Return lengths, forces, internal force and supply."""
    supply = supply_panel(view)
    rest = () if supply is None else (supply,)
    return Pictures((*length_panels(view), *force_panels(view), *internal_force_panels(view), *rest))


def _spectra(driven: list[str], spectra: Spectra | None) -> list[Block]:
    if spectra is None:
        return [Paragraph("Too short for spectra.")]
    run = NamedSpectra(spectra, "achieved", "reference", driven=driven)
    return [
        Heading("Acceleration spectra and transfer function, command to feedback"),
        Paragraph(spectra_text(spectra)),
        Pictures(tuple(panel for axis in driven for panel in spectrum_row(run, axis))),
    ]


def spectra_text(spectra: Spectra) -> str:
    """Return how spectra were made."""
    return (
        f"Welch, Hann, {counted(spectra.averages, 'average')}, {figure(spectra.resolution, digits=3)} Hz"
        f" apart; the judged band {figure(spectra.band[0])} … {figure(spectra.band[1])} Hz is shaded. H1 and"
        " coherence are shown where the density of the command is above 1/10 000 of its maximum;"
        " dashed: ±1.5 dB."
    )


def _ride(view: View, result: Result) -> list[Block]:
    tables: list[Block] = [
        table for table in (seat_table(result), wheel_table(result), cue_table(result)) if table is not None
    ]
    ratio = group(result, "vehicle").get("unconverged_share")
    if ratio:
        tables.append(
            Paragraph(f"{1e2 * ratio:.3g} % of the vehicle's steps did not converge.", warning=True)
        )
    panels = ride_panels(view, result)
    if panels:
        tables.append(Pictures(panels))
    return [Heading("Ride"), *tables] if tables else []


def event_blocks(view: View) -> list[Block]:
    """Return the list of events with their numbers in the pictures and their remedies."""
    rows = []
    for number, happening in enumerate(view.happenings, start=1):
        time = NOTHING if happening.time is None else seconds(happening.time, 3)
        tone = "bad" if happening.tone != "event" else ""
        rows.append((Cell(str(number)), Cell(time), Cell(happening.text, tone), Cell(happening.hint)))
    if not rows:
        return [Paragraph("The record contains no events.")]
    folded = f"{len(rows)} events" if len(rows) > _FEW_EVENTS else ""
    blocks: list[Block] = [Table(("", view.clock, "event", "remedy"), tuple(rows), folded=folded)]
    if view.left_out:
        blocks.append(
            Paragraph(f"{view.left_out} events in the middle are omitted; the record contains them.")
        )
    return blocks


def _sources(run: Run) -> list[Block]:
    text = part(run.metadata, "settings_text", "profile")
    if not isinstance(text, str):
        return []
    cut = text if len(text) <= _MAX_SOURCE_LENGTH else text[:_MAX_SOURCE_LENGTH] + "\n… truncated here"
    return [Source(cut, "Profile file")]


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def default_page(record: Path) -> Path:
    """Return the default path of a record's page."""
    return record.with_name("report.html")
