"""The implicit formula: generalized-alpha on positions and on the rotation group.

Chung and Hulbert 1993, with the spectral radius ρ at infinity as the one parameter; on the group as Brüls and
Cardona 2010 have it, with a turn in body axes since the beginning of the step. In the terms of (42) of
Kang 2014:

    q + β₀ v + β₁ with β₀ = −h β / γ           (β₁: what is known at the beginning of the step)
    v + β₀ a + β₂ with β₀ = −h γ (1 − α_f) / (1 − α_m)

Why this formula: second order; one evaluation and one back-substitution a step; and its damping is chosen. At
ρ = 1 it keeps the energy of linear oscillations, at 0 it forgets what it cannot resolve within a step. A
fixed, small number of iterations with a matrix that is never renewed is stable only with damping: what the
matrix gets wrong must die out faster than it comes in (ρ = 0.9 needs three iterations where 0.2 needs one).
The damping of a motion of angular frequency ω that is resolved is of the order (ω h)³.

An increment x of the accelerations moves velocities by ``velocity`` · x and positions by ``position`` · x.
"""

from __future__ import annotations

from typing import NamedTuple

from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel
from mastd.lanes import load, store
from mastd.vehicle.blocks.fields import BODY, WHEEL
from mastd.vehicle.blocks.matrix_blocks import Weights
from mastd.vehicle.blocks.vectors import Triple
from mastd.vehicle.state.arrays import Arrays


class Formula(NamedTuple):
    """The numbers of the formula for one step length."""

    step: float
    alpha_m: float
    beta: float
    gamma: float
    mean: float
    """Change of the mean acceleration per change of the acceleration."""
    velocity: float
    position: float

    @classmethod
    def of(cls, step: float, spectral_radius: float) -> Formula:
        """Return the formula for a step (s) and ρ between 0 and 1. Raises ValueError outside."""
        if not (step > 0.0 and 0.0 <= spectral_radius <= 1.0):
            raise ValueError(
                f"step {step!r} s must be above 0 and damping {spectral_radius!r} between 0 and 1"
            )
        alpha_m = (2.0 * spectral_radius - 1.0) / (spectral_radius + 1.0)
        alpha_f = spectral_radius / (spectral_radius + 1.0)
        gamma = 0.5 - alpha_m + alpha_f
        beta = 0.25 * (gamma + 0.5) ** 2
        mean = (1.0 - alpha_f) / (1.0 - alpha_m)
        return cls(step, alpha_m, beta, gamma, mean, gamma * step * mean, beta * step * step * mean)

    def weights(self) -> Weights:
        """Return the weights of a step: increments are those of accelerations, rows are divided by β."""
        return Weights(1.0, self.velocity, self.position, 1.0, 1.0 / self.position)


@fused_kernel
def predict(car: Arrays, formula: Formula) -> None:
    """Begin a step: positions and velocities for accelerations that stay as they are."""
    bodies = car.bodies
    for b in range(bodies.shape[0]):
        for k in range(4):
            store(bodies, b, BODY.start_attitude + k, load(bodies, b, BODY.attitude + k))
        _predict(
            bodies, b, formula, BODY.acceleration, BODY.mean_acceleration, BODY.velocity, BODY.position, True
        )
        _predict(
            bodies,
            b,
            formula,
            BODY.angular_acceleration,
            BODY.mean_angular_acceleration,
            BODY.angular_velocity,
            BODY.rotation_vector,
            False,
        )
    wheels, h, gamma = car.wheels, formula.step, formula.gamma
    for w in range(wheels.shape[0]):
        before = load(wheels, w, WHEEL.mean_spin_acceleration)
        mean = _next_mean(formula, load(wheels, w, WHEEL.spin_acceleration), before)
        store(wheels, w, WHEEL.mean_spin_acceleration, mean)
        store(
            wheels, w, WHEEL.spin, load(wheels, w, WHEEL.spin) + h * ((1.0 - gamma) * before + gamma * mean)
        )


@fused_kernel
def _next_mean(formula: Formula, acceleration: float, mean: float) -> float:
    return (acceleration - formula.alpha_m * mean) * (1.0 / (1.0 - formula.alpha_m))


@fused_kernel
def _predict(
    bodies: FloatArray,
    b: int,
    formula: Formula,
    acceleration: int,
    mean: int,
    velocity: int,
    position: int,
    absolute: bool,
) -> None:
    h, beta, gamma = formula.step, formula.beta, formula.gamma
    for k in range(3):
        before, v = load(bodies, b, mean + k), load(bodies, b, velocity + k)
        after = _next_mean(formula, load(bodies, b, acceleration + k), before)
        way = h * v + h * h * ((0.5 - beta) * before + beta * after)
        start = load(bodies, b, position + k) if absolute else 0.0 * v
        store(bodies, b, position + k, start + way)
        store(bodies, b, velocity + k, v + h * ((1.0 - gamma) * before + gamma * after))
        store(bodies, b, mean + k, after)


@fused_kernel
def correct_body(bodies: FloatArray, formula: Formula, b: int, shift: Triple, turn: Triple) -> None:
    """Subtract an increment of accelerations: ``shift`` in inertial, ``turn`` in body axes."""
    _correct(
        bodies, b, formula, BODY.acceleration, BODY.mean_acceleration, BODY.velocity, BODY.position, shift
    )
    _correct(
        bodies,
        b,
        formula,
        BODY.angular_acceleration,
        BODY.mean_angular_acceleration,
        BODY.angular_velocity,
        BODY.rotation_vector,
        turn,
    )


@fused_kernel
def _correct(
    bodies: FloatArray,
    b: int,
    formula: Formula,
    acceleration: int,
    mean: int,
    velocity: int,
    position: int,
    x: Triple,
) -> None:
    for k in range(3):
        store(bodies, b, acceleration + k, load(bodies, b, acceleration + k) - x[k])
        store(bodies, b, mean + k, load(bodies, b, mean + k) - formula.mean * x[k])
        store(bodies, b, velocity + k, load(bodies, b, velocity + k) - formula.velocity * x[k])
        store(bodies, b, position + k, load(bodies, b, position + k) - formula.position * x[k])


@fused_kernel
def correct_spin(wheels: FloatArray, formula: Formula, wheel: int, increment: float) -> None:
    """Subtract an increment of a wheel's spin acceleration."""
    store(wheels, wheel, WHEEL.spin_acceleration, load(wheels, wheel, WHEEL.spin_acceleration) - increment)
    store(
        wheels,
        wheel,
        WHEEL.mean_spin_acceleration,
        load(wheels, wheel, WHEEL.mean_spin_acceleration) - formula.mean * increment,
    )
    store(wheels, wheel, WHEEL.spin, load(wheels, wheel, WHEEL.spin) - formula.velocity * increment)
