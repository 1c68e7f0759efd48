"""What ``mastd vehicle`` says: documents for programs, pages for people."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

from mastd.record.plain import plain
from mastd.settings.vehicle.solver_names import NEWTON_FORMULATIONS
from mastd.vehicle.manoeuvres.summary import Finding, Summary, Unconverged
from mastd.vehicle.state.trace import Trace

ROLLED_OVER: Final = 1.0
"""rad of roll from which on a car that does not converge has more wrong with it than its step."""
ROBUST_STEP: Final = 1e-3
"""s: at this step kerbs, stops and lift-off converge with ``fast``."""


def document(
    setup: Mapping[str, object],
    trace: Trace,
    figures: Summary,
    seconds_per_step: float,
    findings: Sequence[Finding] = (),
) -> object:
    """Return the summary of a manoeuvre as data for JSON; numbers that are not finite are null."""
    loads = zip(trace.wheels, figures.min_loads, figures.max_loads, strict=True)
    first = figures.unconverged
    return plain(
        {
            **setup,
            "duration_s": trace.time[-1],
            "steps": len(trace) - 1,
            "peak_lateral_acceleration_ms2": figures.peak_lateral_acceleration,
            "peak_vertical_acceleration_ms2": figures.peak_vertical_acceleration,
            "final_position_m": figures.final_position,
            "final_yaw_rad": figures.final_yaw,
            "wheel_loads_n": {
                wheel: {"least": minimum, "most": maximum} for wheel, minimum, maximum in loads
            },
            "outside_m": dict(zip(trace.wheels, figures.outside, strict=True)),
            "left_road_s": figures.left_road,
            "iterations": {"mean": figures.mean_iterations, "most": figures.max_iterations},
            "joint_error_m": figures.joint_error,
            "velocity_error_ms": figures.velocity_error,
            "time_per_step_us": 1e6 * seconds_per_step,
            "converged": first is None,
            "unconverged": None if first is None else _left(first),
            **({"findings": entries(findings)} if findings else {}),
        }
    )


def _left(step: Unconverged) -> dict[str, float]:
    return {
        "time_s": step.time,
        "residual_m": step.move,
        "joint_error_m": step.joint_error,
        "velocity_error_ms": step.velocity_error,
        "roll_rad": step.roll,
    }


def entries(findings: Sequence[Finding]) -> dict[str, dict[str, object]]:
    """Return figures as data: value and, where there is one, that of the closed formula, SI, and a note."""
    return {
        finding.key: {
            "value": finding.value,
            **({} if finding.formula is None else {"formula": finding.formula}),
            **({"note": finding.note} if finding.note else {}),
        }
        for finding in findings
    }


def finding_lines(findings: Sequence[Finding]) -> list[tuple[str, str]]:
    """Return name and text of each figure."""
    lines = []
    for finding in findings:
        there = math.isfinite(finding.value)
        text = f"{fixed(finding.value * finding.scale, finding.digits)} {finding.unit}" if there else "-"
        if finding.formula is not None and math.isfinite(finding.formula):
            text += f"  (by formula {fixed(finding.formula * finding.scale, finding.digits)})"
        lines.append((finding.label, f"{text.rstrip()}{'  ' if finding.note else ''}{finding.note}"))
    return lines


def page(
    setup: Mapping[str, object],
    trace: Trace,
    figures: Summary,
    seconds_per_step: float,
    findings: Sequence[Finding] = (),
) -> str:
    """Return the summary of a manoeuvre as lines."""
    x, y, z = figures.final_position
    newton = setup["solver"] in NEWTON_FORMULATIONS
    manner = setup["accuracy"] if newton else setup["integrator"]
    lines = [
        ("manoeuvre", f"{setup['manoeuvre']} of {setup['vehicle']}, {trace.time[-1]:.4g} s"),
        (
            "end",
            f"x {fixed(x, 4)}  y {fixed(y, 4)}  z {fixed(z, 4)} m, "
            f"yaw {fixed(math.degrees(figures.final_yaw), 3)} deg",
        ),
        (
            "acceleration",
            f"lateral {figures.peak_lateral_acceleration:.4f}, "
            f"vertical {figures.peak_vertical_acceleration:.4f} m/s2 at most",
        ),
        *(
            (
                f"load {wheel}",
                f"{fixed(minimum, 1)} to {fixed(maximum, 1)} N" + ("  (lifts off)" if minimum <= 0.0 else ""),
            )
            for wheel, minimum, maximum in zip(
                trace.wheels, figures.min_loads, figures.max_loads, strict=True
            )
        ),
        *_beside(trace, figures),
        *finding_lines(findings),
        (
            "solver",
            f"{setup['solver']}, {manner}, {len(trace) - 1} steps of {setup['step_s']:g} s",
        ),
        (
            "iterations" if newton else "corrections",
            f"{figures.mean_iterations:.2f} in the mean, {figures.max_iterations} at most",
        ),
        ("joints", f"within {figures.joint_error:.2g} m and {figures.velocity_error:.2g} m/s"),
        ("time", f"{1e6 * seconds_per_step:.2f} us a step"),
    ]
    return aligned(lines)


def _beside(trace: Trace, figures: Summary) -> list[tuple[str, str]]:
    """Return a line about wheels that left the road or the table, if any did."""
    if figures.left_road is None:
        return []
    wheels = [wheel for wheel, far in zip(trace.wheels, figures.outside, strict=True) if far > 0.0]
    when = f"{', '.join(wheels)} from t = {figures.left_road:.3f} s on, {max(figures.outside):.3f} m at most"
    return [
        ("off the road", f"{when}; the ground is level there: use a longer road, or a shorter --duration")
    ]


def aligned(lines: Sequence[tuple[str, str]]) -> str:
    """Return names and texts in two columns."""
    width = max(14, *(len(name) + 2 for name, _ in lines))
    return "\n".join(f"{name:{width}}{value}" for name, value in lines)


def fault(figures: Summary, *, accuracy: str, solver: str, step: float, trouble: str = "") -> str:
    """Return the line about the first step that did not converge (there must be one), with what can help;
    ``step`` in s, ``trouble``: what the solver itself says.
    """
    left = figures.unconverged
    assert left is not None
    if solver not in NEWTON_FORMULATIONS:
        message = (
            trouble or "its numbers are not finite any more, the step is too long for the time integrator"
        )
        return f"t = {left.time:.6g} s: {message}; try a smaller --step or --solver chassis"
    remedies = ["--accuracy fast"] if accuracy == "exact" else []
    if step > ROBUST_STEP:
        remedies.append(f"a --step of {ROBUST_STEP * 1e3:g} ms")
    elif accuracy != "exact":
        remedies.append("a smaller --step")
    if solver != "inertial":
        remedies.append("--solver inertial")
    remedy = " or ".join((", ".join(remedies[:-1]), remedies[-1])) if len(remedies) > 1 else remedies[0]
    if abs(left.roll) > ROLLED_OVER:
        remedy = f"a lower speed: the car has rolled over (roll {math.degrees(left.roll):.0f} deg)"
    return (
        f"t = {left.time:.6g} s: the solver did not converge; the last correction was {left.move:.3g} m, "
        f"joints are open by {left.joint_error:.3g} m and part at {left.velocity_error:.3g} m/s; try {remedy}"
    )


def fixed(value: float, digits: int) -> str:
    """Return a number with so many digits after the point, zero without a sign."""
    return f"{round(value, digits) + 0.0:.{digits}f}"


def table_text(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return rows below their header; numbers to the right, the last column to the left."""
    widths = [max(len(row[index]) for row in (header, *rows)) for index in range(len(header))]
    lines = []
    for row in (header, *rows):
        cells = [cell.rjust(width) for cell, width in zip(row[:-1], widths, strict=False)]
        lines.append("  ".join((*cells, row[-1])).rstrip())
    return "\n".join(lines)
