"""The subcommands of `mastd`: each module adds its arguments and runs one call."""

from __future__ import annotations

import argparse
from typing import TypeAlias

Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
"""What ``add_parsers`` of each module receives."""
