"""Jogging: a step along one axis of the pose, or of one actuator while the others keep their lengths.

Planned before anything moves: the straight line in pose space from where the table stands to the target is
looked at for strokes and pose limits. An amount that does not fit is refused with what would fit. Actuators
and axes count from 0 here, from 1 in what people read. Lengths in m, angles in rad.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mastd.arrays import FloatArray
from mastd.control.reference.preview import PathLimits
from mastd.kinematics.design import neutral_jacobian
from mastd.kinematics.forward import Observer
from mastd.kinematics.geometry import Geometry
from mastd.kinematics.observer import observe
from mastd.kinematics.workspace import independent_range, lengths_at
from mastd.settings.core.axes import AXES

SAMPLES = 65
"""Poses looked at on the line, both ends counted."""
STAYS = 0.1e-3
"""Metres by which the other lengths may change when one actuator is jogged away from neutral."""
AGREEMENT = 1e-9
"""Metres within which lengths count as one pose's in Table 4 of Jin 2012."""

_ROUNDING = 1e-9
_MOVES = 1e-9
"""Change of length, in m, with 1 m or 1 rad of an axis, from which on the axis moves an actuator."""
_UPDATES = 100


@dataclass(frozen=True, eq=False)
class JogRanges:
    """How far actuators can move while the others stand, in m from neutral: Table 4 of Jin 2012.

    ``single`` (n, 2): least and greatest of each actuator alone; ``pairs``: of two together, for those that
    cannot move alone.
    """

    single: FloatArray
    pairs: dict[tuple[int, int], tuple[float, float]]

    @classmethod
    def of(cls, observer: Observer) -> JogRanges:
        """Work the ranges out, a matter of milliseconds an actuator."""
        geometry, gain = observer.geometry, observer.gain
        single = np.array(
            [
                independent_range(geometry, gain, (actuator,), agreement=AGREEMENT)
                for actuator in range(geometry.actuators)
            ]
        )
        fixed = [actuator for actuator in range(geometry.actuators) if not np.any(single[actuator])]
        pairs = {
            pair: independent_range(geometry, gain, pair, agreement=AGREEMENT)
            for pair in itertools.combinations(fixed, 2)
        }
        return cls(single, {pair: reach for pair, reach in pairs.items() if any(reach)})


@dataclass(frozen=True, eq=False)
class Jog:
    """A planned jog: ``target`` (6,) or None, and then why and what is possible in ``refusal``."""

    target: FloatArray | None
    refusal: str = ""


def plan_jog(
    arguments: Sequence[float], pose: FloatArray, limits: PathLimits, observer: Observer, ranges: JogRanges
) -> Jog:
    """Return the jog for a request's [0 axis | 1 actuator, index from 0, amount] from ``pose`` (6,)."""
    kind, index, amount = arguments[:3]
    names = AXES if kind == 0 else [str(actuator + 1) for actuator in range(limits.geometry.actuators)]
    if kind not in (0, 1) or not 0 <= index < len(names) or index != int(index):
        return _refused("no such axis or actuator")
    if not math.isfinite(amount):
        return _refused("the amount is not a number")
    if kind == 0 and int(index) not in limits.geometry.free_axes:
        free = ", ".join(AXES[axis] for axis in limits.geometry.free_axes)
        return _refused(f"the table's guides hold {AXES[int(index)]}; it is free in {free}")
    if kind == 0:
        return jog_axis(pose, int(index), amount, limits)
    return jog_actuator(pose, int(index), amount, limits, observer, ranges)


def jog_axis(pose: FloatArray, axis: int, amount: float, limits: PathLimits) -> Jog:
    """Return the jog of coordinate ``axis`` of ``pose`` (6,) by ``amount`` m or rad."""
    target = np.array(pose)
    target[axis] += amount
    free = _free_fraction(pose, target, limits)
    if free >= 1.0:
        return Jog(target)
    possible = _rounded(amount * free, axis < 3)
    where = f"{AXES[axis]} can move {possible} from here" if free > 0.0 else "no travel is left that way"
    return _refused(
        f"strokes and pose limits do not allow {AXES[axis]} {_rounded(amount, axis < 3)}; {where}"
    )


def jog_actuator(
    pose: FloatArray, actuator: int, amount: float, limits: PathLimits, observer: Observer, ranges: JogRanges
) -> Jog:
    """Return the jog of the length of ``actuator`` by ``amount`` m, the other lengths as they are.

    Allowed within ``ranges``; the target's exact lengths agree with the wanted ones within ``STAYS``.
    """
    geometry = limits.geometry
    least, greatest = ranges.single[actuator]
    if least == 0.0 and greatest == 0.0:
        return _refused(_alone(actuator, ranges, geometry))
    lengths = lengths_at(geometry, pose)[0]
    away = float(lengths[actuator] - geometry.neutral_lengths[actuator])
    reach = float(limits.reach[actuator])
    low, high = max(least, -reach) - away, min(greatest, reach) - away
    if not low - _ROUNDING <= amount <= high + _ROUNDING:
        return _refused(
            f"actuator {actuator + 1} is {away * 1e3:+.1f} mm from neutral and can move alone between "
            f"{max(least, -reach) * 1e3:+.4g} and {min(greatest, reach) * 1e3:+.4g} mm; "
            f"{low * 1e3:+.1f} to {high * 1e3:+.1f} mm are possible from here"
        )
    lengths[actuator] += amount
    target = np.array(pose)
    converged, _, _ = observe(
        geometry.legs,
        observer.gain,
        lengths,
        observer.limits._replace(tolerance=0.0, update_tolerance=1e-13, maximum_updates=_UPDATES),
        target,
    )
    others = np.abs(lengths_at(geometry, target)[0] - lengths)
    if not (converged and np.all(others <= STAYS)):
        return _refused(
            f"from this pose actuator {actuator + 1} cannot move {amount * 1e3:+.1f} mm alone, the others "
            f"would move by up to {np.max(others) * 1e3:.2g} mm; raise to neutral first, or jog an axis"
        )
    free = _free_fraction(pose, target, limits)
    if free < 1.0:
        possible = f"{_floor(amount * free * 1e3):+.1f} mm are possible from here"
        return _refused(
            f"the pose limits do not allow actuator {actuator + 1} {amount * 1e3:+.1f} mm; {possible}"
        )
    return Jog(target)


def _free_fraction(pose: FloatArray, target: FloatArray, limits: PathLimits) -> float:
    """Return the fraction of the line from ``pose`` to ``target`` that keeps strokes and pose limits.

    A point beyond a limit counts only where the line leads further out: the way back is always free.
    """
    fractions = np.linspace(0.0, 1.0, SAMPLES)
    line = pose + fractions[:, None] * (target - pose)
    away = np.hstack((lengths_at(limits.geometry, line) - limits.geometry.neutral_lengths, line))
    bounds = np.concatenate((limits.reach, limits.pose)) + _ROUNDING
    beyond = np.abs(away[1:]) > bounds
    outwards = np.abs(away[1:]) > np.abs(away[:-1])
    bad = np.flatnonzero(np.any(beyond & outwards, axis=1))
    if not bad.size:
        return 1.0
    # The last free point, to the point between two samples where the first bound is met.
    before, after = np.abs(away[bad[0]]), np.abs(away[bad[0] + 1])
    rise = np.where(after > before, after - before, np.inf)
    met = np.min(np.where((after > bounds) & (after > before), (bounds - before) / rise, 1.0))
    return float(max(fractions[bad[0]] + np.clip(met, 0.0, 1.0) * (fractions[1] - fractions[0]), 0.0))


def _alone(actuator: int, ranges: JogRanges, geometry: Geometry) -> str:
    others = [
        f"{first + 1}+{second + 1} by {low * 1e3:.4g} to {high * 1e3:.4g} mm"
        for (first, second), (low, high) in ranges.pairs.items()
    ]
    free = [str(index + 1) for index in range(len(ranges.single)) if np.any(ranges.single[index])]
    together = f"; possible together: {', '.join(others)}" if others else ""
    alone = f"actuators {', '.join(free)} can move alone; " if free else ""
    moving = np.abs(neutral_jacobian(geometry)[actuator]) > _MOVES
    *axes, last = (AXES[axis] for axis in np.flatnonzero(moving))
    return (
        f"actuator {actuator + 1} cannot move while the others are at rest{together}; {alone}"
        f"jog {', '.join(axes)}{' or ' if axes else ''}{last} instead"
    )


def _floor(value: float) -> float:
    """Return the value rounded towards zero to a tenth, so that what is named as possible is."""
    return math.trunc(value * 10.0) / 10.0


def _rounded(amount: float, length: bool) -> str:
    if length:
        return f"{_floor(amount * 1e3):+.1f} mm"
    return f"{math.trunc(math.degrees(amount) * 100.0) / 100.0:+.2f} deg"


def _refused(why: str) -> Jog:
    return Jog(None, f"jog is refused: {why}")
