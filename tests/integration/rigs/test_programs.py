"""The example rigs as processes at the real daemon, in lockstep."""

from __future__ import annotations

import re
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from mastd.loop.process.endpoints import Kind, Operators
from mastd.loop.process.host import Connection
from mastd.loop.process.installation import Plan
from mastd.loop.service.single_run import run as play
from mastd.record.reader import Run, open_run
from mastd.wire.common.address import rigs_address
from mastd.wire.plant.hello import Mode
from mastd.wire.plant.provider import PlantRequest, rigid_payload
from tests.support.lab import PATIENCE, ROOT, Lab, quick_lab
from tests.support.rigs.profiles import heave, pose_stream, shaking, vehicle_here, vehicle_of_rig

pytestmark = pytest.mark.real_time

RIGS = """
rigs:
  - {name: car, kind: vehicle}
  - {name: ecu, kind: signals, channels: [{channel: damper_force.fl, range: [-5 kN, 5 kN]}]}
  - {name: source, kind: pose, derivatives: true}
"""
SHAKING = "fade: 0.5 s\n" + shaking("1.5 s")
INSIDE, OUTSIDE = vehicle_here(SHAKING), vehicle_of_rig(SHAKING)
RIDE = """
name: ride
seed: 3
payload: {kind: vehicle, vehicle: soft.yaml}
fade: 0.5 s
segments:
  - kind: road
    road_class: B
    speed: 60 km/h
    band: [0.5 Hz, 4 Hz]
    duration: 3 s
    wheelbase: 2.7 m
    track_width: 1.5 m
"""
POSE = pose_stream("1.5 s", heave("20 mm"))


@dataclass
class World:
    """Settings of a table, and where its operators and rigs meet."""

    lab: Lab
    runtime: Path

    @property
    def rigs(self) -> Path:
        path = self.lab.directory / "rigs.yaml"
        path.write_text(RIGS, encoding="utf-8")
        return path

    @property
    def operators(self) -> str:
        return f"ipc://{self.runtime}/mastd.operators"

    def rig(self, *arguments: object) -> subprocess.Popen[str]:
        """Start a rig, which waits for the daemon."""
        address = rigs_address(self.operators)
        return self.lab.start("rig", *arguments, "--address", address, "--wait", "60 s", program="hil-sim")

    def play(self, text: str, *rig: object, mode: Mode = "lockstep") -> Run:
        """Play a profile with a rig, which is told to leave afterwards; return the record."""
        profile = self.lab.profile(text)
        plan = Plan.load(self.lab.table, profile, self.lab.config, rigs_path=self.rigs)
        name = f"{plan.profile.name} {rig[0] if rig else 'alone'}"
        record = self.lab.directory / name / "run.mcap"
        request = PlantRequest(plan.table_path, payload=rigid_payload(plan.profile), mode=mode)
        process = self.rig(*rig) if rig else None
        try:
            operators = Operators(Kind.SIMULATED_RUN, self.operators, self.runtime)
            ending = play(
                plan,
                Connection(None, "direct" if mode == "lockstep" else "socket", mode, request),
                record,
                False,
                operators=operators,
            )
            assert ending.completed
        finally:
            if process is not None:
                process.send_signal(signal.SIGTERM)
                out, err = process.communicate(timeout=PATIENCE)
        if process is not None:
            assert (process.returncode, out, err) == (0, "", "")
        return open_run(record)


@pytest.fixture
def world(lab: Lab, runtime: Path) -> World:
    return World(lab, runtime)


@pytest.fixture(scope="module")
def with_a_rig(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run whose vehicle is simulated by a rig."""
    world = World(quick_lab(tmp_path_factory.mktemp("outside")), tmp_path_factory.mktemp("place"))
    return world.play(OUTSIDE, "vehicle", "benchmark_sedan", "--name", "car")


def played(run: Run, name: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return a channel while the profile is played."""
    return run.columns[name][np.isfinite(run.columns["profile_time"])]


def test_a_vehicle_outside_moves_the_table_as_the_vehicle_inside(world: World, with_a_rig: Run) -> None:
    inside = world.play(INSIDE)
    assert len(inside.times) == len(with_a_rig.times)
    for axis in ("surge", "sway", "heave", "roll", "pitch", "yaw"):
        name = f"pose.{axis}"
        assert np.abs(inside.columns[name] - with_a_rig.columns[name]).max() < 1e-9, name
    for part in ("fx", "fy", "fz", "mx", "my", "mz"):
        name = f"payload_wrench.{part}"
        # 1e-9 of the weight
        assert np.abs(inside.columns[name] - with_a_rig.columns[name]).max() < 1e-5, name
    assert np.ptp(played(with_a_rig, "rig.car.wrench.fz")) > 0.1 * 1526.0 * 9.80665
    assert with_a_rig.columns["rig.car.present"].all()
    assert not played(with_a_rig, "rig.car.delay").any()


@pytest.mark.evidence
def test_in_free_run_no_answer_is_used_that_is_older_than_the_time_out(world: World) -> None:
    run = world.play(OUTSIDE, "vehicle", "benchmark_sedan", "--name", "car", mode="free-run")
    present = run.columns["rig.car.present"] == 1.0
    delay = run.columns["rig.car.delay"][present]
    assert played(run, "rig.car.present").mean() > 0.9
    assert delay.min() >= 0.0
    assert delay.max() <= 50.0  # periods of 1 ms: the time-out of a rig that does not state its own
    assert np.median(delay) <= 5.0
    assert np.ptp(played(run, "rig.car.wrench.fz")) > 0.1 * 1526.0 * 9.80665


@pytest.mark.evidence
def test_what_a_rig_gave_is_given_again_to_the_last_digit(world: World, with_a_rig: Run) -> None:
    again = world.play(OUTSIDE, "replay", with_a_rig.path, "--rig", "car")
    for part in ("fx", "fy", "fz", "mx", "my", "mz"):
        name = f"rig.car.wrench.{part}"
        assert np.array_equal(played(with_a_rig, name), played(again, name)), name
    assert np.abs(played(with_a_rig, "pose.heave") - played(again, "pose.heave")).max() < 20e-6


@pytest.mark.evidence
def test_a_damper_ecu_calms_the_ride(world: World) -> None:
    # Semi-active dampers without current are soft.
    text = (ROOT / "config" / "vehicles" / "quarter_car.yaml").read_text(encoding="utf-8")
    soft = re.sub(r"(m/s, -?[0-9]+)00 N\]", r"\g<1>0 N]", text)
    assert soft != text
    (world.lab.directory / "soft.yaml").write_text(soft, encoding="utf-8")
    passive = world.play(RIDE)
    active = world.play(f"{RIDE}rigs: [ecu]\n", "damper", "--name", "ecu", "--sky", "4000 N s/m")
    calm, rough = (played(run, "vehicle.acceleration.z").std() for run in (active, passive))
    assert calm < 0.7 * rough
    assert np.abs(played(active, "rig.ecu.damper_force.fl")).max() > 50.0


@pytest.mark.evidence
def test_a_pose_is_followed_with_its_derivatives(world: World) -> None:
    run = world.play(POSE, "pose", "--name", "source", "--sine", "heave", "10 mm", "1 Hz")
    given = played(run, "rig.source.pose.heave")
    assert np.abs(given).max() > 5e-3
    assert np.abs(played(run, "reference.heave") - given)[1000:1500].max() < 1e-3
    rates = np.gradient(given, 1e-3)[2:1500]
    assert np.abs(played(run, "rig.source.rate.heave")[2:1500] - rates).max() < 1e-4
