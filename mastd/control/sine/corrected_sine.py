"""When a corrected sine is played: its rows, the window in which it rises and falls, its whole periods."""

from __future__ import annotations

import math

from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel

# one corrected sine
START, PLAY, PLAYS_END, PASS, END, REST, RISE, OMEGA, HARMONICS, BUDGET, TIME = range(11)
SINE_SIZE = 11
"""s of a pass of the profile at which its first play begins, s of a play, s of a pass at which its last play
ends, s of a pass, s of the profile; s of rest at either end of a play, s of the rise that follows; rad/s;
number of multiples; m/s² of a link at level 1; s."""

MIN_WINDOW = 0.2
"""s of a demodulation."""
MIN_PERIODS = 2.0


@fused_kernel
def sine_at(sines: FloatArray, time: float) -> int:
    """Return which of ``sines`` (m, SINE_SIZE) is played at path time ``time``, −1 for none."""
    for k in range(sines.shape[0]):
        if 0.0 <= time < sines[k, END]:
            place = time % sines[k, PASS]
            if sines[k, START] <= place < sines[k, PLAYS_END]:
                return k
    return -1


@fused_kernel
def time_in_play(sine: FloatArray, time: float) -> float:
    """Return the time since the present play of ``sine`` began."""
    return float((time % sine[PASS] - sine[START]) % sine[PLAY])


@fused_kernel
def smooth_step_jets(share: float, rate: float, out: FloatArray) -> None:
    """Write the fades' smooth step and its three derivatives; ``share`` moves at ``rate``."""
    x = share
    if x <= 0.0 or x >= 1.0:
        out[0] = 0.0 if x <= 0.0 else 1.0
        out[1] = out[2] = out[3] = 0.0
        return
    y = 1.0 - x
    out[0] = x**4 * (35.0 + x * (-84.0 + x * (70.0 - 20.0 * x)))
    out[1] = 140.0 * x**3 * y**3 * rate
    out[2] = 420.0 * x**2 * y**2 * (1.0 - 2.0 * x) * rate**2
    out[3] = 840.0 * x * y * (1.0 - 5.0 * x * y) * rate**3


@fused_kernel
def window_jets(sine: FloatArray, time: float, out: FloatArray) -> None:
    """Write the window of a play and its derivatives (4,) at ``time`` in it."""
    falling = time > 0.5 * sine[PLAY]
    from_end = (sine[PLAY] - time if falling else time) - sine[REST]
    rate = 1.0 / sine[RISE]
    smooth_step_jets(from_end * rate, -rate if falling else rate, out)


@fused_kernel
def window_time(sine: FloatArray) -> float:
    """Return the s of a demodulation: whole periods."""
    period = 2.0 * math.pi / sine[OMEGA]
    return float(period * max(MIN_PERIODS, math.ceil(MIN_WINDOW / period)))
