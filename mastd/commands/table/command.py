"""``mastd table show FILE``: what a table can do, and whether its control is stable."""

from __future__ import annotations

import argparse
import json
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mastd.commands import Subparsers
    from mastd.dynamics.table_model import TableModel
    from mastd.kinematics.geometry import Geometry
    from mastd.motion.preflight.performance import AxisPerformance, Bound
    from mastd.settings.table.internal_forces import ForcePattern
    from mastd.settings.table.supply import SupplySettings
    from mastd.settings.table.table import TableSettings

_SHOW = """
Shows what a table can do: actuators by their types, patterns of internal force, oil columns, and for each
axis by itself, from neutral, travel, velocity with its flow, and acceleration, bare and with the most that
leaves the actuators room to move, up to three times the table's mass; then the stability of its control with
the gains that are computed or stated. No profile is needed. --plot draws the largest sine of each
axis over frequency, bare and with half and all of that payload, and the workspace.
"""
ROTATIONS = ("roll", "pitch", "yaw")
_WIDTH = 100
"""Most characters of a line that lists actuators."""


class ActuatorFigures(NamedTuple):
    """What an actuator can do, and the gains of its drive in 1/s."""

    name: str
    type: str | None
    force_n: float
    stroke_m: float
    no_load_speed_m_s: float
    drive: str
    """``hydraulic``, or the kind of an electric drive."""
    feedback: str
    """What measures the force."""
    lag_hz: float
    """Natural frequency of the valve or of the velocity loop."""
    power_w: float | None
    """Of an electric drive."""
    length_gain: float
    pressure_damping: float


def add_parsers(subparsers: Subparsers) -> None:
    """Add the parser of ``table``."""
    parser = subparsers.add_parser("table", help="show what a table can do")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    show = verbs.add_parser("show", help="actuators, oil columns, axes and stability", description=_SHOW)
    show.add_argument(
        "table",
        metavar="FILE",
        nargs="?",
        default="table",
        help="table settings (default: the starter table)",
    )
    show.add_argument(
        "--config", metavar="FILE", default="simulated", help="daemon settings (default: simulated)"
    )
    show.add_argument(
        "--plot",
        type=Path,
        metavar="FILE.svg|png|pdf",
        help="draw the performance over frequency and the workspace",
    )
    show.add_argument("--json", action="store_true", help="print one JSON document")
    show.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Show one table; return 0, or 1 where its control is not stable."""
    from mastd.control.estimation.motion_design import accelerometer_warnings
    from mastd.control.table.computed import with_computed_settings
    from mastd.control.table.gains import with_drive_gains
    from mastd.control.table.stability_proof import stability_margins, stability_proof
    from mastd.dynamics.oil_flow import spring_words
    from mastd.dynamics.table_model import TableModel
    from mastd.kinematics.geometry import Geometry
    from mastd.kinematics.ranges import displacement_warnings
    from mastd.motion.preflight.performance import heaviest_ratio, performance
    from mastd.settings.core.loader import load
    from mastd.settings.core.starter import find
    from mastd.settings.daemon.daemon import DaemonSettings
    from mastd.settings.table.internal_forces import force_patterns, pattern_entries
    from mastd.settings.table.payload import NoPayload
    from mastd.settings.table.table import TableSettings

    if arguments.plot is not None:
        from mastd.commands.inspect.picture import check_picture

        check_picture(arguments.plot)
    path = find("table", arguments.table)
    table = with_drive_gains(load(path, TableSettings))
    daemon = with_computed_settings(table, load(find("daemon", arguments.config), DaemonSettings))
    geometry = Geometry.from_settings(table)
    bare = TableModel.from_settings(table, NoPayload())
    heaviest = heaviest_ratio(table, geometry)
    axes = performance(table, geometry, bare.mass_matrix, (1.0, heaviest))
    proof = stability_proof(table, daemon, NoPayload())
    margins = stability_margins(table, daemon, NoPayload(), proof.gains) if proof.ok else None
    if arguments.plot is not None:
        _draw(table, geometry, bare, heaviest, arguments.plot)
    modes = _modes(table, geometry, bare)
    warnings = (*accelerometer_warnings(table), *displacement_warnings(table))
    if arguments.json:
        document: dict[str, object] = {
            "name": table.name,
            "freedoms": list(table.freedoms),
            "actuators": [own._asdict() for own in _actuators(table)],
            "internal_force_patterns": pattern_entries(table),
            "displacement": [one.name for one in table.sensors.displacement],
            "oil_column": [{"hz": hz, "axis": axis} for hz, axis in modes],
            "heaviest_kg": heaviest * table.body.mass,
            "axes": [_axis_document(axis) for axis in axes],
            "stability": {**proof.document(), **(margins.document() if margins else {})},
            "supplies": [_supply_document(*each) for each in table.packs.items()],
            "warnings": warnings,
        }
        print(json.dumps(document, allow_nan=False))
    else:
        print(f"{table.name} ({path})\n\n{_actuators_text(table)}")
        print("\n".join((*_pattern_lines(force_patterns(table)), *_displacement_lines(table))))
        what = {"drive": "drives", "oil-column": "oil columns"}.get(
            spring_words(table), "oil columns and drives"
        )
        print(f"{what} at neutral, bare: " + ", ".join(f"{axis} {hz:.1f} Hz" for hz, axis in modes))
        print("".join(f"{supply.text(name)}\n" for name, supply in table.packs.items()), end="")
        print(f"\n{_axes_text(axes, heaviest * table.body.mass)}\n\n{proof.text()}")
        print(f"{margins.text()}\n" if margins else "", end="")
        print("".join(f"warning: {warning}\n" for warning in warnings), end="")
        print(f"picture: {arguments.plot}\n" if arguments.plot else "", end="")
    return 0 if proof.ok else 1


def _draw(table: TableSettings, geometry: Geometry, bare: TableModel, heaviest: float, path: Path) -> None:
    """Draw envelopes and workspace; raise FormatError if the file cannot be written."""
    from mastd.commands.table.picture import FREQUENCIES, PLANES, Section, write_picture
    from mastd.motion.preflight.performance import performance, sine_envelopes, translation_section

    ratios = (1.0, 0.5 * (1.0 + heaviest), heaviest)
    payloads = [table.body.mass * (ratio - 1.0) for ratio in ratios]
    loads = ["bare", f"half payload, {_tonnes(payloads[1])} t", f"full payload, {_tonnes(payloads[2])} t"]
    limits = table.pose_limits
    write_picture(
        f"{table.name}: largest sine of each axis by itself, about neutral",
        loads,
        sine_envelopes(table, geometry, bare.mass_matrix, ratios, FREQUENCIES),
        performance(table, geometry, bare.mass_matrix, ratios),
        [
            Section(plane, translation_section(table, geometry, plane), (limits[plane[0]], limits[plane[1]]))
            for plane in PLANES
            if set(plane) <= set(geometry.free_axes)
        ],
        path,
    )


def _supply_document(name: str, supply: SupplySettings) -> dict[str, object]:
    return {
        "name": name,
        "pressure_pa": supply.pressure,
        "pump_flow_m3_s": supply.pump_flow,
        "oil_m3": supply.accumulator.oil(supply.pressure),
        "usable_oil_m3": supply.usable_oil,
        "charge_time_s": supply.charge_time,
    }


def _tonnes(mass: float) -> str:
    """Return a mass in kg as a figure in t, without an exponent."""
    return f"{mass / 1e3:.3g}" if mass < 999.5e3 else f"{mass / 1e3:.0f}"


def _modes(table: TableSettings, geometry: Geometry, model: TableModel) -> list[tuple[float, str]]:
    """Return frequency in Hz and main axis of each oscillation on the oil columns."""
    import numpy as np

    from mastd.dynamics.oil_flow import oil_column_modes
    from mastd.settings.core.axes import AXES

    frequencies, shapes = oil_column_modes(table, geometry, model)
    return [
        (float(hz), AXES[int(np.argmax(np.abs(shape)))])
        for hz, shape in zip(frequencies, shapes, strict=True)
    ]


def _actuators(table: TableSettings) -> list[ActuatorFigures]:
    return [
        ActuatorFigures(
            link.name,
            link.actuator,
            type_.body.maximum_force,
            link.stroke,
            type_.no_load_speed(),
            type_.electric.kind if type_.electric is not None else "hydraulic",
            type_.feedback,
            type_.lag.natural_frequency,
            type_.electric.maximum_power if type_.electric is not None else None,
            type_.length_gain,
            type_.pressure_damping,
        )
        for link, type_ in zip(table.links, table.types, strict=True)
    ]


def _actuators_text(table: TableSettings) -> str:
    """Return the actuators as lines, those that are alike together, with their numbers."""
    alike: dict[ActuatorFigures, list[str]] = {}
    for number, own in enumerate(_actuators(table), start=1):
        alike.setdefault(own._replace(name=""), []).append(f"{number} {own.name}")
    count = len(table.links)
    lines = [f"free in {', '.join(table.freedoms)}; {count} actuator{'s' * (count != 1)}"]
    for own, links in alike.items():
        kind = f"{own.type}: " if own.type else ""
        lines.append(f"  {len(links)} × {kind}{_actuator_text(own)}")
        # A no-break space keeps a number with its name.
        names = textwrap.wrap(", ".join(link.replace(" ", "\N{NO-BREAK SPACE}") for link in links), _WIDTH)
        lines += ["      " + line.replace("\N{NO-BREAK SPACE}", " ") for line in names]
    return "\n".join(lines)


def _actuator_text(own: ActuatorFigures) -> str:
    if own.power_w is None:
        lag = f"valve {own.lag_hz:g} Hz"
    else:
        lag = f"{own.power_w / 1e3:g} kW, {own.drive.replace('_', ' ')}, velocity loop {own.lag_hz:g} Hz"
    damping = f", pressure damping {own.pressure_damping:g} 1/s"
    if own.feedback == "none":
        damping = ", force not measured"
    elif own.feedback != "chamber_pressures":
        damping += f", force by {own.feedback.replace('_', ' ')}"
    return (
        f"{own.force_n / 1e3:g} kN, ±{1e3 * own.stroke_m:g} mm, "
        f"{own.no_load_speed_m_s:.2f} m/s without load, {lag}; length gain {own.length_gain:g} 1/s{damping}"
    )


def _pattern_lines(patterns: Sequence[ForcePattern]) -> list[str]:
    """Return each pattern of forces that cancel: its actuators by number with their signs, name and limit."""
    lines = [f"{len(patterns) or 'no'} pattern{'s' * (len(patterns) != 1)} of internal force"]
    signs = [
        " ".join(f"{'+' if pattern.vector[i] > 0.0 else '−'}{i + 1}" for i in pattern.actuators)
        for pattern in patterns
    ]
    width = max(map(len, signs), default=0)
    lines += [
        f"  {parts:<{width}}  {pattern.limit / 1e3:.4g} kN  {pattern.name}"
        for parts, pattern in zip(signs, patterns, strict=True)
    ]
    return lines


def _displacement_lines(table: TableSettings) -> list[str]:
    """Return the displacement transducers beside the actuators and how many lengths there are in all."""
    beside = table.sensors.displacement
    if not beside:
        return []
    listed = ", ".join(f"{one.name} ±{1e3 * one.range:g} mm" for one in beside)
    lengths, freedoms = len(table.links) + len(beside), len(table.freedoms)
    return [f"displacement transducers beside the actuators: {listed}; {lengths} lengths for {freedoms} axes"]


def _axis_document(axis: AxisPerformance) -> dict[str, object]:
    def bound(value: Bound) -> dict[str, object]:
        return {"value": value.value, "by": value.by}

    bare, heavy = axis.accelerations
    return {
        "axis": axis.axis,
        "travel": list(axis.travel),
        "velocity": bound(axis.velocity),
        "flow_m3_s": axis.flow,
        "acceleration_bare": bound(bare),
        "acceleration_heaviest": bound(heavy),
    }


def _axes_text(axes: Sequence[AxisPerformance], heaviest: float) -> str:
    """Return what each axis can do as a table to read."""
    loaded = f"with {_tonnes(heaviest)} t in all" if heaviest >= 100.0 else f"with {heaviest:.3g} kg in all"
    head: tuple[str, ...] = ("axis", "travel", "velocity", "flow", "acceleration, bare", loaded)
    rows = [head]
    for axis in axes:
        turns = axis.axis in ROTATIONS
        length, rate = ("mrad", "rad/s") if turns else ("mm", "m/s")
        low, high = (1e3 * end for end in axis.travel)
        bare, heavy = (f"{bound.value:.3g} {rate}2 ({bound.by})" for bound in axis.accelerations)
        velocity = f"{axis.velocity.value:.3g} {rate} ({axis.velocity.by})"
        flow = f"{60e3 * axis.flow:.0f} L/min"
        rows.append((axis.axis, f"{low:+.0f} … {high:+.0f} {length}", velocity, flow, bare, heavy))
    if not any(axis.flow > 0.0 for axis in axes):
        rows = [row[:3] + row[4:] for row in rows]  # no oil, no flow
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )
