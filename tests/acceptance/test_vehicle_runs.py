"""`mastd run` with a simulated vehicle: the same over both links, and told by record and result."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mastd.loop.process.host import Connection
from mastd.loop.process.installation import Plan
from mastd.loop.service.single_run import run
from mastd.record.reader import open_run
from mastd.wire.plant.provider import PlantRequest, rigid_payload
from tests.support.lab import Lab

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
def test_a_run_with_a_vehicle_repeats_over_both_links(lab: Lab, text: str) -> None:
    digests = []
    for link in ("direct", "socket"):
        plan = Plan.load(lab.table, lab.profile(text), lab.config)
        request = PlantRequest(plan.table_path, payload=rigid_payload(plan.profile), mode="lockstep")
        ending = run(plan, Connection(None, link, "lockstep", request), None, live=False)
        assert ending.completed
        digests.append(ending.command_sha256)
    assert digests[0] == digests[1]


@pytest.mark.real_time
def test_a_run_tells_of_the_vehicle_on_the_table(lab: Lab) -> None:
    code, document = lab.play(lab.profile(ON_TABLE), "--lockstep", "--link", "direct")
    assert code == 0, document
    assert document["vehicle"]["seat"]["weighted_rms_ms2"]["z"] > 0.0
    wheels = document["vehicle"]["wheels"]
    assert set(wheels) == {"fl", "fr", "rl", "rr"}
    columns = open_run(lab.directory / Path(document["run"]) / "run.mcap").columns
    loads = np.sum([columns[f"vehicle.load.{wheel}"] for wheel in wheels], axis=0)
    # Loads are the tyres' upright forces, the wrench is what the accelerations say.
    assert np.abs(columns["payload_wrench.fz"] + loads).max() < 2e-3 * loads.mean()


@pytest.mark.real_time
def test_a_run_tells_how_its_driver_was_moved(lab: Lab) -> None:
    code, document = lab.play(lab.profile(DRIVEN), "--lockstep", "--link", "direct")
    assert code == 0, document
    assert document["cueing"]["x"]["rms_asked"] > 0.1
    columns = open_run(lab.directory / Path(document["run"]) / "run.mcap").columns
    assert not columns["payload_wrench.fz"].any()
    assert np.nanmin(columns["vehicle.speed"]) < 10.0
