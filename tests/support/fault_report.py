"""Every fault that can be injected into the plant, over the real link: found when, by which code, and then?

``make fault-table`` prints the table. Each fault starts at 5 s of plant time in a run of its own; loop, link,
recorder and plant are the real ones, in lockstep. Times are those of the record.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pydantic import BaseModel

from hil_sim.faults import names
from mastd.loop.process.host import Connection
from mastd.loop.process.installation import Plan
from mastd.loop.service.single_run import run
from mastd.record.reader import Run, open_run
from mastd.safety.faults import ROWS, Code
from mastd.settings.table.internal_forces import force_patterns
from mastd.wire.plant.provider import PlantRequest, rigid_payload
from tests.support.lab import SHAKING, quick_lab

AT_S = 5.0
VALUES = {
    "length-offset.2": ":-3mm",
    "length-drift.1": ":1mm/s",
    "length-noise.3": ":1mm",
    "pressure-offset.1": ":150bar",
    "pressure-drift.1": ":100bar/s",
    "pressure-noise.1": ":150bar",
    "spool-offset.3": ":20%",
    "spool-drift.3": ":0.1 1/s",
    "spool-noise.3": ":5%",
    "accelerometer-offset.2": ":0.2g",
    "accelerometer-drift.2": ":0.1g/s",
    "accelerometer-noise.2": ":0.2g",
    "valve-stuck.7": ":5%",
    "supply-weak": ":0%",
    "oil-temperature": ":90degC",
    "clock-rate": ":1.3",
    "silence": ":10s",
}
CHANNELS = {"length": "3", "pressure": "3", "spool": "3", "accelerometer": "2"}
NOT_FAULTS = ("estop-release", "clear")


@dataclass(frozen=True)
class Line:
    """One row of the table."""

    injected: str
    found: str
    after: str
    stood: str
    allowed: str
    action: str
    state: str
    cause: str


def injections() -> list[str]:
    """Return every fault by its name and channel, with a value where one is due."""
    given = {key.split(".")[0]: key for key in VALUES}
    found = []
    for name in names():
        if name in NOT_FAULTS or name.startswith("displacement-"):  # the starter table has no such sensor
            continue
        sensor = name.split("-")[0]
        key = given.get(name) or (f"{name}.{CHANNELS[sensor]}" if sensor in CHANNELS else name)
        found.append(key)
    return found


def stated_delay(plan: Plan, code: Code) -> str:
    """Return the delay that the fault table states, in ms."""
    path = ROWS[code].delay
    if not path:
        return "at once"
    value: object = plan.daemon
    for part in path.split("."):
        if not isinstance(value, BaseModel) or not hasattr(value, part):
            return path
        value = getattr(value, part)
    return f"{float(str(value)) * 1e3:.0f} ms"


def had_stood(plan: Plan, record: Run, code: Code, row: int) -> str:
    """Return for how long the record itself shows the limit passed when the fault was found, where it can."""
    table, limits = plan.table, plan.table.limits
    columns, actuators = record.columns, range(1, len(table.links) + 1)
    if code is Code.INTERNAL_FORCE:
        forces = np.array([columns[f"pattern_force.{k}"] for k in range(1, len(force_patterns(table)) + 1)])
        bounds = np.array([pattern.limit for pattern in force_patterns(table)])
        beyond = np.any(np.abs(forces) > bounds[:, None], axis=0)
    elif code is Code.REDUNDANCY:
        beyond = np.abs(columns["redundancy_residual"]) > limits.redundancy_residual
    elif code is Code.FORCE:
        ratios = [
            np.abs(columns[f"force.{k}"]) / type_.cylinder.maximum_force
            for k, type_ in zip(actuators, table.types, strict=True)
        ]
        beyond = np.max(ratios, axis=0) > limits.force_share
    elif code is Code.FOLLOWING_ERROR:
        # A sample answers the command of the frame before it.
        errors = [columns[f"length.{k}"][1:] - columns[f"command.length.{k}"][:-1] for k in actuators]
        beyond = np.concatenate(([False], np.max(np.abs(errors), axis=0) > limits.following_error.minimum))
    else:
        return ""
    inside = np.flatnonzero(~beyond[:row])
    return f"{(row - inside[-1] - 1) * plan.daemon.period_ns * 1e-6:.0f} ms"


def line(plan: Plan, directory: Path, key: str) -> Line:
    """Play the profile with one fault and tell what became of it."""
    injected = f"{key}@{AT_S:g}s{VALUES.get(key, '')}"
    request = PlantRequest(
        plan.table_path,
        payload=rigid_payload(plan.profile),
        mode="lockstep",
        period_ns=plan.daemon.period_ns,
        faults=(injected,),
    )
    path = directory / key / "run.mcap"
    ending = run(plan, Connection(None, "socket", "lockstep", request), path, live=False)
    record = open_run(path)
    faults = [event for event in record.events if event.get("event") == "fault"]
    if not faults:
        return Line(injected, "–", "–", "–", "–", "recorded only", ending.state.name, "no limit is passed")
    strongest = next((event for event in faults if event["action"] != "INDICATE"), faults[0])
    code = Code(int(str(strongest["code"])))
    row = int(np.searchsorted(record.columns["cycle"], float(str(strongest["cycle"]))))
    times = record.columns["plant_time"]
    after = times[min(row, len(times) - 1)] - AT_S
    stood = had_stood(plan, record, code, row)
    text = f"{after * 1e3:.0f} ms" if code is not Code.PLANT_LOST else "2000 ms without a sample"
    return Line(
        injected,
        code.name,
        text,
        stood,
        stated_delay(plan, code),
        str(strongest["action"]).lower().replace("_", " "),
        ending.state.name,
        str(strongest["cause"]),
    )


def main() -> int:
    """Print the table."""
    with tempfile.TemporaryDirectory(prefix="mastd-faults-") as name:
        directory = Path(name)
        lab = quick_lab(directory)
        plan = Plan.load(lab.table, lab.profile(SHAKING), lab.config)
        out = sys.stdout.write
        out("| injected at 5 s | found | after | limit passed for | may last | action | state | cause |\n")
        out("|---|---|---|---|---|---|---|---|\n")
        for key in injections():
            out("| " + " | ".join(vars(line(plan, directory, key)).values()) + " |\n")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
