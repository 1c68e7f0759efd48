"""Tables of other laboratories on the simulated plant: the first raise and play with computed gains."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mastd.bench.control.plays import BenchPlant, play
from mastd.bench.control.profiles import noise, read_profile
from mastd.bench.control.truth import hidden_truth
from mastd.control.table.stability_proof import stability_proof
from mastd.loop.process.installation import Installation
from mastd.settings.core.starter import find
from mastd.settings.table.payload import NoPayload
from tests.support.missed import missed

pytestmark = pytest.mark.real_time

STATED = re.compile(r"^  (length_gain|valve_lead|pressure_damping): .*\n", re.M)
"""Gains of the drive that are computed."""


GUIDED = {"uniaxial1": "[surge]", "biaxial4": "[surge, sway, yaw]"}
"""Freedoms of the tables that guides hold in the other axes; their files say so in a comment only."""


def with_computed_gains(table: Path, directory: Path) -> Installation:
    """Return a table of ``shared`` with its freedoms, and without the gains that its file states."""
    path = directory / "table.yaml"
    text = STATED.sub("", table.read_text(encoding="utf-8"))
    if table.stem in GUIDED:
        text = text.replace("\ngravity:", f"\nfreedoms: {GUIDED[table.stem]}\ngravity:", 1)
    path.write_text(re.sub(r"schema=\S+", "", text), encoding="utf-8")
    return Installation.read(path, find("daemon", "simulated"))


@pytest.mark.parametrize(
    ("name", "axis"),
    [
        ("mast6", "surge"),
        ("equals8", "heave"),
        ("quanser6", "surge"),
        ("uniaxial1", "surge"),
        ("biaxial4", "yaw"),
    ],
)
def test_a_table_of_another_laboratory_follows_at_the_first_attempt(
    name: str, axis: str, shared: Path, tmp_path: Path
) -> None:
    on = with_computed_gains(shared / "data" / "tables" / f"{name}.yaml", tmp_path)
    proof = stability_proof(on.table, on.daemon, NoPayload())
    assert proof.ok, proof.text()
    profile = read_profile(noise(axis, duration=4.0, payload={"kind": "none"}))
    played = play(profile, BenchPlant(hidden_truth(on.table, profile.payload, 3), 3), on=on)
    assert missed(played, axis) < 0.065
    assert not played.indicated
