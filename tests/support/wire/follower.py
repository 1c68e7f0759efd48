"""A small plant for the tests of the link: every length follows its command within one period.

Run as a program it serves itself over the link, as the simulated plant does.
"""

from __future__ import annotations

import sys

from hil_sim.plant.process import EndOfLife, PlantServer
from mastd.wire.plant.hello import LinkTerms
from mastd.wire.plant.messages import Command, Sample

ACTUATORS = 7
ACCELEROMETERS = 3


class Follower:
    """Moves a tenth of the way to the commanded length per period; keeps count of what it was told."""

    name = "follower"
    silent = False

    def __init__(self, period_ns: int, boot_id: int = 1) -> None:
        self.time_ns = 0
        self.boot_id = boot_id
        self.advances: list[tuple[int | None, int]] = []
        self._period_ns = period_ns
        self._lengths = [1.0] * ACTUATORS
        self._targets = [1.0] * ACTUATORS

    def read(self, sample: Sample) -> None:
        sample.boot_id = self.boot_id
        sample.time_ns = self.time_ns
        sample.stage = 1
        sample.flags = 0
        sample.field("lengths")[:] = self._lengths

    def advance(self, command: Command | None, duration_ns: int) -> None:
        self.advances.append((None if command is None else command.sequence, duration_ns))
        if command is not None:
            self._targets = command.field("lengths").tolist()
        for _ in range(duration_ns // self._period_ns):
            self._lengths = [
                length + 0.1 * (target - length)
                for length, target in zip(self._lengths, self._targets, strict=True)
            ]
        self.time_ns += duration_ns


def main() -> None:
    address, mode, boot_id, parent = sys.argv[1:5]
    assert mode in ("lockstep", "free-run")
    terms = LinkTerms.of(
        ACTUATORS, ACCELEROMETERS, "lockstep" if mode == "lockstep" else "free-run", 1_000_000
    )
    plant = Follower(terms.period_ns, int(boot_id))
    ended = EndOfLife(int(parent) if int(parent) else None)
    server = PlantServer(plant, terms, address, lambda message: {"kind_asked": str(message["kind"])})
    server.serve(ended.reached)


if __name__ == "__main__":
    main()
