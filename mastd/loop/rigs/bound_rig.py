"""A rig as the loop's parts see it: names and numbers, whatever brings them."""

from __future__ import annotations

from mastd.arrays import FloatArray


class BoundRig:
    """One rig of the settings; ``values`` are those of this cycle: in range, limited in rate, replaced when
    lost.

    ``present``: it has joined and is not lost. ``index``: its position in the settings.
    """

    def __init__(
        self, index: int, name: str, kind: str, channels: tuple[str, ...], values: FloatArray
    ) -> None:
        self.index = index
        self.name = name
        self.kind = kind
        self.channels = channels
        self.values = values
        self.present = False

    def index_of(self, channel: str) -> int:
        """Return the index of a channel in ``values``; raise ValueError if the rig has none of this name."""
        return self.channels.index(channel)
