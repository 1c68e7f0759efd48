"""The status as operators see it: one map of plain values, made from the loop's block and the gateway's own.

Numbers that are not finite become None, so that every client and JSON can hold them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from mastd.safety.codes import Action
from mastd.wire.common.blocks import SIMULATED, NewestValueBlock
from mastd.wire.common.vehicle_block import BY_HAND, ON_TABLE, vehicle_fields
from mastd.wire.operators.loop_port import Loop, LoopPort
from mastd.wire.operators.terms import PreviousRun, StatusTexts

ACTIONS = {int(action): action.name for action in Action}
NEVER_BEGUN = "controller initialising; wait until it is ready"
OVER = "the daemon has ended; start it again"
STUCK = "the drive lowers the table by itself; restart the daemon"


def loop_advice(port: LoopPort, now_ns: int) -> str:
    """Return why the loop takes no commands and what to do, empty if it does."""
    state = port.state(now_ns)
    if state is Loop.PREPARING:
        return port.status.text("waiting") or NEVER_BEGUN
    if state is Loop.STUCK:
        return f"the loop has not moved for {port.silent_ns(now_ns) * 1e-9:.1f} s; {STUCK}"
    return (port.status.text("waiting") or OVER) if state is Loop.ENDED else ""


def loop_part(port: LoopPort, texts: StatusTexts, now_ns: int) -> dict[str, Any]:
    """Return the entries that come from the loop's status block."""
    status = port.status
    scalar = status.scalar
    code = whole(scalar("fault"))
    low, high = (whole(word) for word in status.field("active"))
    active = [texts.fault(code).name for code in _bits(low | high << 32)]
    return {
        "loop": port.state(now_ns).value,
        "advice": loop_advice(port, now_ns),
        "waiting": status.text("waiting"),
        "silent_s": port.silent_ns(now_ns) * 1e-9,
        "state": texts.state(scalar("state")),
        "since_s": finite(scalar("time") - scalar("since")),
        "time_s": finite(scalar("time")),
        "cycle": whole(scalar("cycle")),
        "cause": _cause(code, status.text("cause"), whole(scalar("fault_action")), texts),
        "active": active,
        "degraded": bool(scalar("degraded")),
        "missed": whole(scalar("missed")),
        "late": whole(scalar("late_cycles")),
        "late_s": finite(scalar("late")),
        "compute_s": finite(scalar("compute")),
        "round_trip_s": finite(scalar("round_trip")),
        "feedback": finite(scalar("feedback")),
        "dropped": whole(scalar("dropped")),
        "recording_left_s": finite(scalar("recording_left")),
        "level": _entries(status, ("level", "level_target", "level_limit")),
        "profile": {
            "name": status.text("profile"),
            "loaded": whole(scalar("loaded")),
            "time_s": finite(scalar("profile_time")),
            "duration_s": finite(scalar("profile_duration")),
            "speed": finite(scalar("path_speed")),
        },
        "supply": {
            "pressure_pa": finite(scalar("supply_pressure")),
            "stage": known(scalar("stage")),
            "each": [
                {"pressure_pa": float(pressure), "charged": finite(float(charged))}
                for pressure, charged in zip(*map(status.field, ("supply_pressures", "charged")), strict=True)
                if math.isfinite(pressure)
            ],
        },
        "pose": vector(status.field("pose")),
        "reference": vector(status.field("reference")),
        "residual_m": finite(scalar("residual")),
        "lengths_m": vector(status.field("lengths")),
        "forces_n": vector(status.field("forces")),
        "pressures_pa": [vector(chambers) for chambers in status.field("pressures").reshape(-1, 2)],
        "internal_force_n": finite(scalar("internal_force")),
        "pattern_forces_n": _known(vector(status.field("pattern_forces"))),
        "following_peak_m": vector(status.field("following_peak")),
        "vehicle": vehicle_part(status, active),
    }


def _known(numbers: list[float | None]) -> list[float | None]:
    """Return the numbers up to the last that is known."""
    while numbers and numbers[-1] is None:
        numbers = numbers[:-1]
    return numbers


def previous_run_part(previous: PreviousRun) -> dict[str, Any]:
    """Return the entries about the time before this loop began."""
    reload = {"number": previous.reloads, "kept_old": previous.kept_old} if previous.reloads else None
    return {"last_ending": previous.last_ending, "reload": reload}


def driven_by_hand(status: NewestValueBlock) -> bool:
    """Return whether a vehicle is loaded that waits for somebody's inputs."""
    return status.text("vehicle").partition("|")[2].startswith(BY_HAND)


def vehicle_channels(status: NewestValueBlock) -> tuple[tuple[str, str, str], ...]:
    """Return name, unit and meaning of the simulated vehicle's numbers in their order, none without one."""
    _, kind, wheels = _vehicle(status)
    return vehicle_fields(wheels, kind != ON_TABLE) if kind else ()


def _vehicle(status: NewestValueBlock) -> tuple[str, str, list[str]]:
    """Return the vehicle's name, what it is for and its wheels; empty for none."""
    name, _, rest = status.text("vehicle").partition("|")
    kind, *wheels = rest.split("|")
    return name, kind, wheels


def plant_part(status: NewestValueBlock) -> dict[str, Any]:
    """Return name of the plant and whether it is simulated; None for both as long as it is waited for."""
    kind, found, name = status.text("plant").partition("|")
    return {"plant": name if found else None, "simulated": kind == SIMULATED if found else None}


def vehicle_part(status: NewestValueBlock, active: list[str]) -> dict[str, Any] | None:
    """Return what there is of a simulated vehicle: its channels as maps in maps by their dotted names, those
    of the vehicle itself directly; None for none."""
    name, kind, _ = _vehicle(status)
    if not kind:
        return None
    driven = kind != ON_TABLE
    found: dict[str, Any] = {"name": name, "driven": driven, "driver_lost": "DRIVER_LOST" in active}
    values = status.field("vehicle_numbers")
    for (channel, _, _), value in zip(vehicle_channels(status), values, strict=False):
        *groups, last = channel.removeprefix("vehicle.").split(".")
        branch = found
        for group in groups:
            branch = branch.setdefault(group, {})
        branch[last] = finite(float(value))
    return found


def _cause(code: int, text: str, action: int, texts: StatusTexts) -> dict[str, Any] | None:
    if code == 0:
        return None
    fault = texts.fault(code)
    return {
        "code": code,
        "name": fault.name,
        "text": text or fault.title,
        "action": ACTIONS.get(action, fault.action),
        "clear": fault.clear,
        "hint": fault.hint,
    }


def _bits(mask: int) -> Iterable[int]:
    return (bit for bit in range(mask.bit_length()) if mask >> bit & 1)


def _entries(status: NewestValueBlock, names: tuple[str, ...]) -> dict[str, float | None]:
    keys = ("now", "target", "limit")
    return {key: finite(status.scalar(name)) for key, name in zip(keys, names, strict=True)}


def finite(value: float) -> float | None:
    """Return a number, None if it is not finite."""
    return value if math.isfinite(value) else None


def whole(value: float) -> int:
    """Return a count, 0 if it is not finite."""
    return int(value) if math.isfinite(value) else 0


def known(value: float) -> int | None:
    """Return an integer, None if it is not finite."""
    return int(value) if math.isfinite(value) else None


def vector(values: Iterable[float]) -> list[float | None]:
    """Return numbers as a list, None for those that are not finite."""
    return [finite(float(value)) for value in values]
