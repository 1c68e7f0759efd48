"""Faults at run time: what a detector reports, what has happened, and what stays latched.

A fault is data, never an exception. Detectors (``mastd.safety.guard`` and the loop) report a code with a
detail; a condition that lasts for its row's delay becomes a fault. The most severe action of a cycle acts,
the first cause stays latched until ``reset``. The table of all faults is ``mastd.safety.rows``, from which
``python -m mastd.safety.faults`` makes docs/faults.md.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from mastd.safety.codes import CODES, Action, Code, Row, bits
from mastd.safety.rows import ROWS, TABLE

__all__ = [
    "CODES",
    "ROWS",
    "TABLE",
    "Action",
    "Code",
    "Fault",
    "FaultLatch",
    "Report",
    "Row",
    "bits",
    "markdown",
]


class Report(NamedTuple):
    """A condition that stands in this cycle; ``action`` replaces that of the code's row."""

    code: Code
    detail: str
    action: Action | None = None


@dataclass(frozen=True)
class Fault:
    """A fault that has happened: the row's code, what exactly was seen, and when."""

    code: Code
    detail: str
    time_ns: int
    cycle: int
    action_override: Action | None = None
    """Action of this very fault where it is not the row's (limits of a profile)."""

    @property
    def action(self) -> Action:
        """What this fault does."""
        return ROWS[self.code].action if self.action_override is None else self.action_override

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

    def observe(self, reports: Collection[Report], time_ns: int, cycle: int) -> list[Fault]:
        """Take over all conditions of a cycle; return the faults that are new or have become more severe.

        A code that is no longer reported is active no more; a latched first cause stays.
        """
        present = {code for code, _, _ in reports}
        for code in [code for code in self.active if code not in present]:
            self.clear(code)
        new = [
            fault
            for fault in (Fault(code, detail, time_ns, cycle, action) for code, detail, action in reports)
            if self._is_new(fault)
        ]
        self.report(new)
        return new

    def report(self, faults: Iterable[Fault]) -> Action | None:
        """Take over faults; return the most severe action among those that are new."""
        worst: Action | None = None
        for fault in faults:
            if not self._is_new(fault):
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

    def _is_new(self, fault: Fault) -> bool:
        active = self.active.get(fault.code)
        return active is None or fault.action > active.action


def markdown() -> str:
    """Return docs/faults.md."""
    lines = [
        "# Faults",
        "",
        "Generated from `mastd/safety/rows.py` by `python -m mastd.safety.faults`; a test keeps both equal.",
        "",
        "The most severe action of a cycle is taken: *indicate* (shown and recorded), *hold* (the profile",
        "waits), *stop* (soft stop, then FAULT with the table at rest), *power off* (supply off immediately;",
        "the drive lowers the table). The first cause stays latched until `reset`. Thresholds and delays",
        "name their setting in `config/table.yaml` or `config/daemon/*.yaml`.",
        "",
        "A simulated plant at rest (OFF) waits for a busy machine: there stale and missing samples, missed",
        "periods, a loop that was stuck and clocks that disagree are only indicated.",
        "",
        "| Code | Fault | Action |",
        "|---:|---|---|",
        *(f"| {int(row.code)} | {row.title} | {row.action.title} |" for row in TABLE),
        "",
    ]
    for row in TABLE:
        lines += [
            f"## {int(row.code)} · {row.title}",
            "",
            f"- **Code:** `{row.code.name}`; **action:** {row.action.title}",
            f"- **Monitored:** {row.detector}",
            f"- **Threshold:** {_settings(row.threshold, *row.also) or 'none'}; "
            f"**delay:** {_settings(row.delay) or 'none'}",
            f"- **Clears when:** {row.clear}",
            f"- **What to do:** {row.hint}",
            "",
        ]
    return "\n".join(lines)


def _settings(*paths: str) -> str:
    return ", ".join(f"`{path}`" for path in paths if path)


if __name__ == "__main__":
    import sys

    sys.stdout.write(markdown())
