"""One period of the table's control, compiled: from motion and measurement to the command of the links.

Feed-forward: ``mastd.control.table.feedforward``. Acceleration feedback, in pose space: what is missing of
the acceleration, times the bare table's mass, as legs' forces over the stiffness of their oil, times the
gain, added to the speed that the drive asks of the valves. Scaled by the bare table because the payload may
be absent or sprung (control study). Balance: the part of the legs' forces that makes no wrench, that is f − J
(JᵀJ)⁻¹ Jᵀ f with the rows of J as in eq. (9b) of Jin 2012 at the present pose, is taken off by a slow
integration on the lengths; for any number of links beyond six.
"""

from __future__ import annotations

import math

from mastd.arrays import FloatArray
from mastd.control.table.body_learning import learn_body
from mastd.control.table.feedforward import note_opening, trim_for
from mastd.control.table.parts import forces_of, internal_part, notched, shift
from mastd.control.table.valve_learning import learn
from mastd.dynamics.actuator import mean_over_lap, oil_spring
from mastd.dynamics.table_model import WORK_ROWS, leg_forces
from mastd.kernel import kernel
from mastd.kinematics.geometry import Legs
from mastd.kinematics.inverse import link_motion
from mastd.kinematics.jacobian import geometric_jacobian

# constants
(
    PERIOD,
    DYNAMICS,
    FRICTION,
    INVERSE,
    KNOWN,
    AHEAD,
    DELAY,
    GAIN,
    BALANCE,
    BALANCE_LIMIT,
    TRIM_LIMIT,
    ENGAGE,
    NOTCHES,
    LEARNING,
    BODY_LEARNING,
    OLDEST_SHARE,
) = range(16)
CONSTANTS = 16
"""s; one of WHOLE … WEIGHT of ``control_parts``; whether friction, the inverse of the valves and the preview
are on; periods known ahead, periods waited at most; 1/s; 1/s; m; m/s; s; number of notches; whether valves
and payload are learned; share of the oldest motion, against the one after it, in what is waited for. The bare
table's mass matrix (36) and the notches follow, see ``notched``."""
# what changes every period
SUPPLY, ENGAGED, BALANCING, FRESH, STREAMED, BROKEN, CONTINUOUS, FELT = range(8)
NOW = 8
"""Pressure of the supply in Pa; whether the drive follows, whether the table stands on its legs alone,
whether a sample has come, whether the motion is not known ahead, whether it does not go on from the last
one, whether the sample is that of the next period, whether accelerometers tell the acceleration."""

FINITE, BALANCE_SATURATED, TRIM_LIMITED = 1, 2, 4
"""Bits of the result."""

STALE_SHARE = 0.5
"""What stays of the last feedback in each period without a sample."""
FORGET_TIME = 0.5
"""Time constant in s in which the balance is given up when the drive does not follow."""


def state_size(links: int, taps: int, ahead: int, delay: int, notches: int) -> int:
    """Return the size of the state for so many links, weights of a filter, periods ahead, waited, notches."""
    return sum(_sizes(links, taps, ahead, delay, notches))


def _sizes(links: int, taps: int, ahead: int, delay: int, notches: int) -> tuple[int, ...]:
    return (
        taps * links,
        (ahead + delay + 1) * links,
        (delay + 1) * 24,
        24,
        links,
        2 * links,
        links,
        links,
        links,
        links,
        links,
        6,
        1,
        2 * notches,
        5 * links,
        (links + WORK_ROWS) * 6,
        links,
    )


@kernel
def control_step(
    legs: Legs,
    model: FloatArray,
    bare: FloatArray,
    links: FloatArray,
    nominal: FloatArray,
    rows: FloatArray,
    drives: FloatArray,
    filters: FloatArray,
    constants: FloatArray,
    now: FloatArray,
    load: FloatArray,
    measured: FloatArray,
    bodies: FloatArray,
    body_memory: FloatArray,
    measured_forces: FloatArray,
    measured_lengths: FloatArray,
    spools: FloatArray,
    known: FloatArray,
    memory_of_valves: FloatArray,
    motion: FloatArray,
    later: FloatArray,
    state: FloatArray,
    block: FloatArray,
) -> int:
    """Write the command of the links into ``block``: lengths, rates, accelerations, forces, trims (n each).

    ``links`` (2, n): mass of each link's own and the preload of its balance; ``nominal`` and ``rows`` (n, …):
    what the drive counts on, and what is known of the actuators by now; ``known`` (n, …): what was known
    before anything was learned, ``memory_of_valves`` as of ``learning_memory``; ``filters`` (2, taps, n) with
    and without preview; ``load`` (6,): what is simulated on the table, at C in P axes; ``measured`` (3, 6):
    pose, rates and accelerations, then forces, lengths and spools (n,) as measured; ``bodies``
    (1 + UNKNOWNS, 11): what is believed of table and payload by now, and how it may differ from ``model``;
    ``motion`` (4, 6) and ``later`` (m, 4, 6) as of ``Reference``. Returns FINITE and other bits.
    """
    n = rows.shape[0]
    taps = filters.shape[1]
    ahead, delay = int(constants[AHEAD]), int(constants[DELAY])
    notches = int(constants[NOTCHES])
    period, supply = constants[PERIOD], now[SUPPLY]
    at = 0
    openings = state[at : at + taps * n].reshape((taps, n))
    at += taps * n
    seals = state[at : at + (ahead + delay + 1) * n].reshape((ahead + delay + 1, n))
    at += (ahead + delay + 1) * n
    motions = state[at : at + (delay + 1) * 24].reshape((delay + 1, 24))
    at += (delay + 1) * 24
    waited = state[at : at + 24].reshape((4, 6))
    at += 24
    bristles = state[at : at + n]
    at += n
    earlier = state[at : at + 2 * n].reshape((2, n))
    at += 2 * n
    before = state[at : at + n]
    at += n
    sealed_before = state[at : at + n]
    at += n
    balance = state[at : at + n]
    at += n
    sent_force = state[at : at + n]
    at += n
    feedback = state[at : at + n]
    at += n
    asked = state[at : at + 6]
    at += 6
    engaged = state[at : at + 1]
    at += 1
    memory = state[at : at + 2 * notches]
    at += 2 * notches
    scratch = state[at : at + 5 * n].reshape((5, n))
    at += 5 * n
    work = state[at : at + (n + WORK_ROWS) * 6].reshape((n + WORK_ROWS, 6))
    at += (n + WORK_ROWS) * 6
    trims = state[at : at + n]
    dynamics = int(constants[DYNAMICS])
    waiting = now[STREAMED] > 0.0 or constants[KNOWN] == 0.0
    friction = constants[FRICTION] > 0.0

    if constants[LEARNING] > 0.0:
        whole = now[CONTINUOUS] > 0.0 and now[ENGAGED] > 0.0 and later.shape[0] == 1
        learn(
            known,
            rows,
            memory_of_valves,
            measured_lengths,
            measured_forces,
            spools,
            supply,
            period,
            whole,
        )

    believed = bodies[0]
    if constants[BODY_LEARNING] > 0.0:
        whole = now[CONTINUOUS] > 0.0 and now[BALANCING] > 0.0 and later.shape[0] == 1
        whole = whole and now[FELT] > 0.0
        geometric_jacobian(legs, measured[0], work[:n])
        learn_body(
            model,
            bodies[1:],
            believed,
            body_memory,
            work[:n],
            measured_forces,
            sealed_before,
            load,
            measured,
            work[n:],
            period,
            whole,
        )
    else:
        for k in range(believed.shape[0]):
            believed[k] = model[k]

    # What is to come: openings of the periods that are new on the horizon.
    for k in range(later.shape[0]):
        coming = later[k]
        link_motion(
            legs,
            coming[0],
            coming[1],
            coming[2],
            scratch[0],
            scratch[1],
            scratch[2],
        )
        forces_of(
            legs,
            believed,
            bare,
            links[0],
            dynamics,
            coming,
            scratch[2],
            load,
            work,
            scratch[3],
        )
        if now[BROKEN] > 0.0 and k == 0:
            for i in range(n):
                earlier[0, i] = earlier[1, i] = scratch[3, i]
        shift(openings)
        shift(seals)
        shift(motions)
        note_opening(
            rows,
            friction,
            period,
            supply,
            scratch[0],
            scratch[1],
            scratch[3],
            bristles,
            earlier,
            before,
            seals[ahead + delay],
            openings[taps - 1],
        )
        for row in range(4):
            for axis in range(6):
                motions[delay, 6 * row + axis] = coming[row, axis]
        if now[BROKEN] > 0.0 and k == 0:
            for i in range(n):
                standing = mean_over_lap(rows[i], before[i], before[i])
                for row in range(taps):
                    openings[row, i] = standing
            for row in range(ahead + delay):
                seals[row] = seals[ahead + delay]
            for row in range(delay):
                motions[row] = motions[delay]

    # The command of the links, where the references of length and force are now.
    due, sealed = motion, seals[delay]
    if waiting and delay > 0:
        share = constants[OLDEST_SHARE]
        for row in range(4):
            for axis in range(6):
                place = 6 * row + axis
                waited[row, axis] = share * motions[0, place] + (1.0 - share) * motions[1, place]
        due, sealed = waited, seals[ahead]
    lengths, rates, accelerations = block[:n], block[n : 2 * n], block[2 * n : 3 * n]
    forces = block[3 * n : 4 * n]
    link_motion(
        legs,
        due[0],
        due[1],
        due[2],
        lengths,
        rates,
        accelerations,
    )
    forces_of(
        legs,
        believed,
        bare,
        links[0],
        dynamics,
        due,
        accelerations,
        load,
        work,
        forces,
    )
    jacobian = work[:n]
    for i in range(n):
        forces[i] += sealed[i]
        sealed_before[i] = sealed[i]

    # Feedback of what is missing of the acceleration.
    if now[FRESH] > 0.0 and now[FELT] > 0.0:
        missing, wanted = work[n + 1], work[n]
        for axis in range(6):
            missing[axis] = asked[axis] - measured[2, axis]
        notched(constants[CONSTANTS + 36 :], memory, missing)
        for axis in range(6):
            total = 0.0
            for j in range(6):
                total += constants[CONSTANTS + 6 * axis + j] * missing[j]
            wanted[axis] = total
        leg_forces(jacobian, wanted, work[n + 1 :], feedback)
        for i in range(n):
            feedback[i] *= constants[GAIN] / oil_spring(nominal[i], lengths[i])
    else:
        for i in range(n):
            feedback[i] *= STALE_SHARE
    for axis in range(6):
        asked[axis] = due[2, axis]

    # Trims of the valves.
    if now[ENGAGED] > 0.0:
        engaged[0] = min(1.0, engaged[0] + later.shape[0] * period / constants[ENGAGE])
    else:
        engaged[0] = 0.0
    bits = FINITE
    bank = filters[1] if waiting else filters[0]
    for i in range(n):
        trim = feedback[i]
        if constants[INVERSE] > 0.0:
            opening = 0.0
            for k in range(taps):
                opening += bank[k, i] * openings[k, i]
            force_rate = (
                (forces[i] - sent_force[i]) / period if now[BROKEN] == 0.0 and later.shape[0] == 1 else 0.0
            )
            trim += trim_for(
                nominal[i], drives[i], opening, supply, rates[i], accelerations[i], forces[i], force_rate
            )
        sent_force[i] = forces[i]
        trim *= engaged[0]
        if abs(trim) > constants[TRIM_LIMIT]:
            bits |= TRIM_LIMITED
            trim = math.copysign(constants[TRIM_LIMIT], trim)
        trims[i] = block[4 * n + i] = trim

    # Balance of the forces that make no wrench.
    if now[BALANCING] > 0.0 and now[FRESH] > 0.0 and constants[BALANCE] > 0.0 and engaged[0] == 1.0:
        internal_part(jacobian, measured_forces, work[n], work[n + 1 :], scratch[3])
        for i in range(n):
            # As a length: what the oil gives way under the force that makes no wrench.
            scratch[4, i] = (scratch[3, i] - links[1, i]) / oil_spring(nominal[i], lengths[i])
            balance[i] -= constants[BALANCE] * period * scratch[4, i]
        internal_part(jacobian, balance, work[n], work[n + 1 :], scratch[3])
        largest = 0.0
        for i in range(n):
            largest = max(largest, abs(scratch[3, i]))
        share = 1.0
        if largest > constants[BALANCE_LIMIT]:
            share = constants[BALANCE_LIMIT] / largest
            bits |= BALANCE_SATURATED
        for i in range(n):
            balance[i] = share * scratch[3, i]
    elif now[ENGAGED] == 0.0:
        for i in range(n):
            balance[i] *= 1.0 - period / FORGET_TIME
            if abs(balance[i]) < 1e-12:
                balance[i] = 0.0
    for i in range(n):
        lengths[i] += balance[i]

    for k in range(block.shape[0]):
        if not -1e300 < block[k] < 1e300:
            bits &= ~FINITE
    return bits
