"""Feed-forward of the valves: from the motion that is to come to the openings that make it.

For each period of the motion, as far ahead as it is known: the wrench of the nominal body, the legs' forces,
the seals' friction on the reference; the no-load speed v + Ḟ/k + leakage of each link; the opening of its
valve by the orifice law at the force that will act then. A finite filter (``valve_inverse``) turns the row of
openings into the command that the valve needs now.

What the drive will do by itself with the command of the link is known (``DriveSettings``), so what is sent is
the difference, as a trim of the speed.
"""

from __future__ import annotations

from mastd.arrays import FloatArray
from mastd.dynamics.actuator import (
    LEAK_SPEED,
    mean_over_lap,
    oil_spring,
    opening_for,
    seal_friction,
    speed_for,
)
from mastd.kernel import fused_kernel

(
    DRIVE_RATE,
    DRIVE_LEAD,
    DRIVE_FORCE,
    DRIVE_ORIFICE,
    DRIVE_STIFFNESS,
    DRIVE_OFFSET,
) = range(6)
DRIVE_COLUMNS = 6
"""What the drive does with a command: gain of the rate, lead (s), gain of the force's rate, whether it takes
the orifice law, nominal stiffness of the oil (N/m), mean time of its set-points within a period, counted back
from the end (s)."""

MAX_FORCE_RATE_SPEED = 0.1
"""Share of the speed, in m/s, that the drive lets the rate of the force reference have at most."""


@fused_kernel
def note_opening(
    rows: FloatArray,
    friction: bool,
    period: float,
    supply: float,
    lengths: FloatArray,
    rates: FloatArray,
    forces: FloatArray,
    bristles: FloatArray,
    earlier: FloatArray,
    before: FloatArray,
    seals: FloatArray,
    openings: FloatArray,
) -> None:
    """Write the seals' forces and the mean openings (n,) of the period up to a motion ahead.

    ``lengths``, ``rates``, ``forces`` (n,) of the links in it, forces without friction; ``bristles`` (n,) go
    on; ``earlier`` (2, n): the total forces of the last two periods, newest first, and
    ``before`` (n,), the opening at the last period's end, are taken on.
    """
    for i in range(rows.shape[0]):
        seals[i] = seal_friction(rows[i], bristles, i, rates[i], period) if friction else 0.0
        force = forces[i] + seals[i]
        force_rate = (1.5 * force - 2.0 * earlier[0, i] + 0.5 * earlier[1, i]) / period
        earlier[1, i] = earlier[0, i]
        earlier[0, i] = force
        speed = rates[i] + force_rate / oil_spring(rows[i], lengths[i])
        speed += rows[i, LEAK_SPEED] * force
        opening = opening_for(rows[i], speed, force, supply)
        openings[i] = mean_over_lap(rows[i], before[i], opening)
        before[i] = opening


@fused_kernel
def drive_speed(
    nominal: FloatArray, drive: FloatArray, rate: float, acceleration: float, force: float, force_rate: float
) -> float:
    """Return the mean speed in m/s that the drive makes of a command by itself, errors and trim apart."""
    back = drive[DRIVE_OFFSET]
    bound = MAX_FORCE_RATE_SPEED * drive[DRIVE_STIFFNESS]
    bounded = min(max(force_rate, -bound), bound)
    speed = drive[DRIVE_RATE] * (rate - back * acceleration)
    speed += drive[DRIVE_LEAD] * acceleration
    speed += drive[DRIVE_FORCE] * bounded / drive[DRIVE_STIFFNESS]
    speed += nominal[LEAK_SPEED] * (force - back * force_rate)
    return float(speed)


@fused_kernel
def trim_for(
    nominal: FloatArray,
    drive: FloatArray,
    opening: float,
    supply: float,
    rate: float,
    acceleration: float,
    force: float,
    force_rate: float,
) -> float:
    """Return the trim in m/s with which the drive commands ``opening``, errors apart."""
    load = 0.0
    if drive[DRIVE_ORIFICE] > 0.5:
        load = force + (drive[DRIVE_LEAD] - drive[DRIVE_OFFSET]) * force_rate
    wanted = speed_for(nominal, opening, load, supply)
    return float(wanted - drive_speed(nominal, drive, rate, acceleration, force, force_rate))
