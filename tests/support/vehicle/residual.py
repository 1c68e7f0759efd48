"""The balance of energy of a car that is driven to its limits: what went in, what it has, what is gone.

What is gone, work − increase of energy, must grow: dampers, brakes, tyres, road and air only take. Energies
are calculated in numpy from the states, with stops and the tyres' own vertical law.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mastd.arrays import FloatArray
from mastd.vehicle.drivers.base import Seen
from mastd.vehicle.elements.spring_damper.element import SpringDamper
from mastd.vehicle.magic_formula.formula import normal_load
from mastd.vehicle.magic_formula.tyre import MagicTyre
from mastd.vehicle.manoeuvres.base import Manoeuvre
from mastd.vehicle.model.definition import Model
from mastd.vehicle.simulation.simulation import Simulation
from mastd.vehicle.state.inputs import InputLayout
from mastd.vehicle.state.motion import State
from mastd.vehicle.state.trace import ANGULAR_VELOCITY, Trace, join
from mastd.vehicle.tyres.linear_tyre import Tyre
from tests.support.vehicle.oracle import Motion

Height = Callable[[float, float], float]
"""x, y (m) → height of the ground, m."""

CHUNK = 10
"""Steps between two looks at the energy."""
_DEEPEST = 0.2
_DEPTHS = np.linspace(0.0, _DEEPEST, 4001)


@dataclass(frozen=True, eq=False)
class Balance:
    """A run with its energies, (looks)."""

    trace: Trace
    time: FloatArray
    energy: FloatArray
    """Kinetic and potential, J."""
    work: FloatArray
    """That motors and racks have done, J."""

    @property
    def gone(self) -> FloatArray:
        """What is gone since the start, J."""
        return np.asarray(self.work - (self.energy - self.energy[0]))

    def regained(self, over: int = 5) -> float:
        """Return the most that came back within some looks, J: what tyres had stored, or out of nothing."""
        gone = self.gone
        return float(np.max(gone[:-over] - gone[over:], initial=0.0))


class Potentials:
    """Energies of one vehicle's states."""

    def __init__(self, model: Model, height: Height = lambda x, y: 0.0) -> None:
        self._model = model
        self._height = height
        self._tyres = [_tyre_energy(wheel.tyre) for wheel in model.wheels]

    def energy(self, state: State) -> float:
        """Return kinetic energy and the potentials of gravity, springs, stops, bars and tyres, J."""
        model = self._model
        motion, total = Motion(model, state), 0.0
        for index, body in enumerate(model.bodies):
            omega, velocity = state.angular_velocity[index], state.velocity[index]
            total += 0.5 * body.mass * velocity @ velocity + 0.5 * omega @ body.inertia @ omega
            total += body.mass * model.gravity * state.position[index, 2]
        for spring in model.springs:
            first = motion.point(spring.first, spring.point_first).value
            second = motion.point(spring.second, spring.point_second).value
            total += _spring_energy(spring, float(np.linalg.norm(second - first)))
        for bar in model.bars:
            left = motion.point(bar.body_left, bar.point_left).value
            right = motion.point(bar.body_right, bar.point_right).value
            total += 0.5 * bar.stiffness * float(motion.matrix[0][:, 2] @ (left - right)) ** 2
        for wheel, spin, curve in zip(model.wheels, state.spin, self._tyres, strict=True):
            centre = motion.point(wheel.carrier, wheel.centre).value
            lean = float((motion.matrix[wheel.carrier] @ wheel.axis)[2])
            height = centre[2] - self._height(float(centre[0]), float(centre[1]))
            radius = height / np.sqrt(1.0 - lean**2) if isinstance(wheel.tyre, MagicTyre) else height
            total += 0.5 * wheel.axial_inertia * spin**2
            total += float(np.interp(wheel.tyre.free_radius - radius, _DEPTHS, curve))
        return float(total)


def _spring_energy(spring: SpringDamper, length: float) -> float:
    energy = 0.5 * spring.stiffness * (spring.free_length - length) ** 2
    if spring.gas_spring is not None:
        gas = spring.gas_spring
        volume = gas.volume + gas.area * (length - gas.design_length)
        energy += (
            gas.pressure * gas.volume**gas.exponent * volume ** (1.0 - gas.exponent) / (gas.exponent - 1.0)
        )
        energy += 101325.0 * volume
    for stop, sign in ((spring.bump_stop, 1.0), (spring.rebound_stop, -1.0)):
        if stop is not None:
            pressed = max(0.0, sign * (stop.contact_length - length))
            energy += stop.stiffness * (0.5 * pressed**2 + 0.25 * pressed**4 / stop.doubling**2)
    return energy


def _tyre_energy(tyre: Tyre | MagicTyre) -> FloatArray:
    """Return the integral of the load over the depth."""
    if isinstance(tyre, Tyre):
        return np.asarray(0.5 * tyre.stiffness * _DEPTHS**2)
    loads = np.array([normal_load(tyre.coefficients, depth, 0.0) for depth in _DEPTHS])
    steps = 0.5 * (loads[1:] + loads[:-1]) * np.diff(_DEPTHS)
    return np.concatenate([[0.0], np.cumsum(steps)])


def balanced(
    model: Model, manoeuvre: Manoeuvre, step: float = 1e-3, height: Height = lambda x, y: 0.0
) -> Balance:
    """Run a manoeuvre and keep its balance; for vehicles without powertrain, or with it in neutral."""
    simulation = Simulation(model, step=step, ground=manoeuvre.ground)
    simulation.start(manoeuvre.speed)
    drivers, layout, potentials = manoeuvre.drivers(), InputLayout.of(model), Potentials(model, height)
    traces = [simulation.sample()]
    times, energies, works = [0.0], [potentials.energy(simulation.state)], [0.0]
    count = round(manoeuvre.duration / step)
    for first in range(0, count, CHUNK):
        at = np.asarray(step * np.arange(first + 1, min(first + CHUNK, count) + 1), dtype=np.float64)
        controls = manoeuvre.controls(at)
        seen = Seen.last(traces[-1])
        for driver in drivers:
            driver.act(seen, at, controls)
        rows = controls.rows(model)
        traces.append(simulation.run(rows))
        works.append(works[-1] + _work(layout, rows, traces[-1], step))
        energies.append(potentials.energy(simulation.state))
        times.append(simulation.time)
        if any(driver.done for driver in drivers):
            break
    return Balance(join(traces), np.array(times), np.array(energies), np.array(works))


def _work(layout: InputLayout, rows: FloatArray, trace: Trace, step: float) -> float:
    """Return the work of drive torques, against the chassis, and of racks in some steps, J."""
    turning = trace.spin - trace.chassis[:, ANGULAR_VELOCITY][:, 1:2]
    work = float(np.sum(rows[:, layout.drive_torque] * turning)) * step
    for drive in range(layout.drives):
        work -= float(np.sum(trace.rack_force[:, drive] * rows[:, layout.drive(drive)][:, 1])) * step
    return work
