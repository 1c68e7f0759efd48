"""`mastd run` with a simulated vehicle: the same over both links, and told by record and result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mastd.record.reader import open_run
from tests.lab import Lab

ON_TABLE = """
name: on the table
payload: {kind: vehicle, vehicle: benchmark_sedan}
segments:
  - {kind: sine, frequency: 2 Hz, duration: 2 s, fade: 0.5 s, axes: {heave: {amplitude: 4 mm}}}
"""
DRIVEN = """
name: driven
mode: oils
payload: {kind: rigid, mass: 2 t, centre_of_gravity: [0 m, 0 m, 1.7 m], inertia: [1 t m2, 1 t m2, 1 t m2]}
oils:
  vehicle: benchmark_sedan
  cabin_seat: [0 m, 0 m, 1.5 m]
  speed: 15 m/s
  duration: 3 s
  driver: {kind: brake, start: 1 s, deceleration: 3 m/s2}
  cueing: {kind: washout}
"""


@pytest.mark.parametrize("text", [ON_TABLE, DRIVEN], ids=["on the table", "driven"])
def test_a_run_with_a_vehicle_repeats_over_both_links_and_tells_of_it(lab: Lab, text: str) -> None:
    runs: list[dict[str, Any]] = []
    for link in ("direct", "socket"):
        code, document = lab.play(lab.profile(text), "--lockstep", "--link", link)
        assert code == 0, document
        runs.append(document)
    assert runs[0]["command_sha256"] == runs[1]["command_sha256"]
    seat, wheels = runs[0]["vehicle"]["seat"], runs[0]["vehicle"]["wheels"]
    assert seat["weighted_rms_ms2"]["z"] > 0.0
    assert set(wheels) == {"fl", "fr", "rl", "rr"}
    record = open_run(lab.directory / Path(runs[1]["run"]) / "run.mcap")
    columns = record.columns
    on_table = text is ON_TABLE
    assert ("cueing" in runs[0]) is not on_table
    wrench, loads = columns["payload_wrench.fz"], sum(columns[f"vehicle.load.{wheel}"] for wheel in wheels)
    if on_table:
        # Loads are the tyres' upright forces, the wrench is what the accelerations say.
        assert np.abs(wrench + loads).max() < 2e-3 * loads.mean()
    else:
        assert not wrench.any()
        assert np.nanmin(columns["vehicle.speed"]) < 10.0
        assert runs[0]["cueing"]["x"]["rms_asked"] > 0.1
