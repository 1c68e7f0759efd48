"""Figures of a vehicle, measured on the multibody car and beside it by closed formulas where they exist.

- understeer gradient m_f / C_f − m_r / C_r, and for more axles the single track (``single_track``);
- roll gradient c / (1 − g c), c = m_s h / K_s + m H / K_t: the body m_s leans with its lever h about the roll
  axis on the suspension's roll stiffness K_s, the whole car m with the height H of its centre of gravity on
  that of the tyres, K_t;
- heave and pitch: the body on the wheels' rates in series with the tyres' (two freedoms);
- wheel hop: the unsprung mass between suspension and tyre;
- braking distance v² / (2 µ g).

(M. Mitschke, H. Wallentowitz, Dynamik der Kraftfahrzeuge; T. D. Gillespie, Fundamentals of Vehicle Dynamics.)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from scipy.linalg import eigh

from mastd.roads.ground import Ground
from mastd.settings.vehicle.solver_names import Formulation
from mastd.vehicle.analysis.linearise import Mode, linearise
from mastd.vehicle.drivers.car import Car
from mastd.vehicle.equilibrium.dense_equations import System
from mastd.vehicle.equilibrium.settle import settle
from mastd.vehicle.kinematics.wheel_rates import CornerRates, wheel_rates
from mastd.vehicle.manoeuvres.base import KM_PER_H, Accuracy, Manoeuvre, play
from mastd.vehicle.manoeuvres.handling import ramp_steer
from mastd.vehicle.manoeuvres.line import ALONG, brake
from mastd.vehicle.manoeuvres.summary import Finding, summary
from mastd.vehicle.model.definition import Model
from mastd.vehicle.solver.choice import Solver
from mastd.vehicle.state.motion import design_state

_DEGREES: Final = 180.0 / math.pi
BODY_MODES: Final = ("heave", "pitch", "roll")
PEDALS: Final = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""Shares of the brakes that are tried for the shortest distance."""


@dataclass(frozen=True)
class RideFormulas:
    """What closed formulas say; Hz, rad per m/s²."""

    heave: float
    pitch: float
    hop: tuple[float, float]
    """Lowest and highest of all wheels."""
    roll_gradient: float


def figures(
    model: Model,
    *,
    speed: float = 80.0 * KM_PER_H,
    step: float = 1e-3,
    solver: Solver | Formulation = "chassis",
    accuracy: Accuracy = "fast",
    report: Callable[[str], None] = lambda part: None,
) -> tuple[Finding, ...]:
    """Return the figures of a vehicle; ``speed`` (m/s) of the turn, the modes and the braking.

    ``report`` is called with what is measured next. What a vehicle cannot do (no rack, no brakes)
    is left out.
    """
    car = Car.of(model)
    report("rates")
    rates = wheel_rates(model)
    formulas = ride_formulas(car, rates)
    found = list(_proportions(car))
    report("modes")
    found.extend(_ride(car, formulas, speed))
    if model.drives:
        report("ramp-steer")
        turned = _run(model, ramp_steer(model, speed=speed), step, solver, accuracy)
        found.extend(
            replace(finding, formula=formulas.roll_gradient) if finding.key.startswith("roll") else finding
            for finding in turned
            if "gradient" in finding.key
        )
    if ALONG not in model.held and any(wheel.brake_torque > 0.0 for wheel in model.wheels):
        report("brake")
        found.extend(_braking(model, speed, step, solver, accuracy))
    return tuple(found)


def _braking(
    model: Model, speed: float, step: float, solver: Solver | Formulation, accuracy: Accuracy
) -> list[Finding]:
    """Return distance and deceleration of the pedal that stops the car first, and what the whole pedal does.

    Above that pedal wheels lock and slide.
    """
    tried = {}
    for pedal in PEDALS:
        findings = _run(model, brake(model, speed=speed, pedal=pedal), step, solver, accuracy)
        tried[pedal] = {finding.key: finding for finding in findings}
    distances = {pedal: found["braking_distance_m"].value for pedal, found in tried.items()}
    best = min(distances, key=lambda pedal: distances[pedal] if math.isfinite(distances[pedal]) else math.inf)
    whole = tried[PEDALS[-1]]["braking_distance_m"]
    ratio = tried[PEDALS[-1]]["locked_share"].value
    return [
        tried[best]["braking_distance_m"],
        tried[best]["mean_deceleration_ms2"],
        Finding("best_pedal", "best pedal", best, "%", 100.0, 0),
        replace(
            whole,
            key="whole_pedal_distance_m",
            label="whole pedal",
            formula=None,
            note=whole.note or f"a wheel is locked {100.0 * ratio:.0f} % of the time",
        ),
    ]


def _run(
    model: Model, manoeuvre: Manoeuvre, step: float, solver: Solver | Formulation, accuracy: Accuracy
) -> tuple[Finding, ...]:
    trace, _ = play(model, manoeuvre, step=step, solver=solver, accuracy=accuracy)
    lost = summary(trace).unconverged
    if lost is None:
        return manoeuvre.findings(trace)
    note = f"{manoeuvre.name}: the solver did not converge at t = {lost.time:.4g} s; run it alone"
    return tuple(replace(finding, value=math.nan, note=note) for finding in manoeuvre.findings(trace))


def _proportions(car: Car) -> tuple[Finding, ...]:
    height = centre_of_gravity_height(car.model)
    found = [
        Finding("mass_kg", "mass", car.mass, "kg", 1.0, 0),
        Finding("centre_height_m", "centre height", height, "mm", 1e3, 0),
    ]
    if car.model.drives:
        track = car.track
        found.append(Finding("wheelbase_m", "wheelbase", track.wheelbase, "mm", 1e3, 0))
        drive = car.model.drives[track.steered.drive]
        if drive.travel_per_turn > 0.0:
            turn = 2.0 * math.pi / drive.travel_per_turn
            ratio = abs(turn / track.steered.ratio)
            found.append(Finding("steering_ratio", "steering ratio", ratio, "", 1.0, 1))
    return tuple(found)


def centre_of_gravity_height(model: Model) -> float:
    """Return the height (m) of the whole vehicle's centre of gravity in the design position."""
    masses = np.array([body.mass for body in model.bodies])
    return float(masses @ np.array([body.centre[2] for body in model.bodies]) / np.sum(masses))


def ride_formulas(car: Car, rates: tuple[CornerRates, ...]) -> RideFormulas:
    """Return heave, pitch, wheel hop and roll gradient by closed formulas."""
    model = car.model
    suspended = {body for corner in model.corners for body in corner.bodies}
    sprung = [body for index, body in enumerate(model.bodies) if index not in suspended]
    unsprung = sum(corner.unsprung for corner in rates)
    # Arms move only partly with the wheels: the rest of them belongs to the body.
    mass = car.mass - unsprung
    weights = np.array([body.mass for body in sprung])
    centre = weights @ np.array([body.centre for body in sprung]) / np.sum(weights)
    pitching = sum(
        float(body.inertia[1, 1]) + body.mass * float(np.sum((body.centre - centre)[[0, 2]] ** 2))
        for body in sprung
    )
    tyres = np.array([model.wheels[corner.wheel].tyre.stiffness for corner in rates])
    wheels = np.array([corner.rate for corner in rates])
    along = np.array([corner.position[0] for corner in rates]) - centre[0]
    across = np.array([corner.position[1] for corner in rates])
    both = wheels * tyres / (wheels + tyres)
    stiffness = np.array([[np.sum(both), -(both @ along)], [-(both @ along), both @ along**2]])
    squares, shapes = eigh(stiffness, np.diag([mass, pitching]))
    heave = int(np.argmax(np.abs(shapes[0]) * math.sqrt(mass)))
    hertz = np.sqrt(np.maximum(squares, 0.0)) / (2.0 * np.pi)
    hops = np.sqrt((wheels + tyres) / np.array([corner.unsprung for corner in rates])) / (2.0 * np.pi)
    loads = np.array([car.loads[corner.wheel] for corner in rates])
    axis = float(np.average([corner.roll_centre for corner in rates], weights=loads))
    rolling = wheels + np.array([corner.bar_rate for corner in rates])
    height = centre_of_gravity_height(model)
    lean = mass * (float(centre[2]) - axis) / float(rolling @ across**2)
    lean += car.mass * height / float(tyres @ across**2)
    return RideFormulas(
        heave=float(hertz[heave]),
        pitch=float(hertz[1 - heave]),
        hop=(float(hops.min()), float(hops.max())),
        roll_gradient=lean / (1.0 - model.gravity * lean),
    )


def _ride(car: Car, formulas: RideFormulas, speed: float) -> list[Finding]:
    """Return frequency and damping of the body's modes and the range of the wheels'."""
    system = System(car.model)
    rest = settle(system, design_state(car.model)).state
    modes = {mode.name: mode for mode in linearise(system, rest, None, Ground.flat(), speed=speed).modes}
    found: list[Finding] = []
    closed = _closed_by_order(modes, formulas)
    for name in BODY_MODES:
        if name in modes:
            found.extend(_mode(name, name, modes[name], closed.get(name)))
    hops = sorted(
        (mode for name, mode in modes.items() if name.startswith("wheel hop")),
        key=lambda mode: mode.frequency_hz,
    )
    for key, label, index in (("lowest_hop", "lowest hop", 0), ("highest_hop", "highest hop", -1)):
        if len(hops) > 1 or (hops and index == 0):
            found.extend(_mode(key, label, hops[index], formulas.hop[index]))
    return found


def _closed_by_order(modes: dict[str, Mode], formulas: RideFormulas) -> dict[str, float]:
    """Return the closed frequency of heave and pitch, the lower one for the lower one.

    Where the two are near each other both are mixed, and their names say little.
    """
    names = sorted(
        (name for name in ("heave", "pitch") if name in modes), key=lambda name: modes[name].frequency_hz
    )
    if len(names) == 1:
        return {names[0]: formulas.heave if names[0] == "heave" else formulas.pitch}
    return dict(zip(names, sorted((formulas.heave, formulas.pitch)), strict=False))


def _mode(key: str, label: str, mode: Mode, formula: float | None) -> tuple[Finding, Finding]:
    return (
        Finding(f"{key}_frequency_hz", label, mode.frequency_hz, "Hz", 1.0, 3, formula),
        Finding(f"{key}_damping", f"{label} damping", mode.damping, "", 1.0, 3),
    )
