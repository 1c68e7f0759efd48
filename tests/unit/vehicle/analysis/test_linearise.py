"""Modes of the vehicle, held against potential energy and against differences of the whole dynamics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from mastd.arrays import FloatArray
from mastd.vehicle.analysis.linearise import Linearisation, Mode, linearise, modes_of, without_damping
from mastd.vehicle.equilibrium.constraints import free_motions
from mastd.vehicle.equilibrium.dense_equations import System
from mastd.vehicle.equilibrium.settle import settle, straight_ahead
from mastd.vehicle.model.definition import Model
from mastd.vehicle.model.library import find
from mastd.vehicle.state.motion import State, design_state
from tests.support.vehicle.oracle import Motion, Oracle, bar_points
from tests.support.vehicle.variants import (
    equipped,
    with_bars,
    with_last_axle_repeated,
    with_stops,
)

Variant = Callable[[Model], Model]
SPEED = 20.0


def rest_of(model: Model) -> State:
    """Return the vehicle at rest."""
    return settle(System(model), design_state(model)).state


def undamped_modes(model: Model) -> Linearisation:
    """Return the modes without dampers, tyre damping and slip."""
    return linearise(System(model), rest_of(model), undamped=System)


@pytest.fixture(scope="module")
def sedan() -> Model:
    return find("benchmark_sedan")


@pytest.fixture(scope="module")
def undamped(sedan: Model) -> Linearisation:
    return undamped_modes(sedan)


def named(found: Linearisation, name: str) -> Mode:
    """Return the mode of that name."""
    (mode,) = (mode for mode in found.modes if mode.name == name)
    return mode


def mass_of(model: Model, state: State) -> FloatArray:
    """Return the mass matrix (N, N), put together from the definitions."""
    bodies = len(model.bodies)
    mass = np.zeros((6 * bodies + len(model.wheels),) * 2)
    matrices = Rotation.from_quat(np.roll(state.attitude, -1, axis=1)).as_matrix()
    for index, body in enumerate(model.bodies):
        place = 6 * index
        mass[place : place + 3, place : place + 3] = body.mass * np.eye(3)
        turned = matrices[index] @ body.inertia @ matrices[index].T
        mass[place + 3 : place + 6, place + 3 : place + 6] = turned
    for index, wheel in enumerate(model.wheels):
        mass[6 * bodies + index, 6 * bodies + index] = wheel.axial_inertia
    return mass


class Neighbourhood:
    """Positions with closed joints near a base, by coordinates q in the mass matrix' measure."""

    def __init__(self, model: Model, base: State) -> None:
        self.oracle, self.base = Oracle(model), base
        mass, jacobian = mass_of(model, base), self.oracle.joint_jacobian(base)
        self.free = free_motions(mass, jacobian).free
        self.weighted = mass @ self.free
        across = np.linalg.pinv(np.vstack([jacobian, self.weighted.T]))
        self.closing = across[:, : len(jacobian)]

    def at(self, coordinates: FloatArray) -> State:
        """Return the position at coordinates q (dof): moved along the free motions, closed across them."""
        state = self.oracle.move(self.base, self.free @ coordinates)
        for _ in range(20):
            gap = self.oracle.constraints(state)[0]
            if np.max(np.abs(gap)) < 1e-14:
                break
            state = self.oracle.move(state, -self.closing @ gap)
        return state


def potential(model: Model, state: State) -> float:
    """Return the potential energy of weight, springs, stops, bars and tyres on flat ground, J."""
    motion = Motion(model, state)
    weights = model.gravity * np.array([body.mass for body in model.bodies])
    energy = float(weights @ state.position[:, 2])
    for spring in model.springs:
        ends = [
            motion.point(spring.first, spring.point_first),
            motion.point(spring.second, spring.point_second),
        ]
        length = float(np.linalg.norm((ends[1] - ends[0]).value))
        energy += 0.5 * spring.stiffness * (spring.free_length - length) ** 2
        for stop, sign in ((spring.bump_stop, 1.0), (spring.rebound_stop, -1.0)):
            if stop is not None:
                pressed = max(0.0, sign * (stop.contact_length - length))
                energy += stop.stiffness * (0.5 * pressed**2 + 0.25 * pressed**4 / stop.doubling**2)
    for bar in model.bars:
        energy += 0.5 * bar.stiffness * bar_points(motion, bar)[2] ** 2
    for wheel in model.wheels:
        height = motion.point(wheel.carrier, wheel.centre).value[2]
        energy += 0.5 * wheel.tyre.stiffness * max(0.0, wheel.tyre.free_radius - height) ** 2
    return energy


def test_the_sedan_has_the_modes_it_is_known_to_have(undamped: Linearisation) -> None:
    frequencies = {mode.name: mode.frequency_hz for mode in undamped.modes}
    hops = {f"wheel hop {axle} {phase} phase" for axle in ("front", "rear") for phase in ("in", "out of")}
    assert set(frequencies) == {"heave", "pitch", "roll", *hops}
    assert frequencies["roll"] == pytest.approx(1.612, abs=5e-4)
    assert frequencies["heave"] == pytest.approx(1.240, abs=1e-3)
    assert all(13.0 < frequencies[name] < 13.6 for name in hops)
    assert not undamped.decays
    # Place and heading on the plane, and four spins: two zeros each.
    assert undamped.rigid == 14
    assert all(mode.damping == 0.0 for mode in undamped.modes)


def test_the_constraint_forces_have_a_stiffness_of_their_own(sedan: Model) -> None:
    """Without it the roll is 1.555 Hz, and a mode of 0.14 Hz appears that no car has."""
    rest = rest_of(sedan)
    conservative = without_damping(sedan, np.zeros(4))
    unloaded = replace(rest, multipliers=np.zeros_like(rest.multipliers))
    found = modes_of(sedan, System(conservative).matrices(unloaded), conservative=True)
    assert named(found, "roll").frequency_hz == pytest.approx(1.555, abs=1.5e-3)
    slow = [abs(mode.eigenvalue) / (2 * np.pi) for mode in (*found.modes, *found.decays)]
    assert min(slow) == pytest.approx(0.14, abs=0.01)


@pytest.mark.parametrize(
    "variant",
    [
        lambda model: model,
        lambda model: with_bars(model, 25e3),
        lambda model: with_stops(model, -0.01, 0.1),
    ],
    ids=["sedan", "bars", "stops"],
)
def test_undamped_modes_swing_between_equal_energies(sedan: Model, variant: Variant) -> None:
    """ω² of a mode = curvature of the potential along it over twice its kinetic energy at a unit rate."""
    model = variant(sedan)
    rest, found = rest_of(model), undamped_modes(model)
    near, size = Neighbourhood(model, rest), 1e-3
    for mode in found.modes:
        shape = np.real(mode.shape)
        coordinates = near.weighted.T @ shape
        energies = [potential(model, near.at(amount * coordinates)) for amount in (-size, 0.0, size)]
        curvature = (energies[0] - 2.0 * energies[1] + energies[2]) / size**2
        expected = np.sqrt(curvature / (coordinates @ coordinates)) / (2.0 * np.pi)
        assert mode.frequency_hz == pytest.approx(expected, rel=3e-4), mode.name


def test_eigenvalues_are_those_of_the_whole_dynamics(sedan: Model) -> None:
    """Accelerations from M a + Gᵀλ = f and Φ̈ = 0, differenced about steady driving, slip included.

    Nothing is known here of geometric stiffness: the multipliers are solved for anew at each position.
    """
    model = equipped(sedan)
    base = straight_ahead(System(model), rest_of(model), speed=SPEED)
    near = Neighbourhood(model, base)
    oracle, weighted = near.oracle, near.weighted
    still = np.zeros_like(base.position)
    count = weighted.shape[1]

    def accelerations(displacement: FloatArray, rates: FloatArray) -> FloatArray:
        state = near.at(displacement)
        mass, jacobian = mass_of(model, state), oracle.joint_jacobian(state)
        # Velocities that keep the joints closed and are ``rates`` in the coordinates of the base.
        rows = np.vstack([jacobian, weighted.T])
        velocity = np.linalg.lstsq(rows, np.concatenate([np.zeros(len(jacobian)), rates]))[0]
        moving = oracle.push(oracle.with_bars(state), velocity)
        moving = replace(
            moving,
            acceleration=still,
            angular_acceleration=still,
            spin_acceleration=np.zeros_like(base.spin),
            multipliers=np.zeros_like(base.multipliers),
        )
        forces, bend = oracle.residual(moving), oracle.constraints(moving)[2]
        none = np.zeros((len(bend), len(bend)))
        whole = np.block([[mass, jacobian.T], [jacobian, none]])
        solved = np.linalg.solve(whole, -np.concatenate([forces, bend]))
        return np.asarray(weighted.T @ solved[: len(mass)])

    def slope(of: Callable[[FloatArray], FloatArray], size: float) -> FloatArray:
        columns = [(of(size * unit) - of(-size * unit)) / (2.0 * size) for unit in np.eye(count)]
        return np.stack(columns, axis=1)

    zero = np.zeros(count)
    stiffness = slope(lambda change: accelerations(change, zero), 1e-4)
    damping = slope(lambda change: accelerations(zero, change), 1e-5)
    companion = np.block([[np.zeros((count, count)), np.eye(count)], [stiffness, damping]])
    expected = np.linalg.eigvals(companion)
    found = linearise(System(model), rest_of(model), speed=SPEED)
    for mode in (*found.modes, *found.decays):
        nearest = expected[np.argmin(np.abs(expected - mode.eigenvalue))]
        assert abs(nearest - mode.eigenvalue) < 2e-4 * abs(mode.eigenvalue), mode.name
    assert 2 * len(found.modes) + len(found.decays) + found.rigid == 2 * count


def test_shapes_of_a_symmetrical_car_are_symmetrical(sedan: Model, undamped: Linearisation) -> None:
    carriers = np.array([wheel.carrier for wheel in sedan.wheels])
    for mode in undamped.modes:
        heights = mode.shape[6 * carriers + 2]
        sign = -1.0 if mode.name == "roll" or "out of phase" in mode.name else 1.0
        np.testing.assert_allclose(
            heights[[1, 3]], sign * heights[[0, 2]], atol=1e-6 * np.max(np.abs(heights))
        )
        assert sum(mode.participation.values()) == pytest.approx(1.0)
    assert named(undamped, "heave").participation["chassis"] > 0.9


def test_a_bar_raises_the_roll_frequency_alone(sedan: Model, undamped: Linearisation) -> None:
    stiffer = undamped_modes(with_bars(sedan, 30e3))
    assert named(stiffer, "roll").frequency_hz > 1.15 * named(undamped, "roll").frequency_hz
    for name in ("heave", "pitch"):
        assert named(stiffer, name).frequency_hz == pytest.approx(
            named(undamped, name).frequency_hz, rel=1e-6
        )


def test_damping_at_rest_and_at_speed(sedan: Model) -> None:
    rest = rest_of(sedan)
    for speed in (0.0, SPEED):
        found = linearise(System(sedan), rest, speed=speed)
        assert {"heave", "pitch", "roll"} <= {mode.name for mode in found.modes}
        assert all(0.2 < mode.damping < 1.0 for mode in found.modes)
        assert all(mode.eigenvalue.real < 0.0 for mode in (*found.modes, *found.decays))
    # Rolling wheels follow the road at once: four spins that decay.
    assert len(found.decays) == 4
    assert all("spin" in mode.name for mode in found.decays)


def test_without_damping_nothing_decays_at_speed(sedan: Model) -> None:
    found = linearise(System(sedan), rest_of(sedan), speed=30.0, undamped=System)
    assert not found.decays
    assert [mode.damping for mode in found.modes] == [0.0] * 7


def test_the_undamped_model_loses_no_power(sedan: Model) -> None:
    """At any velocities about driving straight the forces that depend on them do no work."""
    model = without_damping(equipped(sedan), np.zeros(4))
    base = straight_ahead(System(model), rest_of(model), speed=SPEED)
    damping = System(model).matrices(base).damping
    np.testing.assert_allclose(damping, -damping.T, atol=1e-9)
    assert np.max(np.abs(damping)) > 1.0


def test_strong_dampers_leave_decays(sedan: Model) -> None:
    springs = tuple(replace(spring, damping=20.0 * spring.damping) for spring in sedan.springs)
    model = replace(sedan, springs=springs)
    found = linearise(System(model), rest_of(model))
    assert any(mode.damping == pytest.approx(1.0) for mode in found.decays)
    assert not any(mode.eigenvalue.imag > 0.0 for mode in found.decays)


def test_modes_of_three_axles_have_names_of_their_own(sedan: Model) -> None:
    found = undamped_modes(with_last_axle_repeated(sedan, 1.2))
    names = [mode.name for mode in found.modes]
    assert len(set(names)) == len(names) == 9
    assert {f"wheel hop axle 3 {phase} phase" for phase in ("in", "out of")} <= set(names)
    assert {"heave", "pitch", "roll"} == set(names[:3])


def test_equal_axles_that_swing_together_have_names_of_their_own() -> None:
    names = [mode.name for mode in undamped_modes(find("transporter_8_axles")).modes]
    assert len(set(names)) == len(names) == 20
    assert {"heave", "pitch", "roll", "cab pitch"} <= set(names)
