"""Cars on Magic Formula tyres under way: on slopes, braking, sliding, shaken and tied down."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from mastd.arrays import FloatArray
from mastd.roads.ground import Ground
from mastd.vehicle.blocks.fields import STRAP, WHEEL
from mastd.vehicle.equilibrium.settle import weight as weight_of
from mastd.vehicle.kinematics.suspension import suspension_kinematics
from mastd.vehicle.magic_formula.formula import rolling_radius
from mastd.vehicle.magic_formula.tyre import MagicTyre
from mastd.vehicle.model.definition import Model
from mastd.vehicle.model.library import find
from mastd.vehicle.simulation.simulation import Simulation
from mastd.vehicle.state.inputs import InputLayout
from mastd.vehicle.tyres.standing import standing_tyre
from tests.support.vehicle.drives import TIGHT, momentum_rate, weight
from tests.support.vehicle.magic_cars import (
    HEAVY,
    STEP,
    bare,
    friction_torques,
    pressed,
    restrained,
    spins_on_carriers,
    tiled,
    turning,
    without_offsets,
)

CARS = ("sedan", "mcpherson_hatchback", HEAVY)


# Slopes -----------------------------------------------------------------------------------------------------


def on_slope(model: Model, degrees: float, row: FloatArray, friction: float = 1.0) -> Simulation:
    """Return the car on a plane that was tilted up ahead of it within 3 s."""
    simulation = Simulation(model)
    simulation.start(0.0)
    steps, whole = 3000, np.radians(degrees)
    for k in range(1, steps + 1):
        phase = np.pi * k / steps
        angle = 0.5 * whole * (1.0 - np.cos(phase))
        rate = 0.5 * whole * np.pi / steps / STEP * np.sin(phase)
        rotation = Rotation.from_rotvec([0.0, -angle, 0.0]).as_matrix()
        ground = Ground.plane(np.zeros(3), rotation, angular=np.array([0.0, -rate, 0.0]))
        simulation.step(row, ground.with_friction(friction, friction).parameters)
    rotation = Rotation.from_rotvec([0.0, -whole, 0.0]).as_matrix()
    ground = Ground.plane(np.zeros(3), rotation).with_friction(friction, friction)
    simulation.step(row, ground.parameters)
    return simulation


@pytest.mark.parametrize(
    ("name", "degrees"),
    [
        ("sedan", 20.0),
        pytest.param("sedan", 10.0, marks=pytest.mark.evidence),
        pytest.param(HEAVY, 10.0, marks=pytest.mark.evidence),
        pytest.param(HEAVY, 20.0, marks=pytest.mark.evidence),
    ],
)
def test_a_braked_car_stays_on_a_slope(name: str, degrees: float) -> None:
    """When it has swung out, 60 s move it by less than a thousandth of a millimetre."""
    model = find(name)
    row = pressed(model, 1.0)
    simulation = on_slope(model, degrees, row)
    simulation.advance(tiled(row, 30.0 if name == HEAVY else 10.0))
    before = simulation.state
    simulation.advance(tiled(row, 60.0))
    assert simulation.converged
    assert np.max(np.abs(simulation.state.position - before.position)) < 1e-6
    trace = simulation.run(row[np.newaxis])
    share = np.sum(trace.tyre_force[0, :, 0]) / np.sum(trace.wheel_loads)
    assert share == pytest.approx(np.tan(np.radians(degrees)), rel=1e-3)


@pytest.mark.parametrize("friction", [0.5, 0.3])
def test_a_braked_car_slides_where_the_slope_exceeds_the_friction(friction: float) -> None:
    """20° ask for 0.36; of 0.3 times the tyre's friction the peak is 0.32 and 0.2 is left when it slides."""
    model = bare("sedan")
    row = pressed(model, 1.0)
    simulation = on_slope(model, 20.0, row, friction)
    before = simulation.state.position[0]
    simulation.advance(tiled(row, 2.0))
    if friction == 0.5:
        assert np.max(np.abs(simulation.state.position[0] - before)) < 5e-3
    else:
        trace = simulation.run(tiled(row, 1.0))
        share = np.sum(trace.tyre_force[-1, :, 0]) / np.sum(trace.wheel_loads[-1])
        assert 0.1 < share < 0.3
        due = model.gravity * (np.cos(np.radians(20.0)) * share - np.sin(np.radians(20.0)))
        speed = trace.chassis[:, 3]
        assert (speed[-1] - speed[-201]) / 0.2 == pytest.approx(due, rel=0.02)
        assert np.all(np.abs(trace.spin) < 0.1)


def test_a_car_with_open_brakes_rolls_away() -> None:
    """m + Σ I / r² is moved by m g sin α less the rolling resistance of the tyres' file, 0.9 %."""
    model, slope = bare("sedan"), np.radians(10.0)
    row = InputLayout.of(model).row()
    simulation = on_slope(model, 10.0, row)
    simulation.advance(tiled(row, 1.0))
    trace = simulation.run(tiled(row, 3.0))
    assert trace.converged.all()
    mass = sum(body.mass for body in model.bodies)
    tyre = model.wheels[0].tyre
    assert isinstance(tyre, MagicTyre)
    load = mass * model.gravity * np.cos(slope) / 4.0
    radius = float(rolling_radius(tyre.coefficients, load))
    speed = -trace.chassis[:, 3]
    resistance = 4.0 * load * 0.316 * (0.009 + 0.0004 * np.mean(speed) / 16.7) / radius
    inertia = mass + sum(wheel.axial_inertia for wheel in model.wheels) / radius**2
    due = (mass * model.gravity * np.sin(slope) - resistance) / inertia
    assert (speed[-1] - speed[0]) / (trace.time[-1] - trace.time[0]) == pytest.approx(due, rel=3e-3)


# Brakes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "speed", "pedal", "step"),
    [
        ("sedan", 10.0, 1.0, 1e-3),
        ("sedan", -5.0, 1.0, 5e-3),
        (HEAVY, 10.0, 1.0, 1e-3),
        *(
            pytest.param(name, speed, pedal, step, marks=pytest.mark.evidence)
            for name in CARS
            for speed, pedal in ((10.0, 0.3), (10.0, 1.0), (-5.0, 1.0))
            for step in (1e-3, 5e-3)
        ),
    ],
)
def test_a_car_that_brakes_to_rest_swings_back_a_little_and_stays(
    name: str, speed: float, pedal: float, step: float
) -> None:
    """Back by what carcass and suspension give: for the chassis of the transporter, 1.3 m high, 7 cm."""
    model = bare(name)
    simulation = Simulation(model, step=step)
    simulation.start(speed)
    row = pressed(model, pedal)
    trace = simulation.run(tiled(row, (7.0 if pedal == 1.0 else 12.0) + 4.0 * (name == HEAVY), step))
    # With 5 ms a brake that just holds may let an iteration alternate.
    assert np.count_nonzero(~trace.converged) <= (0 if step < 2e-3 else 2)
    way = trace.chassis[:, 0] * np.sign(speed)
    assert way.max() - way[-1] < (0.07 if name == HEAVY else 0.03)
    end = trace.chassis[round(-1.0 / step) :, :3]
    assert np.max(np.ptp(end, axis=0)) < (1e-3 if name == HEAVY else 1e-5)


@pytest.mark.parametrize("step", [1e-3, 5e-3])
@pytest.mark.parametrize("speed", [1.0, -3.0])
def test_a_friction_brake_never_drives_a_wheel(speed: float, step: float) -> None:
    """Until the car has stopped no wheel turns backwards on its carrier, and the torque is against its
    turning, but for the solver's tolerance: 2 m/s² of the tread's acceleration."""
    model = bare("sedan")
    simulation = Simulation(model, step=step)
    simulation.start(speed)
    row, slowest, driving = pressed(model, 1.0), np.inf, -np.inf
    while simulation.state.velocity[0, 0] * np.sign(speed) > 0.05:
        simulation.step(row)
        own = spins_on_carriers(model, simulation)
        slowest = min(slowest, float(np.min(own * np.sign(speed))))
        driving = max(driving, float(np.max(own * friction_torques(simulation))))
    assert slowest > -20.0 * step
    assert driving < 1900.0 * 20.0 * step


# Kerbs ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "height"), [("sedan", 0.05), ("sedan", 0.1), (HEAVY, 0.1)])
def test_a_wheel_meets_a_kerb_without_a_blow(name: str, height: float) -> None:
    """At its first touch the load leans over and does not jump: the kerb is as a rigid wheel feels it, and
    the tyre goes on from how deep it was. At walking pace tyre and spring take it with two or three loads."""
    model = bare(name)
    simulation = Simulation(model, ground=Ground.kerb(1.0, height, model.wheels[0].tyre.free_radius))
    simulation.start(2.0)
    trace = simulation.run(tiled(InputLayout.of(model).row(), 0.8))
    loads = trace.wheel_loads[:, :2]
    assert trace.converged.all()
    assert np.max(np.diff(loads, axis=0)) < 0.1 * loads[0, 0]
    assert 1.4 * loads[0, 0] < np.max(loads) < 3.5 * loads[0, 0]


# Air --------------------------------------------------------------------------------------------------------


def test_a_coasting_car_slows_down_by_the_air() -> None:
    """1/v = 1/v₀ + ½ ρ c_d A t / (m + Σ I / r²), its tyres rolling without resistance."""
    shipped = find("sedan")
    air = shipped.aerodynamics
    assert air is not None
    model = without_offsets(replace(bare("sedan"), aerodynamics=air))
    simulation = Simulation(model)
    simulation.start(50.0)
    row = InputLayout.of(model).row()
    simulation.advance(tiled(row, 0.5))
    trace = simulation.run(tiled(row, 8.0))
    still = replace(model, aerodynamics=None)
    other = Simulation(still)
    other.start(50.0)
    other.advance(tiled(row, 0.5))
    toe = other.run(tiled(row, 8.0)).chassis[[0, -1], 3]
    mass = sum(body.mass for body in model.bodies)
    inertia = mass + sum(wheel.axial_inertia / 0.307**2 for wheel in model.wheels)
    drag = 0.5 * air.density * air.drag_area / inertia
    first, last = trace.chassis[[0, -1], 3]
    due = 1.0 / first + drag * (trace.time[-1] - trace.time[0])
    # What toe and camber take of it is taken from a car without air.
    assert 1.0 / last - (1.0 / toe[1] - 1.0 / toe[0]) == pytest.approx(due, rel=1e-3)
    assert first - last > 4.0


# Tied down --------------------------------------------------------------------------------------------------


def shaken_in_x(
    simulation: Simulation, row: FloatArray, amplitude: float, hertz: float, seconds: float
) -> FloatArray:
    """Return the chassis' way on a plate (n, 3) that shakes along x with an acceleration's amplitude."""
    omega, start, ways = 2.0 * np.pi * hertz, simulation.state.position[0], []
    for k in range(1, round(seconds / STEP) + 1):
        share = min(1.0, k * STEP)  # fades in within a second
        phase = omega * k * STEP
        place = share * amplitude / omega**2 * np.sin(phase)
        rise = 1.0 if k * STEP < 1.0 else 0.0
        speed = amplitude / omega * (share * np.cos(phase) + rise * np.sin(phase) / omega)
        ground = Ground.plane(np.array([place, 0.0, 0.0]), np.eye(3), velocity=np.array([speed, 0.0, 0.0]))
        _, signals = simulation.step(row, ground.parameters)
        assert simulation.converged
        ways.append(signals[:3] - start - np.array([place, 0.0, 0.0]))
    return np.array(ways)


@pytest.mark.parametrize("name", ["sedan", HEAVY])
def test_a_tied_car_stays_on_a_plate_that_shakes(name: str) -> None:
    """Straps carry their preload at rest, the wheels the weight and the straps' pull; at 0.5 g, its brakes
    open, the car moves by millimetres and comes back."""
    size = 1.0 if name == "sedan" else 10.0
    model = restrained(bare(name), stiffness=1e6 * size, preload=4e3 * size)
    simulation = Simulation(model, restrained=True)
    simulation.start(0.0)
    row = InputLayout.of(model).row()
    trace = simulation.run(tiled(row, 0.5))
    straps = simulation.layout.arrays.straps
    assert straps[:, STRAP.tension] == pytest.approx(4e3 * size, rel=3e-2)
    position = simulation.state.position[0]
    pull = sum(
        4e3 * size * (point[2] / np.linalg.norm(anchor - point))
        for point, anchor in (
            (strap.point + position - model.bodies[0].centre, strap.anchor) for strap in model.tie_downs
        )
    )
    assert np.sum(trace.wheel_loads[-1]) == pytest.approx(weight_of(model) + pull, rel=1e-2)
    ways = shaken_in_x(simulation, row, 0.5 * model.gravity, 3.0, 4.0)
    simulation.advance(tiled(row, 2.0))
    assert 1e-3 < np.max(np.abs(ways[:, 0])) < 0.03
    assert np.max(np.abs(ways[:, 1])) < 2e-3


def test_chocks_hold_a_car_with_open_brakes() -> None:
    """Shaken at 0.3 g it rolls between the chocks of one axle, as far as their gap and what they yield."""
    model = replace(restrained(bare("sedan")), tie_downs=())
    row = InputLayout.of(model).row()
    held, free = Simulation(model, restrained=True), Simulation(model)
    for simulation in (held, free):
        simulation.start(0.0)
    ways = [shaken_in_x(simulation, row, 3.0, 1.0, 4.0)[:, 0] for simulation in (held, free)]
    assert 0.005 < np.max(np.abs(ways[0])) < 0.02
    assert np.max(np.abs(ways[1])) > 0.05


# Momentum ---------------------------------------------------------------------------------------------------


def rocking_plate(k: int) -> Ground:
    """Return a plate that moves and turns in all six ways, at a step."""
    time = k * STEP
    ways = np.array([0.02, 0.015, 0.01, 0.01, 0.015, 0.02])
    omega = 2.0 * np.pi * np.array([1.3, 1.1, 2.0, 0.9, 1.2, 0.7])
    place, rate = ways * np.sin(omega * time), ways * omega * np.cos(omega * time)
    ahead, behind = (
        Rotation.from_rotvec(ways[3:] * np.sin(omega[3:] * (time + d))) for d in (0.5 * STEP, -0.5 * STEP)
    )
    turning = (ahead * behind.inv()).as_rotvec() / STEP
    return Ground.plane(place[:3], Rotation.from_rotvec(place[3:]).as_matrix(), rate[:3], turning)


@pytest.mark.parametrize("name", ["sedan", HEAVY])
def test_a_tied_car_on_a_moving_plate_keeps_the_laws_of_momentum(name: str) -> None:
    """Tyres, chocks and straps give back to the plate what they give to the car, with all their moments."""
    model = restrained(bare(name))
    simulation = Simulation(model, restrained=True, newton=TIGHT)
    simulation.start(0.0)
    row, worst, most = InputLayout.of(model).row(), np.zeros(6), np.zeros(6)
    pushed = 0.0
    for k in range(1, 801):
        wrench, _ = simulation.step(row, rocking_plate(k).parameters)
        assert simulation.converged
        if k % 10 == 0:
            worst = np.maximum(worst, np.abs(imbalance(model, simulation, wrench)))
            most = np.maximum(most, np.abs(wrench))
        pushed = max(pushed, float(np.max(np.abs(simulation.layout.arrays.wheels[:, WHEEL.chock_force]))))
    print(f"{name}: {worst[:3].max():.1e} N, {worst[3:].max():.1e} N m")
    assert pushed > 100.0
    assert np.all(worst[:3] <= 1e-6 * most[2])
    assert np.all(worst[3:] <= 1e-5 * most[2])


def test_a_car_that_turns_and_brakes_keeps_the_laws_of_momentum() -> None:
    model = bare("sedan")
    simulation = Simulation(model, newton=TIGHT)
    simulation.start(20.0)
    worst, most = np.zeros(6), np.zeros(6)
    for k in range(1200):
        wrench, _ = simulation.step(turning(model, k))
        if k % 10 == 0:
            worst = np.maximum(worst, np.abs(imbalance(model, simulation, wrench)))
            most = np.maximum(most, np.abs(wrench))
    print(f"{worst[:3].max():.1e} N, {worst[3:].max():.1e} N m")
    assert most[0] > 4000.0
    assert most[1] > 4000.0
    assert np.all(worst[:3] <= 0.01)
    assert np.all(worst[3:] <= 0.2)


def imbalance(model: Model, simulation: Simulation, wrench: FloatArray) -> FloatArray:
    """Return rate of momentum − weight + the car's wrench on the ground, (6)."""
    state = simulation.state
    return np.asarray(momentum_rate(model, state) - weight(model, state) + wrench)


# A quarter car ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hertz", [1.5, 5.0, 12.0])
def test_a_quarter_car_on_a_plate_is_two_masses_on_two_springs(hertz: float) -> None:
    """With a damper without table, on a plate without friction that heaves by half a millimetre.

    What the knuckle turns while it travels is left out: 2 % of a frequency, 6 % of the answer at a resonance.
    """
    quarter = find("quarter_car")
    tyre = find("sedan").wheels[0].tyre
    assert isinstance(tyre, MagicTyre)
    damping = 1800.0
    spring = replace(quarter.springs[0], damping=damping, damper_table=None)
    model = replace(quarter, springs=(spring,), wheels=(replace(quarter.wheels[0], tyre=tyre),))
    simulation = Simulation(model)
    simulation.start(0.0)
    row, omega, amplitude = InputLayout.of(model).row(), 2.0 * np.pi * hertz, 5e-4
    periods = 12
    count = round(periods / hertz / STEP)
    heaves = []
    for k in range(1, count + 1):
        phase = omega * k * STEP
        ground = Ground.plane(
            np.array([0.0, 0.0, amplitude * np.sin(phase)]),
            np.eye(3),
            np.array([0.0, 0.0, amplitude * omega * np.cos(phase)]),
        )
        _, signals = simulation.step(row, ground.with_friction(1e-3, 1e-3).parameters)
        heaves.append(signals[2])
    half = round(6 / hertz / STEP)
    times = STEP * np.arange(count - half + 1, count + 1)
    base = np.stack([np.sin(omega * times), np.cos(omega * times), np.ones(half)], axis=1)
    found = np.linalg.lstsq(base, np.array(heaves[-half:]), rcond=None)[0]
    mass, stiffness, damper = two_masses(model, damping)
    load = weight_of(model)
    at_rest = standing_tyre(tyre, load).stiffness
    whole = stiffness + np.diag([0.0, at_rest]) + 1j * omega * (damper + np.diag([0.0, tyre.damping]))
    moved = np.linalg.solve(whole - omega**2 * mass, np.array([0.0, at_rest + 1j * omega * tyre.damping]))
    share = complex(found[0], found[1]) / amplitude
    print(f"{hertz} Hz: {share:.4f}, two masses {moved[0]:.4f}")
    assert share == pytest.approx(moved[0], rel=0.08)


def two_masses(model: Model, damping: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return mass, stiffness and damping (2, 2) of chassis and wheel: arms are levers, the spring acts by its
    motion ratio and its preload's lever."""
    (axle,) = suspension_kinematics(model, np.array([-1e-3, 0.0, 1e-3]))
    ratio, spring = axle.travel.motion_ratio[:, 0], model.springs[0]
    force = spring.stiffness * (spring.free_length - axle.travel.spring_length[1, 0])
    at_wheel = spring.stiffness * ratio[1] ** 2 + force * (ratio[2] - ratio[0]) / 2e-3
    chassis, lower, upper, knuckle = model.bodies
    mass = np.diag([chassis.mass, knuckle.mass])
    for arm, inner, outer in ((lower, 0.39, 0.72), (upper, 0.47, 0.68)):
        share = (arm.centre[1] - inner) / (outer - inner)
        swing = np.array([-1.0, 1.0]) / (outer - inner)
        mass += arm.mass * np.outer([1.0 - share, share], [1.0 - share, share])
        mass += arm.inertia[0, 0] * np.outer(swing, swing)
    between = np.array([[1.0, -1.0], [-1.0, 1.0]])
    return mass, at_wheel * between, damping * ratio[1] ** 2 * between
