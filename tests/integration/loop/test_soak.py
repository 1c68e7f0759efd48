"""``hil-sim soak``: clean, repeatable, and it finds what is wrong and writes it down."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hil_sim.cli import main
from hil_sim.commands.soak import text
from hil_sim.plant.truth import PlantTruth
from hil_sim.soak.history import FAILURE_FILE
from hil_sim.soak.invariants import RULES, Invariants, outcomes
from hil_sim.soak.numbers import Bounds
from hil_sim.soak.soak import SoakOptions, SoakResult, soak
from hil_sim.soak.world import World
from mastd.control.table.computed import with_computed_settings
from mastd.record.reader import open_run
from mastd.safety.states import Event, State
from mastd.settings.core.loader import load
from mastd.settings.core.starter import find
from mastd.settings.daemon.daemon import DaemonSettings
from mastd.settings.table.payload import NoPayload
from mastd.settings.table.table import TableSettings
from mastd.wire.access.verbs import Verb
from tests.support.lab import ROOT

SECOND = 1.0 / 3600.0


def options(seconds: float, seed: int, faults_per_minute: float, **others: object) -> SoakOptions:
    made = SoakOptions(
        find("table", "table"), find("daemon", "simulated"), seconds * SECOND, seed, faults_per_minute
    )
    return replace(made, **others)  # type: ignore[arg-type]


def test_two_minutes_with_many_faults_are_clean() -> None:
    result = soak(options(120.0, 3, 8.0))
    assert result.violation is None, text(result)
    tally = result.tally
    assert tally.cycles + tally.missed == pytest.approx(120_000, abs=600)
    assert sum(tally.faults.values()) >= 8
    assert sum(tally.codes.values()) >= 3
    assert sum(tally.refused.values()) >= 5
    for verb in ("raise", "arm", "start", "load", "stop"):
        assert tally.accepted[verb] >= 1
    for state in (State.OFF, State.RAISING, State.READY, State.RUNNING, State.FAULT):
        assert tally.states[state.name] > 0
    checks = tally.invariants
    assert checks["COMMAND_FINITE"] == checks["NO_MOTION"] == tally.cycles
    assert min(checks[name] for name in ("JERK", "STANDS", "TRANSITION", "REFUSAL", "CAUSE", "STOP")) > 0
    assert result.tally.maxima["length_step_m"] < 1e-6


@pytest.mark.evidence
@pytest.mark.parametrize("name", ["eight_actuators", "biaxial", "uniaxial", "uniaxial_electric"])
def test_six_minutes_on_another_table_are_clean(name: str) -> None:
    table = ROOT / "config" / "tables" / name / "table.yaml"
    result = soak(options(360.0, 1, 1.0, table=table))
    assert result.violation is None, text(result)
    assert f"--table {table} " in result.replay


def test_a_seed_gives_the_same_frames_again_and_another_one_others() -> None:
    first, again, other = (soak(options(20.0, seed, 20.0)) for seed in (7, 7, 8))
    assert first.digest == again.digest
    assert first.tally.faults == again.tally.faults
    assert first.digest != other.digest


def test_a_violation_is_written_with_the_seconds_before_it_and_comes_again(tmp_path: Path) -> None:
    bounds = Bounds(rate=0.015)  # raising takes 20 mm/s
    found = soak(options(30.0, 5, 2.0, out=tmp_path, bounds=bounds))
    assert found.violation is not None
    assert found.violation.rule == "RATE"
    assert "bound 0.015" in found.violation.detail
    assert found.record is not None
    record = open_run(found.record)
    assert record.damage is None
    assert len(record.times) == min(10_000, found.tally.cycles)
    rates = record.matrix(record.numbered("command.rate"))
    assert np.abs(rates[-1]).max() > 0.015
    assert np.abs(rates[:-1]).max() <= 0.015
    assert record.columns["cycle"][-1] == found.violation.cycle
    assert {event["event"] for event in record.events} >= {"state", "request", "violation"}
    assert np.abs(record.columns["true_pose.heave"] - record.columns["pose.heave"]).max() < 1e-4
    failure = json.loads((found.record.parent / FAILURE_FILE).read_text(encoding="utf-8"))
    assert (failure["seed"], failure["episode"], failure["rule"]) == (5, 0, "RATE")
    assert "again        hil-sim soak --seed 5 --episode 0 --faults-per-minute 2 --hours" in text(found)

    again = soak(options(30.0, 5, 2.0, out=tmp_path, bounds=bounds, episode=0))
    assert again.violation == found.violation
    assert again.digest == found.digest
    assert again.record != found.record


@pytest.fixture(scope="module")
def settings() -> tuple[TableSettings, DaemonSettings]:
    table = load(find("table", "table"), TableSettings)
    return table, with_computed_settings(table, load(find("daemon", "simulated"), DaemonSettings))


def halt_everything(world: World) -> None:
    world.cycle.frame.field("command.lengths")[0] = np.nan


def follow_in_off(world: World) -> None:
    world.cycle.command.mode, world.cycle.command.stage = 1, 2


def change_without_event(world: World) -> None:
    world.cycle.supervisor.state = State.LOWERING


def change_beside_the_table(world: World) -> None:
    world.cycle.supervisor.state = State.RUNNING
    world.events = [{"event": "state", "from": "OFF", "to": "RUNNING", "by": "start", "cause": ""}]


def fault_without_cause(world: World) -> None:
    world.cycle.supervisor.state = State.FAULT
    world.events = [{"event": "state", "from": "OFF", "to": "FAULT", "by": "fault: stop", "cause": ""}]


def raise_unasked(world: World) -> None:
    world.cycle.supervisor.state = State.LOW
    world.events = [{"event": "state", "from": "OFF", "to": "LOW", "by": "raise", "cause": ""}]


def stop_out_of_nothing(world: World) -> None:
    world.events = [{"event": "fault", "code": 9, "name": "FORCE", "action": "STOP", "cause": "force limit"}]


@pytest.mark.parametrize(
    ("breaks", "rule"),
    [
        (halt_everything, "COMMAND_FINITE"),
        (follow_in_off, "NO_MOTION"),
        (change_without_event, "TRANSITION"),
        (change_beside_the_table, "TRANSITION"),
        (raise_unasked, "TRANSITION"),
        (fault_without_cause, "CAUSE"),
        (stop_out_of_nothing, "ALARM"),
    ],
)
def test_each_broken_rule_is_named(
    settings: tuple[TableSettings, DaemonSettings], breaks: Callable[[World], None], rule: str
) -> None:
    world = World(*settings, NoPayload(), PlantTruth(), 1)
    invariants = Invariants(world, *settings, Bounds())
    for _ in range(5):
        world.step(Verb.NONE, ())
        assert invariants.check(Verb.NONE) is None
    breaks(world)
    violation = invariants.check(Verb.NONE)
    assert violation is not None
    assert violation.rule == rule
    assert RULES[rule] in violation.text
    world.close()


@pytest.mark.parametrize(
    ("field", "change", "rule"),
    [
        ("command.lengths", 1e-5, "LENGTH_CONTINUOUS"),
        ("command.lengths", -0.06, "STROKE"),
        ("command.rates", 0.7, "RATE"),
        ("command.accelerations", 13.0, "ACCELERATION"),
        ("command.rates", 1e-7, "STANDS"),
    ],
)
def test_each_broken_number_is_named(
    settings: tuple[TableSettings, DaemonSettings], field: str, change: float, rule: str
) -> None:
    world = World(*settings, NoPayload(), PlantTruth(), 1)
    invariants = Invariants(world, *settings, Bounds())
    world.step(Verb.NONE, ())
    assert invariants.check(Verb.NONE) is None
    world.step(Verb.RAISE, (0.0, 0.0, 0.0, 0.0))
    assert invariants.check(Verb.RAISE) is None
    while world.cycle.supervisor.state is not State.READY:
        world.step(Verb.NONE, ())
        assert invariants.check(Verb.NONE) is None
    world.step(Verb.NONE, ())
    world.cycle.frame.field(field)[2] += change
    violation = invariants.check(Verb.NONE)
    assert violation is not None
    assert violation.rule == rule
    world.close()


def test_the_table_of_states_is_what_the_transitions_are_checked_against() -> None:
    assert outcomes(State.READY, Event.ARM) == {State.READY, State.ARMED}
    assert outcomes(State.RUNNING, Event.ESTOP) == {State.ESTOP}
    assert outcomes(State.FAULT, Event.RESET) == {State.FAULT, State.READY, State.OFF}


def test_the_command_prints_one_document_and_its_exit_code_tells(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["soak", "--hours", "0.001", "--seed", "4", "--json"]) == 0
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert err == ""
    assert document["ok"] is True
    assert document["violation"] is None
    assert document["cycles"] == 3600
    assert not (tmp_path / "soak").exists()
    assert main(["soak", "--hours", "0.001", "--episode", "1"]) == 2
    assert "no episode 1" in capsys.readouterr().err
    for wrong in (["--hours", "0"], ["--faults-per-minute", "-1"], ["--hours", "soon"]):
        with pytest.raises(SystemExit) as ended:
            main(["soak", *wrong])
        assert ended.value.code == 2


def test_the_summary_names_everything(tmp_path: Path) -> None:
    result: SoakResult = soak(options(10.0, 1, 30.0))
    shown = text(result)
    for word in (
        "cycles",
        "wall time",
        "profiles",
        "faults",
        "commands",
        "invariants",
        "memory",
        "digest",
        "clean",
    ):
        assert word in shown
