"""Stability of the closed loop: against independent figures, and what the gains made of it hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mastd.arrays import FloatArray
from mastd.control.table.closed_loop import Gains, closed_loop
from mastd.control.table.computed import with_computed_settings
from mastd.control.table.gains import (
    FEEDBACK_KEPT,
    gains_of,
    linear_plant,
    with_drive_gains,
    with_feedback_gains,
)
from mastd.control.table.stability import end_poses, least_damped, least_damping, loops
from mastd.control.table.stability_proof import stability_margins, stability_proof
from mastd.dynamics.oil_flow import oil_column_frequencies
from mastd.dynamics.table_model import TableModel
from mastd.kinematics.geometry import Geometry
from mastd.kinematics.workspace import within_strokes
from mastd.settings.core.loader import load, load_text
from mastd.settings.core.starter import find
from mastd.settings.daemon.daemon import DaemonSettings
from mastd.settings.table.payload import NoPayload
from mastd.settings.table.table import TableSettings
from tests.support.present import present

TABLE = load(find("table", "table"), TableSettings)
DAEMON = load(find("daemon", "simulated"), DaemonSettings)
NOTHING = Gains(np.zeros(7), np.zeros(7), np.zeros(6))


def with_drive(**gains: float | None) -> TableSettings:
    """Return the starter table with other gains of its drive."""
    return TABLE.model_copy(update={"drive": TABLE.drive.model_copy(update=gains)})


def with_gain(gain: float) -> DaemonSettings:
    """Return the starter preset with one stated gain of the acceleration feedback."""
    acceleration = DAEMON.control.acceleration.model_copy(update={"gain": gain})
    control = DAEMON.control.model_copy(update={"acceleration": acceleration})
    return DAEMON.model_copy(update={"control": control})


def frequencies(matrix: FloatArray) -> FloatArray:
    """Return the frequencies in Hz of the oscillations of a state matrix, ascending."""
    values = np.linalg.eigvals(matrix)
    return np.sort(np.abs(values[values.imag > 1.0])) / (2.0 * np.pi)


def test_without_gains_the_table_oscillates_on_its_oil() -> None:
    plant = linear_plant(TABLE, 1e-3, 0.0)
    loop = closed_loop(plant, np.zeros(6), plant.bare)
    model = TableModel.from_settings(TABLE, NoPayload())
    expected = oil_column_frequencies(TABLE, plant.geometry, model)
    found = frequencies(loop.matrix(NOTHING))
    for frequency in expected:
        assert np.min(np.abs(found - frequency)) < 0.02 * frequency


def test_one_degree_of_freedom_alone_has_the_roots_of_its_characteristic_equation() -> None:
    """Heave by itself: s² (s + l) + k/m (s + kp G) + c s G H … evaluated at the eigenvalues found."""
    plant = linear_plant(TABLE, 1e-3, 0.0)
    gains = Gains(np.full(7, 15.0), np.full(7, 60.0), np.zeros(6))
    loop = closed_loop(plant, np.zeros(6), plant.bare)
    values, vectors = np.linalg.eig(loop.matrix(gains))
    type_, drive = TABLE.types[0], TABLE.drive
    cylinder, valve = type_.cylinder, type_.valve
    spring = (
        cylinder.bulk_modulus * sum(cylinder.piston_areas) / (TABLE.links[0].stroke + cylinder.dead_length)
    )
    leak = spring * cylinder.leakage / (0.5 * sum(cylinder.piston_areas)) ** 2
    heave = [k for k, value in enumerate(values) if value.imag > 60.0 and _is_heave(vectors[:6, k])]
    assert heave
    for s in (value for value in values[heave] if abs(value) < 2.0 * np.pi * 150.0):
        natural = 2.0 * np.pi * valve.natural_frequency
        spool = natural**2 / (s**2 + 2.0 * valve.damping_ratio * natural * s + natural**2)
        spool *= np.exp(-s * (valve.delay + 0.5 / drive.update_rate))
        high_pass = s / (s + 2.0 * np.pi * drive.pressure_high_pass)
        oil = spring * (s + 15.0 * spool) / (s + leak + 60.0 * spool * high_pass)
        mass = TABLE.body.mass / 4.0
        rest = mass * s**2 + cylinder.friction.viscous * s + oil
        assert abs(rest) < 0.02 * abs(mass * s**2)


def _is_heave(shape: FloatArray) -> bool:
    size = np.abs(shape)
    return bool(size[2] > 5.0 * np.max(np.delete(size, 2)))


@pytest.mark.parametrize("hertz", [5.0, 40.0, 120.0])
def test_a_fourth_stage_lags_by_its_corner_in_loop_and_inverse(hertz: float) -> None:
    """The response of the loop's spool to its command over that without the stage is 1/(1 + if/f₁)."""
    assert TABLE.valve is not None
    corner, s = 150.0, 2j * np.pi * hertz
    valve = TABLE.valve.model_copy(update={"pilot_frequency": corner})
    answers = []
    for table in (TABLE, TABLE.model_copy(update={"valve": valve})):
        plant = linear_plant(table, 1e-3, 0.0)
        loop = closed_loop(plant, np.zeros(6), plant.bare)
        states = np.linalg.solve(s * np.eye(len(loop.fixed)) - loop.fixed, loop.inputs[:, 0])
        answers.append(states[12 + 3 * 7])
    expected = 1.0 / (1.0 + 1j * hertz / corner)
    assert answers[1] / answers[0] == pytest.approx(expected, rel=1e-9)
    lead = TABLE.types[0]._replace(lag=valve, gains=TABLE.drive.model_copy(update={"valve_lead": None}))
    without = valve.delay + valve.damping_ratio / (np.pi * valve.natural_frequency)
    assert lead.valve_lead == pytest.approx(without + 1.0 / (2.0 * np.pi * corner))


def test_poses_at_the_ends_are_within_the_strokes() -> None:
    geometry = Geometry.from_settings(TABLE)
    poses = end_poses(TABLE, geometry)
    assert len(poses) == 13
    assert np.all(within_strokes(geometry, np.array(list(poses.values()))))


def test_gains_computed_for_the_starter_table_are_those_of_the_study() -> None:
    """Control study: pressure damping 60 1/s, length gain 15 1/s, acceleration feedback 100 1/s."""
    computed = with_drive_gains(with_drive(length_gain=None, pressure_damping=None))
    assert computed.drive.pressure_damping in {45.0, 60.0}
    assert computed.drive.length_gain == 15.0
    assert with_feedback_gains(TABLE, DAEMON).control.acceleration.axis_gains == (100.0,) * 6


def test_stated_gains_stay() -> None:
    assert with_drive_gains(TABLE) is TABLE
    stated = with_gain(70.0)
    assert with_feedback_gains(TABLE, stated) is stated
    half = with_drive_gains(with_drive(pressure_damping=None, length_gain=11.0))
    assert half.drive.length_gain == 11.0


@pytest.mark.parametrize(("gain", "stable"), [(100.0, True), (150.0, True), (400.0, False)])
def test_the_control_study_s_bound_of_the_feedback(gain: float, stable: bool) -> None:
    """Control study: 200 1/s with the pressure damping of 60 1/s are stable, 300 1/s are not."""
    proof = stability_proof(TABLE, with_gain(gain), NoPayload())
    assert proof.ok is stable
    if not stable:
        assert "control.acceleration is too high: " in proof.text()
        assert "would do" in proof.text()


def test_too_much_pressure_damping_is_named_with_a_value_that_would_do() -> None:
    table = with_drive(pressure_damping=300.0)
    proof = stability_proof(table, with_gain(0.0), NoPayload())
    assert not proof.ok
    assert "pressure_damping does not suit this table: length_gain 15 1/s, pressure_damping " in proof.text()
    value = float(proof.remedy.split("pressure_damping ")[-1].split()[0])
    assert stability_proof(with_drive(pressure_damping=value), with_gain(0.0), NoPayload()).ok


def test_margins_are_where_an_oscillation_grows() -> None:
    daemon = with_feedback_gains(TABLE, DAEMON)
    proof = stability_proof(TABLE, daemon, NoPayload())
    margins = stability_margins(TABLE, daemon, NoPayload(), proof.gains)
    assert 1.2 < margins.acceleration < 6.0
    found, _ = loops(linear_plant(TABLE, 1e-3, DAEMON.control.balance.gain))
    for factor, grows in ((margins.acceleration, True), (margins.acceleration / 1.25, False)):
        gains = proof.gains._replace(acceleration=factor * proof.gains.acceleration)
        assert bool(np.min(least_damping(found, gains)) < 0.0) is grows


@settings(max_examples=5)
@given(
    stroke=st.floats(60.0, 300.0),
    dead=st.floats(5.0, 40.0),
    valve=st.floats(50.0, 200.0),
    mass=st.floats(2.0, 40.0),
)
def test_computed_gains_leave_half_of_the_damping(
    stroke: float, dead: float, valve: float, mass: float
) -> None:
    text = find("table", "table").read_text(encoding="utf-8")
    table = load_text(text, "table.yaml", TableSettings)
    assert table.actuator is not None
    assert table.valve is not None
    ratio = mass * 1e3 / table.body.mass
    body = table.body.model_copy(
        update={"mass": mass * 1e3, "inertia": tuple(ratio * moment for moment in table.body.inertia)}
    )
    table = table.model_copy(
        update={
            "body": body,
            "links": tuple(link.model_copy(update={"stroke": 1e-3 * stroke}) for link in table.links),
            "actuator": table.actuator.model_copy(update={"dead_length": 1e-3 * dead}),
            "valve": table.valve.model_copy(update={"natural_frequency": valve}),
            "drive": table.drive.model_copy(
                update={"length_gain": None, "pressure_damping": None, "valve_lead": None}
            ),
        }
    )
    table = with_drive_gains(table)
    found, words = loops(linear_plant(table, 1e-3, DAEMON.control.balance.gain))
    without = least_damped(found, words, gains_of(table)).damping
    gains = with_feedback_gains(table, DAEMON).control.acceleration.axis_gains
    with_feedback = least_damped(found, words, gains_of(table, gains)).damping
    assert with_feedback >= min(FEEDBACK_KEPT * without, without) - 1e-9


def test_what_the_presets_leave_out_is_what_the_starter_table_needs() -> None:
    """Study of the starter table: 70 Hz, 1 mm, 2 t and 60 mm, 20 mm/s, 10 s and 30 s."""
    found = with_computed_settings(TABLE, DAEMON)
    control = found.control
    assert control.feedforward.bandwidth == pytest.approx(70.0)
    assert (control.payload_check.mass, control.payload_check.centre) == pytest.approx((2000.0, 0.06))
    assert control.balance.limit == pytest.approx(1e-3)
    assert (found.moves.velocity, found.moves.brake.distance) == pytest.approx((0.02, 0.02))
    assert (found.timeouts.supply_stage, found.timeouts.lowering) == pytest.approx((10.0, 30.0))
    assert (found.unasked_motion.limit, found.unasked_motion.arm) == (0.7, 1.4)
    assert control.trim_limit == 0.4


def test_a_small_light_table_may_move_more_and_its_rotations_count_at_its_own_arms() -> None:
    """A tenth of the starter's size and a fiftieth of its mass, under the same seals."""

    def smaller(point: tuple[float, ...]) -> tuple[float, ...]:
        return tuple(0.1 * coordinate for coordinate in point)

    links = tuple(
        link.model_copy(
            update={
                "table_joint": smaller(link.table_joint),
                "base_joint": smaller(link.base_joint),
                "neutral_length": 0.1 * link.neutral_length,
            }
        )
        for link in TABLE.links
    )
    body = {"mass": 0.02 * TABLE.body.mass, "inertia": tuple(2e-4 * moment for moment in TABLE.body.inertia)}
    small = TABLE.model_copy(
        update={
            "body": TABLE.body.model_copy(update=body),
            "links": links,
            "neutral_position": smaller(TABLE.neutral_position),
        }
    )
    found = with_computed_settings(small, with_gain(0.0)).unasked_motion
    assert found.arm == pytest.approx(0.14)
    moment, inertia = 4 * 3000.0 * 0.08, 2e-4 * 14600.0
    assert found.limit == pytest.approx(0.3 * 0.14 * moment / inertia, rel=0.05), "roll, in two digits"
    noisy = TABLE.sensors.model_copy(
        update={"acceleration": TABLE.sensors.acceleration.model_copy(update={"noise": 0.5})}
    )
    loud = with_computed_settings(TABLE.model_copy(update={"sensors": noisy}), with_gain(0.0))
    assert loud.unasked_motion.limit == pytest.approx(3.0)


def test_a_large_table_with_slow_valves_gets_more_time_and_less_bandwidth() -> None:
    assert TABLE.valve is not None
    large = TABLE.model_copy(
        update={
            "links": tuple(link.model_copy(update={"stroke": 1.0}) for link in TABLE.links),
            "valve": TABLE.valve.model_copy(update={"natural_frequency": 40.0}),
            "supply": present(TABLE.supply).model_copy(update={"rise_time": 60.0}),
        }
    )
    found = with_computed_settings(large, with_gain(0.0))
    assert found.control.feedforward.bandwidth == pytest.approx(28.0)
    assert (found.moves.velocity, found.moves.brake.distance) == pytest.approx((2.0 / 15.0, 0.4))
    assert (found.timeouts.supply_stage, found.timeouts.lowering) == pytest.approx((180.0, 600.0))


def test_what_the_settings_state_stays() -> None:
    timeouts = DAEMON.timeouts.model_copy(update={"lowering": 12.0})
    unasked = DAEMON.unasked_motion.model_copy(update={"limit": 1.5})
    stated = with_gain(0.0).model_copy(update={"timeouts": timeouts, "unasked_motion": unasked})
    found = with_computed_settings(TABLE, stated)
    assert found.timeouts.lowering == 12.0
    assert (found.unasked_motion.limit, found.unasked_motion.arm) == (1.5, 1.4)
