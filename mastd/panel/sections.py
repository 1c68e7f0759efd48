"""The parts of the panel, each from the view to lines of text; a part may come in several sizes.

The smallest size holds what must be seen at 80 × 24; ``screen`` chooses.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Final

from rich.cells import cell_len
from rich.text import Text

from mastd.panel.lines import BAD, CARE, LABEL, QUIET, Piece, ends, filled, progress, row, wrapped
from mastd.panel.reading import Document, entries, number, shown, text, time_text, value
from mastd.panel.states import LETTER_ROWS, bar_style, letters, meaning
from mastd.panel.status_text import STAGES, UNKNOWN, clearing, gear_name
from mastd.panel.view import STALE_S, Display, View, glyphs

Lines = list[Text]
_DEGREES: Final = 57.29577951308232
_AXES: Final = {"surge": "x", "sway": "y", "heave": "z", "roll": "roll", "pitch": "pitch", "yaw": "yaw"}
_COUNTS: Final = (("late", "late cycles"), ("missed", "missed periods"), ("dropped", "frames not recorded"))
_COUNTS_SHORT: Final = (("late", "late"), ("missed", "missed"), ("dropped", "unrecorded"))


def state_name(view: View) -> str:
    """Return the state, or what is more important than it: a lost connection, a loop that does not run."""
    loop = text(view.status, "loop")
    if loop == "ended":
        return "DAEMON ENDED"
    if view.lost:
        return "CONNECTION LOST"
    if loop == "stuck":
        return "LOOP STUCK"
    if loop == "preparing":
        return "PREPARING"
    return text(view.status, "state") or "NO STATUS YET"


def title(view: View, display: Display) -> list[Lines]:
    """Return whose table it is."""
    status, described = view.status, view.description
    parts = [text(described, "table_name") or text(status, "name") or "mastd"]
    process_id, rate = number(status, "pid"), number(described, "rate_hz")
    parts += [] if process_id is None else [f"pid {process_id:.0f}"]
    parts += [] if rate is None else [f"{rate:g} Hz"]
    if value(described, "simulated") is True:
        parts.append("SIMULATED PLANT")
    return [[Text("   ".join(parts), "bold")]]


def age(view: View) -> str:
    """Return how old what is shown is."""
    if not view.status:
        return "NO STATUS YET"
    # A gateway that answers shows a loop that stands still as it was.
    seconds = view.age_s + (number(view.status, "silent_s") or 0.0)
    text = time_text(seconds)
    return f"NO NEWS FOR {text}" if view.lost or not seconds <= STALE_S else f"as of {text} ago"


def state(view: View, display: Display) -> list[Lines]:
    """Return the state as a bar over the whole width, and large where there is room, with its age."""
    name, notes, flags = state_name(view), _state_notes(view), _flags(view)
    style, how_old = bar_style(name, display), age(view)
    bar = f"  {name if ' ' in name else ' '.join(name)}"
    for note in notes:
        if cell_len(bar) + 3 + cell_len(note) + 2 + len(how_old) <= display.width:
            bar += f"   {note}"
    small = [Text(filled(bar, display.width - len(how_old) - 1) + f"{how_old} ", style)]
    small += [Text(flag, BAD) for flag in flags]
    drawn = letters(name, display)
    beside = [(note, "bold") for note in notes] + [(flag, BAD) for flag in flags]
    widest = max((cell_len(note) for note, _ in beside), default=0)
    if not drawn or len(beside) > LETTER_ROWS or drawn[0].cell_len + 4 + widest > display.width:
        return [small]
    notes_below = [*beside, *[("", "")] * LETTER_ROWS]
    large = [
        Text.assemble(" ", letter, "   ", note) for letter, note in zip(drawn, notes_below, strict=False)
    ]
    strip = Text(filled("", display.width - len(how_old) - 1) + f"{how_old} ", style)
    # Below them: the last row of the letters has room for that.
    return [small, [*large, strip]]


def _state_notes(view: View) -> list[str]:
    name, before = state_name(view), text(view.status, "state")
    loop = text(view.status, "loop")
    if view.lost or loop in ("stuck", "ended"):
        return [f"last known: {before}" if before else "no state was known", meaning(name)]
    if loop == "preparing" or not view.status:
        return ["no state is known yet"]
    return [f"since {time_text(number(view.status, 'since_s'))}", meaning(name)]


def _flags(view: View) -> list[str]:
    degraded = value(view.status, "degraded") is True
    return ["DEGRADED_RT: real-time rights are missing"] if degraded else []


def trouble(view: View, display: Display) -> list[Lines]:
    """Return why it is so and what to do: of the connection, of the loop, of the first cause."""
    lines: Lines = []
    width, advice = display.width, text(view.status, "advice")
    if view.lost and text(view.status, "loop") != "ended":
        lines += wrapped("why", view.lost, width, BAD)
        lines += wrapped(
            "now",
            "this panel reconnects by itself when the daemon answers; s and e are still tried. In danger use "
            "the e-stop of the table.",
            width,
        )
    elif advice:
        lines += wrapped("loop", advice, width, BAD)
    cause = value(view.status, "cause")
    if not cause:
        return [[*lines, *([] if lines else [row("cause", ("none", QUIET))])]]
    name = text(cause, "name")
    lines += wrapped("cause", f"{text(cause, 'text')} ({name})", width, BAD)
    lines += wrapped("do this", text(cause, "hint"), width, "bold")
    reported = {"name": name, "clear": text(cause, "clear")}
    when = clearing(text(view.status, "state"), reported, entries(view.status, "active"))
    lines += wrapped("clears", f"when: {when}", width)
    others = [text(other) for other in entries(view.status, "active") if other != value(cause, "name")]
    if others:
        lines += wrapped("also", ", ".join(others), width, CARE)
    return [lines]


def forces(view: View, display: Display) -> list[Lines]:
    """Return supply, internal force and residual, which belong to all actuators together."""
    status = view.status
    stage = number(status, "supply", "stage")
    if stage is None:
        stage_text = f"stage {UNKNOWN}"
    else:
        known = 0 <= stage < len(STAGES)
        stage_text = f"stage {STAGES[int(stage)] if known else f'{stage:.0f}'}"
    force, name = _internal_force(view)
    supplies = entries(view.description, "supplies")
    each = len(entries(status, "supply", "each"))
    electric = "supplies" in view.description and not supplies
    pressures = [number(status, "supply", "each", k, "pressure_pa") for k in range(each)]
    told = []
    for k, pressure in enumerate(pressures or [number(status, "supply", "pressure_pa")]):
        full, supply = number(supplies, k, "pressure_pa"), text(supplies, k, "name")
        of_full = f" of {full * 1e-5:.0f}" if full else ""
        told.append(f"{supply} {shown(pressure, 1e-5, '.0f', 'bar')}{of_full}".lstrip())
    charged = [number(status, "supply", "each", k, "charged") or 0.0 for k in range(each)]
    waiting = f", {min(charged):.0%} charged" if each and value(status, "state") in ("LOW", "HIGH") else ""
    pieces: list[Piece] = [
        stage_text if electric else f"{', '.join(told)}, {stage_text}{waiting}",
        ("   internal ", QUIET),
        force,
        ("   residual ", QUIET),
        shown(number(status, "residual_m"), 1e6, ".0f", "µm"),
    ]
    first = row("supply", *pieces)
    return [[first], [first, row("internal", (name, QUIET))]] if name else [[first]]


def _internal_force(view: View) -> tuple[str, str]:
    """Return the force nearest to the limit of its pattern, and which; without limits that of all."""
    found = [
        (force, limit, text(pattern, "name"))
        for force, pattern in zip(
            entries(view.status, "pattern_forces_n"),
            entries(view.description, "internal_forces"),
            strict=False,
        )
        if isinstance(force, float) and (limit := number(pattern, "limit_n"))
    ]
    if not found:
        return shown(number(view.status, "internal_force_n"), 1e-3, ".1f", "kN"), ""
    force, limit, name = max(found, key=lambda one: abs(one[0]) / one[1])
    return f"{shown(force, 1e-3, '.1f')} of {1e-3 * limit:.4g} kN", name


def pose(view: View, display: Display) -> list[Lines]:
    """Return where the table is, where it should be, and, where there is room, the difference.

    Axes that guides hold are left out.
    """
    free = entries(view.description, "freedoms")
    moves = [name for name in _AXES if name in free] or list(_AXES)
    found = [number(view.status, "pose", axis) for axis in range(6)]
    asked = [number(view.status, "reference", axis) for axis in range(6)]
    off = [None if a is None or b is None else a - b for a, b in zip(found, asked, strict=True)]
    both = [_axes("pose", found, moves), _axes("command", asked, moves)]
    return [both, [*both, _axes("error", off, moves)]]


def _axes(label: str, numbers: Sequence[float | None], moves: Sequence[str]) -> Text:
    if all(entry is None for entry in numbers):
        return row(label, UNKNOWN)
    pieces: list[Piece] = []
    shown_axes = [axis for axis, name in enumerate(_AXES) if name in moves]
    names = list(_AXES.values())
    for axis, following in itertools.zip_longest(shown_axes, shown_axes[1:]):
        length, entry = axis < 3, numbers[axis]
        form, factor = ("+z7.2f", 1e3) if length else ("+z6.3f", _DEGREES)
        figure = f"{'?':>6}" if entry is None else format(entry * factor, form)
        pieces += [(f"{names[axis]} ", QUIET), f"{figure} "]
        last = following is None or following // 3 != axis // 3
        pieces += [(("mm ", "deg")[axis // 3], QUIET)] if last else []
    return row(label, *pieces)


def cycle(view: View, display: Display) -> list[Lines]:
    """Return how the loop keeps its time, and what it has missed."""
    status = view.status
    times: list[Piece] = []
    for key, name in (("compute_s", "compute"), ("late_s", "latency")):
        figures = [number(status, "cycle_time", key, part) for part in ("median", "p99", "max")]
        if any(figure is not None for figure in figures):
            text = "/".join("?" if figure is None else f"{figure * 1e6:.0f}" for figure in figures)
        else:
            text = f"last {shown(number(status, key), 1e6, '.0f')}"
        times += [(f"{name} ", QUIET), f"{text} µs  "]
    if number(status, "cycle_time", "window_s") is not None:
        times.append(("median/p99/max", QUIET))
    counts: list[Piece] = []
    for key, name in _COUNTS:
        counted = number(status, key)
        style = CARE if counted else ""
        counts += [(f"{name} ", QUIET), (shown(counted, 1.0, ".0f"), style), "   "]
    style = CARE if number(status, "feedback") != 1.0 else ""
    counts += [("link ", QUIET), (shown(number(status, "round_trip_s"), 1e3, ".0f", "ms"), style)]
    max_texts = [
        f"{name} {_short(number(status, 'cycle_time', key, 'max'), 1e6, ' µs')}  "
        for key, name in (("compute_s", "compute max"), ("late_s", "latency max"))
    ]
    short = [f"{name} {_short(number(status, key))}  " for key, name in _COUNTS_SHORT]
    return [[row("cycle", *short, *max_texts)], [row("cycle", *times), row("", *counts)]]


def _short(found: float | None, factor: float = 1.0, unit: str = "") -> str:
    return "?" if found is None else f"{found * factor:z.0f}{unit}"


def profile(view: View, display: Display) -> list[Lines]:
    """Return what is played, how far it is, what is left, and at which level."""
    status = view.status
    name = text(status, "profile", "name")
    now, target, limit = (number(status, "level", key) for key in ("now", "target", "limit"))
    level = f"span {shown(now, 100.0, '.0f', '%')}"
    if target != now:
        level += f" (to {shown(target, 100.0, '.0f', '%')})"
    level += f", max. {shown(limit, 100.0, '.0f', '%')}"
    loading = text(status, "loading")
    being_loaded: Lines = [row("loading", (loading, CARE))] if loading else []
    if not name:
        return [[*being_loaded, row("profile", "none loaded   ", (level, QUIET))]]
    played, duration = number(status, "profile", "time_s"), number(status, "profile", "duration_s")
    ratio = played / duration if duration and played is not None else None
    heading = ends(row("profile", (name, "bold")), Text(level), display.width)
    if played is None:
        texts = f"{shown(duration, 1.0, '.1f', 's')} long, not running"
        bar = ""
    else:
        left = None if duration is None else max(duration - played, 0.0)
        texts = f" {shown(ratio, 100.0, '.0f', '%')}, {played:.1f} of {shown(duration, 1.0, '.1f', 's')}, "
        texts += f"{shown(left, 1.0, '.1f', 's')} left"
        bar = progress(ratio, max(display.width - LABEL - len(texts), 4), glyphs(display))
    short = row("profile", (f"{name} ", "bold"), f"{texts.strip()}, span {shown(now, 100.0, '.0f', '%')}")
    return [[*being_loaded, short], [*being_loaded, heading, row("", bar, texts)]]


def people(view: View, display: Display) -> list[Lines]:
    """Return who commands, and who looks here."""
    holder = text(view.status, "lease", "holder")
    me = f"you are {view.me}{', OBSERVER: only s and e work' if view.observer else ''}"
    if not holder:
        who = "none; the first command takes control"
    else:
        left = number(view.status, "lease", "left_s")
        whose = "YOU" if holder == view.me else holder
        who = f"{whose} ({'time not known' if left is None else f'{left:.0f} s'})"
    line = row("control", f"{who}; {me}")
    return [
        [line] if line.cell_len <= display.width else [*wrapped("control", who, display.width), row("", me)]
    ]


def vehicle(view: View, display: Display) -> list[Lines]:
    """Return what a simulated vehicle does and who drives it; nothing where there is none."""
    found = value(view.status, "vehicle")
    lines: Lines = []
    if found:
        lines.append(row("vehicle", *_vehicle_pieces(found)))
    for rig in entries(view.status, "rigs"):
        heard = shown(number(rig, "age_s"), 1.0, ".2f", "s ago")
        delay = number(rig, "delay")
        late = "" if delay is None else f", {delay:.0f} steps late"
        who = f"{text(rig, 'name')} ({text(rig, 'kind')}) of {text(rig, 'operator')}, seen {heard}{late}"
        lines.append(row("rig", who))
    if "rigs" not in view.status:
        missing = row("rigs", (UNKNOWN, QUIET))
        return [lines, [*lines, missing]]
    if not entries(view.status, "rigs"):
        return [lines, [*lines, row("rigs", ("none has joined, no driver", QUIET))]]
    return [lines]


def _vehicle_pieces(found: Document) -> list[Piece]:
    name = text(found, "name")
    if value(found, "driven") is not True:
        felt = [shown(number(found, "seat", "rms", axis), 1.0, ".2f") for axis in "xyz"]
        return [f"{name} on the table; seat x {felt[0]}, y {felt[1]}, z {felt[2]} m/s2 weighted"]
    gear = number(found, "driver", "gear")
    lever = UNKNOWN if gear is None else gear_name(round(gear))
    pieces: list[Piece] = [f"{name}, {shown(number(found, 'speed'), 3.6, '.1f', 'km/h')}, lever {lever}"]
    if value(found, "driver_lost") is True:
        pieces.append(("   DRIVER LOST", BAD))
    return pieces
