"""The proof before motion with a sprung vehicle on the table."""

from __future__ import annotations

import argparse
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from mastd.commands.check import command as check_command
from mastd.dynamics.table_model import Carried, TableModel, wrench
from mastd.errors import GroundError, SettingsError, UsageError
from mastd.kinematics.geometry import Geometry
from mastd.kinematics.jacobian import geometric_jacobian
from mastd.motion.preflight.limits import Limit
from mastd.motion.preflight.preflight import check
from mastd.motion.preflight.riding import Rider
from mastd.motion.preflight.verdict import Preflight
from mastd.motion.profile.compiler import program
from mastd.settings.core.loader import load, load_text
from mastd.settings.core.starter import find
from mastd.settings.profile.profile import ProfileSettings
from mastd.settings.table.payload import NoPayload, RigidPayload, VehiclePayload
from mastd.settings.table.table import TableSettings
from mastd.vehicle.analysis.linearise import linearise
from mastd.vehicle.analysis.ride_modes import ride_modes
from mastd.vehicle.equilibrium.dense_equations import System
from mastd.vehicle.equilibrium.settle import settle
from mastd.vehicle.model import library
from mastd.vehicle.model.definition import TieDown
from mastd.vehicle.payload.load import vehicle_on_table
from mastd.vehicle.payload.rigid import as_one_body, one_body
from mastd.vehicle.state.motion import design_state
from tests.support.lab import Lab

LIGHT = 2000.0
"""kg of a table that feels a car."""


@pytest.fixture(scope="module")
def table() -> TableSettings:
    """Return the starter table."""
    return load(find("table", "table"), TableSettings)


@pytest.fixture(scope="module")
def light(table: TableSettings) -> TableSettings:
    """Return the starter table with a light body."""
    body = table.body.model_copy(update={"mass": LIGHT, "inertia": (800.0, 4000.0, 4500.0)})
    return table.model_copy(update={"body": body})


def profile(segment: str, vehicle: str = "quarter_car", head: str = "", payload: str = "") -> ProfileSettings:
    """Return a profile of one segment with a vehicle as payload."""
    text = (
        f"name: p\n{head}payload: {{kind: vehicle, vehicle: {vehicle}{payload}}}\nsegments:\n  - {segment}\n"
    )
    return load_text(text, "p.yaml", ProfileSettings)


def sine(axes: str, frequency: float, duration: float, fade: float = 1.0) -> str:
    """Return a sine segment."""
    return (
        f"{{kind: sine, frequency: {frequency:g} Hz, axes: {{{axes}}}, duration: {duration:g} s, "
        f"fade: {fade:g} s}}"
    )


def limits(result: Preflight) -> dict[str, Limit]:
    """Return the limits by name."""
    return {limit.name: limit for limit in result.limits}


def payload_of(made: ProfileSettings) -> VehiclePayload:
    """Return the vehicle of a profile."""
    assert isinstance(made.payload, VehiclePayload)
    return made.payload


def as_rigid(body: Carried) -> RigidPayload:
    """Return the rigid payload that a body is, its products of inertia left out."""
    x, y, z = map(float, body.centre)
    xx, yy, zz = map(float, np.diag(body.inertia))
    return RigidPayload(kind="rigid", mass=body.mass, centre_of_gravity=(x, y, z), inertia=(xx, yy, zz))


def test_a_slow_vehicle_is_a_rigid_one(light: TableSettings) -> None:
    """Far below its ride modes a car loads the table as a rigid body does, but for its lean."""
    motion = sine(
        "surge: {amplitude: 30 mm}, sway: {amplitude: 30 mm, phase: 90 deg}, heave: {amplitude: 40 mm}, "
        "yaw: {amplitude: 1 deg}",
        0.2,
        8.0,
        3.0,
    )
    made = profile(motion, "sedan")
    rigid = made.model_copy(update={"payload": as_rigid(as_one_body(payload_of(made), light))})
    hold = profile("{kind: hold, duration: 0.2 s}").segments
    still = {
        one.payload.kind: limits(check(one.model_copy(update={"segments": hold}), light))
        for one in (made, rigid)
    }
    moving = {one.payload.kind: limits(check(one, light)) for one in (made, rigid)}
    for name in ("push_force", "pull_force"):
        ways = {kind: moving[kind][name].worst - still[kind][name].worst for kind in moving}
        print(name, ways)
        assert ways["rigid"] > 20.0
        assert ways["vehicle"] == pytest.approx(ways["rigid"], rel=0.02)
        assert still["vehicle"][name].worst == pytest.approx(still["rigid"][name].worst, abs=1.0)


def quarter_car_force(frequency: float) -> complex:
    """Return the quarter car's force on the table per metre of its heave, N/m, by the linearised equations.

    (M s² + C s + K) u + Gᵀλ = (k + c s) h and G u = 0 with h the rise of the wheel per motion, so that the
    tyre is pressed by 1 − h · u.
    """
    model = library.find("quarter_car")
    system = System(model)
    matrices = system.matrices(settle(system, design_state(model)).state)
    wheel, count = model.wheels[0], len(matrices.mass)
    arm = wheel.centre - model.bodies[wheel.carrier].centre
    rise = np.zeros(count)
    rise[6 * wheel.carrier + 2 : 6 * wheel.carrier + 5] = 1.0, arm[1], -arm[0]
    held = np.eye(count)[[0, 1, 3, 4, 5, count - 1]]
    rows = np.vstack([matrices.joint_jacobian, held])
    s = 2j * math.pi * frequency
    tyre = wheel.tyre.stiffness + wheel.tyre.damping * s
    dynamic = matrices.mass * s**2 + matrices.damping * s + matrices.stiffness
    whole = np.block([[dynamic, rows.T], [rows, np.zeros((len(rows), len(rows)))]])
    moved = np.linalg.lstsq(whole, np.concatenate([tyre * rise, np.zeros(len(rows))]), rcond=1e-14)[0]
    return complex(tyre * (1.0 - rise @ moved[:count]))


@pytest.mark.parametrize("mode", ["heave", "wheel hop corner in phase"])
def test_a_sine_at_a_ride_mode_is_amplified(table: TableSettings, mode: str) -> None:
    """The load of the table is that of the linearised vehicle, in size and phase, not of a rigid body."""
    model = library.find("quarter_car")
    frequency = {one.name: one for one in ride_modes(model, restrained=True)}[mode].frequency_hz
    amplitude = 0.02 / (2.0 * math.pi * frequency) ** 2
    made = profile(sine(f"heave: {{amplitude: {1e6 * amplitude:.6f} um}}", frequency, 6.0), "quarter_car")
    timeline = program(made, table).timeline()
    load_, soundness = Rider(payload_of(made), table).ride(timeline)
    assert soundness.ok
    # Whole periods, after the fade and what it set swinging.
    knots = np.arange(2000, 2000 + round(round(3.0 * frequency) / frequency * 1e3))
    times = np.asarray(knots * 1e-3, dtype=np.float64)
    turning = np.exp(-2j * np.pi * frequency * times)
    heave = np.sum(timeline.sample(times)[:, 0, 2] * turning)
    ratio = complex(np.sum((load_.riding[0][0, 2] - load_.riding[0][knots, 2]) * turning) / heave)
    rigid = -sum(body.mass for body in model.bodies) * (2.0 * math.pi * frequency) ** 2
    due = quarter_car_force(frequency)
    print(f"{mode}: {ratio / rigid:.4f}, linear {due / rigid:.4f} of a rigid body's")
    assert abs(ratio - due) <= 0.02 * abs(due)
    assert abs(due / rigid - 1.0) > 1.0


def test_the_load_goes_through_the_actuators(light: TableSettings) -> None:
    """Forces of least norm of the bare table's inverse dynamics less the load, turned out of P, by numpy."""
    made = profile(
        sine(
            "heave: {amplitude: 8 mm}, roll: {amplitude: 1.5 deg}, yaw: {amplitude: 1.5 deg}, "
            "pitch: {amplitude: 0.8 deg, phase: 70 deg}",
            1.2,
            1.6,
            0.4,
        ),
        "sedan",
    )
    result = check(made, light)
    timeline = program(made, light).timeline()
    load_, _ = Rider(payload_of(made), light).ride(timeline)
    bare, geometry = TableModel.from_settings(light, NoPayload()).values, Geometry.from_settings(light)
    jacobian, own = np.empty((geometry.actuators, 6)), np.empty(6)
    forces = []
    times = np.asarray(np.arange(1601) * 1e-3, dtype=np.float64)
    for motion, wrench_on_table in zip(timeline.sample(times), load_.riding[0], strict=True):
        wrench(bare, motion[0], motion[1], motion[2], own)
        turn = Rotation.from_euler("ZYX", motion[0, [5, 4, 3]])
        due = own - np.concatenate([turn.apply(wrench_on_table[:3]), turn.apply(wrench_on_table[3:])])
        geometric_jacobian(geometry.legs, motion[0], jacobian)
        forces.append(np.linalg.lstsq(jacobian.T, due, rcond=None)[0])
    found = limits(result)
    assert found["push_force"].worst == pytest.approx(np.max(forces), rel=1e-6)
    assert found["pull_force"].worst == pytest.approx(-np.min(forces), rel=1e-6)
    assert found["push_force"].time_s == pytest.approx(np.argmax(np.max(forces, axis=1)) * 1e-3)


def test_the_scale_is_proved_by_the_vehicle_itself(light: TableSettings) -> None:
    """At the scale the vehicle, simulated anew, passes; a little above it does not, bump stops and all."""
    weak = light.model_copy(update={"limits": light.limits.model_copy(update={"force_share": 0.05})})
    made = profile(sine("heave: {amplitude: 25 mm}", 1.3, 4.0), "quarter_car")
    first = check(made, weak)
    assert 0.3 < first.scale < 3.0
    assert min(first.limits, key=lambda limit: limit.margin).name == "push_force"
    at_scale = check(made.model_copy(update={"gain": first.scale}), weak)
    above = check(made.model_copy(update={"gain": first.scale * 1.05}), weak)
    print(first.scale, at_scale.scale, above.scale)
    assert at_scale.ok
    assert not above.ok


def test_a_wheel_that_leaves_the_table_does_not_pass(table: TableSettings) -> None:
    """A car whose foremost wheels stand 5 mm from the edge: braked, they bend forward over it."""
    model = library.find("sedan")
    front = max(float(wheel.centre[0]) for wheel in model.wheels)
    place = 0.5 * table.body.size[0] - front - 5e-3
    at = f", position: [{place:.6f} m, 0 m]"
    result = check(profile(sine("surge: {peak: 0.6 g}", 2.0, 3.0), "sedan", payload=at), table)
    limit = limits(result)["vehicle"]
    assert not result.ok
    assert limit.margin < 0.0
    assert limit.unit == "m"
    assert 0.0 < limit.worst < 0.05
    assert "leaves the table" in limit.where
    assert "wheel f" in limit.where
    assert 0.0 < limit.time_s < 3.0
    assert 0.3 < result.scale < 1.0
    assert "leaves the table  <- exceeded" in result.text()


def test_wheels_that_lift_off_are_told(table: TableSettings) -> None:
    """A hop of the wheels, in a car that stays on the table: shares of the time, in text and document."""
    made = profile(sine("heave: {amplitude: 20 mm}", 10.0, 1.0, 0.3), "sedan")
    result = check(made, table)
    assert result.vehicle is not None
    assert limits(result)["vehicle"].margin > 0.0
    shares = result.vehicle.lift_off
    assert set(shares) == {"fl", "fr", "rl", "rr"}
    assert all(0.01 < share < 0.7 for share in shares.values())
    document = result.document()
    assert json.loads(json.dumps(document, allow_nan=False))["vehicle"]["lift_off"] == shares
    assert f"wheel fl {shares['fl']:.2%}" in result.text()
    gentle = check(made.model_copy(update={"gain": 0.1}), table)
    assert "no wheel leaves the table" in gentle.text()


def test_what_is_known_of_the_vehicle(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """``mastd check`` tells mass, centre of gravity and ride modes, and what the band excites."""
    path = tmp_path / "hop.yaml"
    motion = "{kind: random, axes: {heave: {density: [[1 Hz, 0.001 (m/s2)2/Hz], [14 Hz, 0.001 (m/s2)2/Hz]]}}"
    path.write_text(
        f"name: hop\npayload: {{kind: vehicle, vehicle: sedan}}\nsegments:\n  - {motion}, duration: 3 s}}\n",
        encoding="utf-8",
    )
    parser = argparse.ArgumentParser()
    check_command.add_parsers(parser.add_subparsers())
    arguments = parser.parse_args(["check", str(path), "--json"])
    assert arguments.run(arguments) == 0
    document = json.loads(capsys.readouterr().out)
    model = library.find("sedan")
    assert document["vehicle"]["mass_kg"] == pytest.approx(sum(body.mass for body in model.bodies))
    assert document["vehicle"]["centre_of_gravity_m"][2] == pytest.approx(1.0, abs=0.1)
    modes = {mode["name"]: mode for mode in document["ride_modes"]}
    assert {"heave", "pitch", "roll"} <= set(modes)
    assert 1.0 < modes["heave"]["frequency_hz"] < 1.5
    assert 0.1 < modes["heave"]["damping"] < 0.7
    assert len(document["warnings"]) == 1
    assert "the band of 1 to 14 Hz excites the oil-column resonances of the table" in document["warnings"][0]


def test_ride_modes_of_a_quarter_car_are_those_of_two_masses() -> None:
    """And straps that pull straight down hold its chassis as a spring beside its own."""
    model = library.find("quarter_car")
    free = {mode.name: mode for mode in ride_modes(model, restrained=False)}
    strap = TieDown("s", np.array([0.0, 0.45, 0.5]), np.array([0.0, 0.45, 0.0]), 2e5, 0.0, 1e3)
    tied = {mode.name: mode for mode in ride_modes(replace(model, tie_downs=(strap,)), restrained=True)}
    chassis = model.bodies[0].mass
    stiffness = (2.0 * math.pi * free["heave"].frequency_hz) ** 2 * chassis
    heave = math.sqrt((stiffness + 2e5) / chassis) / (2.0 * math.pi)
    assert tied["heave"].frequency_hz == pytest.approx(heave, rel=0.03)
    untied = {mode.name: mode for mode in ride_modes(replace(model, tie_downs=(strap,)), restrained=False)}
    assert untied["heave"].frequency_hz == free["heave"].frequency_hz


def test_braked_wheels_swing_with_their_carriers() -> None:
    """In every ride mode a wheel turns as the carrier does about its axis; a free one turns otherwise."""
    model = library.find("sedan")
    system = System(model)
    free = linearise(system, settle(system, design_state(model)).state).modes
    turning = {}
    for name, modes in (("braked", ride_modes(model, restrained=True)), ("free", free)):
        slips = [
            abs(mode.shape[6 * len(model.bodies) + k] - wheel.axis @ mode.shape[first + 3 : first + 6])
            for mode in modes
            for k, wheel in enumerate(model.wheels)
            for first in (6 * wheel.carrier,)
        ]
        turning[name] = max(slips)
    assert turning["braked"] < 1e-3
    assert turning["free"] > 0.1


@pytest.mark.parametrize("vehicle", ["sedan", "benchmark_sedan"])
def test_one_body_has_the_weight_and_the_inertia_of_all(table: TableSettings, vehicle: str) -> None:
    """What it weighs on the table, at the right place; and the kinetic energy of turning stiffly."""
    payload = payload_of(profile("{kind: hold, duration: 1 s}", vehicle))
    body = as_one_body(payload, table)
    standing = vehicle_on_table(payload, table, 1e-3)
    standing.lie(np.zeros(6))
    weight = np.array([0.0, 0.0, -body.mass * table.gravity])
    due = np.concatenate([weight, np.cross(body.centre, weight)])
    assert standing.wrench == pytest.approx(due, abs=1e-3 * abs(weight[2]))
    model = library.find(vehicle)
    system = System(model)
    state = settle(system, design_state(model)).state
    inertia = one_body(model, state, (0.0, 0.0, 0.0)).inertia
    centre = one_body(model, state, (0.0, 0.0, 0.0)).centre
    mass, bodies = system.matrices(state).mass, 6 * len(model.bodies)
    turn = np.array([0.3, -0.5, 0.7])
    motion = np.zeros(len(mass))
    for index in range(len(model.bodies)):
        motion[6 * index : 6 * index + 3] = np.cross(turn, state.position[index] - centre)
        motion[6 * index + 3 : 6 * index + 6] = turn
    for index, wheel in enumerate(model.wheels):
        motion[bodies + index] = turn @ wheel.axis
    assert turn @ inertia @ turn == pytest.approx(motion @ mass @ motion, rel=1e-4)


def test_a_carried_body_is_the_rigid_payload_it_describes(table: TableSettings) -> None:
    body = Carried(1200.0, np.array([0.2, -0.1, 1.1]), np.diag([400.0, 1500.0, 1700.0]))
    values = TableModel.from_settings(table, body).values
    assert np.array_equal(values, TableModel.from_settings(table, as_rigid(body)).values)


def test_wheels_beside_the_table_are_told_one_by_one(table: TableSettings) -> None:
    """The vehicle's file, which wheel, by how much, and what to do."""
    made = profile("{kind: hold, duration: 1 s}", "sedan", payload=", position: [3 m, 0.1 m]")
    with pytest.raises(GroundError) as caught:
        check(made, table)
    lines = str(caught.value).splitlines()
    model = library.find("sedan")
    front = next(wheel for wheel in model.wheels if wheel.name == "fl").centre[0]
    over = 1e3 * (front + 3.0 - 0.5 * table.body.size[0])
    assert all(line.startswith(f"{payload_of(made).vehicle}: wheel off the table") for line in lines)
    told = next(line for line in lines if " fl " in line)
    assert f"fl is {over:.0f} mm before it" in told
    assert "change position in the profile's payload" in told


@pytest.mark.parametrize(
    ("payload", "told"),
    [
        (", seat: rear_bench", "no seat 'rear_bench'"),
        (", restrained: true", "it has neither tie_downs nor chocks"),
    ],
)
def test_a_seat_or_straps_that_there_are_not_are_refused(
    table: TableSettings, payload: str, told: str
) -> None:
    made = profile("{kind: hold, duration: 1 s}", "sedan", payload=payload)
    with pytest.raises(UsageError, match=told) as caught:
        check(made, table)
    assert str(caught.value).startswith(f"{payload_of(made).vehicle}: ")


def test_an_unknown_vehicle_is_a_line_of_the_profile() -> None:
    with pytest.raises(SettingsError, match=r"^p.yaml:2:\d+: payload.vehicle: sedann: .*did you mean sedan"):
        profile("{kind: hold, duration: 1 s}", "sedann")


def test_the_wrench_goes_on_from_block_to_block(table: TableSettings) -> None:
    """Two segments are ridden as one motion: what the first left swinging swings on in the second."""
    jolt = sine("heave: {amplitude: 8 mm}", 1.2, 2.0, 0.2)
    text = f"name: p\npayload: {{kind: vehicle, vehicle: sedan}}\nsegments:\n  - {jolt}\n"
    text += "  - {kind: hold, duration: 1 s}\n"
    made = load_text(text, "p.yaml", ProfileSettings)
    rider = Rider(payload_of(made), table)
    timeline = program(made, table).timeline()
    load_, soundness = rider.ride(timeline)
    assert soundness.ok
    first, second = load_.riding
    assert first.shape == (2001, 6)
    assert np.array_equal(second[0], first[-1])
    assert np.ptp(second[:, 2]) > 100.0
    again, _ = rider.ride(timeline)
    assert np.array_equal(again.riding[1], second), "each ride starts from the settled vehicle"


@pytest.mark.real_time
def test_a_profiles_rigs_are_compared_with_those_that_may_join(lab: Lab) -> None:
    (lab.directory / "none.yaml").write_text("rigs: []\n", encoding="utf-8")
    alone = lab.run("check", "pose_stream")
    assert alone.returncode == 0
    assert "  uses pose_source: check them with --rigs FILE\n" in alone.stdout
    assert lab.run("check", "pose_stream", "--rigs", "rigs").returncode == 0
    refused = lab.run("check", "pose_stream", "--rigs", lab.directory / "none.yaml")
    assert refused.returncode == 1
    assert "stream.rig: the rigs' settings have no rig 'pose_source'" in refused.stdout
