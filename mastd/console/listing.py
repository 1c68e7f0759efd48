"""A process that reads profiles: what each is called, how long it takes, what is wrong with it.

It gets ``{"table": file, "files": [file, …]}`` as JSON on standard input and prints a list with
``{"title", "duration_s", "problem"}`` for each. A process, because reading takes the heavy parts of the
house.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from mastd import program
from mastd.errors import MastdError
from mastd.motion.profile.compiler import compile_profile
from mastd.settings.core.loader import load
from mastd.settings.core.starter import find
from mastd.settings.profile.profile import ProfileSettings
from mastd.settings.table.table import TableSettings


def entry(path: Path, table: TableSettings) -> dict[str, object]:
    """Return what can be told of one profile."""
    title: str | None = None
    try:
        profile = load(path, ProfileSettings)
        title = profile.name
        made = profile.made_duration
        duration = compile_profile(profile, table).duration if made is None else made
    except MastdError as error:
        return {"title": title, "duration_s": None, "problem": str(error).partition("\n")[0]}
    except Exception as error:
        # One file that nobody has thought of must not hide the others.
        problem = f"{path}: cannot be read: {type(error).__name__}: {error}"
        return {"title": title, "duration_s": None, "problem": problem.partition("\n")[0]}
    return {"title": title, "duration_s": duration, "problem": None}


def main() -> int:
    """Read the request, print the list; 2 with one line where the table cannot be read."""
    asked = json.load(sys.stdin)
    try:
        table = load(find("table", asked["table"]), TableSettings)
    except MastdError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write(json.dumps([entry(Path(path), table) for path in asked["files"]]))
    return 0


if __name__ == "__main__":
    sys.exit(program.run(main))
