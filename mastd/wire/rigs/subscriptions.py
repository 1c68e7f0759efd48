"""What a rig reads: names of channels → places in the frame's block.

The channels of a simulated vehicle come and go with the loaded profile. A rig may ask for them at any time;
as long as there is no such vehicle they are NaN.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

import numpy as np

from mastd.settings.core.axes import AXES
from mastd.wire.common.blocks import NewestValueBlock
from mastd.wire.common.rig_block import FRAME_HEAD, FRAME_HEAD_SIZE
from mastd.wire.operators.snapshot import vehicle_channels
from mastd.wire.rigs.messages import ChannelLine
from mastd.wire.rigs.session import RigSession

MAX_LINES = 4
"""Names of one rig that are reported to be unknown."""
ALIKE = 3
"""Letters at the beginning that a name has in common with the one that may have been meant."""
LONGEST = 40
OF_VEHICLE = ("vehicle.", "seat.", "cue.", "driver.")
_SMOOTHED = {
    f"smoothed_pose.{axis}": (FRAME_HEAD.smoothed_pose + k, "m" if k < 3 else "rad")
    for k, axis in enumerate(AXES)
}


class Subscriptions:
    """The table of names, kept up with the loaded vehicle; ``status`` is the loop's status block."""

    def __init__(self, columns: Sequence[ChannelLine], spare: int, status: NewestValueBlock) -> None:
        self._frame_columns = dict(_SMOOTHED)
        for column, (name, unit) in enumerate(columns):
            self._frame_columns[name] = FRAME_HEAD_SIZE + column, unit
        self._first = FRAME_HEAD_SIZE + len(columns)
        self._spare = spare
        self._status = status
        self._label = ""
        self._of_vehicle: dict[str, tuple[int, str]] = {}

    def unknown(self, names: Iterable[str]) -> list[str]:
        """Return a line for each name that there is not and cannot be; of many, for the first ones."""
        missing = [name for name in names if not self._may_be(name)]
        found = [f"reads: there is no channel {name!r}; {self._hint(name)}" for name in missing[:MAX_LINES]]
        if len(missing) > MAX_LINES:
            found.append(f"reads: and {len(missing) - MAX_LINES} more that there are not")
        return found

    def _may_be(self, name: str) -> bool:
        return name in self._frame_columns or name in self._of_vehicle or name.startswith(OF_VEHICLE)

    def _hint(self, name: str) -> str:
        # To compare with all names takes 20 ms, in which nobody else would be heard.
        alike = [
            known for known in (*self._frame_columns, *self._of_vehicle) if known[:ALIKE] == name[:ALIKE]
        ]
        near = difflib.get_close_matches(name[:LONGEST], alike, n=1, cutoff=0.5)
        return f"did you mean {near[0]}?" if near else "see `channels` of `mastd ctl describe`"

    def bind(self, session: RigSession, names: Sequence[str]) -> None:
        """Let a rig read these; names that are not known now are NaN until they are."""
        self._check()
        session.reads = tuple((name, self._find(name)[1]) for name in names)
        session.columns = self._columns(names)

    def refresh(self, sessions: Iterable[RigSession]) -> None:
        """Look whether another vehicle is simulated now, and if so where its channels are."""
        if self._check():
            for session in sessions:
                session.columns = self._columns([name for name, _ in session.reads])

    def _columns(self, names: Sequence[str]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return np.array([self._find(name)[0] for name in names], dtype=np.int64)

    def _find(self, name: str) -> tuple[int, str]:
        return self._frame_columns.get(name) or self._of_vehicle.get(name) or (-1, "")

    def _check(self) -> bool:
        """Take the names of the vehicle that is simulated now; return whether it is another one."""
        status = self._status
        if not (status.changed() and status.read()):
            return False
        label = status.text("vehicle")
        if label == self._label:
            return False
        self._label = label
        self._of_vehicle = {
            name: (self._first + index, unit)
            for index, (name, unit, _) in enumerate(vehicle_channels(status)[: self._spare])
        }
        return True
