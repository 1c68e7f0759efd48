"""The loop's end of the rigs: shows them the motion, takes what they give, and says which ones are lost.

``exchange`` comes after the sensing. In free-run it never waits: it shows the frame, and takes what lies in
the block. In lockstep it waits for the answers of the rigs that the loaded profile uses, for no longer than
``PATIENCE_S``; who has not answered until then is lost, and is not waited for again until it gives something
new.

Where the settings name no rigs there is nothing of all this.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.loop.measurement.frame import Frame
from mastd.loop.measurement.sensing import Sensing
from mastd.loop.rigs.bound_rig import BoundRig
from mastd.loop.rigs.conditioning import (
    CHANNEL,
    CHANNEL_WIDTH,
    MEMORY,
    RIG,
    RIG_PARAMETERS,
    compiled,
    condition,
    rig_arrays,
)
from mastd.record.channels import Channel
from mastd.safety.faults import Action, Code, Report
from mastd.safety.states import State
from mastd.settings.rigs.channels import MAX_CHANNELS, MAX_RIGS, VEHICLE
from mastd.settings.rigs.rigs import RigChannel, RigsSettings
from mastd.wire.access.verbs import NO_VERB, Verb
from mastd.wire.common.rig_block import (
    ESTOPS,
    FRAME_HEAD,
    FRAME_HEAD_SIZE,
    RIG_ROW,
    RIG_ROWS,
    RIG_VALUES,
    RIG_WIDTH,
    STOPS,
    RigLink,
)

PATIENCE_S: Final = 2.0
"""Wall time that lockstep waits for the answers of rigs."""
_ALL: Final = (1 << MAX_RIGS) - 1
_NOBODY: Final = bytes(8 * MAX_RIGS)
"""What the joinings are while there is no rig."""
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
        parameters = np.zeros((count, RIG_PARAMETERS))
        channel_parameters = np.zeros((count, MAX_CHANNELS, CHANNEL_WIDTH))
        for r, rig in enumerate(settings.rigs):
            channels = rig.all_channels()
            # A vehicle's forces fade in the loop, to and from the weight that stands in for them.
            ramp = 0.0 if rig.kind == VEHICLE else rig.ramp
            parameters[r, RIG.channels], parameters[r, RIG.timeout] = len(channels), rig.timeout
            parameters[r, RIG.predict], parameters[r, RIG.ramp] = rig.predict, ramp
            for c, channel in enumerate(channels):
                _set_parameters(channel_parameters[r, c], channel)
        self._arrays = rig_arrays(parameters, channel_parameters, frame.rigs)
        self._memory = self._arrays.memory
        self._actions: list[Action] = []
        bound: dict[str, BoundRig] = {}
        for r, rig in enumerate(settings.rigs):
            channels = rig.all_channels()
            names = tuple(channel.name for channel in channels)
            bound[rig.name] = BoundRig(r, rig.name, rig.kind, names, self._arrays.output[r, : len(channels)])
            self._actions.append(max(_ACTIONS[channel.on_loss] for channel in channels))
        self.bound: Mapping[str, BoundRig] = bound
        self._all = tuple(bound.values())
        self._frame = frame
        self._sensing = sensing
        self._period = period
        self._link: RigLink | None = None
        self._rows = np.zeros((0, RIG_WIDTH))
        """What each rig gives, as a view of the block that the gateway writes."""
        self._joined = self._rows[:, RIG_ROW.joined]
        self._number = 0.0
        self._present = 0
        """Mask of the rigs that are there."""
        self._names: tuple[str, ...] = ()
        self._used = 0
        """Mask of the rigs that the loaded profile uses."""
        self._condition: Callable[..., int] = condition
        if count:  # compiled before the loop begins
            block = np.zeros(RIG_VALUES.size)
            arguments = (block, self._arrays, 0.0, period, 1.0, 0.0, 0.0, True)
            self._condition = compiled(arguments)
            self._condition(*arguments)
        self._silent = 0
        """Mask of those that lockstep has waited for in vain, until they give something new."""
        self._lockstep = False
        self._stops, self._estops = 0.0, 0.0
        self.stopped_by = ""
        """The rig that has asked for the newest stop, in words."""

    def connect(self, link: RigLink, *, lockstep: bool) -> None:
        """Learn how the gateway is reached, and whether rigs are waited for."""
        self._link, self._lockstep = link, lockstep
        values = link.values.values
        self._rows = values[RIG_ROWS].reshape(-1, RIG_WIDTH)
        self._joined = self._rows[:, RIG_ROW.joined]

    def _use(self, names: tuple[str, ...]) -> None:
        """Learn which rigs the loaded profile uses; what was lost before is forgotten."""
        self._names = names
        self._used = sum(1 << self.bound[name].index for name in names if name in self.bound)
        self._memory[:, MEMORY.ever] = self._memory[:, MEMORY.present]

    def absent(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return those of ``names`` that have not joined; for before the loop begins."""
        link = self._link
        if link is not None and link.values.changed():
            link.values.read()
        return tuple(name for name in names if link is None or not self._joined[self.bound[name].index] > 0.0)

    def stop_asked(self) -> Verb:
        """Return STOP or ESTOP where a rig has newly asked for it, else NONE."""
        link = self._link
        if link is None:
            return NO_VERB
        # Counters, which say the same whether the rest of the block is whole or not.
        stops, estops = link.values.peek(STOPS), link.values.peek(ESTOPS)
        if stops == self._stops and estops == self._estops:
            return NO_VERB
        verb = Verb.ESTOP if estops > self._estops else Verb.STOP if stops > self._stops else Verb.NONE
        self._stops, self._estops = max(stops, self._stops), max(estops, self._estops)
        if verb:
            link.values.read()
            name = link.values.text("stopped_by")
            self.stopped_by = f"rig {name}" if name.isprintable() and name else "a rig"
        return verb

    def exchange(self, state: State, speed: float, skipped: int, names: tuple[str, ...]) -> list[Report]:
        """Show the frame, take what was given, and return which of the rigs ``names``, those that the loaded
        profile uses, are lost."""
        link = self._link
        if link is None:
            return []
        if names != self._names:
            self._use(names)
        asked = 0
        if link.values.changed():
            link.values.read()
        if self._joined.tobytes() != _NOBODY:
            asked = self._asked() if self._lockstep else 0
            self._show(link, state, speed, asked)
            if asked:
                self._await(link, asked)
        found = self._condition(
            link.values.values,
            self._arrays,
            self._number,
            self._period,
            1.0 + skipped,
            float(asked),
            float(self._used),
            state is State.OFF,
        )
        return self._report(found)

    def _asked(self) -> int:
        """Return the mask of the rigs that lockstep waits for."""
        asked = 0
        for rig in self._all:
            bit = 1 << rig.index
            row = self._rows[rig.index]
            if self._silent & bit and row[RIG_ROW.given] != self._memory[rig.index, MEMORY.given]:
                self._silent &= ~bit
            if (
                self._used & bit
                and row[RIG_ROW.joined] > 0.0
                and row[RIG_ROW.in_step] > 0.0
                and not self._silent & bit
            ):
                asked |= bit
        return asked

    def _show(self, link: RigLink, state: State, speed: float, asked: int) -> None:
        values, sample = link.frame.values, self._sensing.sample
        self._number += 1.0
        values[FRAME_HEAD.number] = self._number
        values[FRAME_HEAD.time] = time.monotonic_ns() * 1e-9
        values[FRAME_HEAD.plant_step] = sample.step
        values[FRAME_HEAD.plant_time] = sample.time_ns * 1e-9
        values[FRAME_HEAD.state] = state
        values[FRAME_HEAD.speed] = speed
        values[FRAME_HEAD.asked] = asked
        values[FRAME_HEAD.smoothed_pose : FRAME_HEAD_SIZE] = self._sensing.smoothed_pose
        values[FRAME_HEAD_SIZE:] = self._frame.values
        link.frame.publish()
        if self._lockstep:
            link.shown.set()  # in free-run the gateway knows when to read, and waking it would cost the cycle

    def _await(self, link: RigLink, asked: int) -> None:
        """Wait until every rig asked has answered, has left, or the patience is over."""
        end = time.monotonic() + PATIENCE_S
        waiting = asked
        while waiting and (left := end - time.monotonic()) > 0.0:
            link.answered.wait(left)
            if not (link.values.changed() and link.values.read()):
                continue
            for rig in self._all:
                row = self._rows[rig.index]
                if row[RIG_ROW.step] >= self._number or row[RIG_ROW.joined] == 0.0:
                    waiting &= ~(1 << rig.index)
        self._silent |= waiting

    def _report(self, found: int) -> list[Report]:
        """Note who is present, and return reports of who is lost: masks as ``condition`` returns them."""
        present, lost = found & _ALL, found >> MAX_RIGS
        if present != self._present:
            self._present = present
            for rig in self._all:
                rig.present = bool(present >> rig.index & 1)
        if not lost:
            return []
        return [
            Report(Code.RIG_LOST, f"{rig.name}: {self._why(rig.index)}", self._actions[rig.index])
            for rig in self._all
            if lost >> rig.index & 1
        ]

    def _why(self, index: int) -> str:
        """Return why a rig is lost."""
        if not self._rows[index, RIG_ROW.joined] > 0.0:
            return "disconnected, or no heartbeat"
        if self._silent >> index & 1:
            return f"no answer within {PATIENCE_S:g} s"
        silence, age = self._memory[index, [MEMORY.silence, MEMORY.age]]
        if silence < age:
            return f"its values answer a motion {1e3 * age:.0f} ms old"
        return f"no new values for {silence:.3g} s"


def _set_parameters(row: FloatArray, channel: RigChannel) -> None:
    row[CHANNEL.lowest], row[CHANNEL.highest] = channel.lowest, channel.highest
    row[CHANNEL.rate] = math.inf if channel.rate_limit is None else channel.rate_limit
    row[CHANNEL.neutral], row[CHANNEL.holds] = channel.neutral, channel.on_loss == "hold"
