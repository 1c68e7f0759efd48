"""What a rig gives, made fit for the table: in range, taken on by its delay, limited in rate, replaced.

One kernel for all rigs, once a cycle. For each channel, n the neutral value and u the newest one given:

- u is clipped to its range, and where that is asked for taken on along its last slope by the delay of its
  answer, at most by the horizon (``predict``);
- while the rig is present the channel goes to u: what it was when the rig came fades out over ``ramp``;
- when the rig is lost, *hold* keeps the last value, any other policy goes from it to n over ``ramp``;
- the change per cycle stays below the channel's rate.

A rig is present when it has joined, has given something since, and what it gave is not older than its
time-out (free-run), or answers the present step (lockstep). The age of values is that of the motion that
they answer; of values that answer none it is the time since they came. While the table lies in OFF nothing
fades and no rate is limited, so that a rig that is there from the beginning is followed exactly.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Final, NamedTuple

import numpy as np

from mastd.arrays import FloatArray
from mastd.index_table import Entry, index_table, size_of
from mastd.kernel import entry, kernel
from mastd.settings.rigs.channels import MAX_RIGS
from mastd.wire.common.rig_block import FIRST_RIG, RIG_ROW, RIG_WIDTH


class ChannelColumns(NamedTuple):
    """Parameters of a channel."""

    lowest: Annotated[int, Entry("SI", "")]
    highest: Annotated[int, Entry("SI", "")]
    rate: Annotated[int, Entry("SI/s", "limit, infinite for none")]
    neutral: Annotated[int, Entry("SI", "")]
    holds: Annotated[int, Entry("1", "1 where the last value is held on loss")]


class RigColumns(NamedTuple):
    """Parameters of a rig."""

    channels: Annotated[int, Entry("1", "number of its channels")]
    timeout: Annotated[int, Entry("s", "age of the last values from which on it is lost")]
    predict: Annotated[int, Entry("s", "horizon of the prediction")]
    ramp: Annotated[int, Entry("s", "time of fading")]


class RigMemoryColumns(NamedTuple):
    """What is kept of a rig from cycle to cycle."""

    joined: Annotated[int, Entry("1", "the joining seen last")]
    given: Annotated[int, Entry("1", "values seen so far")]
    silence: Annotated[int, Entry("s", "since the last values came")]
    age: Annotated[int, Entry("s", "of the motion that the last values answer, or since they came")]
    present: Annotated[int, Entry("1", "1 while it is present")]
    weight: Annotated[int, Entry("1", "of u in the output")]
    step: Annotated[int, Entry("1", "that the last values answer, -1 for none")]
    previous_step: Annotated[int, Entry("1", "that the values before answer, -1 for none")]
    delay: Annotated[int, Entry("periods", "of its answer")]
    ever: Annotated[int, Entry("1", "1 once it has been present")]


CHANNEL: Final = index_table(ChannelColumns)
CHANNEL_WIDTH: Final = size_of(CHANNEL)
RIG: Final = index_table(RigColumns)
RIG_PARAMETERS: Final = size_of(RIG)
MEMORY: Final = index_table(RigMemoryColumns)
MEMORY_WIDTH: Final = size_of(MEMORY)


class RigArrays(NamedTuple):
    """Parameters, memory and output of all rigs; a row for each."""

    rigs: FloatArray
    """(rigs, RIG_PARAMETERS)."""
    channels: FloatArray
    """(rigs, MAX_CHANNELS, CHANNEL_WIDTH)."""
    memory: FloatArray
    """(rigs, MEMORY_WIDTH)."""
    newest: FloatArray
    """The last values and those before (rigs, 2, MAX_CHANNELS), in range."""
    anchors: FloatArray
    """Where each channel fades from and to (rigs, MAX_CHANNELS)."""
    output: FloatArray
    """(rigs, MAX_CHANNELS)."""
    record: FloatArray
    """Of each rig its output, 1 while present, delay."""


@kernel
def condition(
    block: FloatArray,
    arrays: RigArrays,
    step: float,
    period: float,
    periods: float,
    answers: float,
    used: float,
    resting: bool,
) -> int:
    """Take the newest values over, write output and record, and return which rigs are present and lost.

    That is a mask of the rigs that are present, and ``MAX_RIGS`` bits above it of those that are in the mask
    ``used``, have been present, and are lost.

    ``block``: RIG_VALUES. ``step``: number of the loop's exchange; ``periods``: passed since the last call,
    each ``period`` s long; ``answers``: mask of the rigs whose answer to ``step`` was due in lockstep;
    ``resting``: the table lies in OFF.
    """
    passed = period * periods
    due, needed = int(answers), int(used)
    found, at = 0, 0
    for r in range(arrays.rigs.shape[0]):
        own = arrays.memory[r]
        _receive(block, arrays, r, step, period, passed, (due >> r) & 1)
        if own[MEMORY.present] == 1.0:
            own[MEMORY.ever] = 1.0
            found |= 1 << r
        elif resting:
            own[MEMORY.ever] = 0.0
        elif (needed >> r) & 1 and own[MEMORY.ever] == 1.0:
            found |= 1 << (r + MAX_RIGS)
        _output(arrays, r, passed, period, resting)
        for c in range(int(arrays.rigs[r, RIG.channels])):
            arrays.record[at] = arrays.output[r, c]
            at += 1
        arrays.record[at], arrays.record[at + 1] = own[MEMORY.present], own[MEMORY.delay]
        at += 2
    return found


@kernel
def _receive(
    block: FloatArray, arrays: RigArrays, r: int, step: float, period: float, passed: float, in_step: int
) -> None:
    """Take the newest values of a rig over, and note whether it is present and where it fades from."""
    own, newest = arrays.memory[r], arrays.newest[r]
    row = FIRST_RIG + r * RIG_WIDTH
    joined, count = block[row + RIG_ROW.joined], block[row + RIG_ROW.given]
    was, rejoined = own[MEMORY.present] == 1.0, joined != own[MEMORY.joined]
    updated = joined > 0.0 and count > 0.0 and (rejoined or count != own[MEMORY.given])
    if rejoined:
        own[MEMORY.step], own[MEMORY.previous_step] = -1.0, -1.0
        own[MEMORY.joined] = joined
    own[MEMORY.given] = count
    own[MEMORY.silence] += passed
    if updated:
        own[MEMORY.silence] = 0.0
        own[MEMORY.previous_step] = own[MEMORY.step] if was else -1.0
        own[MEMORY.step] = block[row + RIG_ROW.step]
        for c in range(int(arrays.rigs[r, RIG.channels])):
            newest[0, c] = newest[1, c]
            value = block[row + RIG_ROW.values + c]
            if not math.isfinite(value):
                value = newest[0, c]
            newest[1, c] = _in_range(value, arrays.channels[r, c])
    own[MEMORY.delay] = step - own[MEMORY.step] if own[MEMORY.step] >= 0.0 else math.nan
    own[MEMORY.age] = own[MEMORY.silence]
    if own[MEMORY.step] >= 0.0:  # values that come all the time may all be old
        own[MEMORY.age] = max(own[MEMORY.silence], period * own[MEMORY.delay])
    # Who was lost is there again when he gives something new, not when he is no longer waited for.
    present = joined > 0.0 and count > 0.0 and (was or updated)
    if present:
        present = own[MEMORY.step] >= step if in_step else own[MEMORY.age] <= arrays.rigs[r, RIG.timeout]
    arrived, left = present and (rejoined or not was), was and not present
    if arrived:
        own[MEMORY.weight] = 0.0
    elif left:
        own[MEMORY.weight] = 1.0
    for c in range(int(arrays.rigs[r, RIG.channels])):
        if arrived:
            arrays.anchors[r, c] = arrays.output[r, c]
        elif left:
            arrays.anchors[r, c] = arrays.channels[r, c, CHANNEL.neutral]
            newest[1, c] = arrays.output[r, c]
    own[MEMORY.present] = 1.0 if present else 0.0


@kernel
def _output(arrays: RigArrays, r: int, passed: float, period: float, resting: bool) -> None:
    """Write the output of a rig: its last values predicted, faded and limited in rate."""
    own, newest = arrays.memory[r], arrays.newest[r]
    present, ramp = own[MEMORY.present] == 1.0, arrays.rigs[r, RIG.ramp]
    change = math.inf if ramp <= passed else passed / ramp
    faded = min(own[MEMORY.weight] + change, 1.0) if present else max(own[MEMORY.weight] - change, 0.0)
    if resting:
        faded = 1.0 if present else 0.0
    own[MEMORY.weight] = faded
    ahead, span = 0.0, own[MEMORY.step] - own[MEMORY.previous_step]
    if present and own[MEMORY.previous_step] >= 0.0 and span > 0.0:
        ahead = min(own[MEMORY.delay], arrays.rigs[r, RIG.predict] / period) / span
    for c in range(int(arrays.rigs[r, RIG.channels])):
        channel, before = arrays.channels[r, c], arrays.output[r, c]
        value = newest[1, c]
        if ahead > 0.0:
            value += ahead * (value - newest[0, c])
            value = _in_range(value, channel)
        weight = 1.0 if not present and channel[CHANNEL.holds] == 1.0 else faded
        if weight < 1.0:
            value = arrays.anchors[r, c] + weight * (value - arrays.anchors[r, c])
        max_change = channel[CHANNEL.rate] * passed
        if not resting and math.isfinite(max_change):
            value = min(max(value, before - max_change), before + max_change)
        arrays.output[r, c] = value


@kernel
def _in_range(value: float, channel: FloatArray) -> float:
    """Return the value clipped to the channel's range."""
    lowest: float = channel[CHANNEL.lowest]
    highest: float = channel[CHANNEL.highest]
    return min(max(value, lowest), highest)


def rig_arrays(rigs: FloatArray, channels: FloatArray, record: FloatArray) -> RigArrays:
    """Return the arrays of ``condition`` before anything has come: each channel is neutral.

    ``rigs``, ``channels``: the parameters, see ``RigArrays``; ``record``: where the record is written.
    """
    memory = np.zeros((len(channels), MEMORY_WIDTH))
    memory[:, [MEMORY.step, MEMORY.previous_step]] = -1.0
    memory[:, MEMORY.delay] = np.nan
    neutral = channels[:, :, CHANNEL.neutral]
    newest = np.stack((neutral, neutral), axis=1)
    return RigArrays(rigs, channels, memory, newest, neutral.copy(), neutral.copy(), record)


assert 2 * MAX_RIGS <= 52, "masks of the rigs are whole numbers in a float64"


def compiled(arguments: tuple[object, ...]) -> Callable[..., int]:
    """Return ``condition`` compiled for arguments of these types."""
    return entry(condition, arguments)
