"""A car's tyres calculated once more beside a simulation, from its states alone, and the powers of a car."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mastd.arrays import FloatArray
from mastd.roads.ground import Ground
from mastd.vehicle.magic_formula.formula import normal_load, slip_forces
from mastd.vehicle.magic_formula.tyre import MagicTyre
from mastd.vehicle.model.definition import Model
from mastd.vehicle.state.motion import State
from tests.support.vehicle.oracle import Motion, bar_points, damper_force, stop_force, under
from tests.support.vehicle.plain_wheel import Carcass, Place, Pull, carcass, place, pull, turn_of


@dataclass(frozen=True)
class Contact:
    """One tyre at the end of a step."""

    place: Place
    pull: Pull
    power: float
    """W that the ground as one moves along with it gives to the wheel."""
    ground_power: float
    """W that the ground's own motion gives to the wheel beside."""
    stored: float
    """J in the tyre's depth and carcass."""


class Shadow:
    """The tyres of a car, with deflections of their own."""

    def __init__(self, model: Model, state: State) -> None:
        """Begin where the car stands in a state, with the state's deflections."""
        self.model = model
        motion = Motion(model, state)
        self.loads = [place(motion, index, None).load for index in range(len(model.wheels))]
        self.deflection = state.deflection.copy()

    def follow(self, state: State, ground: Ground | None, step: float) -> list[Contact]:
        """Return what the tyres do at the end of a step that led to a state."""
        motion, found = Motion(self.model, state), []
        for index, wheel in enumerate(self.model.wheels):
            tyre = wheel.tyre
            assert isinstance(tyre, MagicTyre)
            at = place(motion, index, ground)
            before = carcass(tyre.coefficients, self.loads[index], *self.deflection[index])
            spin = float(state.spin[index])
            now = pull(tyre, at, before, spin, step)
            self.loads[index], self.deflection[index] = at.load, now.deflection
            found.append(_contact(motion, index, ground, tyre, at, now, before))
        return found


def _contact(
    motion: Motion,
    index: int,
    ground: Ground | None,
    tyre: MagicTyre,
    at: Place,
    now: Pull,
    before: Carcass,
) -> Contact:
    wheel = motion.model.wheels[index]
    centre = motion.point(wheel.carrier, wheel.centre)
    height, _, velocity = under(ground, centre.value[0], centre.value[1])
    foot = np.array([centre.value[0], centre.value[1], height])
    turn = turn_of(ground)
    ground_at_centre = velocity + np.cross(turn, centre.value - foot)
    omega = motion.omega[wheel.carrier]
    axial = float(now.moment @ at.axis)
    own = float(motion.state.spin[index]) - float(omega @ at.axis)
    power = float(now.force @ (centre.rate - ground_at_centre) + now.moment @ (omega - turn)) + axial * own
    driven = float(now.force @ ground_at_centre + now.moment @ turn)
    return Contact(at, now, power, driven, stored_energy(tyre, at, now.deflection))


def stored_energy(tyre: MagicTyre, at: Place, deflection: FloatArray) -> float:
    """Return J in the tyre: of its depth, and of its carcass by the force that a standing tyre would have."""
    c, depth = tyre.coefficients, tyre.free_radius - at.radius
    if not at.load > 0.0:
        return 0.0
    depths = np.linspace(0.0, depth, 21)
    energy = float(np.trapezoid([float(normal_load(c, float(d), 0.0)) for d in depths], depths))
    side = -1.0 if tyre.mirrored else 1.0
    forces = []
    for share in np.linspace(0.0, 1.0, 11):
        held = carcass(c, at.load, share * deflection[0], share * deflection[1])
        fx, fy, _, _, _ = slip_forces(
            c, at.load, held.slip_x, side * held.slip_y, side * at.camber, 0.0, 1.0, 0.0
        )
        forces.append(fx * deflection[0] - side * fy * deflection[1])
    return energy + float(np.trapezoid(forces, dx=0.1))


def kinetic(model: Model, state: State) -> float:
    """Return the kinetic energy and the height's, J."""
    total = 0.0
    for index, body in enumerate(model.bodies):
        omega, velocity = state.angular_velocity[index], state.velocity[index]
        total += 0.5 * body.mass * float(velocity @ velocity) + 0.5 * float(omega @ body.inertia @ omega)
        total += body.mass * model.gravity * float(state.position[index, 2])
    inertias = np.array([wheel.axial_inertia for wheel in model.wheels])
    return total + 0.5 * float(inertias @ state.spin**2)


def suspension_power(model: Model, state: State) -> tuple[float, float]:
    """Return W that springs with their stops and bars give to the car, and W that its dampers take."""
    motion, elastic, lost = Motion(model, state), 0.0, 0.0
    for spring in model.springs:
        d = motion.point(spring.second, spring.point_second) - motion.point(spring.first, spring.point_first)
        length = float(np.linalg.norm(d.value))
        rate = float(d.value @ d.rate) / length
        push = spring.stiffness * (spring.free_length - length)
        if spring.bump_stop is not None:
            push += stop_force(spring.bump_stop, spring.bump_stop.contact_length - length)
        if spring.rebound_stop is not None:
            push -= stop_force(spring.rebound_stop, length - spring.rebound_stop.contact_length)
        elastic += push * rate
        lost += damper_force(spring, rate) * rate
    return elastic, lost


def bar_energy(model: Model, state: State) -> float:
    """Return J in the anti-roll bars."""
    motion = Motion(model, state)
    return sum(0.5 * bar.stiffness * bar_points(motion, bar)[2] ** 2 for bar in model.bars)
