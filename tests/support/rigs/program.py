"""A rig as a program of its own, called with NAME ADDRESS, answers every motion at once.

It gives a tenth of the number of its channel, writes ``joined`` when it has its place, and ends when the
daemon has ended or is gone.
"""

from __future__ import annotations

import sys

from mastd.errors import MastdError
from mastd.wire.rigs.client import RigClient

PATIENCE_S = 60.0


def main(name: str, address: str) -> None:
    """Join, and answer."""
    with RigClient.join(name, reads=("pose.heave",), address=address, patience=PATIENCE_S) as rig:
        print("joined", flush=True)
        values = [0.1 * (k + 1) for k in range(len(rig.channels))]
        while True:
            motion = rig.receive(1.0)
            if motion is not None:
                rig.send(values, motion)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except MastdError as error:
        sys.exit(str(error))
