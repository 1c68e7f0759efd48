"""The loader's real process: a profile checked and compiled into a slot, and what is refused."""

from __future__ import annotations

import hashlib
import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hil_sim.plant.plant import Plant
from hil_sim.plant.provider import provider
from mastd.control.iteration.driver import Playable
from mastd.errors import FormatError, MastdError, SettingsError, UsageError
from mastd.loop.cycle.slots import ProfileSlots
from mastd.loop.loading import loader
from mastd.loop.payload.profile_inputs import ProfileInputs
from mastd.loop.process.host import Connection
from mastd.loop.process.installation import Plan
from mastd.loop.service.player import Player, PlayError
from mastd.motion.preflight.preflight import check
from mastd.settings.core.foreign import without_quotes
from mastd.settings.core.loader import load as load_settings
from mastd.settings.profile.profile import ProfileSettings
from mastd.settings.table.table import TableSettings
from mastd.wire.plant.provider import PlantRequest
from tests.support.lab import ROOT, Lab, replaced
from tests.support.rigs.rigs import rigs_file

PROFILE = """
name: shaking
payload:
  kind: rigid
  mass: 5 t
  centre_of_gravity: [0 m, 0 m, 1.2 m]
  inertia: [4000 kg m2, 9000 kg m2, 9000 kg m2]
segments:
  - kind: sine
    frequency: 2 Hz
    duration: 6 s
    axes: {heave: {amplitude: 5 mm}}
"""


@dataclass
class Loader:
    """Runs the loader as the gateway does."""

    lab: Lab
    slots: ProfileSlots
    directory: Path

    def load(self, profile: object, slot: int, remote: bool = False) -> tuple[int, dict[str, Any]]:
        done = subprocess.run(
            loader.command(self.slots, self.directory),
            input=json.dumps({"profile": str(profile), "slot": slot, "remote": remote}) + "\n",
            capture_output=True,
            text=True,
            pass_fds=(self.slots.descriptor,),
            env=self.lab.environment,
            timeout=120,
            check=False,
        )
        assert done.stdout, done.stderr
        return done.returncode, json.loads(done.stdout)


@pytest.fixture
def load(lab: Lab, tmp_path: Path) -> Loader:
    files = {"table": lab.table, "daemon": lab.config, "rigs": rigs_file(lab)}
    base = {
        "settings_text": {name: file.read_text(encoding="utf-8") for name, file in files.items()},
        "settings_files": {name: str(file) for name, file in files.items()},
        "seeds": {"plant": 0},
        "daemon": {"rate": 1000.0},
    }
    loader.daemon_path(tmp_path).write_text(json.dumps(base), encoding="utf-8")
    return Loader(lab, ProfileSlots(), tmp_path)


def test_a_profile_comes_out_of_its_slot_as_it_was_compiled(load: Loader) -> None:
    path = load.lab.profile(PROFILE)
    code, document = load.load(path, 1)
    assert code == 0
    assert document["ok"]
    assert document["name"] == "shaking"
    assert "maximum span" in document["text"]
    loaded = load.slots.read(1, 5)
    assert loaded is not None
    plan = Plan.load(load.lab.table, path, load.lab.config)
    assert (loaded.serial, loaded.slot, loaded.name) == (5, 1, "shaking")
    assert loaded.level_limit == document["scale"] > 1.0
    assert np.array_equal(loaded.model, plan.ready.model)
    assert np.array_equal(loaded.timeline.coefficients, plan.timeline.coefficients)
    times = np.linspace(0.0, 6.0, 50)
    assert np.array_equal(loaded.timeline.sample(times), plan.timeline.sample(times))
    assert load.slots.read(0, 1) is None, "the other slot is still empty"
    head = json.loads(loader.metadata_path(load.directory, 1).read_text(encoding="utf-8"))
    assert head["profile"]["name"] == head["name"] == "shaking"
    assert head["settings_text"]["profile"] == PROFILE


def test_the_head_of_a_record_knows_the_files_of_its_profile(load: Loader) -> None:
    """Path and digest of each input file, and the band as it is played."""
    file = burst(load.lab.directory, 0.1)
    path = load.lab.profile(
        "name: p\nsegments:\n  - {kind: record, band: [1 Hz, 10 Hz], length_scale: 0.25, fade: 0.5 s, "
        "axes: {heave: {file: burst.AT2}}}\n"
    )
    code, document = load.load(path, 0)
    assert code == 0, document
    head = json.loads(loader.metadata_path(load.directory, 0).read_text(encoding="utf-8"))
    assert head["input_files_sha256"] == {str(file): hashlib.sha256(file.read_bytes()).hexdigest()}
    assert head["band"] == pytest.approx([2.0, 20.0])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (PROFILE.replace("5 mm", "80 mm"), "the check failed"),
        (PROFILE.replace("2 Hz", "2"), "profile.yaml:10"),
        ("", "profile.yaml"),
    ],
)
def test_what_cannot_be_played_is_refused_and_leaves_its_slot_empty(
    load: Loader, text: str, words: str
) -> None:
    code, document = load.load(load.lab.profile(text), 0)
    assert code == 1
    assert not document["ok"]
    assert words in document["text"]
    assert load.slots.read(0, 1) is None


def test_feedback_that_is_faded_too_late_is_refused(load: Loader) -> None:
    path = loader.daemon_path(load.directory)
    base = json.loads(path.read_text(encoding="utf-8"))
    text = replaced(base["settings_text"]["daemon"], "^  fade: 4 ", "  fade: 9 ")
    base["settings_text"]["daemon"] = replaced(text, "maximum_gain: 100 1/s", "gain: 100 1/s")
    path.write_text(json.dumps(base), encoding="utf-8")
    code, document = load.load(load.lab.profile(PROFILE), 0)
    assert code == 1
    assert "works up to 8 ms  <- lower control.acceleration.gain or round_trip.fade" in document["text"]
    assert load.slots.read(0, 1) is None


def test_a_name_that_is_no_profile_is_refused_with_the_nearest(load: Loader) -> None:
    code, document = load.load("clas_b_road", 0)
    assert code == 1
    assert "did you mean class_b_road" in document["text"]


@pytest.mark.parametrize("name", ["table", "rigs"])
def test_a_settings_file_that_is_not_in_force_any_more_asks_for_a_reload(load: Loader, name: str) -> None:
    """What would pass on the file is not proved on the table that stands there."""
    file = load.lab.directory / f"{name}.yaml"
    whole = file.read_text(encoding="utf-8")
    path = load.lab.profile(PROFILE)
    for changed in (f"{whole}# edited\n", ""):
        file.write_text(changed, encoding="utf-8")
        with pytest.raises(SettingsError) as refused:
            loader.load_profile(str(path), 0, load.slots, load.directory)
        assert str(refused.value).startswith(f"{file}: differs from the settings in force: reload first")
        assert load.slots.read(0, 1) is None
    file.write_text(whole, encoding="utf-8")
    assert loader.load_profile(str(path), 0, load.slots, load.directory)["ok"]


HEAD = "T\nE\nACCELERATION TIME SERIES IN UNITS OF G\nNPTS= 1001, DT= .01 SEC\n"
RECORD = (
    "name: p\nsegments:\n  - {kind: record, band: [1 Hz, 10 Hz], fade: 0.5 s, "
    "axes: {heave: {file: burst.AT2}}}\n"
)


def burst(directory: Path, peak: float) -> Path:
    """Write a record of this peak in g."""
    times = np.linspace(0.0, 10.0, 1001)
    values = peak * np.sin(2.0 * np.pi * 3.0 * times) * np.exp(-((times - 5.0) ** 2))
    file = directory / "burst.AT2"
    file.write_text(HEAD + "".join(f"{value:.6f}\n" for value in values), encoding="ascii")
    return file


def test_a_data_file_that_is_replaced_after_its_proof_is_not_played(
    load: Loader, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = burst(load.lab.directory, 0.05)

    def proved(*arguments: Any, **more: Any) -> Any:
        verdict = check(*arguments, **more)
        burst(load.lab.directory, 5.0)
        return verdict

    monkeypatch.setattr(loader, "check", proved)
    with pytest.raises(FormatError, match=f"{file}: changed while the profile was being read"):
        loader.load_profile(str(load.lab.profile(RECORD)), 0, load.slots, load.directory)
    assert load.slots.read(0, 1) is None


def test_a_run_plays_the_motion_that_it_has_proved_or_none(lab: Lab) -> None:
    file = burst(lab.directory, 0.05)
    plan = Plan.load(lab.table, lab.profile(RECORD), lab.config)
    assert plan.check().ok
    content = file.read_bytes()
    burst(lab.directory, 5.0)
    with pytest.raises(FormatError, match=f"{file}: changed while"):
        plan.check()
    file.write_bytes(content)
    with pytest.raises(FormatError, match=f"{file}: changed while"):
        plan.check()  # the same bytes again may have been others in between


def test_a_drive_of_an_iteration_that_others_have_changed_is_not_played(lab: Lab) -> None:
    burst(lab.directory, 5.0)
    path = lab.profile(RECORD)

    def connect(plan: Plan, number: int) -> Connection:
        raise AssertionError("it must not come to a plant")

    player = Player(lambda file: Plan.load(lab.table, file, lab.config), connect, lab.directory / "iteration")
    played = Playable(Plan.load(lab.table, path, lab.config).profile, path)
    with pytest.raises(PlayError, match="changed since it passed the check"):
        player(played, 1, (), 100)


def test_the_tyres_file_of_a_vehicle_belongs_to_what_is_read_once(lab: Lab) -> None:
    """Other tyres are another payload, whatever the vehicle's own file says."""
    tyre = lab.directory / "tyre.tir"
    folder = ROOT / "config" / "vehicles"
    tyre.write_bytes((folder / "tyres" / "passenger_205_55_r16.tir").read_bytes())
    vehicle = (folder / "sedan.yaml").read_text(encoding="utf-8")
    lab.profile(vehicle.replace("tyres/passenger_205_55_r16.tir", str(tyre)), "car.yaml")
    path = lab.profile(
        "name: p\npayload: {kind: vehicle, vehicle: car.yaml}\nsegments: [{kind: hold, duration: 1 s}]\n"
    )
    table = load_settings(lab.table, TableSettings)
    inputs = ProfileInputs.read(load_settings(path, ProfileSettings), table)
    assert inputs.digests[str(tyre)] == hashlib.sha256(tyre.read_bytes()).hexdigest()
    tyre.write_text(tyre.read_text(encoding="utf-8") + "$ another batch\n", encoding="utf-8")
    with pytest.raises(FormatError, match=f"{tyre}: changed while"):
        inputs.confirm()
    again = ProfileInputs.read(load_settings(path, ProfileSettings), table)
    assert again.payload_digests != inputs.payload_digests


def test_the_plant_of_a_run_is_that_of_the_table_which_the_daemon_has_read(lab: Lab) -> None:
    text = lab.table.read_text(encoding="utf-8")
    lab.table.write_text("edited meanwhile", encoding="utf-8")
    request = PlantRequest(lab.table, mode="lockstep", table_text=text)
    plant = provider.open(request)
    assert isinstance(plant, Plant)


SECRETS = {
    "shadow": "root:*:20228:0:99999:7:::\nanna:$y$j9T$hidden:20228:0:99999:7:::\n",
    "server.key_secret": 'metadata\ncurve\n    secret-key = "hidden-hidden"\n',
    "answers.yaml": "name: a\ndescription: hidden\npassword: hidden hidden\n",
    "list.yaml": "- hidden\n- *hidden\n",
}


def test_a_file_that_is_no_profile_is_refused_without_a_word_of_it(load: Loader) -> None:
    secret = load.lab.profile(SECRETS["shadow"], "shadow")
    code, document = load.load(secret, 0)
    assert code == 1
    assert document["text"].startswith(f"{secret}: not a profile: ")
    assert "hidden" not in document["text"]


@pytest.mark.parametrize("name", SECRETS)
def test_files_that_a_profile_names_are_not_shown_either(load: Loader, name: str) -> None:
    secret = load.lab.profile(SECRETS[name], name)
    named = {
        "itself": SECRETS[name],
        "vehicle": f"name: v\npayload: {{kind: vehicle, vehicle: {secret}}}\n"
        + PROFILE[PROFILE.index("segments:") :],
        "motion": "name: m\nsegments:\n  - {kind: record, band: [1 Hz, 9 Hz], axes: {heave: {file: "
        f"{name}}}}}}}\n",
    }
    for what, text in named.items():
        path = load.lab.profile(text, f"{what}.yaml")
        with pytest.raises(MastdError) as refused:
            loader.load_profile(str(path), 0, load.slots, load.directory)
        told = without_quotes(str(refused.value), path)
        assert str(path if what == "itself" else secret) in told
        assert "hidden" not in told


def test_only_the_profile_itself_is_quoted() -> None:
    lines = "/p.yaml:3:1: gain: expected a number, 'full' is text\n/data.csv: line 3: 'hidden' is no number"
    told = without_quotes(lines, Path("/p.yaml"))
    assert told == "/p.yaml:3:1: gain: expected a number, 'full' is text\n/data.csv: line 3: '…' is no number"


def test_over_the_network_only_profiles_folders_are_read(load: Loader) -> None:
    outside = load.lab.profile(PROFILE)
    folder = load.lab.table.parent / "profiles"
    folder.mkdir(exist_ok=True)
    inside = load.lab.profile(PROFILE, "profiles/inside.yaml")
    (folder / "link.yaml").symlink_to(outside)
    assert loader.profile_path(str(inside), load.lab.table, True) == inside
    assert loader.profile_path("first_motion", load.lab.table, True).stem == "first_motion"
    assert loader.profile_path(str(outside), load.lab.table, False) == outside, "on this machine any profile"
    for refused in (outside, folder / "link.yaml", folder / "../profile.yaml", "/etc/shadow", "/no/such"):
        with pytest.raises(UsageError) as error:
            loader.profile_path(str(refused), load.lab.table, True)
        assert str(error.value).startswith(
            f"{refused}: over the network profiles are loaded from {folder} only"
        )
    code, document = load.load(outside, 0, remote=True)
    assert code == 1
    assert "over the network" in document["text"]
