"""Magic Formula tyres under way, calculated once more beside the simulation, and where the energy goes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pytest

from mastd.arrays import FloatArray
from mastd.roads.ground import Ground
from mastd.vehicle.model.definition import Model
from mastd.vehicle.simulation.simulation import Simulation
from mastd.vehicle.state.trace import Trace
from tests.support.vehicle.drives import TIGHT
from tests.support.vehicle.magic_cars import (
    HEAVY,
    STEP,
    bare,
    friction_torques,
    pressed,
    spins_on_carriers,
    tiled,
    turning,
)
from tests.support.vehicle.tyre_shadow import Contact, Shadow, bar_energy, kinetic, suspension_power


@dataclass
class Balance:
    """What became of a run, J."""

    change: FloatArray
    """(n) of kinetic energy, height and bars since the first step."""
    work: FloatArray
    """(n) of tyres, springs, dampers and brakes."""
    taken: FloatArray
    """(n) by the contacts: all that they were given and neither gave back nor still store."""
    errors: tuple[float, float, float]
    """Largest differences of loads and forces (N) and of slips."""
    braking: float
    """W that a friction brake gave at most."""


def balance(
    model: Model, speed: float, inputs: Iterator[FloatArray], grounds: Callable[[int], Ground]
) -> Balance:
    """Run a car with its tyres calculated beside it."""
    simulation = Simulation(model, newton=TIGHT)
    simulation.start(speed)
    shadow = Shadow(model, simulation.state)
    energies, powers, given, stored, errors, brakes = [], [], [], [], [], []
    for k, row in enumerate(inputs, start=1):
        ground = grounds(k)
        simulation.step(row, ground.parameters)
        state, sample = simulation.state, simulation.sample()
        contacts = shadow.follow(state, ground, STEP)
        errors.append(_errors(sample, contacts))
        elastic, lost = suspension_power(model, state)
        brake = float(spins_on_carriers(model, simulation) @ friction_torques(simulation))
        tyres, driven = (sum(getattr(c, name) for c in contacts) for name in ("power", "ground_power"))
        energies.append(kinetic(model, state) + bar_energy(model, state))
        powers.append(elastic - lost + brake + tyres + driven)
        given.append(tyres)
        stored.append(sum(contact.stored for contact in contacts))
        brakes.append(brake)
    kept = np.array(stored)
    return Balance(
        np.array(energies) - energies[0],
        integral(powers),
        -integral(given) - (kept - kept[0]),
        tuple(np.max(np.array(errors), axis=0)),
        float(np.max(brakes)),
    )


def _errors(sample: Trace, contacts: list[Contact]) -> tuple[float, float, float]:
    """Return the largest differences of loads, forces and slips between a step and its shadow."""
    loads = np.array([contact.pull.load for contact in contacts])
    forces = np.array([(contact.pull.along, contact.pull.across) for contact in contacts])
    slips = np.array([contact.pull.slip for contact in contacts])
    return (
        float(np.max(np.abs(loads - sample.wheel_loads[0]))),
        float(np.max(np.abs(forces - sample.tyre_force[0]))),
        float(np.max(np.abs(slips - sample.slip[0]))),
    )


def integral(powers: list[float]) -> FloatArray:
    """Return the work since the first sample (n), by trapezoids."""
    values = np.array(powers)
    return np.concatenate([[0.0], np.cumsum(0.5 * STEP * (values[1:] + values[:-1]))])


def level(_: int) -> Ground:
    return Ground.flat()


def hump(_: int) -> Ground:
    """Return a hump whose edges are kinks of the road."""
    return Ground.bump(1.0, 1.0, 0.04)


def shaking_plate(k: int) -> Ground:
    """Return a plate that shakes at up to 0.3 g in three ways."""
    amplitude, omega = np.array([3.0, 2.0, 2.0]), 2.0 * np.pi * np.array([3.0, 2.3, 4.1])
    phase = omega * k * STEP
    place, speed = amplitude * np.sin(phase) / omega**2, amplitude * np.cos(phase) / omega
    return Ground.plane(place, np.eye(3), speed)


RUNS: dict[str, tuple[str, float, int, float, Callable[[int], Ground]]] = {
    "braking until it stands": ("sedan", 8.0, 1600, 1.0, level),
    "braked on a shaking plate": ("sedan", 0.0, 2000, 1.0, shaking_plate),
    "over a hump": ("sedan", 5.0, 900, 0.0, hump),
    "transporter braking": (HEAVY, 8.0, 1200, 0.4, level),
}


@pytest.mark.evidence
@pytest.mark.parametrize("name", RUNS)
def test_energy_goes_nowhere_but_into_dampers_brakes_and_contacts(name: str) -> None:
    """Over a run, and the contacts never give what they have not stored."""
    vehicle, speed, count, pedal, grounds = RUNS[name]
    model = bare(vehicle)
    assert_balanced(balance(model, speed, iter(tiled(pressed(model, pedal), count * STEP)), grounds))


@pytest.mark.evidence
def test_energy_in_a_turn_with_brakes() -> None:
    model = bare("sedan")
    assert_balanced(balance(model, 20.0, (turning(model, k) for k in range(1800)), level))


def test_tyres_follow_their_equations_from_step_to_step() -> None:
    """A car that locks its wheels, slides to rest and springs back, beside its tyres calculated once more."""
    model = bare("sedan")
    assert_balanced(balance(model, 1.0, iter(tiled(pressed(model, 1.0), 0.2)), level))


def assert_balanced(found: Balance) -> None:
    """Fail unless energies agree to what trapezoids of 1 ms make of forces that break off within one.

    The share of rolling goes by the predicted spin, which is not that of the end: some newtons where a wheel
    locks.
    """
    turnover = float(np.max(np.abs(found.change)))
    loads, forces, slips = found.errors
    print(
        f"energy {np.max(np.abs(found.change - found.work)):.2g} J of {turnover:.3g} J; loads {loads:.1e} N, "
        f"forces {forces:.1e} N, slips {slips:.1e}"
    )
    assert np.max(np.abs(found.change - found.work)) < 5e-3 * turnover
    assert np.max(np.maximum.accumulate(found.taken) - found.taken) < 1e-3 * turnover
    assert loads < 1e-4  # on a hump the ground is that of the predicted place
    assert forces < 20.0
    assert slips < 1e-6
    assert found.braking < 0.01
