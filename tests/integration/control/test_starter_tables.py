"""Tables that travel with the product: ``mastd init --table``, and the check of all of their profiles."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hil_sim.plant.truth import PlantTruth
from mastd.cli import main
from mastd.control.table.delay_margin import feedback_proof
from mastd.control.table.stability_proof import stability_proof
from mastd.loop.measurement.frame import channel_units
from mastd.loop.process.installation import Installation
from mastd.motion.preflight.preflight import check
from mastd.settings.core.loader import load
from mastd.settings.core.starter import find, table_names
from mastd.settings.profile.profile import ProfileSettings
from mastd.settings.table.payload import NoPayload
from tests.support.lab import ROOT

OTHERS = table_names()[1:]


def files(directory: Path) -> set[str]:
    """Return the paths of all files below a directory."""
    return {str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file()}


def checked(own: Path) -> Installation:
    """Return the table of a directory that ``init`` made, stable and with profiles that all pass."""
    on = Installation.read(own / "table.yaml", find("daemon", "simulated"))
    proof = stability_proof(on.table, on.daemon, NoPayload())
    assert proof.ok, proof.text()
    assert feedback_proof(on.table, on.daemon, NoPayload()).ok
    for path in sorted((own / "profiles").glob("*.yaml")):
        profile = load(path, ProfileSettings, channels=channel_units(on.table))
        assert profile.payload.kind == "none"
        found = check(profile, on.table)
        assert found.ok, f"{path.name}: {found.text()}"
    truth = load(own / "plants" / "uneven_truth.yaml", PlantTruth)
    assert {actuator.link for actuator in truth.actuators} <= {link.name for link in on.table.links}
    return on


@pytest.mark.parametrize("name", OTHERS)
def test_a_starter_table_is_stable_and_its_profiles_pass(name: str, tmp_path: Path) -> None:
    own = tmp_path / "own"
    assert main(["init", str(own), "--table", name]) == 0
    profiles = {path.stem for path in (own / "profiles").iterdir()}
    assert {"first_motion", "strong_motion"} <= profiles
    on = checked(own)
    assert ("identify" in profiles) == on.table.measures_forces


def test_the_example_of_the_page_passes_with_the_profiles_of_its_starter(tmp_path: Path) -> None:
    own = tmp_path / "my-table"
    assert main(["init", str(own), "--table", "eight_actuators"]) == 0
    page = (ROOT / "docs" / "table.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"Write `my-table/table.yaml`:\s*```yaml\n(.*?)```", page, flags=re.DOTALL)
    (own / "table.yaml").write_text(text, encoding="utf-8")
    on = checked(own)
    assert {link.actuator for link in on.table.links} == {"vertical", "horizontal"}


@pytest.mark.parametrize("name", ["uniaxial", "biaxial"])
def test_of_a_table_on_guides_only_its_own_axes_are_named(name: str) -> None:
    folder = ROOT / "config" / "tables" / name
    on = Installation.read(folder / "table.yaml", find("daemon", "simulated"))
    proof = feedback_proof(on.table, on.daemon, NoPayload())
    assert list(proof.gains) == list(on.table.freedoms)
    assert not re.search("heave|roll|pitch", proof.text())
    numbers = range(1, len(on.table.links) + 1)
    assert {f"{what}.{k}" for what in ("length", "force", "spool") for k in numbers} <= {
        *channel_units(on.table)
    }


def test_the_default_table_is_what_lies_beside_the_folders(tmp_path: Path) -> None:
    assert main(["init", str(tmp_path / "default")]) == 0
    assert main(["init", str(tmp_path / "named"), "--table", "seven_links"]) == 0
    shipped = {path for path in files(ROOT / "config") if not path.startswith("tables/")}
    assert files(tmp_path / "default") == files(tmp_path / "named") == shipped


def test_a_table_shares_all_but_what_is_its_own(tmp_path: Path) -> None:
    assert main(["init", str(tmp_path / "own"), "--table", "hexapod"]) == 0
    folder = ROOT / "config" / "tables" / "hexapod"
    assert files(folder) <= files(tmp_path / "own")
    shared = files(tmp_path / "own") - files(folder)
    assert {path.partition("/")[0] for path in shared} == {
        "daemon",
        "plants",
        "rigs.yaml",
        "schemas",
        "vehicles",
    }


def test_an_unknown_table_is_refused_with_the_known_ones(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["init", str(tmp_path / "own"), "--table", "octopod"]) == 2
    told = capsys.readouterr().err
    assert told == f"--table octopod: no such table, known: {', '.join(table_names())}\n"
    assert not (tmp_path / "own").exists()
