"""What a rig gives, made fit for the table: in range, taken on by its delay, limited in rate, replaced.

One kernel for all rigs, once a cycle. For each channel, n the neutral value and u the newest one given:

- u is clipped to its range, and where that is asked for taken on along its last slope by the delay of its
  answer, at most by the horizon (``PREDICT``);
- while the rig is present the channel goes to u: what it was when the rig came fades out over ``RAMP``;
- when the rig is lost, *hold* keeps the last value, any other policy goes from it to n over ``RAMP``;
- the change per cycle stays below the channel's rate.

A rig is present when it has joined, has given something since, and what it gave is not older than its
time-out (free-run), or answers the present step (lockstep). While the table lies in OFF nothing fades and no
rate is limited, so that a rig that is there from the beginning is followed exactly.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.kernel import entry, kernel
from mastd.settings.rigs.channels import MAX_RIGS
from mastd.wire.common.rig_block import FIRST_RIG, RIG_ROW, RIG_WIDTH

LOWEST, HIGHEST, RATE, NEUTRAL, HOLDS = range(5)
"""Places in the terms of a channel; a rate of infinity limits nothing, ``HOLDS`` is 1 for hold."""
CHANNEL_TERMS: Final = 5
CHANNELS, TIMEOUT, PREDICT, RAMP = range(4)
"""Places in the terms of a rig: number of its channels, then seconds."""
RIG_TERMS: Final = 4
SEEN_JOINED, SEEN_COUNT, AGE, PRESENT, SHARE, LAST_STEP, STEP_BEFORE, DELAY, EVER = range(9)
"""Places in the memory of a rig: which joining and how many values were seen; s since the last values; 1
while present; share of u in what is given out; steps of the two last values (−1: none); delay in periods; 1
once it has been present."""
RIG_MEMORY: Final = 9


@kernel
def condition(
    block: FloatArray,
    rigs: FloatArray,
    channels: FloatArray,
    memory: FloatArray,
    newest: FloatArray,
    anchors: FloatArray,
    out: FloatArray,
    record: FloatArray,
    step: float,
    period: float,
    periods: float,
    answers: float,
    used: float,
    resting: bool,
) -> int:
    """Take the newest values over, write ``out`` (rigs, MAX_CHANNELS), and return who is there and lost.

    That is a mask of the rigs that are present, and ``MAX_RIGS`` bits above it of those that are in the mask
    ``used``, have been present, and are lost. ``record``: of each rig its values, 1 while present, delay.

    ``block``: RIG_VALUES. Terms: ``rigs`` (rigs, RIG_TERMS), ``channels`` (rigs, MAX_CHANNELS,
    CHANNEL_TERMS). Kept from call to call: ``memory`` (rigs, RIG_MEMORY), ``newest`` (rigs, 2,
    MAX_CHANNELS), ``anchors`` (rigs, MAX_CHANNELS). ``step``: number of the loop's exchange; ``periods``:
    passed since the last call, each ``period`` s long; ``answers``: mask of the rigs whose answer to ``step``
    was due in lockstep; ``resting``: the table lies in OFF.
    """
    passed = period * periods
    due, needed = int(answers), int(used)
    found, place = 0, 0
    for r in range(rigs.shape[0]):
        row = FIRST_RIG + r * RIG_WIDTH
        own = memory[r]
        joined, count = block[row + RIG_ROW.joined], block[row + RIG_ROW.given]
        was, rejoined = own[PRESENT] == 1.0, joined != own[SEEN_JOINED]
        fresh = joined > 0.0 and count > 0.0 and (rejoined or count != own[SEEN_COUNT])
        if rejoined:
            own[LAST_STEP], own[STEP_BEFORE] = -1.0, -1.0
            own[SEEN_JOINED] = joined
        own[SEEN_COUNT] = count
        own[AGE] += passed
        if fresh:
            own[AGE] = 0.0
            own[STEP_BEFORE] = own[LAST_STEP] if was else -1.0
            own[LAST_STEP] = block[row + RIG_ROW.step]
            for c in range(int(rigs[r, CHANNELS])):
                newest[r, 0, c] = newest[r, 1, c]
                value = block[row + RIG_ROW.values + c]
                if not math.isfinite(value):
                    value = newest[r, 0, c]
                newest[r, 1, c] = min(max(value, channels[r, c, LOWEST]), channels[r, c, HIGHEST])
        # Who was lost is there again when he gives something new, not when he is no longer waited for.
        present = joined > 0.0 and count > 0.0 and (was or fresh)
        if present:
            in_step = (due >> r) & 1
            present = own[LAST_STEP] >= step if in_step else own[AGE] <= rigs[r, TIMEOUT]
        own[DELAY] = step - own[LAST_STEP] if own[LAST_STEP] >= 0.0 else math.nan
        arrived = present and (rejoined or not was)
        if arrived:
            own[SHARE] = 0.0
        elif was and not present:
            own[SHARE] = 1.0
        for c in range(int(rigs[r, CHANNELS])):
            if arrived:
                anchors[r, c] = out[r, c]
            elif was and not present:
                anchors[r, c] = channels[r, c, NEUTRAL]
                newest[r, 1, c] = out[r, c]
        own[PRESENT] = 1.0 if present else 0.0
        if present:
            own[EVER] = 1.0
            found |= 1 << r
        elif resting:
            own[EVER] = 0.0
        elif (needed >> r) & 1 and own[EVER] == 1.0:
            found |= 1 << (r + MAX_RIGS)
        change = math.inf if rigs[r, RAMP] <= passed else passed / rigs[r, RAMP]
        own[SHARE] = min(own[SHARE] + change, 1.0) if present else max(own[SHARE] - change, 0.0)
        if resting:
            own[SHARE] = 1.0 if present else 0.0
        ahead, span = 0.0, own[LAST_STEP] - own[STEP_BEFORE]
        if present and own[STEP_BEFORE] >= 0.0 and span > 0.0:
            ahead = min(own[DELAY], rigs[r, PREDICT] / period) / span
        for c in range(int(rigs[r, CHANNELS])):
            value = newest[r, 1, c]
            if ahead > 0.0:
                value += ahead * (value - newest[r, 0, c])
                value = min(max(value, channels[r, c, LOWEST]), channels[r, c, HIGHEST])
            share = own[SHARE]
            if not present and channels[r, c, HOLDS] == 1.0:
                share = 1.0
            if share < 1.0:
                value = anchors[r, c] + share * (value - anchors[r, c])
            most = channels[r, c, RATE] * passed
            if not resting and math.isfinite(most):
                value = min(max(value, out[r, c] - most), out[r, c] + most)
            out[r, c] = value
            record[place] = value
            place += 1
        record[place], record[place + 1] = own[PRESENT], own[DELAY]
        place += 2
    return found


def memory_of(channels: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return memory, newest values, anchors and output for ``condition``, before anything has come.

    ``channels``: terms of all channels (rigs, MAX_CHANNELS, CHANNEL_TERMS); each is neutral at first.
    """
    memory = np.zeros((len(channels), RIG_MEMORY))
    memory[:, [LAST_STEP, STEP_BEFORE]] = -1.0
    memory[:, DELAY] = np.nan
    neutral = channels[:, :, NEUTRAL]
    return memory, np.stack((neutral, neutral), axis=1), neutral.copy(), neutral.copy()


assert 2 * MAX_RIGS <= 52, "masks of the rigs are whole numbers in a float64"


def compiled(arguments: tuple[object, ...]) -> Callable[..., int]:
    """Return ``condition`` compiled for arguments of these types."""
    return entry(condition, arguments)
