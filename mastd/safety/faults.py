"""The table of faults: one row a fault, from which docs/faults.md is made.

A fault at run time is data, never an exception. Detectors (``mastd.safety.guard`` and the loop) report a
code with a detail; a condition that lasts for the row's delay becomes a fault. The most severe action of a
cycle acts, the first cause stays latched until ``reset``.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass


class Action(enum.IntEnum):
    """What a fault does, by rising severity."""

    INDICATE = 0
    HOLD = 1
    STOP = 2
    POWER_OFF = 3


class Code(enum.IntEnum):
    """Number of a fault, as records and status blocks hold it; 0 is none."""

    NONE = 0
    PLANT_LOST = 1
    SAMPLE_STALE = 2
    SAMPLE_MISSING = 3
    SAMPLE_NOT_FINITE = 4
    SAMPLE_INVALID = 5
    PLANT_REFUSES = 6
    STROKE = 7
    VELOCITY = 8
    FORCE = 9
    FOLLOWING_ERROR = 10
    FORWARD_KINEMATICS = 11
    SUPPLY_PRESSURE = 12
    SUPPLY_FAULT = 13
    SUPPLY_TIMEOUT = 14
    DRIVE_TIMED_OUT = 15
    OVERRUN = 16
    STALL = 17
    COMMAND_NOT_FINITE = 18
    ESTOP = 19
    RECORDER_LOST = 20
    REDUNDANCY = 21
    LOOP_EXCEPTION = 22
    GATEWAY_LOST = 23


@dataclass(frozen=True)
class Row:
    """One fault: what is watched, how long it may last, what happens, and what the technician does."""

    code: Code
    title: str
    detector: str
    threshold: str
    """Path of the setting that holds the threshold, empty where there is none."""
    delay: str
    """Path of the setting that holds the time the condition may last, empty for none."""
    action: Action
    clear: str
    hint: str


TABLE: tuple[Row, ...] = (
    Row(
        Code.PLANT_LOST,
        "plant lost",
        "no sample for the whole time-out (in lockstep: no answer to a command)",
        "timeouts.plant_lost",
        "",
        Action.POWER_OFF,
        "samples arrive again",
        "Is the drive (or hil-sim plant) running and reachable? Without commands it lets the table down.",
    ),
    Row(
        Code.SAMPLE_STALE,
        "samples stale",
        "age of the newest sample",
        "timeouts.sample_stale",
        "",
        Action.STOP,
        "samples arrive again",
        "The plant's samples stopped for a while: look at the load of both machines and at the cable.",
    ),
    Row(
        Code.SAMPLE_MISSING,
        "samples missing",
        "share of sequence numbers missing over the last second",
        "guard.missing_share",
        "",
        Action.INDICATE,
        "the share falls below the threshold",
        "Samples are lost on the way: look at the load of both machines and at the network.",
    ),
    Row(
        Code.SAMPLE_NOT_FINITE,
        "sample not finite",
        "NaN or infinity in a length or pressure",
        "",
        "guard.sample_delay",
        Action.STOP,
        "all values are finite",
        "The named sensor or its converter is broken: check its cable and supply.",
    ),
    Row(
        Code.SAMPLE_INVALID,
        "sample marked invalid",
        "validity bit of a length is off",
        "",
        "guard.sample_delay",
        Action.STOP,
        "the drive marks the value valid",
        "The drive itself distrusts the named sensor: read the drive's own diagnosis.",
    ),
    Row(
        Code.PLANT_REFUSES,
        "plant complains",
        "a refusal from the plant: a command too late, a restart, another daemon in the place",
        "",
        "",
        Action.INDICATE,
        "at once; if the plant serves us no longer, its samples stop",
        "Read the plant's words; late commands point at the load of this machine.",
    ),
    Row(
        Code.STROKE,
        "stroke limit",
        "distance of a measured length from its end of stroke, while the table is supplied and raised",
        "limits.stroke_margin",
        "guard.limit_delay",
        Action.STOP,
        "the length is inside",
        "A leg came too close to its end: is the profile checked for this payload, is a transducer off?",
    ),
    Row(
        Code.VELOCITY,
        "velocity limit",
        "measured rate of a length",
        "limits.velocity",
        "guard.limit_delay",
        Action.STOP,
        "the rate is inside",
        "A leg moved too fast: a jumping transducer or a valve that does not obey.",
    ),
    Row(
        Code.FORCE,
        "force limit",
        "chamber pressures times piston areas of a leg",
        "limits.force_share",
        "guard.limit_delay",
        Action.STOP,
        "the force is inside",
        "A leg pushes at its limit: payload heavier or higher than stated, or legs fighting each other.",
    ),
    Row(
        Code.FOLLOWING_ERROR,
        "following error",
        "measured minus commanded length, limit rising with velocity",
        "limits.following_error",
        "guard.following_delay",
        Action.STOP,
        "reset",
        "A leg does not follow: oil pressure, valve, drive gains, or something blocks the table.",
    ),
    Row(
        Code.FORWARD_KINEMATICS,
        "pose not found",
        "forward kinematics does not converge",
        "kinematics.tolerance",
        "guard.sample_delay",
        Action.STOP,
        "it converges",
        "The seven lengths fit no pose: a transducer is wrong, or the geometry file is not this table's.",
    ),
    Row(
        Code.SUPPLY_PRESSURE,
        "supply pressure low",
        "supply pressure while the high stage is on",
        "supply.limits.minimum_pressure",
        "guard.supply_delay",
        Action.STOP,
        "the pressure is back",
        "The pump cannot keep up or has stopped: check the power pack, its filter and the oil level.",
    ),
    Row(
        Code.SUPPLY_FAULT,
        "supply reports a fault",
        "fault bits of the supply (temperature, level, filter)",
        "",
        "",
        Action.STOP,
        "the supply clears its bits",
        "Read the power pack's panel: oil temperature, oil level and filter.",
    ),
    Row(
        Code.SUPPLY_TIMEOUT,
        "supply does not come up",
        "time since a stage was asked for",
        "timeouts.supply_stage",
        "",
        Action.POWER_OFF,
        "reset",
        "The power pack did not reach the stage: is it switched on locally, is its e-stop released?",
    ),
    Row(
        Code.DRIVE_TIMED_OUT,
        "drive saw no commands",
        "the drive's time-out bit",
        "",
        "",
        Action.INDICATE,
        "commands arrive",
        "Commands came too late for the drive, which held by itself: look at the cycle times and the load.",
    ),
    Row(
        Code.OVERRUN,
        "cycles overrun",
        "missed periods in a row",
        "overrun.maximum_missed",
        "",
        Action.STOP,
        "reset",
        "This machine could not keep the rate: see `mastd bench wakeup`, real-time rights and other load.",
    ),
    Row(
        Code.STALL,
        "loop stalled",
        "missed periods longer than the drive's time-out",
        "drive.command_timeout",
        "",
        Action.INDICATE,
        "the profile goes on",
        "The loop stood still longer than the drive bridges; the profile waited and rejoined.",
    ),
    Row(
        Code.COMMAND_NOT_FINITE,
        "command not finite",
        "NaN or infinity in a command about to be sent",
        "",
        "",
        Action.POWER_OFF,
        "reset",
        "A defect in the daemon: keep the record and report it.",
    ),
    Row(
        Code.ESTOP,
        "emergency stop",
        "e-stop input of the plant, or `estop` from an operator",
        "",
        "",
        Action.POWER_OFF,
        "released and reset",
        "Somebody stopped the table: make sure that everybody is safe, release the button, then reset.",
    ),
    Row(
        Code.REDUNDANCY,
        "lengths disagree",
        "part of the length residuals along the null vector of the transposed Jacobian",
        "limits.redundancy_residual",
        "guard.limit_delay",
        Action.STOP,
        "the lengths agree",
        "One transducer reads wrong, or a joint is loose: the seven legs no longer fit one rigid table.",
    ),
    Row(
        Code.RECORDER_LOST,
        "recorder lost",
        "the recorder process has ended or no longer takes frames",
        "",
        "",
        Action.INDICATE,
        "the next run",
        "The record has a gap or ends early: is the disk full? `mastd recover` reads what is there.",
    ),
)

ROWS: dict[Code, Row] = {row.code: row for row in TABLE}


@dataclass(frozen=True)
class Fault:
    """A fault that has happened: the row's code, what exactly was seen, and when."""

    code: Code
    detail: str
    time_ns: int
    cycle: int

    @property
    def action(self) -> Action:
        """Action of the fault's row."""
        return ROWS[self.code].action

    @property
    def cause(self) -> str:
        """One line for people: title and detail."""
        title = ROWS[self.code].title
        return f"{title}: {self.detail}" if self.detail else title


class FaultLatch:
    """Keeps the first cause of action *hold* or worse until reset, and every code that is active now."""

    def __init__(self) -> None:
        self.first: Fault | None = None
        self.stopped = False
        self.active: dict[Code, Fault] = {}

    def report(self, faults: Iterable[Fault]) -> Action | None:
        """Take over this cycle's faults; return the most severe action among those that are new."""
        worst: Action | None = None
        for fault in faults:
            if fault.code in self.active:
                continue
            self.active[fault.code] = fault
            if worst is None or fault.action > worst:
                worst = fault.action
            if fault.action >= Action.HOLD and (
                self.first is None or self.first.action < Action.STOP <= fault.action
            ):
                self.first = fault
            if fault.action >= Action.STOP:
                self.stopped = True
        return worst

    def clear(self, code: Code) -> None:
        """Forget that ``code`` is active (its condition has cleared); a latched first cause stays."""
        self.active.pop(code, None)

    def reset(self) -> None:
        """Forget everything, by an operator's explicit command."""
        self.first = None
        self.stopped = False
        self.active.clear()


def markdown() -> str:
    """Return docs/faults.md."""
    lines = [
        "# Faults",
        "",
        "Made from `mastd/safety/faults.py` by `python -m mastd.safety.faults`; a test keeps both equal.",
        "",
        "The most severe action of a cycle acts: *indicate* (shown and recorded), *hold* (the profile",
        "waits), *stop* (soft stop, then FAULT with the table standing), *power off* (supply off at once;",
        "the drive lets the table down). The first cause stays latched until `reset`. Thresholds and delays",
        "name their setting in `config/table.yaml` or `config/daemon/*.yaml`.",
        "",
    ]
    for row in TABLE:
        lines += [
            f"## {int(row.code)} · {row.title}",
            "",
            f"- **Code:** `{row.code.name}`; **action:** {row.action.name.lower().replace('_', ' ')}",
            f"- **Watched:** {row.detector}",
            f"- **Threshold:** {f'`{row.threshold}`' if row.threshold else 'none'}; "
            f"**may last:** {f'`{row.delay}`' if row.delay else 'no time at all'}",
            f"- **Clears when:** {row.clear}",
            f"- **What to do:** {row.hint}",
            "",
        ]
    return "\n".join(lines)


if __name__ == "__main__":
    import sys

    sys.stdout.write(markdown())
