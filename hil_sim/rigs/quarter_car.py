"""``hil-sim rig quarter_car``: a quarter car of its own equations, which is on the table.

A wheel (m_u) on its tyre (k_t, d_t) stands at (x, y) on the table's top, a body (m_s) on spring and damper
(k_s, d_s) above it; both move up and down only. With their heights z_u, z_s above those at rest, and h that
of the table under the wheel,

    m_s z̈_s = −F_s,  m_u z̈_u = F_s + F_t − (m_s + m_u) g
    F_s = k_s (z_s − z_u) + d_s (ż_s − ż_u),  F_t = (m_s + m_u) g + k_t (h − z_u) + d_t (ḣ − ż_u) ≥ 0

A tyre does not pull: it leaves the ground. At rest it presses on the table with the weight.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

import numpy as np

from hil_sim.rigs.program import PlantSteps, add_options, serve
from mastd.arrays import FloatArray
from mastd.settings.core.axes import AXES

if TYPE_CHECKING:
    from mastd.wire.rigs.client_session import MotionSeen


GRAVITY: Final = 9.80665
READS: Final = tuple(f"smoothed_pose.{axis}" for axis in AXES)
PARAMETERS: Final = {
    "body-mass": ("340 kg", "mass", "of the body above the wheel"),
    "wheel-mass": ("40 kg", "mass", "of wheel and suspension"),
    "spring": ("22 N/mm", "stiffness", "at the wheel"),
    "damper": ("1500 N s/m", "damping", "at the wheel"),
    "tyre": ("210 N/mm", "stiffness", "vertically"),
    "tyre-damping": ("250 N s/m", "damping", "vertically"),
}
"""Usual value, dimension and meaning of what can be set."""


class QuarterCar:
    """Heights and speeds of body and wheel, stepped by the classical Runge-Kutta method."""

    def __init__(
        self,
        body_mass: float,
        wheel_mass: float,
        spring: float,
        damper: float,
        tyre: float,
        tyre_damping: float,
        step: float,
    ) -> None:
        """SI throughout; ``step`` in s."""
        self.weight = GRAVITY * (body_mass + wheel_mass)
        self.load = self.weight
        """Force of the tyre on the table, N, downwards positive."""
        self._masses = (body_mass, wheel_mass)
        self._suspension = (spring, damper)
        self._tyre = (tyre, tyre_damping)
        self._step = step
        self.rest(0.0)

    def rest(self, height: float) -> None:
        """Stand still on the table at this height (m)."""
        self._state = np.array([height, height, 0.0, 0.0])
        self._height = height
        self.load = self.weight

    def go_on(self, height: float) -> None:
        """Take one step, in which the table's top under the wheel comes to ``height`` on a straight line."""
        h, x = self._step, self._state
        rate = (height - self._height) / h
        middle = 0.5 * (height + self._height)
        first = self._derivative(x, self._height, rate)
        second = self._derivative(x + 0.5 * h * first, middle, rate)
        third = self._derivative(x + 0.5 * h * second, middle, rate)
        fourth = self._derivative(x + h * third, height, rate)
        self._state = x + h / 6.0 * (first + 2.0 * second + 2.0 * third + fourth)
        self._height = height
        self.load = self._pressed(self._state, height, rate)

    @property
    def body(self) -> float:
        """Height of the body above that at rest, m."""
        return float(self._state[0])

    def _derivative(self, x: FloatArray, height: float, rate: float) -> FloatArray:
        body, wheel, body_speed, wheel_speed = x.tolist()
        stiffness, damping = self._suspension
        force = stiffness * (body - wheel) + damping * (body_speed - wheel_speed)
        pressed = self._pressed(x, height, rate)
        return np.array(
            [
                body_speed,
                wheel_speed,
                -force / self._masses[0],
                (force + pressed - self.weight) / self._masses[1],
            ]
        )

    def _pressed(self, x: FloatArray, height: float, rate: float) -> float:
        stiffness, damping = self._tyre
        force = self.weight + stiffness * (height - float(x[1])) + damping * (rate - float(x[3]))
        return max(force, 0.0)


class OnTable:
    """The quarter car at its position on the table; in OFF it is put on again."""

    def __init__(self, car: QuarterCar, position: tuple[float, float], period: float) -> None:
        self._car = car
        self._position = position
        self._steps = PlantSteps(period)
        self._height: float | None = None

    def answer(self, motion: MotionSeen) -> tuple[float, ...]:
        """Return the wrench at C, for a table that is hardly tilted."""
        x, y = self._position
        _, _, heave, roll, pitch, _ = motion.values.tolist()
        height = heave + y * roll - x * pitch
        steps = self._steps.since(motion.time)
        if motion.state == "OFF" or self._height is None:
            self._car.rest(height)
        else:
            for k in range(steps):
                self._car.go_on(self._height + (k + 1) / steps * (height - self._height))
        self._height = height
        load = self._car.load
        return (0.0, 0.0, -load, -y * load, x * load, 0.0)

    def line(self) -> str:
        """Return where the body is, and what it weighs on the table."""
        return f"body {1e3 * self._car.body:+6.1f} mm  on the table {1e-3 * self._car.load:5.2f} kN"


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the parser of ``quarter_car``."""
    text = "a self-contained quarter-car model on the table"
    parser = subparsers.add_parser("quarter_car", help=text, description=f"{text[0].upper()}{text[1:]}.")
    for name, (usual, _, meaning) in PARAMETERS.items():
        parser.add_argument(f"--{name}", metavar="QUANTITY", default=usual, help=f"{meaning} ({usual})")
    parser.add_argument(
        "--position", nargs=2, metavar=("X", "Y"), default=["0 m", "0 m"], help="of the wheel (0 m 0 m)"
    )
    add_options(parser, "external_vehicle")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Stand on the table until told to end; return the exit code."""
    from mastd.commands.quantities import quantity
    from mastd.settings.rigs.channels import VEHICLE
    from mastd.units import DAMPING, LENGTH, MASS, STIFFNESS

    dimensions = {"mass": MASS, "stiffness": STIFFNESS, "damping": DAMPING}
    given = {
        name.replace("-", "_"): quantity(
            f"--{name}", getattr(arguments, name.replace("-", "_")), dimensions[dimension]
        )
        for name, (_, dimension, _) in PARAMETERS.items()
    }
    x, y = (quantity("--position", text, LENGTH) for text in arguments.position)
    return serve(
        arguments,
        VEHICLE,
        READS,
        lambda rig: OnTable(QuarterCar(**given, step=rig.period), (x, y), rig.period),
    )
