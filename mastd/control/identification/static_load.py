"""Weigh the table from the actuators' pressures: mass, horizontal centre of gravity, and their uncertainty.

The wrench of the actuators at C, Jᵀ F with the rows of J as in eq. (9b) of Jin 2012, holds the weight: six
equations for the weight and the two arms of its line of action, weighed by how far the force of each actuator
is to be trusted. It holds for any layout: forces that the actuators exert against each other cancel in Jᵀ F,
and an actuator of unknown friction counts as little as it must. The friction of a seal that slides has the
sign of its rate and is known to a ratio of it; one that sticks may push either way with its breakaway force,
four of them by more than a ton. So the table is weighed while it rises slowly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.dynamics.actuator import ACTUATOR, actuator_rows
from mastd.settings.table.actuators import force_readings
from mastd.settings.table.table import TableSettings

SLIDES_FROM: Final = 2.0
"""A seal slides from this many Stribeck velocities on: what is left of the breakaway is below 2 %."""
FRICTION_DOUBT: Final = 0.2
"""Ratio of the sliding friction that is not known: wear, oil, side loads; standard deviation."""
PRESSURE_DOUBT: Final = 2.0
"""Standard deviation of a pressure transducer's own offset, in times of its noise."""
MIN_DOUBT: Final = 10.0
"""N; no actuator's force is known better, whatever the settings say."""
CERTAINTY: Final = 2.0
"""A difference below this many standard deviations says nothing."""


@dataclass(frozen=True)
class ActuatorFriction:
    """Nominal friction of the actuators, and how well their forces are known."""

    rows: FloatArray
    """(n, ACTUATOR_COLUMNS) of ``mastd.dynamics.actuator.actuator_rows``."""
    pressure_doubts: FloatArray
    """Standard deviations (n,) in N of the actuators' forces by their transducers."""

    @classmethod
    def from_settings(cls, table: TableSettings) -> ActuatorFriction:
        """Take both from the table's settings."""
        doubts = np.zeros(len(table.links))
        for one in force_readings(table):
            doubts[one.actuator] = math.hypot(doubts[one.actuator], PRESSURE_DOUBT * one.noise * one.force)
        return cls(actuator_rows(table), np.maximum(doubts, MIN_DOUBT))

    @property
    def sliding_rates(self) -> FloatArray:
        """Rates (n,) in m/s from which on the seals slide."""
        return np.asarray(SLIDES_FROM * self.rows[:, ACTUATOR.stribeck_speed])

    def forces(self, rates: FloatArray) -> FloatArray:
        """Return the friction forces (n,) of actuators at ``rates`` (n,); 0 for one that sticks."""
        sliding = self.rows[:, ACTUATOR.coulomb] * np.sign(rates) + self.rows[:, ACTUATOR.viscous] * rates
        sliding *= self.rows[:, ACTUATOR.felt_friction]
        return np.where(np.abs(rates) >= self.sliding_rates, sliding, 0.0)

    def doubts(self, sticking: FloatArray) -> FloatArray:
        """Return standard deviations (n,) in N for the ratio of time that actuators were ``sticking``.

        Where a seal that sticks stands between its two breakaway forces is not known: evenly spread.
        """
        stuck = sticking * self.rows[:, ACTUATOR.breakaway] / math.sqrt(3.0)
        sliding = (1.0 - sticking) * FRICTION_DOUBT * self.rows[:, ACTUATOR.coulomb]
        felt = self.rows[:, ACTUATOR.felt_friction]
        return np.sqrt(felt * (stuck**2 + sliding**2) + self.pressure_doubts**2)


@dataclass(frozen=True)
class StaticLoad:
    """Mass in kg and where its centre stands from C along x and y of B in m, with standard deviations."""

    mass: float
    centre: tuple[float, float]
    mass_doubt: float = 0.0
    centre_doubt: tuple[float, float] = (0.0, 0.0)


def weigh(
    jacobian: FloatArray, forces: FloatArray, doubts: FloatArray, other: FloatArray, gravity: float
) -> StaticLoad:
    """Return the load on the actuators.

    ``jacobian`` (n, 6) of ``mastd.kinematics.jacobian.geometric_jacobian``; ``forces`` (n,) on the table in N
    with standard deviations ``doubts`` (n,) above 0; ``other`` (6,) is what else acts on the table, at C in B
    axes; ``gravity`` in m/s², with the mean upward acceleration added to it. Weighted least squares of
    Jᵀ F + other = [0, 0, w, w y, −w x, 0] for w, w x, w y, over the axes that no guides hold.
    """
    free = np.any(jacobian, axis=0)
    selection = np.zeros((6, 3))
    selection[2, 0] = selection[3, 2] = 1.0
    selection[4, 1] = -1.0
    selection, rows = selection[free], jacobian[:, free]
    covariance = rows.T @ (doubts[:, None] ** 2 * rows)
    weights = np.linalg.solve(covariance, selection)
    spread = np.linalg.inv(selection.T @ weights)
    weight, *moments = map(float, spread @ weights.T @ (rows.T @ forces + other[free]))
    x, y = (moment / weight for moment in moments)
    # First order: a moment's doubt, and the arm times that of the weight.
    doubts_of_arms = [
        math.sqrt(spread[k, k] - 2.0 * arm * spread[k, 0] + arm**2 * spread[0, 0]) / abs(weight)
        for k, arm in ((1, x), (2, y))
    ]
    return StaticLoad(
        weight / gravity,
        (x, y),
        math.sqrt(spread[0, 0]) / gravity,
        (doubts_of_arms[0], doubts_of_arms[1]),
    )


def nominal_load(model: FloatArray, rotation: FloatArray) -> StaticLoad:
    """Return what a body is: ``model`` (11,) as in ``TableModel.values``, ``rotation`` (3, 3) from P to B."""
    x, y, _ = rotation @ model[1:4] / model[0]
    return StaticLoad(float(model[0]), (float(x), float(y)))


def contradiction(
    found: StaticLoad, stated: StaticLoad, mass_tolerance: float, centre_tolerance: float
) -> str:
    """Return in words how the load ``found`` differs from that ``stated``; empty within tolerance.

    ``mass_tolerance`` in kg, ``centre_tolerance`` in m; what the weighing cannot resolve is tolerated.
    """
    said = []
    if not abs(found.mass - stated.mass) <= max(mass_tolerance, CERTAINTY * found.mass_doubt):
        said.append(
            f"measured {_tons(found.mass)} ± {_tons(found.mass_doubt)} t, expected from the profile "
            f"{_tons(stated.mass)} t"
        )
    ways = (("ahead", "behind"), ("left", "right"))
    off = [
        f"{abs(arm - its) * 1e3:.0f} ± {doubt * 1e3:.0f} mm further {way[0] if arm > its else way[1]}"
        for arm, its, doubt, way in zip(found.centre, stated.centre, found.centre_doubt, ways, strict=True)
        if not abs(arm - its) <= max(centre_tolerance, CERTAINTY * doubt)
    ]
    if off:
        said.append(f"centre of gravity of table and payload {' and '.join(off)} than in the profile")
    return "; ".join(said)


def _tons(mass: float) -> str:
    return f"{mass * 1e-3:.1f}"
