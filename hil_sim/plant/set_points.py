"""Set-points of the drive: following the last command, fading its rate out, lowering onto the stops."""

from __future__ import annotations

import math

from hil_sim.plant.block import (
    C_ACCELERATION,
    C_FORCE,
    C_FORCE_RATE,
    C_LENGTH,
    C_RATE,
    COMMAND_AGE,
    D_DESCENT,
    D_NEUTRAL,
    D_STROKE,
    DESCENT_RATE,
    DRIVE_CLOCK,
    FADE_ACCELERATION,
    FADE_LENGTH,
    FADE_RATE,
    FADE_SPAN,
    FADE_TIME,
    LOWERING_SPEED,
    OFFSET_ACCELERATION,
    OFFSET_FORCE,
    OFFSET_LENGTH,
    OFFSET_RATE,
    PERIOD,
    REJOIN_CLOCK,
    REJOIN_SPAN,
    SET_ACCELERATION,
    SET_FORCE,
    SET_FORCE_RATE,
    SET_LENGTH,
    SET_RATE,
    TICK,
)
from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel

BRIDGE_TIME = 0.02
"""Time over which the last acceleration fades when commands are late (s); the last rate goes on."""
MIN_FADE = 0.1
"""Shortest time over which the last rate fades, however little stroke is left (s)."""
STROKE_RESERVE = 1.0e-3
"""Stroke that a fade leaves before the end stop (m)."""
CREEP = 1.0e-3
"""A slower set-point does not hurry a fade (m/s)."""
LOWERING_ACCELERATION = 0.05
"""Acceleration of the set-point when lowering begins (m/s²)."""
LANDING_RATE = 2.0
"""The lowering rate falls with the distance left, by this factor (1/s), …"""
LANDING_SPEED = 2.0e-3
"""… down to this speed (m/s)."""
LANDING_DEPTH = 1.0e-3
"""The set-point ends this far below the stop (m), so that the oil under the piston is let out."""


@fused_kernel
def fade_span(links: FloatArray, nominal: FloatArray, i: int) -> float:
    """Return the longest fade of link ``i`` within its stroke (s): it travels half rate times span."""
    rate = links[i, SET_RATE]
    if not abs(rate) > CREEP:
        return math.inf
    extension = links[i, SET_LENGTH] - nominal[i, D_NEUTRAL]
    room = nominal[i, D_STROKE] - STROKE_RESERVE - (extension if rate > 0.0 else -extension)
    return float(2.0 * max(room, 0.0) / abs(rate))


@fused_kernel
def begin_fade(
    drive: FloatArray,
    links: FloatArray,
    parameters: FloatArray,
    nominal: FloatArray,
) -> None:
    """Note the present set-point as the start of a fade, all links in one time that fits the stroke left."""
    span = parameters[FADE_TIME]
    for i in range(links.shape[0]):
        span = min(span, fade_span(links, nominal, i))
    drive[FADE_SPAN] = max(span, MIN_FADE)
    for i in range(links.shape[0]):
        links[i, FADE_LENGTH] = links[i, SET_LENGTH]
        links[i, FADE_RATE] = links[i, SET_RATE]
        links[i, FADE_ACCELERATION] = links[i, SET_ACCELERATION]
    drive[DRIVE_CLOCK] = 0.0


@fused_kernel
def follow(drive: FloatArray, links: FloatArray, parameters: FloatArray) -> None:
    """Set-points of the present instant from the last command, going on with its rate when it is late."""
    ahead = drive[COMMAND_AGE] - parameters[PERIOD]
    drive[REJOIN_CLOCK] += parameters[TICK]
    span = drive[REJOIN_SPAN]
    # The offset from the old set-point runs out on the quintic that takes over its two derivatives too.
    p = q = r = dp = dq = dr = ddp = ddq = ddr = 0.0
    if drive[REJOIN_CLOCK] < span:
        s = drive[REJOIN_CLOCK] / span
        rest = 1.0 - s
        p = 1.0 - s * s * s * (10.0 - s * (15.0 - 6.0 * s))
        q = span * (s - s * s * s * (6.0 - s * (8.0 - 3.0 * s)))
        r = span * span * 0.5 * s * s * rest * rest * rest
        dp = -30.0 * s * s * rest * rest / span
        dq = 1.0 - s * s * (18.0 - s * (32.0 - 15.0 * s))
        dr = span * s * rest * rest * (1.0 - 2.5 * s)
        ddp = -60.0 * s * (1.0 - s * (3.0 - 2.0 * s)) / (span * span)
        ddq = -s * (36.0 - s * (96.0 - 60.0 * s)) / span
        ddr = 1.0 - s * (9.0 - s * (18.0 - 10.0 * s))
    for i in range(links.shape[0]):
        acceleration = links[i, C_ACCELERATION]
        force_rate = links[i, C_FORCE_RATE]
        if ahead <= 0.0:
            gained = acceleration * ahead
            length = links[i, C_LENGTH] + ahead * (links[i, C_RATE] + 0.5 * gained)
            force = links[i, C_FORCE] + ahead * force_rate
        else:
            passed = min(ahead, BRIDGE_TIME)
            left = 1.0 - passed / BRIDGE_TIME
            gained = acceleration * passed * 0.5 * (1.0 + left)
            length = (
                links[i, C_LENGTH]
                + ahead * links[i, C_RATE]
                + acceleration * passed * passed * (0.5 - passed / (6.0 * BRIDGE_TIME))
                + 0.5 * acceleration * BRIDGE_TIME * (ahead - passed)
            )
            acceleration *= left
            force_rate *= left
            force = links[i, C_FORCE]
        offset = links[i, OFFSET_LENGTH]
        offset_rate = links[i, OFFSET_RATE]
        offset_acceleration = links[i, OFFSET_ACCELERATION]
        links[i, SET_LENGTH] = length + p * offset + q * offset_rate + r * offset_acceleration
        links[i, SET_RATE] = (
            links[i, C_RATE] + gained + dp * offset + dq * offset_rate + dr * offset_acceleration
        )
        links[i, SET_ACCELERATION] = (
            acceleration + ddp * offset + ddq * offset_rate + ddr * offset_acceleration
        )
        links[i, SET_FORCE] = force + p * links[i, OFFSET_FORCE]
        links[i, SET_FORCE_RATE] = force_rate


@fused_kernel
def fade(drive: FloatArray, links: FloatArray) -> None:
    """Set-points of a fade: rate and acceleration run out on a cubic, so the length ends at rest."""
    span = drive[FADE_SPAN]
    s = min(drive[DRIVE_CLOCK] / span, 1.0)
    rest = 1.0 - s
    for i in range(links.shape[0]):
        rate = links[i, FADE_RATE]
        acceleration = links[i, FADE_ACCELERATION]
        links[i, SET_RATE] = rate * (1.0 - s * s * (3.0 - 2.0 * s)) + acceleration * span * s * rest * rest
        links[i, SET_ACCELERATION] = -6.0 * rate * s * rest / span + acceleration * rest * (1.0 - 3.0 * s)
        links[i, SET_LENGTH] = (
            links[i, FADE_LENGTH]
            + rate * span * (s - s * s * s * (1.0 - 0.5 * s))
            + acceleration * span * span * s * s * (0.5 - s * (2.0 / 3.0 - 0.25 * s))
        )


@fused_kernel
def lower(
    drive: FloatArray,
    links: FloatArray,
    parameters: FloatArray,
    nominal: FloatArray,
) -> bool:
    """Set-points of lowering: each link retracts in its share of a descent; True when all are down."""
    tick = parameters[TICK]
    farthest = -1.0
    for i in range(links.shape[0]):
        if nominal[i, D_DESCENT] > 0.0:
            bottom = nominal[i, D_NEUTRAL] - nominal[i, D_STROKE] - LANDING_DEPTH
            farthest = max(farthest, (links[i, SET_LENGTH] - bottom) / nominal[i, D_DESCENT])
    if not farthest > 0.0:
        return True
    nearing = LANDING_RATE * farthest + LANDING_SPEED
    wanted = min(parameters[LOWERING_SPEED], nearing)
    drive[DESCENT_RATE] = min(drive[DESCENT_RATE] + LOWERING_ACCELERATION * tick, wanted)
    for i in range(links.shape[0]):
        bottom = nominal[i, D_NEUTRAL] - nominal[i, D_STROKE] - LANDING_DEPTH
        rate = drive[DESCENT_RATE] * nominal[i, D_DESCENT]
        moves = rate > 0.0 and links[i, SET_LENGTH] > bottom
        links[i, SET_RATE] = -rate if moves else 0.0
        links[i, SET_ACCELERATION] = 0.0
        if moves:
            links[i, SET_LENGTH] -= rate * tick
    return False
