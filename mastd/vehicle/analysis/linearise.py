"""Modes of the vehicle about its equilibrium, at rest or driving straight ahead.

With u = Z q (G Z = 0, Zᵀ M Z = 1) the linearised equations of motion M ü + C u̇ + K u + Gᵀ δλ = 0 become
q̈ + Zᵀ C Z q̇ + Zᵀ K Z q = 0. K holds the geometric stiffness of the constraint forces, the derivative of Gᵀλ:
without it the suspension's jacking forces have no lever, and the roll frequency is wrong by percents. About a
straight, steady motion no other terms arise, because all points of the joints move alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import eig, eigh
from scipy.optimize import linear_sum_assignment

from mastd.arrays import ComplexArray, FloatArray
from mastd.roads.ground import Ground
from mastd.settings.core.axes import AXES
from mastd.vehicle.equilibrium.constraints import EquationMatrices, Equations, constraint_rows, free_motions
from mastd.vehicle.equilibrium.settle import straight_ahead
from mastd.vehicle.magic_formula.tyre import MagicTyre
from mastd.vehicle.model.definition import Model
from mastd.vehicle.state.motion import State
from mastd.vehicle.tyres.linear_tyre import Tyre
from mastd.vehicle.tyres.standing import standing_tyre

RIGID = 1e-5
"""Of the largest eigenvalue; rounding alone moves a double eigenvalue zero by the root of 1e-16."""
ROUNDING = 1e-9
"""Damping ratio under which a mode counts as undamped."""


@dataclass(frozen=True, eq=False)
class Mode:
    """One natural motion; a pair of conjugate eigenvalues counts once."""

    name: str
    """``heave``, ``roll``, ``wheel hop front in phase``, …: what most of its kinetic energy is in."""
    eigenvalue: complex
    """1/s, with an imaginary part ≥ 0."""
    frequency_hz: float
    """|eigenvalue| / 2π: of an oscillation without its damping."""
    damping: float
    """−Re(eigenvalue) / |eigenvalue|: 1 for a decay without oscillation, negative where it grows."""
    participation: dict[str, float]
    """Fraction of the kinetic energy of each body, and of each wheel's spin; the sum is 1."""
    shape: ComplexArray
    """(N) displacements and rotations in inertial axes and spin angles, its largest translation 1 m."""


@dataclass(frozen=True, eq=False)
class Linearisation:
    """All motions about the equilibrium, each list by rising frequency."""

    modes: tuple[Mode, ...]
    """Oscillations."""
    decays: tuple[Mode, ...]
    """Motions that decay (or grow) without oscillating, mostly slip of the tyres."""
    rigid: int
    """Number of eigenvalues zero, left out: where the car stands, its heading, how far its wheels turned."""


def without_damping(model: Model, loads: FloatArray) -> Model:
    """Return the model without dampers, slip, air, and damping of tyres and restraints: its rest is the same.

    ``loads`` (nw): N, of the wheels at rest; a Magic Formula tyre becomes the linear one it is like there.
    """
    wheels = tuple(
        replace(wheel, tyre=_without_damping(wheel.tyre, float(load)))
        for wheel, load in zip(model.wheels, loads, strict=True)
    )
    return replace(
        model,
        springs=tuple(spring.undamped() for spring in model.springs),
        wheels=wheels,
        aerodynamics=None,
        tie_downs=tuple(replace(strap, damping=0.0) for strap in model.tie_downs),
        chocks=tuple(replace(chock, damping=0.0) for chock in model.chocks),
    )


def _without_damping(tyre: Tyre | MagicTyre, load: float) -> Tyre:
    if isinstance(tyre, MagicTyre):
        return standing_tyre(tyre, load)
    return replace(tyre, damping=0.0, longitudinal_slip_stiffness=0.0, cornering_stiffness=0.0)


def linearise(
    system: Equations,
    settled: State,
    inputs: FloatArray | None = None,
    ground: Ground | None = None,
    speed: float = 0.0,
    undamped: Callable[[Model], Equations] | None = None,
) -> Linearisation:
    """Return the modes about the static equilibrium ``settled``, or about driving along x at ``speed`` (m/s).

    ``undamped``: makes the equations of a model (``System``); given, the modes are those of the model without
    dampers, tyre damping and slip, which has the same equilibrium. Raises EquilibriumError where the vehicle
    cannot drive straight ahead.
    """
    equations = system
    if undamped is not None:
        equations = undamped(without_damping(system.model, system.wheel_loads(settled, ground)))
    state = settled if speed == 0.0 else straight_ahead(equations, settled, inputs, ground, speed=speed)
    return modes_of(
        equations.model, equations.matrices(state, inputs, ground), conservative=undamped is not None
    )


def modes_of(model: Model, matrices: EquationMatrices, *, conservative: bool = False) -> Linearisation:
    """Return the modes of given matrices; ``conservative``: leave out what takes or gives energy.

    The latter keeps, of the reduced matrices, the symmetric part of the stiffness and the skew part of the
    damping (the wheels' gyroscopic moments).
    """
    free = free_motions(matrices.mass, constraint_rows(model, matrices.joint_jacobian)).free
    stiffness = free.T @ matrices.stiffness @ free
    damping = free.T @ matrices.damping @ free
    if conservative:
        stiffness, damping = 0.5 * (stiffness + stiffness.T), 0.5 * (damping - damping.T)
    values, vectors = _eigenvalues(stiffness, damping)
    scale = float(np.max(np.abs(values), initial=0.0))
    moving = np.abs(values) > RIGID * scale
    shapes = free @ vectors
    oscillating = np.flatnonzero(moving & (values.imag > 0.0))
    decaying = np.flatnonzero(moving & (values.imag == 0.0))
    return Linearisation(
        modes=_modes(model, matrices.mass, values[oscillating], shapes[:, oscillating]),
        decays=_modes(model, matrices.mass, values[decaying], shapes[:, decaying]),
        rigid=int(np.sum(~moving)),
    )


def _eigenvalues(stiffness: FloatArray, damping: FloatArray) -> tuple[ComplexArray, ComplexArray]:
    """Return eigenvalues and displacement vectors (dof, 2 dof) of q̈ + damping q̇ + stiffness q = 0."""
    size = stiffness.shape[0]
    if not np.any(damping):
        squares, vectors = eigh(stiffness)
        roots = np.sqrt(-squares.astype(complex))
        return np.concatenate([roots, -roots]), np.hstack([vectors, vectors]).astype(complex)
    companion = np.block([[np.zeros((size, size)), np.eye(size)], [-stiffness, -damping]])
    values, vectors = eig(companion)
    return values, vectors[:size]


def _modes(model: Model, mass: FloatArray, values: ComplexArray, shapes: ComplexArray) -> tuple[Mode, ...]:
    order = np.argsort(np.abs(values), kind="stable")
    values, shapes = values[order], shapes[:, order]
    energies = [_energies(mass, shape) for shape in shapes.T]
    names = _names(model, energies, shapes)
    return tuple(
        Mode(
            name=name,
            eigenvalue=complex(value),
            frequency_hz=float(abs(value) / (2.0 * np.pi)),
            damping=_ratio(value),
            participation=_participation(model, energy),
            shape=_scaled(model, shape),
        )
        for name, value, energy, shape in zip(names, values, energies, shapes.T, strict=True)
    )


def _ratio(value: complex) -> float:
    """Return the damping ratio; what is only rounding is no damping."""
    ratio = -value.real / abs(value)
    return float(ratio) if abs(ratio) > ROUNDING else 0.0


def _energies(mass: FloatArray, shape: ComplexArray) -> FloatArray:
    """Return each coordinate's share (N) of the kinetic energy of a motion."""
    fractions = np.real(np.conj(shape) * (mass @ shape))
    return np.asarray(fractions / np.sum(fractions))


def _scaled(model: Model, shape: ComplexArray) -> ComplexArray:
    """Return the shape with its largest translation 1, or its largest coordinate where nothing translates."""
    bodies = shape[: 6 * len(model.bodies)].reshape(-1, 6)[:, :3].ravel()
    everything = bodies if np.max(np.abs(bodies)) > 1e-9 * np.max(np.abs(shape)) else shape
    return np.asarray(shape / everything[np.argmax(np.abs(everything))])


def _participation(model: Model, energy: FloatArray) -> dict[str, float]:
    count = 6 * len(model.bodies)
    bodies = energy[:count].reshape(-1, 6).sum(axis=1)
    fractions = {body.name: float(fraction) for body, fraction in zip(model.bodies, bodies, strict=True)}
    spins = {
        f"spin {wheel.name}": float(fraction)
        for wheel, fraction in zip(model.wheels, energy[count:], strict=True)
    }
    return {**fractions, **spins}


def _names(model: Model, energies: list[FloatArray], shapes: ComplexArray) -> list[str]:
    """Name each mode by what most of its energy is in, every name once.

    Axles that are alike swing together, several modes then have most of their energy in the same one.
    """
    candidates = [_candidates(model, energy, shape) for energy, shape in zip(energies, shapes.T, strict=True)]
    if not candidates:
        return []
    labels = list(candidates[0])
    table = np.array([[fractions[label] for label in labels] for fractions in candidates])
    names = [labels[int(np.argmax(row))] for row in table]
    for mode, label in zip(*linear_sum_assignment(-table), strict=True):
        names[mode] = labels[label]
    return names


def _candidates(model: Model, energy: FloatArray, shape: ComplexArray) -> dict[str, float]:
    """Return what a mode can be named after, with its share of the kinetic energy."""
    fractions = dict(zip(AXES, energy[:6].tolist(), strict=True))
    count = 6 * len(model.bodies)
    for axle in model.axles:
        hop = 0.0
        heights = []
        for corner in (model.corners[index] for index in axle.corners):
            carrier = model.wheels[corner.wheel].carrier
            hop += sum(float(np.sum(energy[6 * body : 6 * body + 6])) for body in corner.bodies)
            heights.append(shape[6 * carrier + 2])
            name = f"wheel spin {model.wheels[corner.wheel].name}"
            fractions[name] = float(energy[count + corner.wheel])
        if heights:
            power = float(np.sum(np.abs(heights) ** 2))
            together = float(abs(np.sum(heights)) ** 2) / (len(heights) * power) if power > 0.0 else 0.0
            fractions[f"wheel hop {axle.name} in phase"] = hop * together
            if len(heights) > 1:
                fractions[f"wheel hop {axle.name} out of phase"] = hop * (1.0 - together)
        for body in axle.bodies:
            for index, motion in enumerate(AXES):
                fractions[f"{model.bodies[body].name} {motion}"] = float(energy[6 * body + index])
    return fractions
