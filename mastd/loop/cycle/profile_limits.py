"""Monitor the limits and the path of the loaded profile."""

from __future__ import annotations

from mastd.arrays import FloatArray
from mastd.control.reference.reference import Reference
from mastd.loop.measurement.frame import Frame
from mastd.safety.codes import Code
from mastd.safety.faults import Report
from mastd.safety.profile_limits import ProfileLimits


class ProfileWatch:
    """Watches the loaded profile."""

    def __init__(self, reference: Reference, frame: Frame, period: float) -> None:
        self._reference = reference
        self._frame = frame.values
        self._limits = ProfileLimits([(channel.name, channel.unit) for channel in frame.channels], period)
        self._found: list[Report] = []
        self._elapsed = 0.0

    def begin(self, limits: FloatArray) -> None:
        """Start with the ``limits`` of the profile that runs from now on."""
        self._limits.take(limits)

    def inspect(self, playing: bool, usable: bool, elapsed: float) -> list[Report]:
        """Return what is beyond its limit; ``elapsed`` s since the last call.

        Limits count while playing. What the last ``usable`` sample has shown stands until the next one.
        """
        if not playing:
            self._found, self._elapsed = [], 0.0
        else:
            self._elapsed += elapsed
            if usable:
                self._found = self._limits.inspect(self._frame, self._elapsed)
                self._elapsed = 0.0
        found = list(self._found)
        blocked = self._reference.blocked
        if blocked:
            found.append(Report(Code.PATH_BLOCKED, blocked))
        return found
