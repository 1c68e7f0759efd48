"""The full car at and beyond its limits: bounded, no energy out of nothing, every step in its tolerance."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from mastd.arrays import FloatArray
from mastd.roads.ground import Ground, write_plane
from mastd.vehicle.drivers.controls import Controls, half_cosine, hands_off, no_controls
from mastd.vehicle.magic_formula.tyre import MagicTyre
from mastd.vehicle.manoeuvres.base import KM_PER_H, Manoeuvre
from mastd.vehicle.manoeuvres.line import brake, kerb
from mastd.vehicle.manoeuvres.summary import summary
from mastd.vehicle.model.definition import Model
from mastd.vehicle.model.library import find
from mastd.vehicle.simulation.simulation import Simulation
from mastd.vehicle.state.inputs import InputLayout
from mastd.vehicle.state.trace import ANGLES, ANGULAR_VELOCITY, POSITION, VELOCITY, Trace
from tests.support.vehicle.residual import Balance, balanced
from tests.support.vehicle.shaken_plate import shaking

STORED = 3e-4
"""Of the energy of motion that tyres store sideways and give back, at most."""


@pytest.fixture(scope="module")
def sedan() -> Model:
    """The full sedan, in neutral: what drives it are torques on its wheels, which are known."""
    return replace(find("sedan"), powertrain=None, aerodynamics=None)


def check_sound(trace: Trace) -> None:
    """Every step converged, nothing flew away, the car stands on its wheels."""
    assert summary(trace).unconverged is None
    assert summary(trace).joint_error <= 1e-8
    assert np.abs(trace.chassis[:, ANGLES][:, :2]).max() < 0.35
    assert np.abs(trace.chassis[:, POSITION][:, 2] - trace.chassis[0, 2]).max() < 0.3
    assert trace.wheel_loads.max() < 12.0 * trace.wheel_loads[0].max()


def check_no_energy_from_nothing(run: Balance) -> None:
    moving = 0.5 * 1500.0 * max(float(np.max(np.sum(run.trace.chassis[:, VELOCITY] ** 2, axis=1))), 1.0)
    print(f"gone {run.gone[-1]:.0f} J of {moving:.0f} J, regained at most {run.regained():.1f} J")
    assert run.regained() < STORED * moving
    assert run.gone[-1] > 0.0


def check_saturated(trace: Trace, model: Model, wheels: tuple[int, ...]) -> None:
    """These wheels' forces reach what friction gives, and no wheel's goes beyond it."""
    from mastd.vehicle.magic_formula.formula import peak_friction

    pressed = trace.wheel_loads > 500.0
    share = np.zeros_like(trace.wheel_loads)
    for place, wheel in enumerate(model.wheels):
        assert isinstance(wheel.tyre, MagicTyre)
        peaks = [
            max(peak_friction(wheel.tyre.coefficients, float(load), 0.0))
            for load in np.linspace(500.0, 20_000.0, 40)
        ]
        most = np.interp(trace.wheel_loads[:, place], np.linspace(500.0, 20_000.0, 40), peaks)
        force = np.hypot(trace.tyre_force[:, place, 0], trace.tyre_force[:, place, 1])
        share[:, place] = force / np.maximum(most * trace.wheel_loads[:, place], 1.0)
    share[~pressed] = 0.0
    print("largest share of friction", np.round(share.max(axis=0), 3))
    assert share.max() < 1.1
    assert share[:, list(wheels)].max() > 0.9


def turned(model: Model, rack: float, torque: float, braking: float, after: float) -> Manoeuvre:
    """Return a turn at 70 km/h; from ``after`` s on the rear wheels are driven or braked, N m each."""

    def law(times: FloatArray) -> Controls:
        controls = no_controls(model, times)
        controls.drives[:, 0, :] = half_cosine(times, rack, 0.5, 1.0)
        share = half_cosine(times, 1.0, after, after + 0.2)[:, 0]
        controls.drive_torque[:, 2:] = torque * share[:, None]
        controls.brake_torque[:, 2:] = braking * share[:, None]
        return controls

    return Manoeuvre("turned", 70.0 * KM_PER_H, 6.0, Ground.flat(), law)


@pytest.mark.evidence
@pytest.mark.parametrize(("torque", "braking"), [(0.0, 3000.0), (900.0, 0.0)])
def test_the_rear_breaks_away(sedan: Model, torque: float, braking: float) -> None:
    """Rear wheels that lock, or spin, in a turn: the car spins out, and slides as friction lets it."""
    run = balanced(sedan, turned(sedan, -0.012, torque, braking, 1.5))
    check_sound(run.trace)
    check_no_energy_from_nothing(run)
    check_saturated(run.trace, sedan, (2, 3))
    velocity = run.trace.chassis[:, VELOCITY]
    fast = np.hypot(velocity[:, 0], velocity[:, 1]) > 3.0
    sideslip = np.degrees(np.arctan2(velocity[:, 1], velocity[:, 0]))
    assert np.abs(sideslip[fast]).max() > 40.0


def reverse(model: Model, speed: float, rack: float, duration: float) -> Manoeuvre:
    """Return driving at a speed of either sign with the rack turned, and as much torque as rolling takes."""

    def law(times: FloatArray) -> Controls:
        controls = no_controls(model, times)
        controls.drives[:, 0, :] = half_cosine(times, rack, 0.5, 2.0)
        controls.drive_torque[:, :2] = math.copysign(25.0, speed)
        return controls

    return Manoeuvre("reverse", speed, duration, Ground.flat(), law)


@pytest.mark.evidence
def test_full_reverse_goes_round_the_circle_of_forward_driving(sedan: Model) -> None:
    """Slowly, the radius is that of the steering; backwards the car turns the other way round it."""
    rates = {}
    for speed in (3.0, -3.0):
        run = balanced(sedan, reverse(sedan, speed, -0.03, 8.0))
        check_sound(run.trace)
        check_no_energy_from_nothing(run)
        late = run.trace.time > 4.0
        chassis = run.trace.chassis[late]
        along = np.hypot(chassis[:, VELOCITY][:, 0], chassis[:, VELOCITY][:, 1]) * np.sign(speed)
        rates[speed] = float(np.mean(chassis[:, ANGULAR_VELOCITY][:, 2] / along))
    assert rates[3.0] > 0.05
    assert rates[-3.0] == pytest.approx(rates[3.0], rel=0.05)


@pytest.mark.evidence
def test_full_reverse_fast_with_steering_stays_bounded(sedan: Model) -> None:
    """At 40 km/h backwards the steered axle leads the wrong way: the car swings round, nothing more."""
    run = balanced(sedan, reverse(sedan, -40.0 * KM_PER_H, 0.02, 6.0))
    check_sound(run.trace)
    check_no_energy_from_nothing(run)
    assert np.ptp(np.unwrap(run.trace.chassis[:, ANGLES][:, 2])) > 1.0


@pytest.mark.evidence
@pytest.mark.parametrize("torque", [0.0, 400.0])
def test_a_driven_car_loses_what_slip_and_rolling_take(sedan: Model, torque: float) -> None:
    """Straight ahead, the dampers at rest: Σ F (Ω r_e − v) of the tyres, and their rolling resistance."""
    from mastd.vehicle.magic_formula.formula import rolling_radius

    def law(times: FloatArray) -> Controls:
        controls = no_controls(sedan, times)
        controls.drive_torque[:, :2] = torque * half_cosine(times, 1.0, 0.2, 1.0)[:, :1]
        return controls

    run = balanced(sedan, Manoeuvre("driven", 10.0, 4.0, Ground.flat(), law))
    check_sound(run.trace)
    trace, free = run.trace, balanced(sedan, Manoeuvre("free", 10.0, 4.0, Ground.flat(), hands_off(sedan)))
    radii = np.array(
        [
            [
                rolling_radius(wheel.tyre.coefficients, float(load))  # type: ignore[union-attr]
                for wheel, load in zip(sedan.wheels, row, strict=True)
            ]
            for row in trace.wheel_loads[::20]
        ]
    )
    slipping = trace.spin[::20] * radii - trace.chassis[::20, VELOCITY][:, :1]
    slip = float(np.sum(trace.tyre_force[::20, :, 0] * slipping)) * 0.02
    way = float(trace.chassis[-1, 0] - trace.chassis[0, 0])
    resistance = free.gone[-1] / float(free.trace.chassis[-1, 0] - free.trace.chassis[0, 0])
    print(f"gone {run.gone[-1]:.0f} J: slip {slip:.0f} J, rolling {resistance * way:.0f} J")
    assert run.gone[-1] == pytest.approx(slip + resistance * way, rel=0.05)


@pytest.mark.evidence
def test_split_friction_turns_the_braked_car_to_the_side_that_grips(sedan: Model) -> None:
    distance = {}
    for name, friction, steered in (
        ("dry", (1.0, 1.0), False),
        ("split", (1.0, 0.4), False),
        ("steered", (1.0, 0.4), True),
        ("wet", (0.4, 0.4), False),
    ):
        manoeuvre = brake(sedan, speed=60.0 * KM_PER_H, pedal=0.4, friction=friction, steered=steered)
        run = balanced(sedan, manoeuvre)
        check_sound(run.trace)
        check_no_energy_from_nothing(run)
        found = {finding.key: finding.value for finding in manoeuvre.findings(run.trace)}
        print(name, {key: round(value, 3) for key, value in found.items()})
        distance[name] = found["braking_distance_m"]
        if name == "split":
            assert found["yaw_change_rad"] > 0.03, "to the left, which grips"
            turned_by = found["yaw_change_rad"]
        elif name == "steered":
            assert abs(found["yaw_change_rad"]) < 0.5 * turned_by
        else:
            assert abs(found["yaw_change_rad"]) < 0.02
        assert found["creep_m"] < 1e-3
    assert distance["dry"] < distance["split"] < distance["wet"]
    assert distance["dry"] < distance["steered"] < distance["wet"]


@pytest.mark.evidence
def test_split_friction_and_most_of_the_pedal_spin_the_car_round(sedan: Model) -> None:
    manoeuvre = brake(sedan, speed=80.0 * KM_PER_H, pedal=0.7, friction=(1.0, 0.3))
    run = balanced(sedan, manoeuvre)
    check_sound(run.trace)
    check_no_energy_from_nothing(run)
    found = {finding.key: finding.value for finding in manoeuvre.findings(run.trace)}
    assert found["yaw_change_rad"] > 1.0
    assert abs(run.trace.chassis[-1, VELOCITY]).max() < 0.01, "it comes to rest"


@pytest.mark.evidence
@pytest.mark.parametrize("step", [1e-3, 2e-3])
def test_a_kerb_at_30_km_h(sedan: Model, step: float) -> None:
    manoeuvre = kerb(sedan, speed=30.0 * KM_PER_H, height=0.1)
    run = balanced(sedan, manoeuvre, step, height=manoeuvre.ground.height)
    trace = run.trace
    assert summary(trace).unconverged is None
    assert trace.wheel_loads.max() < 15.0 * trace.wheel_loads[0].max()
    assert np.abs(trace.chassis[:, ANGLES][:, :2]).max() < 0.2
    # The kerb as a wheel feels it has no edge, so its energy is that of height; what bounces is damped.
    check_no_energy_from_nothing(run)
    assert trace.chassis[-1, 2] - trace.chassis[0, 2] == pytest.approx(0.1, abs=0.01)


MINUTES = 10
SHAKEN = 0.3 * 9.80665
"""m/s²: the peak along each axis."""


@pytest.mark.evidence
@pytest.mark.parametrize(("vehicle", "turned"), [("sedan", 1.0), ("transporter_8x8", 0.3)])
def test_a_braked_car_on_a_shaking_plate_does_not_creep(vehicle: str, turned: float) -> None:
    """Ten minutes at 0.3 g along all axes and so many rad/s² about them, 0.5 to 20 Hz: it stays where it was
    to a millimetre, and so does its heading. (At 1 rad/s² the heavy one's tyres come to their friction.)"""
    model = replace(find(vehicle), powertrain=None)
    step = 1e-3
    simulation, row = Simulation(model, step=step), InputLayout.of(model).row()
    row[InputLayout.of(model).brake_capacity] = 2e4
    simulation.start(0.0)
    ground, still, turn = Ground.flat().parameters, np.zeros(3), np.eye(3)
    write_plane(ground, still, turn, still, still)
    for _ in range(2000):
        simulation.step(row, ground)
    before = simulation.state
    motion = shaking(60.0 * MINUTES, step, SHAKEN, turned, seed=1)
    # The plate turns about the middle between the axles.
    middle = np.array([np.mean([wheel.centre[0] for wheel in model.wheels]), 0.0, 0.0])
    farthest, worked = 0.0, 0.0
    for place, velocity, rotation, turning in zip(
        motion.place, motion.velocity, motion.rotation, motion.turn, strict=True
    ):
        write_plane(ground, middle + place, rotation, velocity, turning)
        wrench, signals = simulation.step(row, ground)
        assert simulation.converged
        # Work that the plate does on the car: it pushes back against the car's wrench.
        moment = wrench[3:] - np.cross(middle + place, wrench[:3])
        worked -= float(wrench[:3] @ velocity + moment @ turning) * step
        off = rotation.T @ (signals[:3] - middle - place) + middle - before.position[0]
        farthest = max(farthest, float(np.hypot(*off[:2])))
    write_plane(ground, middle, turn, still, still)
    for _ in range(20000):
        simulation.step(row, ground)
    after = simulation.state
    creep = float(np.hypot(*(after.position[0, :2] - before.position[0, :2])))
    heading = 2.0 * abs(float(after.attitude[0, 3] - before.attitude[0, 3]))
    print(f"{vehicle}: creep {1e3 * creep:.4f} mm, heading {1e3 * heading:.4f} mrad, swayed {farthest:.3f} m")
    print(f"the plate has done {worked:.0f} J")
    assert 1e-3 < farthest < 0.1, "it sways on its tyres and springs, and no more"
    assert creep < 1e-3
    assert heading < 1e-3
    # At rest before and after: what the plate has done, dampers and tyres have taken.
    assert worked > 0.0
