"""What a driver does in a manoeuvre: laws of the rack, or rows of a file, read at any times."""

from __future__ import annotations

import csv
import difflib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import scipy

from mastd.arrays import FloatArray
from mastd.errors import FormatError
from mastd.formats.core.columns import read_columns
from mastd.vehicle.model.definition import Model
from mastd.vehicle.powertrain.fields import DRIVE, DRIVER
from mastd.vehicle.state.inputs import InputLayout


@dataclass(frozen=True, eq=False)
class Controls:
    """Inputs at n times."""

    drives: FloatArray
    """(n, number of drives, 3): displacement m, rate m/s, acceleration m/s²."""
    drive_torque: FloatArray
    """(n, nw) N m, forward positive; it reacts on the chassis."""
    brake_torque: FloatArray
    """(n, nw) N m that the friction brakes take at most, 0 or more; they hold at rest."""
    driver: FloatArray
    """(n, 4) throttle, brake pedal, clutch pedal (0…1, 1: pressed), gear lever."""

    def rows(self, model: Model) -> FloatArray:
        """Return the rows of inputs that the equations of motion take, (n, width): see ``InputLayout``."""
        layout = InputLayout.of(model)
        table = np.zeros((len(self.drives), layout.width))
        for index in range(layout.drives):
            table[:, layout.drive(index)] = self.drives[:, index]
        table[:, layout.drive_torque] = self.drive_torque
        table[:, layout.brake_capacity] = self.brake_torque
        table[:, layout.driver] = self.driver
        return table


ControlLaw: TypeAlias = Callable[[FloatArray], Controls]
"""Times (n) in s since the start → controls."""


def hands_off(model: Model) -> ControlLaw:
    """Return no steering and no torques."""
    return lambda times: no_controls(model, times)


def ramp(model: Model, drive: int, amplitude: float, start: float, end: float) -> ControlLaw:
    """Return the law that moves one drive from 0 to ``amplitude`` (m) between two times (s), and stays.

    s(t) = amplitude · (1 − cos(π (t − start) / (end − start))) / 2.
    """

    def law(times: FloatArray) -> Controls:
        controls = no_controls(model, times)
        controls.drives[:, drive, :] = half_cosine(times, amplitude, start, end)
        return controls

    return law


def half_cosine(times: FloatArray, amplitude: float, start: float, end: float) -> FloatArray:
    """Return displacement, rate and acceleration, (n, 3), of the law in ``ramp``; zero before ``start``."""
    rate = np.pi / (end - start)
    phase = rate * (np.clip(times, start, end) - start)
    moving = (times > start) & (times < end)
    half = amplitude / 2.0
    return np.column_stack(
        (
            half * (1.0 - np.cos(phase)),
            np.where(moving, half * rate * np.sin(phase), 0.0),
            np.where(moving, half * rate**2 * np.cos(phase), 0.0),
        )
    )


def input_columns(model: Model) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Return the names that input rows may have besides ``t_s``: drives, drive torques, brake torques."""
    wheels = [wheel.name for wheel in model.wheels]
    return (
        tuple(f"{drive.name.replace(' ', '_')}_m" for drive in model.drives),
        tuple(f"drive_torque_{wheel}_Nm" for wheel in wheels),
        tuple(f"brake_torque_{wheel}_Nm" for wheel in wheels),
    )


def pedal_columns(model: Model) -> dict[str, int]:
    """Return the names of further columns, what the driver moves, and their places in ``Controls.driver``."""
    found = {}
    if any(wheel.brake_torque > 0.0 for wheel in model.wheels):
        found["brake_pedal"] = DRIVER.brake
    if model.powertrain is not None:
        found |= {"throttle": DRIVER.throttle, "clutch_pedal": DRIVER.clutch, "gear": DRIVER.gear}
    return found


def rows_of_file(path: Path, model: Model) -> tuple[ControlLaw, float]:
    """Return the controls that the rows of a CSV file describe, and the time of its last row, s.

    Columns: ``t_s`` and any of ``input_columns`` and ``pedal_columns``; those that are left out are zero.
    Displacements go through the rows as a monotone cubic (no overshoot), from rest, and stay where the last
    row leaves them; torques and pedals are straight between the rows, the gear is that of the last row
    before. Raises FormatError, one line a problem: columns that are not known, times that do not begin at 0
    or do not rise, a displacement that does not begin at 0 or is beyond the travel, brake torques below zero,
    pedals that are not between 0 and 1, gears that are no whole numbers.
    """
    drives, drive_torques, brake_torques = input_columns(model)
    pedals = pedal_columns(model)
    known = (*drives, *drive_torques, *brake_torques, *pedals)
    given = _known_columns(path, known)
    table = read_columns(path, ("t_s", *given))
    times, values = table[:, 0], dict(zip(given, table[:, 1:].T, strict=True))
    problems = [
        *_time_problems(path, times),
        *_travel_problems(path, model, drives, values),
        *_range_problems(path, model, brake_torques, pedals, values),
    ]
    if problems:
        raise FormatError("\n".join(problems))
    splines = {name: _from_rest(times, values[name]) for name in drives if name in values}

    def law(at: FloatArray) -> Controls:
        controls = no_controls(model, at)
        within = np.clip(at, times[0], times[-1])
        for index, name in enumerate(drives):
            if name in splines:
                controls.drives[:, index, 0] = splines[name](within)
                moving = at < times[-1]
                controls.drives[:, index, 1] = np.where(moving, splines[name](within, 1), 0.0)
                controls.drives[:, index, 2] = np.where(moving, splines[name](within, 2), 0.0)
        for names, target in ((drive_torques, controls.drive_torque), (brake_torques, controls.brake_torque)):
            for index, name in enumerate(names):
                if name in values:
                    target[:, index] = np.interp(at, times, values[name])
        for name, index in pedals.items():
            if name in values:
                controls.driver[:, index] = _lever_or_pedal(name, at, times, values[name])
        return controls

    return law, float(times[-1])


def _gears(model: Model) -> list[float]:
    """Return the places of the gear lever: reverse below 0, neutral 0, and DRIVE of an automatic gearbox."""
    if model.powertrain is None:
        return [0.0]
    box = model.powertrain.gearbox
    gears = [float(gear) for gear in range(-len(box.reverse), len(box.forward) + 1)]
    return gears if box.changes is None else [*gears, DRIVE]


def no_controls(model: Model, times: FloatArray) -> Controls:
    """Return controls at n times that do nothing."""
    n, wheels = len(times), len(model.wheels)
    return Controls(
        drives=np.zeros((n, len(model.drives), 3)),
        drive_torque=np.zeros((n, wheels)),
        brake_torque=np.zeros((n, wheels)),
        driver=np.zeros((n, 4)),
    )


def _lever_or_pedal(name: str, at: FloatArray, times: FloatArray, values: FloatArray) -> FloatArray:
    if name != "gear":
        return np.asarray(np.interp(at, times, values))
    rows = np.clip(np.searchsorted(times, at + 1e-9, side="right") - 1, 0, len(values) - 1)
    return np.asarray(values[rows])


def _from_rest(times: FloatArray, values: FloatArray) -> scipy.interpolate.CubicHermiteSpline:
    """Return the monotone cubic through the rows whose first slope is zero, as the car's start has it."""
    with np.errstate(over="ignore"):  # a slope too small for its reciprocal counts as level
        slopes = scipy.interpolate.PchipInterpolator(times, values).derivative()(times)
    slopes[0] = 0.0
    return scipy.interpolate.CubicHermiteSpline(times, values, slopes)


def _known_columns(path: Path, known: tuple[str, ...]) -> list[str]:
    """Return the file's columns but ``t_s``; raise FormatError for those that mean nothing here."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            header = [cell.strip() for cell in next(csv.reader(file, strict=True), [])]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise FormatError(f"{path}: cannot be read: {reason}") from error
    names = [name for name in header if name != "t_s"]
    if header and all(_is_number(cell) for cell in header):
        raise FormatError(
            f"{path}:1:1: the first line must name the columns, t_s and some of {', '.join(known)}"
        )
    problems = []
    for name in sorted({name for name in names if header.count(name) > 1}):
        problems.append(f"{path}:1:{header.index(name) + 1}: {name}: listed more than once")
    for index, name in enumerate(header, start=1):
        if name != "t_s" and name not in known:
            near = difflib.get_close_matches(name, ("t_s", *known), n=1, cutoff=0.6)
            right = f"did you mean {near[0]}?" if near else f"known are t_s, {', '.join(known)}"
            problems.append(f"{path}:1:{index}: {name!r} is no column of inputs, {right}")
    if "t_s" not in header:
        problems.append(f"{path}:1:1: the column t_s is missing, the time of each row in seconds")
    elif not names:
        problems.append(f"{path}:1:1: nothing besides t_s; known are {', '.join(known)}")
    if problems:
        raise FormatError("\n".join(problems))
    return names


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _time_problems(path: Path, times: FloatArray) -> list[str]:
    if len(times) < 2:
        return [f"{path}: one row, expected at least two; the last one ends the manoeuvre"]
    if times[0] != 0.0:
        return [f"{path}: t_s begins at {times[0]:g} s, the manoeuvre begins at 0 s"]
    late = np.flatnonzero(~(np.diff(times) > 0.0))
    if len(late):
        row = int(late[0]) + 1
        return [f"{path}: row {row + 1}: t_s {times[row]:g} is not after {times[row - 1]:g}"]
    return []


def _travel_problems(
    path: Path, model: Model, names: tuple[str, ...], values: dict[str, FloatArray]
) -> list[str]:
    problems = []
    for drive, name in zip(model.drives, names, strict=True):
        if name not in values:
            continue
        travel = values[name]
        if travel[0] != 0.0:
            problems.append(f"{path}: row 1: {name} begins at {travel[0]:g} m, the car starts straight: 0 m")
        worst = int(np.argmax(np.abs(travel)))
        if not abs(travel[worst]) <= drive.limit:
            problems.append(
                f"{path}: row {worst + 1}: {name} {travel[worst]:g} m is beyond its travel ±{drive.limit:g} m"
            )
    return problems


def _range_problems(
    path: Path,
    model: Model,
    brake_torques: tuple[str, ...],
    pedals: dict[str, int],
    values: dict[str, FloatArray],
) -> list[str]:
    problems = []
    gears = _gears(model)
    for name, column in values.items():
        if name in brake_torques:
            wrong, due = ~(column >= 0.0), "a friction brake has 0 N m or more, whichever way the wheel turns"
        elif name == "gear":
            wrong, due = ~np.isin(column, gears), f"{model.name} has {', '.join(f'{g:g}' for g in gears)}"
        elif name in pedals:
            wrong, due = ~((column >= 0.0) & (column <= 1.0)), "a pedal is between 0 and 1"
        else:
            continue
        rows = np.flatnonzero(wrong)
        if len(rows):
            problems.append(f"{path}: row {int(rows[0]) + 1}: {name} {column[rows[0]]:g}: {due}")
    return problems
