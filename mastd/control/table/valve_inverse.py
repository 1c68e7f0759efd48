"""The inverse of the valves as finite filters: which command now makes the spool follow what is wanted.

A valve lags behind its command like V(f) = e^{−2πifτ}/(1 + 2ζ if/f₀ − (f/f₀)²), with a fourth stage also
1/(1 + if/f₁). What is wanted of the spool is known as its mean over each of the control's periods, some of
them ahead. The command of a period, held over it, is the weighted sum of them whose response comes nearest to
L(f) e^{−2πifD}: least squares over the frequencies, with a weight on the size of the sum above the band so
that it does not shout there. L is 1 in the band and falls to zero smoothly, so that the valves are not asked
for what they cannot do; D is the time that is allowed when nothing is known ahead.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mastd.arrays import ComplexArray, FloatArray
from mastd.settings.table.electric import VelocityLoopSettings
from mastd.settings.table.hydraulics import ValveSettings

LINES = 400
HELD_RATIO = 0.45
"""Fraction of the bandwidth up to which L is 1."""
LOW_WEIGHT = 10.0
"""Weight of the response up to HELD_SHARE, against 1 above it."""


@dataclass(frozen=True)
class Horizon:
    """How many periods ahead and back the filter looks, and how much later than wanted it may act in s."""

    ahead: int
    back: int
    delay: float

    @property
    def taps(self) -> int:
        """Weights of the filter."""
        return self.ahead + self.back + 1


def valve_inverse(
    valve: ValveSettings | VelocityLoopSettings,
    delay: float,
    bandwidth: float,
    period: float,
    horizon: Horizon,
) -> FloatArray:
    """Return the weights (taps,), from the oldest to the one farthest ahead.

    ``delay`` of this valve in s, ``bandwidth`` in Hz at which L is 1/√2, ``period`` in s. Time counts from
    the end of the period that the command is held over.
    """
    frequency = np.linspace(0.0, 0.5 / period, LINES)
    s = 2j * np.pi * frequency
    held = np.sinc(frequency * period)  # the command over its period
    mean = held * np.exp(-0.5 * s * period)  # what is wanted, over the period before
    spool = np.exp(-s * delay) / valve.denominator(frequency) * held
    times = np.arange(-horizon.back, horizon.ahead + 1) * period + 0.5 * period
    columns = (spool * mean)[:, None] * np.exp(s[:, None] * times)
    wanted = roll_off(frequency, bandwidth) * np.exp(-s * horizon.delay)
    weights = np.where(frequency <= HELD_RATIO * bandwidth, LOW_WEIGHT, 1.0)
    shouting = 0.05 * np.clip(frequency / bandwidth - 1.0, 0.0, 1.0)
    rows = np.vstack(
        (
            _real(columns * weights[:, None]),
            _real(np.exp(s[:, None] * times) * shouting[:, None]),
        )
    )
    goal = np.concatenate((_real(wanted * weights), np.zeros(2 * LINES)))
    taps = np.linalg.lstsq(rows, goal, rcond=1e-9)[0]
    # What stands still must stand still where it is asked to.
    return np.asarray(taps / np.sum(taps))


def roll_off(frequency: FloatArray, bandwidth: float) -> FloatArray:
    """Return L at ``frequency`` in Hz: 1, then half a cosine, 1/√2 at ``bandwidth``, 0 far above it."""
    low = HELD_RATIO * bandwidth
    # Half a cosine is 1/√2 at 0.3645 of its way from 1 to 0.
    high = low + (bandwidth - low) / 0.3645
    way = np.clip((frequency - low) / (high - low), 0.0, 1.0)
    return np.asarray(0.5 * (1.0 + np.cos(np.pi * way)))


def _real(values: ComplexArray | FloatArray) -> FloatArray:
    return np.concatenate((values.real, values.imag))
