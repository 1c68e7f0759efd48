"""The check of the settings before a reload: a process that reads them completely while the loop continues.

It prints one document, ``{"ok": bool, "text": …}``, on standard output: with all problems of both files, one
line each, or with what was read.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from mastd import program
from mastd.errors import MastdError, SettingsError
from mastd.oom_score import OF_HELPERS, give_up_protection
from mastd.settings.core.base import Settings
from mastd.settings.core.loader import load
from mastd.settings.daemon.daemon import DaemonSettings
from mastd.settings.table.table import TableSettings


def command(table: Path, daemon: Path, rigs: Path | None = None) -> list[str]:
    """Return the command line of the check; ``rigs`` replaces what the daemon's settings name."""
    arguments = [str(table), str(daemon), *(("--rigs", str(rigs)) if rigs is not None else ())]
    return [sys.executable, "-P", "-m", "mastd.loop.loading.settings_check", *arguments]


def problems(table: Path, daemon: Path, rigs: Path | None = None) -> list[str]:
    """Return everything that keeps a daemon from coming up with these files, as far as the files can tell."""
    files: tuple[tuple[Path, type[Settings]], ...] = ((table, TableSettings), (daemon, DaemonSettings))
    found: list[str] = []
    for path, model in files:
        try:
            load(path, model)
        except SettingsError as error:
            found += error.problems
        except (MastdError, OSError) as error:
            found.append(str(error))
    if not found:
        from mastd.loop.process.installation import (
            Installation,  # it takes seconds, and wrong files are told without it
        )

        try:
            Installation.read(table, daemon, rigs_path=rigs).bare_cycle()
        except (MastdError, OSError, ValueError) as error:
            found.append(str(error))
    return found


def main() -> int:
    """Check both files; return 0 when they are right."""
    os.nice(10)
    give_up_protection(OF_HELPERS)
    parser = argparse.ArgumentParser(prog="mastd.loop.loading.settings_check")
    parser.add_argument("table", type=Path)
    parser.add_argument("daemon", type=Path)
    parser.add_argument("--rigs", type=Path)
    arguments = parser.parse_args()
    found = problems(arguments.table, arguments.daemon, arguments.rigs)
    lines = ["the present settings remain in force:", *found]
    text = "\n".join(lines) if found else f"{arguments.table} and {arguments.daemon} are valid"
    sys.stdout.write(json.dumps({"ok": not found, "text": text}) + "\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(program.run(main))
