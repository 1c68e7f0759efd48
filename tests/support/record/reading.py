"""Reading a record that may be refused."""

from __future__ import annotations

from pathlib import Path

from mastd.errors import MastdError
from mastd.record.reader import Run, open_run


def opened(path: Path) -> Run | str:
    """Return a record as it is read, or the one line that refuses it."""
    try:
        return open_run(path)
    except MastdError as error:
        problem = str(error)
    assert "\n" not in problem
    return problem
