"""What the proof before motion found, to read and as a document."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from mastd.motion.preflight.limits import Limit, Oil
from mastd.motion.profile.file_notes import NO_FILES, FileNotes

MAX_SCALE = 10.0
"""Where the search for the passing scale ends."""

_HOP = "wheel hop"
_DISPLAY = {
    "m": (1e3, "mm"),
    "rad": (180.0 / math.pi, "deg"),
    "N": (1e-3, "kN"),
    "kg": (1e-3, "t"),
    "Pa": (1e-5, "bar"),
    "m3/s": (6e4, "L/min"),
    "m3": (1e3, "L"),
}


@dataclass(frozen=True)
class RideMode:
    """One way in which the vehicle swings on the table: natural frequency in Hz and damping ratio."""

    name: str
    frequency_hz: float
    damping: float


@dataclass(frozen=True)
class VehicleNote:
    """The vehicle on the table: mass in kg, centre of gravity in P in m, how it swings, what lifts off.

    ``lift_off``: ratio of the time for which each wheel carries nothing.
    """

    name: str
    mass: float
    centre_of_gravity: tuple[float, float, float]
    ride_modes: tuple[RideMode, ...]
    lift_off: dict[str, float]
    restrained: bool = False
    """Whether tie-downs and chocks are on; else its brakes alone hold it."""


@dataclass(frozen=True)
class Preflight:
    """The result: whether every limit holds, the largest scale that would pass, and the limits.

    ``duration`` of the profile in s; ``files``: what was done to the motion of files.
    """

    ok: bool
    scale: float
    limits: tuple[Limit, ...]
    oil: dict[str, Oil]
    """By name of the supply, of the only one by "", empty without hydraulics."""
    duration: float
    oil_column_frequencies: tuple[float, ...]
    """Natural frequencies in Hz of the table with what it carries, as one body, on the oil columns at
    neutral, ascending."""
    springs: str = "oil-column"
    """What these resonances are of, in words."""
    files: FileNotes = NO_FILES
    vehicle: VehicleNote | None = None
    """Where one is on the table."""
    warnings: tuple[str, ...] = ()
    """What may be in order, and should be known."""
    scaled: str = ""
    """Of what ``scale`` is, where it is not the whole motion."""

    def document(self) -> dict[str, object]:
        """Return the result as plain data for JSON; numbers that are not finite become None."""
        return {key: _finite(value) for key, value in self._entries().items()}

    def _entries(self) -> dict[str, object]:
        oil = {name: vars(own) for name, own in self.oil.items()}
        document: dict[str, object] = {
            "ok": self.ok,
            "scale": self.scale,
            "limits": [vars(limit) for limit in self.limits],
            "duration_s": self.duration,
            "oil": oil.get("", oil or None),
            **self.files.document(),
            "oil_column_hz": list(self.oil_column_frequencies),
            "warnings": list(self.warnings),
        }
        if self.vehicle is not None:
            document["vehicle"] = {
                "name": self.vehicle.name,
                "mass_kg": self.vehicle.mass,
                "centre_of_gravity_m": list(self.vehicle.centre_of_gravity),
                "lift_off": self.vehicle.lift_off,
                "restrained": self.vehicle.restrained,
            }
            document["ride_modes"] = [vars(mode) for mode in self.vehicle.ride_modes]
        return document

    def text(self) -> str:
        """Return the result as a table to read."""
        lines = [*_table(self.limits), *self.files.lines()]
        if self.vehicle is not None:
            lines.extend(_vehicle_lines(self.vehicle))
        found = (frequency for frequency in self.oil_column_frequencies if math.isfinite(frequency))
        modes = ", ".join(f"{frequency:.1f}" for frequency in found) or "unknown"
        carried = "payload" if self.vehicle is None else "vehicle, as one body,"
        lines.append(f"{self.springs} resonances of table and {carried}: {modes} Hz")
        lines.extend(f"warning: {warning}" for warning in self.warnings)
        verdict = "passes" if self.ok else "does not pass"
        more = " or more" if self.scale >= MAX_SCALE else ""
        scale = f"maximum span {self.scaled}that would pass: {self.scale:.1%}{more}"
        lines.append(f"{verdict}; {self.duration:.1f} s; {scale}")
        return "\n".join(lines)


def _table(limits: tuple[Limit, ...]) -> list[str]:
    rows = [("limit", "worst", "of", "", "left", "at", "where")]
    for limit in limits:
        factor, unit = _DISPLAY.get(limit.unit, (1.0, limit.unit))
        rows.append(
            (
                limit.name.replace("_", " "),
                f"{_rounded(limit.worst * factor):.4g}",
                f"{limit.limit * factor:.4g}",
                "" if unit == "1" else unit,
                f"{limit.margin:.0%}" if limit.margin > -10.0 else "none",
                f"{limit.time_s:.2f} s",
                limit.where + ("" if limit.margin >= 0.0 else "  <- exceeded"),
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(7)]
    return [
        "  ".join(
            cell.rjust(width) if column in (1, 2, 4, 5) else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _vehicle_lines(vehicle: VehicleNote) -> Iterator[str]:
    position = ", ".join(f"{1e3 * _rounded(value, 5e-5):.0f}" for value in vehicle.centre_of_gravity)
    held = "tied down and chocked" if vehicle.restrained else "on its brakes alone"
    yield f"{vehicle.name}: {vehicle.mass:.0f} kg, {held}, centre of gravity at {position} mm from C"
    modes = [mode for mode in vehicle.ride_modes if not mode.name.startswith(_HOP)]
    hops = [mode for mode in vehicle.ride_modes if mode.name.startswith(_HOP)]
    told = [f"{mode.name} {mode.frequency_hz:.2f} Hz ({mode.damping:.2f})" for mode in modes]
    if hops:
        damping = sorted(mode.damping for mode in hops)
        told.append(
            f"{_HOP} {hops[0].frequency_hz:.1f} to {hops[-1].frequency_hz:.1f} Hz "
            f"({damping[0]:.2f} to {damping[-1]:.2f})"
        )
    yield f"ride modes on springs and tyres, damping ratio in brackets: {', '.join(told)}"
    lifted = {name: ratio for name, ratio in vehicle.lift_off.items() if ratio > 0.0}
    ratios = ", ".join(f"{name} {ratio:.2%}" for name, ratio in lifted.items())
    yield f"off the table, of the time: wheel {ratios}" if lifted else "no wheel leaves the table"


def _rounded(value: float, least: float = 1e-9) -> float:
    """Return the value, with what is only rounding as zero."""
    return 0.0 if abs(value) < least else value


def _finite(value: object) -> object:
    """Return plain data with None in the place of every number that is not finite."""
    if isinstance(value, dict):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
