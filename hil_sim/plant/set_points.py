"""Set-points of the drive: following the last command, fading its rate out, lowering onto the stops."""

from __future__ import annotations

import math

from hil_sim.plant.block import AXIS, DRIVE, DRIVE_STATE, NOMINAL, PlantArrays
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
def fade_duration(plant: PlantArrays, i: int) -> float:
    """Return the longest fade of actuator ``i`` within its stroke (s): it covers half rate times duration."""
    axes, nominal = plant.axes, plant.nominal
    rate = axes[i, AXIS.set_rate]
    if not abs(rate) > CREEP:
        return math.inf
    extension = axes[i, AXIS.set_length] - nominal[i, NOMINAL.neutral_length]
    left = nominal[i, NOMINAL.stroke] - STROKE_RESERVE - (extension if rate > 0.0 else -extension)
    return float(2.0 * max(left, 0.0) / abs(rate))


@fused_kernel
def begin_fade(plant: PlantArrays) -> None:
    """Begin a fade at the present set-point, all actuators in one time that fits the stroke left."""
    drive, axes, parameters = plant.drive_state, plant.axes, plant.drive
    span = parameters[DRIVE.fade_time]
    for i in range(axes.shape[0]):
        span = min(span, fade_duration(plant, i))
    drive[DRIVE_STATE.fade_duration] = max(span, MIN_FADE)
    for i in range(axes.shape[0]):
        axes[i, AXIS.fade_length] = axes[i, AXIS.set_length]
        axes[i, AXIS.fade_rate] = axes[i, AXIS.set_rate]
        axes[i, AXIS.fade_acceleration] = axes[i, AXIS.set_acceleration]
    drive[DRIVE_STATE.clock] = 0.0


@fused_kernel
def follow(plant: PlantArrays) -> None:
    """Write the set-points of the present instant from the last command, extrapolated while it is late."""
    drive, axes, parameters = plant.drive_state, plant.axes, plant.drive
    ahead = drive[DRIVE_STATE.command_age] - parameters[DRIVE.period]
    drive[DRIVE_STATE.rejoin_clock] += parameters[DRIVE.tick]
    span = drive[DRIVE_STATE.rejoin_duration]
    # The offset from the old set-point runs out on the quintic that takes over its two derivatives too.
    p = q = r = dp = dq = dr = ddp = ddq = ddr = 0.0
    if drive[DRIVE_STATE.rejoin_clock] < span:
        s = drive[DRIVE_STATE.rejoin_clock] / span
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
    for i in range(axes.shape[0]):
        acceleration = axes[i, AXIS.command_acceleration]
        force_rate = axes[i, AXIS.command_force_rate]
        if ahead <= 0.0:
            gained = acceleration * ahead
            length = axes[i, AXIS.command_length] + ahead * (axes[i, AXIS.command_rate] + 0.5 * gained)
            force = axes[i, AXIS.command_force] + ahead * force_rate
        else:
            passed = min(ahead, BRIDGE_TIME)
            left = 1.0 - passed / BRIDGE_TIME
            gained = acceleration * passed * 0.5 * (1.0 + left)
            length = (
                axes[i, AXIS.command_length]
                + ahead * axes[i, AXIS.command_rate]
                + acceleration * passed * passed * (0.5 - passed / (6.0 * BRIDGE_TIME))
                + 0.5 * acceleration * BRIDGE_TIME * (ahead - passed)
            )
            acceleration *= left
            force_rate *= left
            force = axes[i, AXIS.command_force]
        offset = axes[i, AXIS.offset_length]
        offset_rate = axes[i, AXIS.offset_rate]
        offset_acceleration = axes[i, AXIS.offset_acceleration]
        axes[i, AXIS.set_length] = length + p * offset + q * offset_rate + r * offset_acceleration
        axes[i, AXIS.set_rate] = (
            axes[i, AXIS.command_rate] + gained + dp * offset + dq * offset_rate + dr * offset_acceleration
        )
        axes[i, AXIS.set_acceleration] = (
            acceleration + ddp * offset + ddq * offset_rate + ddr * offset_acceleration
        )
        axes[i, AXIS.set_force] = force + p * axes[i, AXIS.offset_force]
        axes[i, AXIS.set_force_rate] = force_rate


@fused_kernel
def fade(plant: PlantArrays) -> None:
    """Write the set-points of a fade: rate and acceleration end on a cubic, the length at rest."""
    drive, axes = plant.drive_state, plant.axes
    span = drive[DRIVE_STATE.fade_duration]
    s = min(drive[DRIVE_STATE.clock] / span, 1.0)
    rest = 1.0 - s
    for i in range(axes.shape[0]):
        rate = axes[i, AXIS.fade_rate]
        acceleration = axes[i, AXIS.fade_acceleration]
        axes[i, AXIS.set_rate] = (
            rate * (1.0 - s * s * (3.0 - 2.0 * s)) + acceleration * span * s * rest * rest
        )
        axes[i, AXIS.set_acceleration] = -6.0 * rate * s * rest / span + acceleration * rest * (1.0 - 3.0 * s)
        axes[i, AXIS.set_length] = (
            axes[i, AXIS.fade_length]
            + rate * span * (s - s * s * s * (1.0 - 0.5 * s))
            + acceleration * span * span * s * s * (0.5 - s * (2.0 / 3.0 - 0.25 * s))
        )


@fused_kernel
def lower(plant: PlantArrays) -> bool:
    """Write the set-points of lowering, each actuator by its part of a descent; True when all are down."""
    drive, axes, parameters = plant.drive_state, plant.axes, plant.drive
    nominal = plant.nominal
    tick = parameters[DRIVE.tick]
    farthest = -1.0
    for i in range(axes.shape[0]):
        if nominal[i, NOMINAL.descent] > 0.0:
            bottom = nominal[i, NOMINAL.neutral_length] - nominal[i, NOMINAL.stroke] - LANDING_DEPTH
            farthest = max(farthest, (axes[i, AXIS.set_length] - bottom) / nominal[i, NOMINAL.descent])
    if not farthest > 0.0:
        return True
    nearing = LANDING_RATE * farthest + LANDING_SPEED
    wanted = min(parameters[DRIVE.lowering_speed], nearing)
    drive[DRIVE_STATE.descent_rate] = min(
        drive[DRIVE_STATE.descent_rate] + LOWERING_ACCELERATION * tick, wanted
    )
    for i in range(axes.shape[0]):
        bottom = nominal[i, NOMINAL.neutral_length] - nominal[i, NOMINAL.stroke] - LANDING_DEPTH
        rate = drive[DRIVE_STATE.descent_rate] * nominal[i, NOMINAL.descent]
        moves = rate > 0.0 and axes[i, AXIS.set_length] > bottom
        axes[i, AXIS.set_rate] = -rate if moves else 0.0
        axes[i, AXIS.set_acceleration] = 0.0
        if moves:
            axes[i, AXIS.set_length] -= rate * tick
    return False
