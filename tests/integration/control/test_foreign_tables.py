"""Tables of other laboratories on the simulated plant: the first raise and play with computed gains."""

from __future__ import annotations

from pathlib import Path

import pytest

from mastd.bench.control.plays import BenchPlant, play
from mastd.bench.control.profiles import noise, read_profile
from mastd.bench.control.truth import hidden_truth
from mastd.control.table.stability_proof import stability_proof
from mastd.loop.process.installation import Installation
from mastd.settings.core.starter import find
from mastd.settings.table.payload import NoPayload
from tests.support.computed_gains import with_computed_gains
from tests.support.missed import missed

pytestmark = pytest.mark.real_time


@pytest.mark.parametrize(
    ("name", "axis", "ratio"),
    [
        ("mast6", "surge", 1.0),
        ("equals8", "heave", 1.0),
        ("quanser6", "surge", 1.0),
        # Its valve is large for the motion of the others; the hidden overlap is five times the stated.
        ("uniaxial1", "surge", 2.0),
        ("biaxial4", "yaw", 1.0),
    ],
)
def test_a_table_of_another_laboratory_follows_at_the_first_attempt(
    name: str, axis: str, ratio: float, shared: Path, tmp_path: Path
) -> None:
    path = tmp_path / "table.yaml"
    with_computed_gains(shared / "data" / "tables" / f"{name}.yaml", path)
    on = Installation.read(path, find("daemon", "simulated"))
    proof = stability_proof(on.table, on.daemon, NoPayload())
    assert proof.ok, proof.text()
    profile = read_profile(noise(axis, ratio=ratio, duration=4.0, payload={"kind": "none"}))
    played = play(profile, BenchPlant(hidden_truth(on.table, profile.payload, 3), 3), on=on)
    assert missed(played, axis) < 0.06
    assert not played.indicated
