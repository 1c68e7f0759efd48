"""The proof of stability before a motion: every oscillation of the loop dies out, or what to change."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mastd.control.table.closed_loop import ClosedLoop, Gains
from mastd.control.table.gains import (
    DriveGains,
    drive_gains,
    feedback_gains,
    free_gains,
    gains_of,
    gains_text,
    linear_plant,
)
from mastd.control.table.stability import THIN, Mode, least_damped, least_damping, loops
from mastd.errors import UsageError
from mastd.settings.core.axes import AXES
from mastd.settings.daemon.daemon import DaemonSettings
from mastd.settings.table.payload import Payload, RigidPayload
from mastd.settings.table.table import TableSettings

STEP, STEPS = 1.25, 10
"""Factor by which a gain is raised to find where an oscillation grows, and how often."""


@dataclass(frozen=True)
class StabilityProof:
    """The least damped oscillation of a loop, and what to change where it does not die out."""

    mode: Mode
    gains: Gains
    remedy: str
    """Empty where nothing needs to be changed."""

    @property
    def ok(self) -> bool:
        """Every oscillation dies out, and not too slowly."""
        return self.mode.damping >= THIN

    def document(self) -> dict[str, object]:
        """Return the proof as plain data for JSON."""
        return {
            "damping_ratio": self.mode.damping,
            "frequency_hz": self.mode.frequency_hz,
            "axis": self.mode.axis,
            "case": self.mode.case,
            "length_gain": self.gains.length.tolist(),
            "pressure_damping": self.gains.pressure_damping.tolist(),
            "acceleration_gain": dict(zip(AXES, self.gains.acceleration.tolist(), strict=True)),
            "remedy": self.remedy or None,
            "ok": self.ok,
        }

    def text(self) -> str:
        """Return the proof as a line to read."""
        if self.ok:
            return f"stability: least damping {self.mode.text()}"
        grows = "grows" if self.mode.damping < 0.0 else "hardly dies out"
        return f"stability: an oscillation {grows}: {self.mode.text()}  <- {self.remedy}"


@dataclass(frozen=True)
class StabilityMargins:
    """Factors at which an oscillation grows; infinite where none was found."""

    pressure_damping: float | None
    """None where no actuator has any."""
    acceleration: float

    def document(self) -> dict[str, object]:
        """Return the margins as plain data for JSON; one without an end is None."""
        return {
            f"{name}_margin": margin if margin is not None and math.isfinite(margin) else None
            for name, margin in (
                ("pressure_damping", self.pressure_damping),
                ("acceleration_gain", self.acceleration),
            )
        }

    def text(self) -> str:
        """Return the margins as words to read."""
        feedback = f"acceleration feedback {_factor(self.acceleration)}"
        if self.pressure_damping is None:
            return feedback.replace("feedback", "feedback may grow")
        return f"pressure damping may grow {_factor(self.pressure_damping)}, {feedback}"


def require_stability(table: TableSettings, daemon: DaemonSettings, payload: Payload, source: object) -> None:
    """Raise UsageError, naming the table's settings ``source``, where an oscillation does not die out."""
    proof = stability_proof(table, daemon, payload)
    if not proof.ok:
        raise UsageError(f"{source}: refused with this payload: {proof.text()}")


def stability_proof(table: TableSettings, daemon: DaemonSettings, payload: Payload) -> StabilityProof:
    """Return the proof over the workspace, bare, at the greatest mass, and with a payload that is rigid.

    Table and daemon have their computed gains.
    """
    found, words = _loops(table, daemon, payload)
    gains = gains_of(table, daemon.control.acceleration.axis_gains)
    mode = least_damped(found, words, gains)
    return StabilityProof(mode, gains, "" if mode.damping >= THIN else _remedy(table, found, gains))


def stability_margins(
    table: TableSettings, daemon: DaemonSettings, payload: Payload, gains: Gains
) -> StabilityMargins:
    """Return by how much the gains of a stable loop may grow, pressure damping and feedback by itself."""
    found, _ = _loops(table, daemon, payload)

    def margin(name: str) -> float:
        for step in range(1, STEPS + 1):
            factor = STEP**step
            if not _stable(found, gains._replace(**{name: factor * getattr(gains, name)}), 0.0):
                return factor
        return math.inf

    damped = bool(np.any(gains.pressure_damping > 0.0)) or table.measures_forces
    return StabilityMargins(margin("pressure_damping") if damped else None, margin("acceleration"))


def _loops(
    table: TableSettings, daemon: DaemonSettings, payload: Payload
) -> tuple[list[ClosedLoop], list[str]]:
    plant = linear_plant(table, 1e-9 * daemon.period_ns, daemon.control.balance.gain)
    return loops(plant, payload if isinstance(payload, RigidPayload) else None)


def _stable(found: Sequence[ClosedLoop], gains: Gains, least: float = THIN) -> bool:
    return bool(np.min(least_damping(found, gains)) >= least)


def _remedy(table: TableSettings, found: Sequence[ClosedLoop], gains: Gains) -> str:
    """Return the first gain whose change makes the loop stable, with the value that would do."""
    still = gains._replace(acceleration=np.zeros(6))
    if _stable(found, still):
        largest = feedback_gains(found, (), still, float(np.max(gains.acceleration)))
        would_do = gains_text(free_gains(table, largest.tolist()))
        return f"control.acceleration is too high: {would_do} would do"
    names = [link.actuator or "" for link in table.links]
    kept = {name: type_.length_gain for name, type_ in zip(names, table.types, strict=True)}
    for lengths, what in ((kept, "pressure_damping does"), (dict.fromkeys(kept), "gains do")):
        made = drive_gains(found, names, {name: DriveGains(length, None) for name, length in lengths.items()})
        length, damping = (np.array([made[name][k] for name in names], dtype=float) for k in range(2))
        if _stable(found, Gains(length, damping, np.zeros(6))):
            values = "; ".join(_drive_text(name, gains) for name, gains in made.items())
            return f"the drive's {what} not suit this table: {values} would do, left out they are computed"
    if table.supply is None:
        return (
            "no gain would do: the velocity loops of the drives are too slow for their stiffness and damping"
        )
    return "no gain would do: the valves are too slow for the oil columns"


def _drive_text(name: str, gains: DriveGains) -> str:
    stated = f"length_gain {gains.length:g} 1/s, pressure_damping {gains.pressure_damping:g} 1/s"
    return f"{name}: {stated}" if name else stated


def _factor(margin: float) -> str:
    return f"{margin:.2g} times" if math.isfinite(margin) else f"more than {STEP**STEPS:.2g} times"
