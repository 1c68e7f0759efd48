"""Feed-forward of the valves: from the motion that is to come to the openings that make it.

For each period of the motion, as far ahead as it is known: the wrench of the nominal body, the actuator
forces, the seals' friction on the reference; the no-load speed v + Ḟ/k + leakage of each actuator; the
opening of its valve by the orifice law at the force that will act then. A finite filter (``valve_inverse``)
turns the row of openings into the command that the valve needs now.

What the drive will do by itself with the command of the actuator is known (``DriveSettings``), so what is
sent is the difference, as a trim of the speed.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from mastd.arrays import FloatArray
from mastd.control.table.data import INPUT, ControlState
from mastd.dynamics.actuator import (
    ACTUATOR,
    mean_over_lap,
    oil_spring,
    opening_for,
    seal_friction,
    speed_for,
)
from mastd.index_table import Entry, index_table, size_of
from mastd.kernel import fused_kernel


class DriveRow(NamedTuple):
    """Columns of what the drive does with the command of an actuator."""

    rate: Annotated[int, Entry("1", "gain of the rate")]
    lead: Annotated[int, Entry("s", "lead of the valve, on the acceleration")]
    force: Annotated[int, Entry("1", "gain of the rate of the force")]
    orifice: Annotated[int, Entry("1", "whether it applies the orifice law")]
    stiffness: Annotated[int, Entry("N/m", "nominal, of the oil")]
    offset: Annotated[int, Entry("s", "mean time of its set-points, back from the end of a period")]


DRIVE = index_table(DriveRow)
DRIVE_COLUMNS = size_of(DRIVE)

MAX_FORCE_RATE_SPEED = 0.1
"""Maximum speed in m/s that the drive takes from the rate of the force reference."""


@fused_kernel
def supply_of(row: FloatArray, inputs: FloatArray) -> float:
    """Return the smoothed pressure in Pa of the supply of an actuator with this row."""
    return float(inputs[INPUT.supply_pressures + int(row[ACTUATOR.supply])])


@fused_kernel
def note_opening(
    rows: FloatArray, friction: bool, period: float, inputs: FloatArray, state: ControlState
) -> None:
    """Write the seals' forces and the mean openings (n,) of the period up to a motion ahead.

    Lengths, rates and forces without friction of the actuators in it are in the scratch. The last row of
    seals and of openings is written; bristles, earlier forces and last openings are taken on.
    """
    lengths, rates, forces = state.scratch.lengths, state.scratch.rates, state.scratch.forces
    earlier, before = state.earlier_forces, state.last_openings
    seals, openings = state.seals[-1], state.openings[-1]
    for i in range(rows.shape[0]):
        seals[i] = seal_friction(rows[i], state.bristles, i, rates[i], period) if friction else 0.0
        # Of an electric drive the damper beside its stiffness carries a part: what deflects it lags.
        lag = rows[i, ACTUATOR.damping] / (period * oil_spring(rows[i], lengths[i]))
        force = forces[i] + seals[i] + lag * (2.0 * earlier[0, i] - 0.5 * earlier[1, i])
        force /= 1.0 + 1.5 * lag
        force_rate = (1.5 * force - 2.0 * earlier[0, i] + 0.5 * earlier[1, i]) / period
        earlier[1, i] = earlier[0, i]
        earlier[0, i] = force
        speed = rates[i] + force_rate / oil_spring(rows[i], lengths[i])
        speed += rows[i, ACTUATOR.leak_speed] * force
        if rows[i, ACTUATOR.full_speed] > 0.0:
            opening = min(max(speed / rows[i, ACTUATOR.full_speed], -1.0), 1.0)
        else:
            opening = opening_for(rows[i], speed, force, supply_of(rows[i], inputs))
        openings[i] = mean_over_lap(rows[i], before[i], opening)
        before[i] = opening


@fused_kernel
def drive_speed(
    nominal: FloatArray, drive: FloatArray, rate: float, acceleration: float, force: float, force_rate: float
) -> float:
    """Return the mean speed in m/s that the drive makes of a command by itself, errors and trim apart."""
    back = drive[DRIVE.offset]
    bound = MAX_FORCE_RATE_SPEED * drive[DRIVE.stiffness]
    bounded = min(max(force_rate, -bound), bound)
    speed = drive[DRIVE.rate] * (rate - back * acceleration)
    speed += drive[DRIVE.lead] * acceleration
    speed += drive[DRIVE.force] * bounded / drive[DRIVE.stiffness]
    speed += nominal[ACTUATOR.leak_speed] * (force - back * force_rate)
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
    if nominal[ACTUATOR.full_speed] > 0.0:
        asked = nominal[ACTUATOR.full_speed] * opening
        return float(asked - drive_speed(nominal, drive, rate, acceleration, force, force_rate))
    load = 0.0
    if drive[DRIVE.orifice] > 0.5:
        load = force + (drive[DRIVE.lead] - drive[DRIVE.offset]) * force_rate
    wanted = speed_for(nominal, opening, load, supply)
    return float(wanted - drive_speed(nominal, drive, rate, acceleration, force, force_rate))
