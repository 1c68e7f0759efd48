"""Processes killed or stopped for a while at random, in every state of the table: ``make kills``.

A service on a simulated plant, real processes over real sockets. Each episode brings the table to a state,
sends SIGKILL, or SIGSTOP and after 50 ms to 10 s SIGCONT, to one process, and judges

- the table by the plant's true motion: accelerations, strokes, its way down; that a restart moves nothing;
- what is told: the fault or exit code that docs/operating.md states for the loss of this process;
- the records: readable after `mastd recover`, frames in order, no *pass* of a run that lost what it needs;
- the processes: none is left behind.

Seed N always is the same case; as many consecutive seeds as there are cases meet each of them once.
"""

from __future__ import annotations

import argparse
import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.errors import REFUSED, FormatError, MastdError, UsageError
from mastd.kinematics.geometry import Geometry
from mastd.kinematics.workspace import lengths_at
from mastd.record.completeness import MAX_LOST_SHARE
from mastd.record.reader import Run, open_run
from mastd.record.recover import recover
from mastd.record.result import make_result
from mastd.settings.core.axes import AXES
from mastd.settings.core.loader import load
from mastd.settings.table.table import TableSettings
from mastd.signals.acceleration_figures import ARMS
from tests.support.kill_bench import AMPLITUDE, DOWN, OPERATOR, Bench, pause

STATES: Final = ("OFF", "RAISING", "READY", "RUNNING", "HOLD", "STOPPING", "LOWERING")
PLAYING: Final = ("RUNNING", "HOLD", "STOPPING")
PROCESSES: Final = ("loop", "recorder", "gateway", "rigs' gateway", "plant")
NEEDED: Final = ("loop", "recorder", "gateway", "plant")
"""Processes without which a run cannot pass."""
ATTEMPTS: Final = 12
"""How often a state is tried for: a busy machine faults a table now and then, and some states are short."""
EPISODES_OF_A_BENCH: Final = 20
STOP_COMPRESSION: Final = 0.001
"""By how much the end stops below a resting table give, m."""
STILL: Final = 0.001
"""Displacement in m, of angles at a metre's distance, that is none."""
FIRST_CHUNK_S: Final = 1.0
"""A record that is younger may not have any frame on disk."""


@dataclass(frozen=True)
class Case:
    """What is done to which process in which state."""

    signal: str
    process: str
    state: str


CASES: Final = [
    Case(signal, process, state)
    for signal in ("KILL", "STOP")
    for state in STATES
    for process in (*PROCESSES, *(("loader",) if state in ("OFF", "READY") else ()))
]
Random(1).shuffle(CASES)


@dataclass
class Outcome:
    """What was seen in one episode; ``problems`` is empty if all is well."""

    seed: int
    case: Case
    stopped_s: float = 0.0
    peak: float = 0.0
    """Largest true acceleration, m/s², of angles at the arms of the acceleration figures."""
    peak_at: str = ""
    """Axis, true heave and plant time of the peak."""
    reached: bool = True
    """The state was reached; where it was not, on a machine that is too busy, nothing was killed."""
    verdicts: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def expect(self, true: object, problem: str) -> None:
        """Note a problem unless something is true."""
        if not true:
            self.problems.append(problem)


class Episode:
    """One episode on a bench, whose plant and service run with the table down when it begins and ends."""

    def __init__(self, bench: Bench, seed: int) -> None:
        self.bench = bench
        self.random = Random(seed)
        case = CASES[seed % len(CASES)]
        self.outcome = Outcome(seed, case)
        self._rows: list[FloatArray] = []
        self._asked_load: subprocess.Popen[str] | None = None
        self._played = 0.0

    def run(self) -> Outcome:
        """Play the episode and judge it."""
        case, bench = self.outcome.case, self.bench
        try:
            bench.motion(bench.plant_time())
            self.outcome.reached = self._reach_with_patience()
            if not self.outcome.reached:
                return self.outcome
            target = self._target()
            if case.signal == "KILL":
                os.kill(target, signal.SIGKILL)
                after = {"loop": self._after_loop, "gateway": self._after_gateway, "plant": self._after_plant}
                after.get(case.process, self._after_helper)()
            else:
                self.outcome.stopped_s = math.exp(self.random.uniform(math.log(0.05), math.log(10.0)))
                os.kill(target, signal.SIGSTOP)
                pause(self.outcome.stopped_s)
                os.kill(target, signal.SIGCONT)
                self._after_helper()
            self._take_motion()
            self._judge_records()
            self._judge_motion()
            strays = bench.strays
            bench.wait_for(lambda: not strays(), "end of the processes that were left", 30.0)
        except (AssertionError, MastdError, OSError, subprocess.TimeoutExpired) as error:
            self.outcome.problems.append(f"{type(error).__name__}: {error}")
        return self.outcome

    def _reach_with_patience(self) -> bool:
        for _ in range(ATTEMPTS):
            self._reach()
            if self.bench.state() == self.outcome.case.state:
                self._played = float(self.bench.status()["profile"]["time_s"] or 0.0)
                return True
            self.bench.come_down()
            pause(1.0)
        return False

    def _reach(self) -> None:
        """Bring the table to the state; on the way it may fall into a fault."""
        bench, wanted, uniform = self.bench, self.outcome.case.state, self.random.uniform
        if wanted == "OFF":
            return
        bench.wait_for(lambda: bench.command("raise"), "command that raises the table", 30.0)
        if wanted == "RAISING":
            self._until("RAISING")
            pause(uniform(0.0, 0.4))
            return
        self._until("READY")
        if wanted == "LOWERING":
            bench.command("lower")
            self._until("LOWERING")
            pause(uniform(0.0, 0.8))
        if wanted in PLAYING:
            bench.command("arm")
            bench.command("start")
            self._until("RUNNING")
            pause(uniform(0.1, 2.5))
        if wanted == "HOLD":
            bench.command("hold")
            self._until("HOLD")
            pause(uniform(0.0, 1.0))
        if wanted == "STOPPING":
            bench.command("stop")

    def _until(self, state: str) -> None:
        """Return in a state, or in one from which it cannot be reached."""
        bench = self.bench
        bench.wait_for(lambda: bench.state() in (state, "FAULT", "ESTOP", "OFF"), f"state {state}", 30.0)

    def _target(self) -> int:
        """Return the process that is hit; a loader is there only while it loads."""
        bench, name = self.bench, self.outcome.case.process
        if name == "loader":
            self._asked_load = bench.lab.start("ctl", "load", bench.profile, "--as", OPERATOR)
        asked = self._asked_load
        bench.wait_for(lambda: bench.process_id(name) or (asked and asked.poll()), f"process {name}", 30.0)
        if name == "loader":
            pause(self.random.uniform(0.0, 0.8))
        target = bench.process_id(name)
        told = asked.communicate() if asked is not None and target is None else ""
        assert target is not None, f"process {name} is not there: {told}"
        return target

    def _take_motion(self) -> None:
        self._rows.append(self.bench.motion(max(0.0, self.bench.plant_time())))

    def _restart(self) -> None:
        """Start the service anew: within a second of its start in OFF the table does not move."""
        bench = self.bench
        self._take_motion()
        bench.start_service()
        self._stands("restart")
        told = bench.status().get("last_ending")
        if self.outcome.case == Case("KILL", "loop", self.outcome.case.state):
            self.outcome.expect(told, "the restarted service does not tell of its last ending")

    def _stands(self, what: str) -> None:
        """Judge that nothing has moved since the last look at the motion, and does not for a second more."""
        bench = self.bench
        rows = bench.motion(bench.plant_time() + 1.0)
        self._rows.append(rows)
        moved = float(np.ptp(rows[:, 1:7] * ARMS, axis=0).max())
        self.outcome.expect(moved < STILL, f"{what} has moved the table by {1e3 * moved:.2f} mm")

    def _lies(self) -> None:
        self.bench.wait_for(lambda: self.bench.heave() < DOWN, "table on its stops", 40.0)

    def _after_loop(self) -> None:
        """The drive lets the table down by itself, and the processes around the loop end."""
        bench = self.bench
        assert bench.service is not None
        bench.service.wait(30.0)
        bench.leave()
        self._lies()
        bench.wait_for(lambda: not bench.strays(), "end of the killed service's processes", 30.0)
        self._restart()

    def _after_gateway(self) -> None:
        """The service lowers the table and ends with exit code 3."""
        bench = self.bench
        assert bench.service is not None
        code = bench.service.wait(60.0)
        bench.leave()
        self.outcome.expect(code == 3, f"exit code {code} of a service without its gateway, 3 is documented")
        self._lies()
        self._restart()

    def _after_plant(self) -> None:
        """The loop faults, finds a new plant by itself, and can be used after a reset."""
        bench = self.bench
        assert bench.plant is not None
        bench.plant.wait(30.0)
        codes = {"SAMPLE_STALE", "PLANT_LOST"}
        bench.wait_for(lambda: codes & set(bench.status().get("active", ())), "word of the lost plant", 10.0)
        if self.outcome.case.state != "OFF":
            bench.wait_for(lambda: bench.state() in ("FAULT", "ESTOP"), "fault of the lost plant", 10.0)
        self._rows.append(bench.motion())
        bench.start_plant()
        bench.wait_for(
            lambda: not codes & set(bench.status().get("active", codes)), "plant found again", 30.0
        )
        bench.come_down()
        self._stands("a new plant")

    def _after_helper(self) -> None:
        """The loop goes on, or stops as its faults say; what was asked for can be had afterwards."""
        bench, case = self.bench, self.outcome.case
        told = {"recorder": "RECORDER_LOST", "rigs' gateway": "RIG_LOST"}.get(case.process)
        if case.signal == "KILL" and told is not None:
            bench.wait_for(lambda: told in bench.status().get("active", ()), f"word of {told}", 5.0)
        if self._asked_load is not None:
            output, errors = self._asked_load.communicate(timeout=150.0)
            code = self._asked_load.returncode
            wanted = REFUSED if case.signal == "KILL" else 0
            self.outcome.expect(code == wanted, f"load ended with {code}: {output} {errors}")
        if case.state in ("RUNNING", "HOLD"):
            if bench.state() == "HOLD":
                bench.command("resume")
            bench.wait_for(lambda: bench.state() not in ("", *PLAYING), "end of the profile", 30.0)
        bench.come_down()
        if case.signal == "KILL" and told is not None:
            code = bench.end_service()
            self.outcome.expect(code in (0, 3), f"exit code {code} of a service without its {case.process}")
            self._restart()

    def _judge_motion(self) -> None:
        """Judge the true motion of the whole episode."""
        outcome, rows = self.outcome, np.concatenate(self._rows)
        table = load(self.bench.lab.table, TableSettings)
        geometry = Geometry.from_settings(table)
        sizes = np.abs(rows[:, 13:19] * ARMS)
        row, axis = np.unravel_index(np.argmax(sizes), sizes.shape)
        outcome.peak = float(sizes[row, axis])
        outcome.peak_at = f"{AXES[axis]} at {1e3 * rows[row, 3]:.1f} mm, {rows[row, 0]:.3f} s"
        limit = table.limits.acceleration
        outcome.expect(outcome.peak < limit, f"true acceleration {outcome.peak:.1f} of {limit:g} m/s2")
        lengths = lengths_at(geometry, rows[:, 1:7])
        beyond = float((lengths - geometry.longest_lengths).max()) + table.limits.stroke_margin
        below = float((geometry.shortest_lengths - lengths).max()) - STOP_COMPRESSION
        outcome.expect(beyond < 0.0, f"true length {1e3 * beyond:.2f} mm into the stroke margin")
        outcome.expect(below < 0.0, f"true length {1e3 * below:.2f} mm into its lower stop")
        if "pass" in outcome.verdicts:
            peak = float(rows[:, 3].max())
            outcome.expect(
                peak > 0.9 * AMPLITUDE, f"pass, but the table has reached {1e3 * peak:.2f} mm only"
            )

    def _judge_records(self) -> None:
        """Judge every record of the episode, then put it aside."""
        for path in sorted(self.bench.lab.directory.glob("runs/**/*.mcap")):
            if ".damaged" in path.name or ".judged" in path.name:
                continue
            try:
                self._judge_record(path)
            except FormatError as error:
                young = self._played < FIRST_CHUNK_S and self.outcome.case.signal == "KILL"
                self.outcome.expect(young, f"{path.parent.name}: {error}")
                self.outcome.verdicts.append("no frames")
            path.rename(path.with_suffix(".judged.mcap"))

    def _judge_record(self, path: Path) -> None:
        outcome, case = self.outcome, self.outcome.case
        deadline = time.monotonic() + 30.0
        while True:
            try:
                recover(path)
                break
            except UsageError:  # the recorder has not yet closed it
                assert time.monotonic() < deadline, f"{path.name} is being recorded for ever"
                pause(0.2)
        run = open_run(path)
        name = f"{path.parent.name}/{path.name}"
        ascending = np.all(np.diff(run.numbers) > 0) and np.all(np.diff(run.times) > 0.0)
        outcome.expect(ascending, f"{name}: frames are not in their order")
        unsound = run.damage is not None and not run.damage.startswith(
            ("frames missing", "its end is missing")
        )
        outcome.expect(not unsound, f"{name}: after recovery {run.damage}")
        if path.name.startswith("fault-"):
            return
        verdict = str(make_result(run)["verdict"])
        outcome.verdicts.append(verdict)
        if verdict == "pass":
            killed = case.signal == "KILL" and case.process in NEEDED and case.state in PLAYING
            outcome.expect(not killed, f"{name}: pass of a run whose {case.process} was killed")
            share = missing_share(run)
            outcome.expect(share <= MAX_LOST_SHARE, f"{name}: pass with {share:.2%} of its frames missing")


def missing_share(run: Run) -> float:
    """Return the share of frames that are missing between the first and the last one of RUNNING."""
    states = run.metadata["states"]
    assert isinstance(states, list)
    first, *_, last = run.numbers[run.columns["state"] == states.index("RUNNING")]
    within = np.count_nonzero((run.numbers >= first) & (run.numbers <= last))
    return float(1.0 - within / (last - first + 1))


def campaign(out: Path, seeds: Sequence[int]) -> Iterator[Outcome]:
    """Play an episode for each seed; benches of episodes with problems stay in ``out``."""
    left = list(seeds)
    while left:
        directory = out / f"from-{left[0]}"
        with tempfile.TemporaryDirectory(prefix="mastd-kills-") as runtime:
            bench = Bench(directory.absolute(), Path(runtime))
            clean = True
            try:
                bench.start_plant()
                bench.start_service()
                for _ in range(min(EPISODES_OF_A_BENCH, len(left))):
                    outcome = Episode(bench, left.pop(0)).run()
                    clean = not outcome.problems
                    yield outcome
                    if not clean:
                        break
            finally:
                bench.close()
        if clean:
            shutil.rmtree(directory)


def line(outcome: Outcome) -> str:
    """Return an episode in one line."""
    case = outcome.case
    stopped = f" {outcome.stopped_s:.2f} s" if outcome.stopped_s else ""
    text = f"{outcome.seed}: {case.signal}{stopped} {case.process} in {case.state}: {outcome.peak:.2f} m/s2"
    text += f" ({outcome.peak_at})" if outcome.peak_at else ""
    text += f", {' '.join(outcome.verdicts) or 'no run'}" if outcome.reached else ", state not reached"
    return "; PROBLEM: ".join([text, *outcome.problems])


def table(outcomes: list[Outcome]) -> str:
    """Return the table of a campaign."""
    groups: dict[Case, list[Outcome]] = defaultdict(list)
    played = [outcome for outcome in outcomes if outcome.reached or outcome.problems]
    for outcome in played:
        groups[outcome.case].append(outcome)
    lines = ["signal | process | state | episodes | failed | worst true acceleration | verdicts"]
    for case in sorted(groups, key=lambda case: (case.signal, case.process, STATES.index(case.state))):
        group = groups[case]
        verdicts = Counter(verdict for outcome in group for verdict in outcome.verdicts)
        told = ", ".join(f"{count} {name}" for name, count in sorted(verdicts.items()))
        failed = sum(bool(outcome.problems) for outcome in group)
        worst = max(outcome.peak for outcome in group)
        figures = f"{len(group)} | {failed} | {worst:.2f} m/s2"
        lines.append(f"{case.signal} | {case.process} | {case.state} | {figures} | {told}")
    failed_seeds = [outcome.seed for outcome in outcomes if outcome.problems]
    busy = f"; {len(outcomes) - len(played)} more, whose state was not reached: busy machine"
    clean = f"{len(played)} episodes, {len(played) - len(failed_seeds)} clean"
    lines.append(clean + (busy if len(played) < len(outcomes) else ""))
    lines.append(f"failed seeds: {' '.join(map(str, failed_seeds))}" if failed_seeds else "clean")
    return "\n".join(lines)


def main() -> int:
    """Play the campaign and print its table; return 1 where an episode has failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--episodes", type=int, default=300, help="how many (300)")
    parser.add_argument(
        "--seed", type=int, default=1, help="seed of the first one, which the next count on (1)"
    )
    parser.add_argument("--out", type=Path, default=Path("runs/kills"), help="where failed ones are kept")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that it, too, leaves no process behind
    arguments.out.mkdir(parents=True, exist_ok=True)
    out = Path(tempfile.mkdtemp(prefix=time.strftime("%Y%m%d-%H%M%S-"), dir=arguments.out))
    outcomes: list[Outcome] = []
    with suppress(KeyboardInterrupt):  # what was played until then is told
        for outcome in campaign(out, range(arguments.seed, arguments.seed + arguments.episodes)):
            outcomes.append(outcome)
            print(line(outcome), flush=True)
    print(table(outcomes))
    return 1 if any(outcome.problems for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
