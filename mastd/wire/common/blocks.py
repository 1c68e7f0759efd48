"""Newest-value blocks: what the loop and the processes around it show each other, without any waiting.

A block is a fixed-size float64 array in shared memory with a version counter before and after it. The
writer raises the first counter, writes, raises the second; a reader takes a copy and keeps it only if both
counters agree. The newest value wins, nothing queues, and neither side can hold up the other.

``STATUS`` goes from the loop outwards, ``REQUEST`` and ``DRIVER`` inwards. A request is taken once, by the
number that its writer raises with every new one; the writer waits for the answer before the next. Stops and
emergency stops are counters of their own, so that nothing that is written after them can take their place.
What somebody drives with has a block of its own: it comes many times a second, is not answered, and must not
make the loop read its requests again.
"""

from __future__ import annotations

import mmap
import os

import numpy as np

from mastd.arrays import FloatArray
from mastd.ring.memory import shared_memory
from mastd.settings.table.supply import MAX_SUPPLIES
from mastd.settings.table.table import MAX_LINKS
from mastd.wire.common.layout import Field, Layout
from mastd.wire.common.vehicle_block import VEHICLE_NUMBERS

READ_ATTEMPTS = 100
"""A reader that meets the writer this often in a row gives up for now and keeps its last value."""


ARGUMENTS = 4
"""Numbers that go with a verb. LEVEL: share. JOG: 0 for an axis or 1 for an actuator, index from 0, amount in
m or rad. LOAD: slot of the profile, serial number of the loading."""

NAME_BYTES = 64
"""Bytes of the name of who asks, UTF-8, cut to size and padded with zeros."""

REQUEST = Layout(
    "request",
    (
        Field("heartbeat", 1, "1", "incremented by the writer in every poll"),
        Field("stops", 1, "1", "number of stops requested"),
        Field("estops", 1, "1", "number of emergency stops requested"),
        Field("number", 1, "1", "raised by the writer with every new request"),
        Field("verb", 1, "1", "verb requested, see Verb"),
        Field("arguments", ARGUMENTS, "1", "numbers that go with the verb"),
        Field("asked_by", NAME_BYTES // 8, "UTF-8", "the operator who has made that request"),
        Field("stopped_by", NAME_BYTES // 8, "UTF-8", "the operator who has asked for the newest stop"),
    ),
)
DRIVER = Layout(
    "driver",
    (
        Field("count", 1, "1", "raised by the writer with every new set of values"),
        Field("steering", 1, "1", "fraction of the rack's travel, -1 to 1, left positive"),
        Field("throttle", 1, "1", "0 to 1"),
        Field("brake", 1, "1", "pedal, 0 to 1"),
        Field("clutch", 1, "1", "pedal, 0 to 1 pressed"),
        Field("gear", 1, "1", "below 0 reverse, 0 neutral, 1 and up that gear, 100 the car's choice"),
    ),
)
"""What somebody drives a simulated vehicle with, beside its count."""
SIMULATED, REAL = "simulated", "real"
"""How the text of the plant begins."""
MAX_PATTERNS = MAX_LINKS - 1
TEXT_BYTES = 320
"""Bytes of a text in a status block, UTF-8, cut to size and padded with zeros."""


_TEXTS = (
    ("refusal", "why the last request was refused"),
    ("cause", "latched first cause"),
    ("plant", "simulated or real, and its name, by |; empty as long as it is waited for"),
    ("profile", "name of the loaded profile"),
    (
        "vehicle",
        "name of the simulated vehicle, what it is for (see vehicle_block), its wheels, by |; empty for none",
    ),
    ("waiting", "what the daemon waits for while its loop takes no commands; empty for nothing"),
)


def status_layout(actuators: int) -> Layout:
    """Return the layout of the status block for so many actuators."""
    return Layout(
        "status",
        (
            Field("time", 1, "s", "monotonic time of the cycle"),
            Field("cycle", 1, "1", "cycles since the loop began"),
            Field("state", 1, "1", "see mastd.safety.states.State"),
            Field("since", 1, "s", "monotonic time of the last change of state"),
            Field("fault", 1, "1", "code of the latched first cause, 0 for none"),
            Field("fault_action", 1, "1", "action of the latched first cause, see Action"),
            Field("degraded", 1, "1", "1 when real-time rights are missing"),
            Field("active", 2, "1", "codes of the faults that are active now, bit k of word w is 32 w + k"),
            Field("answered", 1, "1", "number of the last request accepted"),
            Field("refused", 1, "1", "1 when that request was refused"),
            Field("stops_answered", 1, "1", "number of stops accepted"),
            Field("estops_answered", 1, "1", "number of emergency stops accepted"),
            Field("missed", 1, "1", "periods missed since the loop began"),
            Field("late_cycles", 1, "1", "cycles that began over half a period late, since the loop began"),
            Field("late", 1, "s", "lateness of this cycle's wake-up"),
            Field("compute", 1, "s", "processor time of the last cycle"),
            Field("round_trip", 1, "s", "from a command to the sample that answers it"),
            Field("feedback", 1, "1", "weight of the acceleration feedback"),
            Field("dropped", 1, "1", "frames not accepted by the recorder"),
            Field("recording_left", 1, "s", "time for which the disk has room for records, NaN: unknown"),
            Field("profile_time", 1, "s", "time on the profile"),
            Field("profile_duration", 1, "s", "length of the profile"),
            Field("loaded", 1, "1", "serial number of the loaded profile, 0 for none"),
            Field("level", 1, "1", "master gain in effect"),
            Field("level_target", 1, "1", "master gain requested"),
            Field("level_limit", 1, "1", "largest master gain that the check has proved"),
            Field("path_speed", 1, "1", "speed of the profile's time, 1 runs and 0 is paused"),
            Field("supply_pressure", 1, "Pa", "pressure of the supply, the least of several"),
            Field("stage", 1, "1", "stage of the supply"),
            Field("supply_pressures", MAX_SUPPLIES, "Pa", "pressure of each supply, NaN beyond the last"),
            Field("charged", MAX_SUPPLIES, "1", "oil in its accumulators over that of full ones, likewise"),
            Field("reference", 6, "m, rad", "commanded pose"),
            Field("pose", 6, "m, rad", "pose measured"),
            Field("residual", 1, "m", "sum of the length residuals of the pose"),
            Field("lengths", actuators, "m", "measured lengths"),
            Field("forces", actuators, "N", "measured actuator forces"),
            Field("pressures", 2 * actuators, "Pa", "measured, chamber 1 and chamber 2 of each actuator"),
            Field("internal_force", 1, "N", "internal force: actuator forces along the null space"),
            Field(
                "pattern_forces", MAX_PATTERNS, "N", "in each pattern of internal force, NaN beyond the last"
            ),
            Field("following_peak", actuators, "m", "largest following errors since arming"),
            Field("vehicle_numbers", VEHICLE_NUMBERS, "SI", "the simulated vehicle, see vehicle_block"),
            Field("ended", 1, "1", "1 when the loop has ended"),
            *(Field(name, TEXT_BYTES // 8, "UTF-8", meaning) for name, meaning in _TEXTS),
        ),
    )


class NewestValueBlock:
    """One block in shared memory; both ends open it with the same layout, by a file descriptor."""

    def __init__(self, layout: Layout, descriptor: int | None = None) -> None:
        self.layout = layout
        size = 8 * (layout.size + 2)
        self._owned = descriptor is None
        if descriptor is None:
            descriptor = shared_memory(layout.name, size)
        self.descriptor = descriptor
        self._memory = mmap.mmap(descriptor, size)
        self._before = np.frombuffer(self._memory, dtype=np.int64, count=1)
        self._shared = np.frombuffer(self._memory, dtype=np.float64, count=layout.size, offset=8)
        self._after = np.frombuffer(self._memory, dtype=np.int64, count=1, offset=size - 8)
        self._versions = memoryview(self._memory).cast("q")
        self._numbers = memoryview(self._memory).cast("d")
        self._seen = 0
        self._torn = -1
        """Version whose writer was met in the middle; one that was killed there is waited for only once."""
        self.values: FloatArray = np.zeros(layout.size)
        """The writer fills this before ``publish``; the reader finds the newest value here after ``read``."""

    def field(self, name: str) -> FloatArray:
        """Return the view of one field of ``values``."""
        return self.values[self.layout.slices[name]]

    def scalar(self, name: str) -> float:
        """Return the value of a field of size one."""
        return float(self.values[self.layout.slices[name].start])

    def text(self, name: str) -> str:
        """Return the text of a field."""
        data = self.values[self.layout.slices[name]].tobytes()
        return data.rstrip(b"\0").decode("utf-8", "ignore")

    def set_text(self, name: str, text: str) -> None:
        """Put a text into a field, cut to its size."""
        part = self.layout.slices[name]
        size = 8 * (part.stop - part.start)
        data = text.encode(errors="replace")[:size].ljust(size, b"\0")
        self.values.data.cast("B")[8 * part.start : 8 * part.stop] = data

    def publish(self) -> None:
        """Show ``values`` to the readers."""
        version = self._before[0] + 1
        self._before[0] = version
        self._shared[:] = self.values
        self._after[0] = version

    def changed(self) -> bool:
        """Tell, without taking it, whether there is a value that has not been read yet."""
        return self._versions[0] != self._seen

    def peek(self, index: int) -> float:
        """Return one number as it is just now, without taking the rest."""
        return self._numbers[1 + index]

    def read(self) -> bool:
        """Take the newest whole value; return False and keep the last one if the writer never paused."""
        attempts = 1 if self._versions[0] == self._torn else READ_ATTEMPTS
        for _ in range(attempts):
            version = self._after[0]
            self.values[:] = self._shared
            if self._before[0] == version:
                self._seen = int(version)
                return True
        self._torn = self._versions[0]
        return False

    def close(self) -> None:
        """Release the memory; the block vanishes with its last user."""
        self._versions.release()
        self._numbers.release()
        del self._before, self._shared, self._after
        self._memory.close()
        if self._owned:
            os.close(self.descriptor)
