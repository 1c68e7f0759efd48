"""The loop's end of the rigs: shows them the motion, takes what they give, and says which ones are lost.

``exchange`` comes after the sensing. In free-run it never waits: it shows the frame, and takes what lies in
the block. In lockstep it waits for the answers of the rigs that the loaded profile uses, ``PATIENCE_S`` at
most; who has not answered until then is lost, and is not waited for again until it gives something new.

Where the settings name no rigs there is nothing of all this.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mastd.loop.bound_rig import BoundRig
from mastd.loop.frame import Frame
from mastd.loop.rig_conditioning import (
    AGE,
    CHANNEL_TERMS,
    CHANNELS,
    DELAY,
    EVER,
    HIGHEST,
    HOLDS,
    LOWEST,
    NEUTRAL,
    PREDICT,
    PRESENT,
    RAMP,
    RATE,
    RIG_TERMS,
    SEEN_COUNT,
    TIMEOUT,
    condition,
    memory_of,
)
from mastd.loop.sensing import Sensing
from mastd.record.channels import Channel
from mastd.safety.faults import Action, Code, Report
from mastd.safety.states import State
from mastd.settings.rig_channels import MOST_CHANNELS, VEHICLE
from mastd.settings.rigs import RigChannel, RigsSettings
from mastd.wire.blocks import Verb
from mastd.wire.rig_block import (
    ASKED,
    COUNT,
    ESTOPS,
    FIRST_RIG,
    FRAME_HEAD,
    IN_STEP,
    JOINED,
    NUMBER,
    PLANT_STEP,
    PLANT_TIME,
    RIG_VALUES,
    RIG_WIDTH,
    SMOOTHED,
    SPEED,
    STATE,
    STEP,
    STOPS,
    TIME,
    RigLink,
)

Floats = NDArray[np.float64]

PATIENCE_S: Final = 2.0
"""Wall time that lockstep waits for the answers of rigs."""
_ACTIONS: Final = {
    "hold": Action.INDICATE,
    "ramp": Action.INDICATE,
    "stop": Action.STOP,
    "fault": Action.POWER_OFF,
}


def rig_channels(rigs: RigsSettings) -> tuple[Channel, ...]:
    """Return the channels of a record that hold what the rigs give."""
    found: list[Channel] = []
    for rig in rigs.rigs:
        for channel in rig.all_channels():
            meaning = "what a rig gives, as the table sees it"
            found.append(Channel(f"rig.{rig.name}.{channel.name}", channel.unit, None, meaning))
        found.append(Channel(f"rig.{rig.name}.present", "1", None, "1 while the rig is there"))
        found.append(
            Channel(f"rig.{rig.name}.delay", "1", None, "age of the motion that it answers, in periods")
        )
    return tuple(found)


class LoopRigs:
    """All rigs of the settings in the loop; ``bound`` are they by name."""

    def __init__(self, settings: RigsSettings, frame: Frame, sensing: Sensing, period: float) -> None:
        count = len(settings.rigs)
        self._rigs = np.zeros((count, RIG_TERMS))
        self._channels = np.zeros((count, MOST_CHANNELS, CHANNEL_TERMS))
        for r, rig in enumerate(settings.rigs):
            channels = rig.all_channels()
            # A vehicle's forces fade in the loop, to and from the weight that stands in for them.
            ramp = 0.0 if rig.kind == VEHICLE else rig.ramp
            terms = (len(channels), rig.timeout, rig.predict, ramp)
            self._rigs[r, [CHANNELS, TIMEOUT, PREDICT, RAMP]] = terms
            for c, channel in enumerate(channels):
                self._channels[r, c] = _terms(channel)
        self._memory, self._newest, self._anchors, self._out = memory_of(self._channels)
        self._actions: list[Action] = []
        bound: dict[str, BoundRig] = {}
        for r, rig in enumerate(settings.rigs):
            channels = rig.all_channels()
            names = tuple(channel.name for channel in channels)
            bound[rig.name] = BoundRig(r, rig.name, rig.kind, names, self._out[r, : len(channels)])
            self._actions.append(max(_ACTIONS[channel.on_loss] for channel in channels))
        self.bound: Mapping[str, BoundRig] = bound
        self._all = tuple(bound.values())
        self._frame = frame
        self._sensing = sensing
        self._period = period
        self._record = frame.rigs
        self._link: RigLink | None = None
        self._number = 0.0
        if count:
            self._condition(np.zeros(RIG_VALUES.size), 1.0, 0, True)  # compiled before the loop begins
        self._names: tuple[str, ...] = ()
        self._used = 0
        """Mask of the rigs that the loaded profile uses."""
        self._silent = 0
        """Mask of those that lockstep has waited for in vain, until they give something new."""
        self._lockstep = False
        self._stops, self._estops = 0.0, 0.0

    def connect(self, link: RigLink, *, lockstep: bool) -> None:
        """Learn how the gateway is reached, and whether rigs are waited for."""
        self._link, self._lockstep = link, lockstep

    def _use(self, names: tuple[str, ...]) -> None:
        """Learn which rigs the loaded profile uses; what was lost before is forgotten."""
        self._names = names
        self._used = sum(1 << self.bound[name].index for name in names if name in self.bound)
        self._memory[:, EVER] = self._memory[:, PRESENT]

    def absent(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return those of ``names`` that have not joined; for before the loop begins."""
        link = self._link
        if link is not None and link.values.changed():
            link.values.read()
        rows = None if link is None else link.values.values[FIRST_RIG:].reshape(-1, RIG_WIDTH)
        return tuple(name for name in names if rows is None or not rows[self.bound[name].index, JOINED] > 0.0)

    def stop_asked(self) -> Verb:
        """Return STOP or ESTOP where a rig has newly asked for it, else NONE."""
        link = self._link
        if link is None:
            return Verb.NONE
        if link.values.changed():
            link.values.read()
        # Not only when there is something new: the exchange reads the block as well.
        stops, estops = float(link.values.values[STOPS]), float(link.values.values[ESTOPS])
        verb = Verb.ESTOP if estops > self._estops else Verb.STOP if stops > self._stops else Verb.NONE
        self._stops, self._estops = max(stops, self._stops), max(estops, self._estops)
        return verb

    def exchange(self, state: State, speed: float, skipped: int, names: tuple[str, ...]) -> list[Report]:
        """Show the frame, take what was given, and return which of the rigs ``names``, those that the loaded
        profile uses, are lost."""
        link = self._link
        if link is None:
            return []
        if names != self._names:
            self._use(names)
        rows = link.values.values[FIRST_RIG:].reshape(-1, RIG_WIDTH)
        asked = 0
        if link.values.changed():
            link.values.read()
        if rows[:, JOINED].any():
            asked = self._asked(rows) if self._lockstep else 0
            self._show(link, state, speed, asked)
            if asked:
                self._await(link, rows, asked)
        self._condition(link.values.values, 1.0 + skipped, asked, state is State.OFF)
        return self._look(state)

    def _condition(self, given: Floats, periods: float, asked: int, resting: bool) -> None:
        condition(
            given,
            self._rigs,
            self._channels,
            self._memory,
            self._newest,
            self._anchors,
            self._out,
            self._number,
            self._period,
            periods,
            float(asked),
            resting,
        )

    def _asked(self, rows: Floats) -> int:
        """Return the mask of the rigs that lockstep waits for."""
        asked = 0
        for rig in self._all:
            bit = 1 << rig.index
            row = rows[rig.index]
            if self._silent & bit and row[COUNT] != self._memory[rig.index, SEEN_COUNT]:
                self._silent &= ~bit
            if self._used & bit and row[JOINED] > 0.0 and row[IN_STEP] > 0.0 and not self._silent & bit:
                asked |= bit
        return asked

    def _show(self, link: RigLink, state: State, speed: float, asked: int) -> None:
        values, sample = link.frame.values, self._sensing.sample
        self._number += 1.0
        values[NUMBER] = self._number
        values[TIME] = time.monotonic_ns() * 1e-9
        values[PLANT_STEP] = sample.step
        values[PLANT_TIME] = sample.time_ns * 1e-9
        values[STATE] = state
        values[SPEED] = speed
        values[ASKED] = asked
        values[SMOOTHED:FRAME_HEAD] = self._sensing.smoothed_pose
        values[FRAME_HEAD:] = self._frame.values
        link.frame.publish()
        link.shown.set()

    def _await(self, link: RigLink, rows: Floats, asked: int) -> None:
        """Wait until every rig asked has answered, has left, or the patience is over."""
        end = time.monotonic() + PATIENCE_S
        waiting = asked
        while waiting and (left := end - time.monotonic()) > 0.0:
            link.answered.wait(left)
            if not (link.values.changed() and link.values.read()):
                continue
            for rig in self._all:
                row = rows[rig.index]
                if row[STEP] >= self._number or row[JOINED] == 0.0:
                    waiting &= ~(1 << rig.index)
        self._silent |= waiting

    def _look(self, state: State) -> list[Report]:
        reports: list[Report] = []
        place = 0
        for rig in self._all:
            memory = self._memory[rig.index]
            rig.present, rig.delay = memory[PRESENT] == 1.0, float(memory[DELAY])
            end = place + len(rig.values)
            self._record[place:end] = rig.values
            self._record[end], self._record[end + 1] = memory[PRESENT], rig.delay
            place = end + 2
            if self._used >> rig.index & 1 and not rig.present and memory[EVER] == 1.0:
                if state is State.OFF:
                    memory[EVER] = 0.0
                else:
                    text = f"{rig.name}: nothing new for {memory[AGE]:.3g} s"
                    reports.append(Report(Code.RIG_LOST, text, self._actions[rig.index]))
        return reports


def _terms(channel: RigChannel) -> tuple[float, ...]:
    terms = [0.0] * CHANNEL_TERMS
    terms[LOWEST], terms[HIGHEST] = channel.lowest, channel.highest
    terms[RATE] = math.inf if channel.rate_limit is None else channel.rate_limit
    terms[NEUTRAL], terms[HOLDS] = channel.neutral, float(channel.on_loss == "hold")
    return tuple(terms)
