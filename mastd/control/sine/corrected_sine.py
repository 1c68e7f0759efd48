"""When a corrected sine is played: its rows, the window in which it rises and falls, its whole periods."""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

from mastd.arrays import FloatArray
from mastd.index_table import Entry, index_table, size_of
from mastd.kernel import fused_kernel


class SineColumns(NamedTuple):
    """A corrected sine; a pass is once through the profile, a play once through the sine."""

    start: Annotated[int, Entry("s", "of a pass, at which the first play begins")]
    play: Annotated[int, Entry("s", "length of a play")]
    plays_end: Annotated[int, Entry("s", "of a pass, at which the last play ends")]
    whole_pass: Annotated[int, Entry("s", "length of a pass")]
    end: Annotated[int, Entry("s", "of the profile")]
    rest: Annotated[int, Entry("s", "at either end of a play")]
    rise: Annotated[int, Entry("s", "after the rest")]
    omega: Annotated[int, Entry("rad/s", "")]
    harmonics: Annotated[int, Entry("1", "number of multiples")]
    budget: Annotated[int, Entry("m/s^2", "of an actuator at a master gain of 1")]
    time: Annotated[int, Entry("s", "time constant of the correction")]


SINE = index_table(SineColumns)
SINE_SIZE = size_of(SINE)

MIN_WINDOW = 0.2
"""s of a demodulation."""
MIN_PERIODS = 2.0


@fused_kernel
def sine_at(sines: FloatArray, time: float) -> int:
    """Return which of ``sines`` (m, SINE_SIZE) is played at path time ``time``, −1 for none."""
    for k in range(sines.shape[0]):
        if 0.0 <= time < sines[k, SINE.end]:
            passed = time % sines[k, SINE.whole_pass]
            if sines[k, SINE.start] <= passed < sines[k, SINE.plays_end]:
                return k
    return -1


@fused_kernel
def time_in_play(sine: FloatArray, time: float) -> float:
    """Return the time since the present play of ``sine`` began."""
    return float((time % sine[SINE.whole_pass] - sine[SINE.start]) % sine[SINE.play])


@fused_kernel
def smooth_step_jets(ratio: float, rate: float, out: FloatArray) -> None:
    """Write the fades' smooth step and its three derivatives; ``ratio`` moves at ``rate``."""
    x = ratio
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
    falling = time > 0.5 * sine[SINE.play]
    from_end = (sine[SINE.play] - time if falling else time) - sine[SINE.rest]
    rate = 1.0 / sine[SINE.rise]
    smooth_step_jets(from_end * rate, -rate if falling else rate, out)


@fused_kernel
def window_time(sine: FloatArray) -> float:
    """Return the s of a demodulation: whole periods."""
    period = 2.0 * math.pi / sine[SINE.omega]
    return float(period * max(MIN_PERIODS, math.ceil(MIN_WINDOW / period)))
