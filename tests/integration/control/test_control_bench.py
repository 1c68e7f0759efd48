"""Benches of the control: hidden truths, plays judged by the true motion, results that are gone on with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hil_sim.plant.truth import PlantTruth
from mastd.bench.control.profiles import PEAKS, matrix_noise, noise, read_profile, wide_noise
from mastd.bench.control.results import FILE, Job, Result, Results
from mastd.bench.control.truth import hidden_truth, with_offset
from mastd.bench.registry import Figure, Scope, long_names, measure, names
from mastd.commands.bench import seeds_of
from mastd.errors import UsageError
from mastd.motion.preflight.preflight import exceeded
from mastd.motion.profile.compiler import program
from mastd.settings.core.loader import load
from mastd.settings.core.starter import find
from mastd.settings.table.table import TableSettings


@pytest.fixture(scope="module")
def table() -> TableSettings:
    return load(find("table", "table"), TableSettings)


def test_a_hidden_truth_is_within_its_bounds_and_the_plant_reads_it(
    table: TableSettings, tmp_path: Path
) -> None:
    payload = read_profile(noise("heave")).payload
    seen = set()
    for seed in range(1, 11):
        truth = with_offset(hidden_truth(table, payload, seed), 2, 0.2e-3)
        read = load(truth.write(tmp_path / "truth.yaml"), PlantTruth)
        assert read.payload is not None
        assert 10_800.0 <= read.payload.mass <= 13_200.0
        assert 1.8 <= read.payload.centre_of_gravity[2] <= 2.2
        assert max(abs(place) for place in read.payload.centre_of_gravity[:2]) <= 0.05
        for actuator in read.actuators:
            assert actuator.rated_flow == pytest.approx(table.types[0].valve.rated_flow, rel=0.1)
            assert actuator.bulk_modulus == pytest.approx(table.types[0].cylinder.bulk_modulus, rel=0.1)
            assert actuator.coulomb == pytest.approx(table.types[0].cylinder.friction.coulomb, rel=0.1)
            assert actuator.delay == pytest.approx(table.types[0].valve.delay, abs=0.25e-3)
            assert actuator.overlap == 0.005
            seen.add(actuator.rated_flow)
        assert [one.transducer_offset for one in read.actuators] == [0, 0, 0.2e-3, 0, 0, 0, 0]
    assert len(seen) == 70, "every actuator of every seed is another one"
    assert hidden_truth(table, payload, 3) == hidden_truth(table, payload, 3)


def test_what_is_played_passes_the_check(table: TableSettings) -> None:
    texts = [matrix_noise(), *(text(axis) for axis in PEAKS for text in (noise, wide_noise))]
    for profile in map(read_profile, texts):
        assert not exceeded(program(profile, table), table, profile.payload), profile.name


def test_a_play_is_judged_by_the_true_motion_and_done_once(tmp_path: Path) -> None:
    scope = Scope((1,), tmp_path)
    wanted = ["control.first.heave"]
    figures = measure(wanted, scope)
    assert set(figures) == {name for name in long_names() if name.startswith("control.first.heave.")}
    assert figures["control.first.heave.stopped"] == Figure(0, "1", 1)
    assert figures["control.first.heave.best_lag_nrmse"].median <= 0.05
    assert figures["control.first.heave.raw_nrmse"].median <= 0.08
    assert abs(figures["control.first.heave.lag_s"].median) <= 0.5e-3
    assert figures["control.first.heave.bandwidth_hz"].median >= 40.0
    lines = (tmp_path / FILE).read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1
    # A play that is done is not played again, whatever its line says by now.
    row = json.loads(lines[0])
    row["figures"]["best_lag_nrmse"] = 0.125
    (tmp_path / FILE).write_text(json.dumps(row) + '\n{"made_with": "cut o', encoding="utf-8")
    again = measure(wanted, scope)
    assert again["control.first.heave.best_lag_nrmse"].median == 0.125
    assert again["control.first.heave.raw_nrmse"] == figures["control.first.heave.raw_nrmse"]


def test_results_of_other_sources_do_not_count(tmp_path: Path) -> None:
    job = Job("first", 1, "heave")
    Results(tmp_path, "before").add(job, Result({"raw_nrmse": 0.5}, None, ("told",)))
    assert Results(tmp_path, "after").get(job) is None
    assert Results(tmp_path, "before").get(job) == Result({"raw_nrmse": 0.5}, None, ("told",))


def test_long_benches_are_measured_only_when_they_are_named() -> None:
    assert "control.first.heave.best_lag_nrmse" in long_names()
    assert not [name for name in names() if name.startswith("control.first")]
    with pytest.raises(UsageError, match=r"control\.frist: no such bench, did you mean control\."):
        measure(["control.frist"])


def test_seeds_are_a_number_or_a_range() -> None:
    assert seeds_of("3") == (1, 2, 3)
    assert seeds_of("4-6") == (4, 5, 6)
    for wrong in ("0", "6-4", "x", "1-", "-2-3"):
        with pytest.raises(UsageError, match="--seeds"):
            seeds_of(wrong)


@pytest.mark.evidence
def test_the_control_holds_its_figures_on_hidden_truths(tmp_path: Path) -> None:
    figures = measure(["control.first", "control.identified"], Scope((11, 12), tmp_path))
    for axis in PEAKS:
        first = {name.split(".")[-1]: one.median for name, one in figures.items() if f"first.{axis}" in name}
        assert first["worst_best_lag_nrmse"] <= 0.08, axis
        assert first["best_lag_nrmse"] <= 0.05, axis
        assert first["raw_nrmse"] <= 0.08, axis
        assert abs(first["lag_s"]) <= 0.5e-3, axis
        assert first["cross_axis"] <= (0.08 if axis == "roll" else 0.05), axis
        assert first["flatness_hz"] >= 20.0, axis
        assert first["bandwidth_hz"] >= 40.0, axis
        known = {
            name.split(".")[-1]: one.median for name, one in figures.items() if f"identified.{axis}" in name
        }
        assert known["best_lag_nrmse"] <= (0.03 if axis == "roll" else 0.025), axis
        assert known["cross_axis"] <= (0.06 if axis == "roll" else 0.03), axis
    assert figures["control.identified.internal_force_rms_n"].median <= 2_000.0
