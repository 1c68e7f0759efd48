"""``python -m hil_sim`` is the command ``hil-sim``."""

from __future__ import annotations

import sys

from hil_sim.cli import main

if __name__ == "__main__":
    sys.exit(main())
