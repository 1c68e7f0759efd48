"""The plant's numbers against equations written here a second time and solved by scipy.

The right-hand sides follow table-control.md section 5.1 for valves and chambers, and Newton's and Euler's
equations about the common centre of gravity in ground axes, so nothing is shared with the kernels but the
settings: not the state (compression volumes, momentum), not the frame, not the integration.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from hil_sim.plant.assembly import assemble
from hil_sim.plant.block import ACTUATOR, ACTUATOR_STATE, BODY_STATE, SUPPLY_STATE, PlantArrays
from hil_sim.plant.hydraulics import friction_force, move_oil
from hil_sim.plant.table_body import step_plant
from hil_sim.plant.truth import PayloadTruth, PlantTruth
from mastd.arrays import FloatArray
from mastd.settings.core.loader import load
from mastd.settings.table.table import TableSettings
from tests.support.present import present

Openings = Callable[[float], FloatArray]

ROOT = Path(__file__).resolve().parents[4]
STEP = 125e-6
PERIOD = 1e-3
SUPPLY = 210e5
PAYLOAD = PayloadTruth(mass=12e3, centre_of_gravity=(0.3, -0.1, 2.0), inertia=(10e3, 40e3, 42e3))
MEAN_PRESSURE = 100e5


@pytest.fixture(scope="module")
def table() -> TableSettings:
    return load(ROOT / "config" / "table.yaml", TableSettings)


def without(table: TableSettings, friction: bool, leakage: bool = True) -> TableSettings:
    """Return the table without overlap and friction (unless ``friction``), and maybe without leakage."""
    actuator, valve = table.types[0].cylinder, table.types[0].valve
    if not friction:
        none = actuator.friction.model_copy(update={"coulomb": 0.0, "breakaway": 0.0, "viscous": 0.0})
        actuator = actuator.model_copy(update={"friction": none})
        valve = valve.model_copy(update={"overlap": 0.0})
    if not leakage:
        actuator = actuator.model_copy(update={"leakage": 0.0})
    return table.model_copy(update={"actuator": actuator, "valve": valve})


def rotation(angles: FloatArray) -> FloatArray:
    """Return R (P to B) of roll, pitch, yaw by composition of three elementary rotations."""
    (cr, cp, cy), (sr, sp, sy) = np.cos(angles), np.sin(angles)
    about_x = np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]])
    about_y = np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
    about_z = np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]])
    turned: FloatArray = about_z @ about_y @ about_x
    return turned


def cross(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the vector product over the last axis; numpy's own takes ten times as long for few vectors."""
    ax, ay, az = first.T
    bx, by, bz = second.T
    return np.array([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx]).T


@dataclass
class Bodies:
    """Table and payload as one rigid body, from the settings."""

    mass: float
    centre: FloatArray
    inertia: FloatArray

    @classmethod
    def of(cls, table: TableSettings, payload: PayloadTruth | None) -> Bodies:
        parts = [(table.body.mass, np.array(table.body.centre_of_mass), np.diag(table.body.inertia))]
        if payload is not None:
            parts.append((payload.mass, np.array(payload.centre_of_gravity), np.diag(payload.inertia)))
        mass = sum(part[0] for part in parts)
        centre = sum((part[0] * part[1] for part in parts), np.zeros(3)) / mass
        inertia = np.zeros((3, 3))
        for own, place, about in parts:
            arm = place - centre
            inertia += about + own * (arm @ arm * np.eye(3) - np.outer(arm, arm))
        return cls(mass, centre, inertia)


class Reference:
    """Right-hand side of seven actuators and the table; x = (V1, V2, spool, spool rate, bristle, body)."""

    def __init__(self, table: TableSettings, openings: Openings) -> None:
        self.table = table
        self.openings = openings
        self.between = 0.0, 1.0
        self.n = len(table.links)
        self.bodies = Bodies.of(table, PAYLOAD)
        self.inverse_inertia = np.linalg.inv(self.bodies.inertia)
        self.p = np.array([actuator.table_joint for actuator in table.links])
        self.base = np.array([actuator.base_joint for actuator in table.links])
        self.neutral = np.array([actuator.neutral_length for actuator in table.links])
        self.area = table.types[0].cylinder.piston_areas[0]
        self.half_length = table.types[0].cylinder.dead_length + table.links[0].stroke
        lin = table.types[0].valve.saturation
        self.gain = (
            table.types[0].valve.rated_flow / np.sqrt(0.5 * table.types[0].valve.rated_pressure_drop) / lin
        )
        self.saturation = np.sqrt(1 - lin**2) / lin

    def port(self, opening: FloatArray, drop: FloatArray) -> FloatArray:
        """q = o·G·sgn(Δp)·√|Δp| / √(1 + (o·s)²)."""
        gain = self.gain / np.sqrt(1 + (opening * self.saturation) ** 2)
        flow: FloatArray = opening * gain * np.sign(drop) * np.sqrt(np.abs(drop))
        return flow

    def actuators(self, body: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return extensions, rates, unit vectors in B, joints from the centre of gravity in B (n, 3)."""
        turned = rotation(body[3:6])
        arms = (self.p - self.bodies.centre) @ turned.T
        vectors = body[:3] + arms - self.base
        lengths = np.linalg.norm(vectors, axis=1)
        units = vectors / lengths[:, None]
        spin = turned @ (self.inverse_inertia @ (turned.T @ body[9:12]))
        rates = np.sum(units * (body[6:9] + cross(np.broadcast_to(spin, arms.shape), arms)), axis=1)
        return lengths - self.neutral, rates, units, arms

    def pressures(self, x: FloatArray, extension: FloatArray) -> tuple[FloatArray, FloatArray]:
        """p = β·V_c / (V0 + A·x), never below zero."""
        n = self.n
        beta = self.table.types[0].cylinder.bulk_modulus
        first = beta * x[:n] / (self.area * (self.half_length + extension))
        second = beta * x[n : 2 * n] / (self.area * (self.half_length - extension))
        return np.maximum(first, 0), np.maximum(second, 0)

    def __call__(self, time: float, x: FloatArray) -> FloatArray:
        n = self.n
        valve = self.table.types[0].valve
        friction = self.table.types[0].cylinder.friction
        spool, spool_rate, bristle, body = x[2 * n : 3 * n], x[3 * n : 4 * n], x[4 * n : 5 * n], x[5 * n :]
        extension, rates, units, arms = self.actuators(body)
        first, second = self.pressures(x, extension)
        returned = present(self.table.supply).return_pressure
        opens = np.clip(spool - valve.overlap, 0, 1)
        closes = np.clip(-(spool + valve.overlap), 0, 1)
        into_1 = self.port(opens, SUPPLY - first) + self.port(closes, returned - first)
        into_2 = self.port(closes, SUPPLY - second) + self.port(opens, returned - second)
        leak = self.table.types[0].cylinder.leakage * (first - second)
        change_1 = into_1 - self.area * rates - leak
        change_2 = into_2 + self.area * rates + leak
        omega = 2 * np.pi * valve.natural_frequency
        rate = np.clip(spool_rate, -valve.opening_rate, valve.opening_rate)
        # The openings of this piece of the solution, though they may jump at its ends.
        inside = min(max(time, self.between[0]), self.between[1] - 1e-12)
        spool_acceleration = omega**2 * (self.openings(inside) - spool)
        spool_acceleration -= 2 * valve.damping_ratio * omega * spool_rate
        resisting = friction.viscous * rates
        bristle_rate = np.zeros(n)
        if friction.coulomb > 0:
            level = friction.coulomb + (friction.breakaway - friction.coulomb) / (
                1 + (rates / friction.stribeck_velocity) ** 2
            )
            bristle_rate = rates - friction.bristle_stiffness * np.abs(rates) * bristle / level
            resisting = resisting + friction.bristle_stiffness * bristle
            resisting = resisting + friction.bristle_damping * bristle_rate
        forces = (self.area * (first - second) - resisting)[:, None] * units
        weight = np.array([0, 0, -self.bodies.mass * self.table.gravity])
        yaw = body[5]
        turned = rotation(body[3:6])
        spin = turned @ (self.inverse_inertia @ (turned.T @ body[9:12]))
        # Axes of the Euler rates in B: roll about P's x, pitch about the line of nodes, yaw about B's z.
        axes = np.array(
            [[turned[0, 0], -np.sin(yaw), 0], [turned[1, 0], np.cos(yaw), 0], [turned[2, 0], 0, 1]]
        )
        return np.concatenate(
            [
                change_1,
                change_2,
                rate,
                spool_acceleration,
                bristle_rate,
                body[6:9],
                np.linalg.solve(axes, spin),
                (forces.sum(axis=0) + weight) / self.bodies.mass,
                cross(arms, forces).sum(axis=0),
            ]
        )


def static_forces(table: TableSettings, bodies: Bodies) -> FloatArray:
    """Return the smallest actuator forces that carry the weight at neutral."""
    joints = np.array([actuator.table_joint for actuator in table.links])
    base = np.array([actuator.base_joint for actuator in table.links])
    units = np.array(table.neutral_position) + joints - base
    units /= np.linalg.norm(units, axis=1)[:, None]
    weight = np.array([0, 0, bodies.mass * table.gravity])
    wanted = np.concatenate([weight, cross(bodies.centre, weight)])
    forces: FloatArray = np.linalg.pinv(np.vstack([units.T, cross(joints, units).T])) @ wanted
    return forces


class Kernel:
    """The compiled plant at neutral, its valves told what to do directly."""

    def __init__(self, table: TableSettings, payload: PayloadTruth | None = PAYLOAD) -> None:
        self.block: PlantArrays = assemble(table, PlantTruth(payload=payload), PERIOD, seed=0)
        self.n = len(table.links)
        self.table = table
        self.units = self.block.unit_vectors
        self.first = MEAN_PRESSURE + 0.5 * static_forces(table, Bodies.of(table, payload)) / self.area
        self.second = 2 * MEAN_PRESSURE - self.first
        block = self.block
        block.body_state[BODY_STATE.position : BODY_STATE.position + 3] = table.neutral_position
        block.body_state[BODY_STATE.attitude] = 1.0
        volume = self.area * (table.types[0].cylinder.dead_length + table.links[0].stroke)
        block.actuator_states[:, ACTUATOR_STATE.oil_1] = volume * (
            1 + self.first / table.types[0].cylinder.bulk_modulus
        )
        block.actuator_states[:, ACTUATOR_STATE.oil_2] = volume * (
            1 + self.second / table.types[0].cylinder.bulk_modulus
        )
        block.supply_state[0, SUPPLY_STATE.pressure] = SUPPLY

    @property
    def area(self) -> float:
        return self.table.types[0].cylinder.piston_areas[0]

    def step(self, openings: FloatArray) -> None:
        block = self.block
        block.valve_commands[:] = openings
        step_plant(block, STEP)

    def pressures(self) -> FloatArray:
        """Return both chambers' pressures (2, n) at the present instant, from oil and length."""
        states = self.block.actuator_states
        extension = states[:, ACTUATOR_STATE.length] - 1.2
        reach = self.table.types[0].cylinder.dead_length + self.table.links[0].stroke
        beta = self.table.types[0].cylinder.bulk_modulus
        first = beta * (states[:, ACTUATOR_STATE.oil_1] / (self.area * (reach + extension)) - 1)
        second = beta * (states[:, ACTUATOR_STATE.oil_2] / (self.area * (reach - extension)) - 1)
        return np.maximum([first, second], 0)

    def pose(self) -> FloatArray:
        """Return x, y, z of C and roll, pitch, yaw."""
        w, x, y, z = self.block.body_state[BODY_STATE.attitude : BODY_STATE.attitude + 4]
        angles = [
            np.arctan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y)),
            np.arcsin(2 * (w * y - z * x)),
            np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)),
        ]
        return np.concatenate([self.block.body_state[BODY_STATE.position : BODY_STATE.position + 3], angles])


PATTERN = np.array([1.0, 0.7, 0.9, 1.2, 0.6, -0.4, 0.5])


def steps(time: float) -> FloatArray:
    return PATTERN * (0.04 if time < 0.15 else -0.06)


def chirp(time: float) -> FloatArray:
    phase = 2 * np.pi * (1.0 * time + 0.5 * 9.0 * time * time)
    return PATTERN * (0.06 * float(np.sin(phase)))


@pytest.mark.parametrize("openings", [steps, chirp], ids=["step", "chirp"])
@pytest.mark.parametrize(("friction", "within"), [(False, 0.005), (True, 0.02)], ids=["smooth", "friction"])
def test_pressures_and_pose_agree_with_the_equations_solved_by_scipy(
    table: TableSettings, openings: Openings, friction: bool, within: float
) -> None:
    table = without(table, friction)
    kernel = Kernel(table)
    reference = Reference(table, openings)
    n = kernel.n
    beta = table.types[0].cylinder.bulk_modulus
    volume = kernel.area * reference.half_length
    start = np.zeros(5 * n + 12)
    start[:n] = volume * kernel.first / beta
    start[n : 2 * n] = volume * kernel.second / beta
    start[5 * n : 5 * n + 3] = np.array(table.neutral_position) + reference.bodies.centre

    compared = range(7, 3200, 8)
    poses, pressures = [], []
    for k in range(3200):
        kernel.step(openings((k + 0.5) * STEP))
        if k in compared:
            poses.append(kernel.pose())
            pressures.append(kernel.pressures())
    times = (np.array(compared) + 1) * STEP
    solution: list[FloatArray] = []
    x = start
    for first, last in ((0.0, 0.15), (0.15, 0.4)):
        chosen = times[(times > first + 1e-9) & (times < last + 1e-9)]
        reference.between = first, last
        solved = solve_ivp(
            reference,
            (first, last),
            x,
            method="DOP853",
            t_eval=chosen,
            rtol=1e-7,
            atol=np.concatenate([np.full(2 * n, 1e-13), np.full(3 * n + 12, 1e-9)]),
        )
        assert solved.success
        solution.extend(solved.y.T)
        x = solved.y[:, -1]

    expected = np.array(
        [reference.pressures(state, reference.actuators(state[5 * n :])[0]) for state in solution]
    )
    span = expected.max() - expected.min()
    assert np.abs(np.array(pressures) - expected).max() <= within * span
    angles = np.array([state[5 * n + 3 : 5 * n + 6] for state in solution])
    places = np.array(
        [
            state[5 * n : 5 * n + 3] - rotation(state[5 * n + 3 : 5 * n + 6]) @ reference.bodies.centre
            for state in solution
        ]
    )
    moved = np.array(poses)[:, :3] - table.neutral_position
    expected_move = places - table.neutral_position
    assert np.abs(expected_move).max() > 3e-3
    assert np.abs(moved - expected_move).max() <= within * np.abs(expected_move).max()
    assert np.abs(np.array(poses)[:, 3:] - angles).max() <= within * np.abs(angles).max()


def test_mechanical_energy_grows_by_the_work_of_the_actuators(table: TableSettings) -> None:
    kernel = Kernel(table)
    bodies = Bodies.of(table, PAYLOAD)

    def energy() -> float:
        body = kernel.block.body_state
        turned = rotation(kernel.pose()[3:])
        velocity, spin = (
            body[BODY_STATE.twist : BODY_STATE.twist + 3],
            body[BODY_STATE.twist + 3 : BODY_STATE.twist + 6],
        )
        of_centre = velocity + cross(spin, bodies.centre)
        height = (body[BODY_STATE.position : BODY_STATE.position + 3] + turned @ bodies.centre)[2]
        kinetic = 0.5 * bodies.mass * of_centre @ of_centre + 0.5 * spin @ bodies.inertia @ spin
        return float(kinetic + bodies.mass * table.gravity * height)

    before = energy()
    work = moved = 0.0
    for k in range(4000):
        twist = kernel.block.body_state[BODY_STATE.twist : BODY_STATE.twist + 6].copy()
        kernel.step(chirp(k * STEP))
        mean_rate = kernel.units @ (
            0.5 * (twist + kernel.block.body_state[BODY_STATE.twist : BODY_STATE.twist + 6])
        )
        power = kernel.block.actuator_states[:, ACTUATOR_STATE.force] * mean_rate
        work += STEP * power.sum()
        moved += STEP * np.abs(power).sum()
    assert moved > 1e3
    assert energy() - before == pytest.approx(work, abs=1e-3 * moved)


AXES = {"surge": 0, "sway": 1, "heave": 2, "roll": 3, "pitch": 4, "yaw": 5}


@pytest.mark.parametrize("axis", AXES)
def test_oil_column_rings_at_the_frequency_of_the_closed_form(table: TableSettings, axis: str) -> None:
    table = without(table, friction=False, leakage=False)
    kernel = Kernel(table, payload=None)
    column = AXES[axis]
    k = (
        2
        * table.types[0].cylinder.bulk_modulus
        * kernel.area
        / (table.types[0].cylinder.dead_length + table.links[0].stroke)
    )
    mass, inertia = table.body.mass, table.body.inertia
    # Actuators that act along or about the axis, with their lever (Tables 1 and 2 of Jin 2012).
    stiffness = [k, 2 * k, 4 * k, 4 * k * 0.8**2, 4 * k * 1.4**2, 2 * k * 1.4**2][column]
    closed_form = np.sqrt(stiffness / [mass, mass, mass, *inertia][column]) / (2 * np.pi)

    kernel.block.body_state[BODY_STATE.twist + column] = 2e-3
    rates = []
    for _ in range(8000):
        kernel.step(np.zeros(kernel.n))
        rates.append(kernel.block.body_state[BODY_STATE.twist + column])
    series = np.array(rates)
    rising = np.flatnonzero((series[:-1] < 0) & (series[1:] >= 0))
    exact = rising + series[rising] / (series[rising] - series[rising + 1])
    frequency = (len(exact) - 1) / ((exact[-1] - exact[0]) * STEP)
    assert len(exact) > 8
    assert frequency == pytest.approx(closed_form, rel=0.03)
    # Nothing damps it and the integration must not either: the last swing is as large as the first.
    assert np.abs(series[-800:]).max() == pytest.approx(np.abs(series[:800]).max(), rel=0.05)


def test_the_spool_follows_its_second_order_lag_and_its_rate_limit(table: TableSettings) -> None:
    omega, zeta = 2 * np.pi * table.types[0].valve.natural_frequency, table.types[0].valve.damping_ratio
    damped = omega * np.sqrt(1 - zeta**2)
    kernel = Kernel(without(table, friction=False))
    openings = np.zeros(kernel.n)
    openings[0], openings[1] = 0.05, 1.0
    kernel.block.actuator_states[1, ACTUATOR_STATE.spool] = -1.0
    seen = []
    for _ in range(240):
        kernel.step(openings)
        seen.append(kernel.block.actuator_states[:2, ACTUATOR_STATE.spool].copy())
    times = STEP * np.arange(1, 241)
    decay = np.exp(-zeta * omega * times)
    exact = 0.05 * (1 - decay * (np.cos(damped * times) + zeta * omega / damped * np.sin(damped * times)))
    small, large = np.array(seen).T
    assert np.abs(small - exact).max() < 0.005 * 0.05
    assert np.diff(large).max() == pytest.approx(table.types[0].valve.opening_rate * STEP, rel=1e-9)
    assert large[-1] == pytest.approx(1.0, abs=1e-3)


def test_a_body_without_actuators_flies_by_newton_and_euler(table: TableSettings) -> None:
    """Spun hard about all axes: the centre of gravity falls on a parabola, the angular momentum stays."""
    kernel = Kernel(without(table, friction=False))
    bodies = Bodies.of(table, PAYLOAD)
    block = kernel.block
    block.actuator_states[:, (ACTUATOR_STATE.oil_1, ACTUATOR_STATE.oil_2)] = 0.0
    block.actuators[:, (ACTUATOR.stop_stiffness, ACTUATOR.stop_damping)] = 0.0
    block.supply_state[0, SUPPLY_STATE.pressure] = 0.0
    block.body_state[BODY_STATE.twist : BODY_STATE.twist + 6] = [1.0, -2.0, 4.0, 1.5, -2.0, 2.5]

    def state() -> tuple[FloatArray, FloatArray, FloatArray]:
        body = block.body_state
        w, x, y, z = body[BODY_STATE.attitude : BODY_STATE.attitude + 4]
        rows = [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
        turned = np.array(rows)
        spin = body[BODY_STATE.twist + 3 : BODY_STATE.twist + 6]
        velocity = turned @ (body[BODY_STATE.twist : BODY_STATE.twist + 3] + cross(spin, bodies.centre))
        place = body[BODY_STATE.position : BODY_STATE.position + 3] + turned @ bodies.centre
        return place, velocity, turned @ bodies.inertia @ spin

    place, velocity, momentum = state()
    seconds = 0.5
    for _ in range(round(seconds / STEP)):
        kernel.step(np.zeros(kernel.n))
    fall = np.array([0, 0, -table.gravity])
    end_place, end_velocity, end_momentum = state()
    assert end_velocity == pytest.approx(velocity + fall * seconds, abs=2e-3)
    assert end_place == pytest.approx(place + velocity * seconds + 0.5 * fall * seconds**2, abs=1e-3)
    assert end_momentum == pytest.approx(momentum, abs=1e-3 * float(np.linalg.norm(momentum)))


@pytest.mark.parametrize("rate", [-0.2, -1e-3, 5e-3, 0.05])
def test_friction_slides_on_its_stribeck_curve_after_yielding(table: TableSettings, rate: float) -> None:
    block = Kernel(table).block
    friction = table.types[0].cylinder.friction
    first = friction_force(block, 0, rate, STEP)
    for _ in range(20_000):
        last = friction_force(block, 0, rate, STEP)
    curve = friction.coulomb + (friction.breakaway - friction.coulomb) / (
        1 + (rate / friction.stribeck_velocity) ** 2
    )
    assert last == pytest.approx(np.sign(rate) * curve + friction.viscous * rate, rel=1e-6)
    if abs(rate) < 2e-3:
        bristle = friction.bristle_stiffness * 0.5 * rate * STEP + friction.bristle_damping * rate
        assert first == pytest.approx(bristle + friction.viscous * rate, rel=0.01)


def test_a_small_chamber_and_a_closing_pressure_drop_stay_stable(table: TableSettings) -> None:
    """Fully open at the end of the stroke the ports are far faster than the step: no pressure overshoots."""
    kernel = Kernel(without(table, friction=False), payload=None)
    block = kernel.block
    reach = table.types[0].cylinder.dead_length + table.links[0].stroke
    extension = -0.0499
    for area, column, length in (
        (ACTUATOR.area_1, ACTUATOR_STATE.oil_1, reach + extension),
        (ACTUATOR.area_2, ACTUATOR_STATE.oil_2, reach - extension),
    ):
        block.actuator_states[:, column] = block.actuators[:, area] * length
    pressures = []
    for _ in range(200):
        (
            block.actuator_states[0, ACTUATOR_STATE.spool],
            block.actuator_states[0, ACTUATOR_STATE.spool_rate],
        ) = 1.0, 0.0
        move_oil(block, 0, 1.2 + extension, 0.0, 1.0, STEP)
        pressures.append(block.actuator_states[0, [ACTUATOR_STATE.pressure_1, ACTUATOR_STATE.pressure_2]])
    first = np.array(pressures)[:, 0]
    assert first.max() <= SUPPLY * 1.01
    assert np.abs(np.diff(first[-50:])).max() < 1e-3 * SUPPLY
    assert first[-1] == pytest.approx(SUPPLY, rel=0.01)


def test_oil_cavitates_and_relieves_instead_of_pulling_or_bursting(table: TableSettings) -> None:
    kernel = Kernel(without(table, friction=False), payload=None)
    states = kernel.block.actuator_states
    move_oil(kernel.block, 0, 1.25, 0.0, 0.0, STEP)
    assert states[0, ACTUATOR_STATE.pressure_1] == 0.0
    relief = table.types[0].cylinder.relief_pressure
    assert states[0, ACTUATOR_STATE.pressure_2] > relief
    for _ in range(4000):
        _, returned = move_oil(kernel.block, 0, 1.25, 0.0, 0.0, STEP)
    assert states[0, ACTUATOR_STATE.pressure_2] < 1.001 * relief
    assert returned >= 0.0
