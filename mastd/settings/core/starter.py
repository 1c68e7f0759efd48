"""Find settings files: by path, or by name among the starter files that travel with the product.

In a checkout the starter files are ``config/``; in an installed wheel they are ``mastd/starter/``. Those of
``DEFAULT_TABLE`` lie there, what differs for another table lies in a folder of its name in ``tables/``.
"""

from __future__ import annotations

import difflib
import stat
from pathlib import Path
from typing import Final

from mastd.errors import UsageError

KINDS: Final = {"table": "", "rigs": "", "daemon": "daemon", "profile": "profiles", "vehicle": "vehicles"}
"""Kind of settings file, and the directory of its starter files."""

DEFAULT_TABLE: Final = "seven_links"
_TABLES: Final = "tables"
_OF_THE_DEFAULT: Final = ("table.yaml", "profiles", "uneven_truth.yaml")
"""Files and directories of the default table, which no other shares."""


def starter_directory() -> Path:
    """Return the directory of the starter files; raise UsageError if this installation has none."""
    package = Path(__file__).resolve().parents[2]
    candidates = (package / "starter", package.parent / "config")
    for directory in candidates:
        if (directory / "table.yaml").is_file():
            return directory
    raise UsageError(f"the starter files are missing, neither {candidates[0]} nor {candidates[1]} holds them")


def names(kind: str) -> list[str]:
    """Return the names of the starter files of a kind, sorted."""
    folder = KINDS[kind]
    pattern = "*.yaml" if folder else f"{kind}*.yaml"  # what lies beside the folders is called by its kind
    return sorted(path.stem for path in (starter_directory() / folder).glob(pattern))


def table_names() -> list[str]:
    """Return the names of the tables that have starter files, the default first."""
    folders = (path for path in (starter_directory() / _TABLES).iterdir() if path.is_dir())
    return [DEFAULT_TABLE, *sorted(path.name for path in folders)]


def table_files(name: str) -> list[tuple[Path, tuple[str, ...]]]:
    """Return the directories that hold a table's starter files, each with the names in it that are not its.

    Raise UsageError, with the known names, for an unknown table.
    """
    if name not in table_names():
        raise UsageError(f"--table {name}: no such table, known: {', '.join(table_names())}")
    shared = starter_directory()
    if name == DEFAULT_TABLE:
        return [(shared, (_TABLES,))]
    return [(shared, (_TABLES, *_OF_THE_DEFAULT)), (shared / _TABLES / name, ())]


def find(kind: str, name_or_path: str) -> Path:
    """Return the file that is meant: an existing path, else the starter file of that name.

    Raise UsageError, with the nearest name, if there is neither.
    """
    path = Path(name_or_path)
    try:
        if stat.S_ISREG(path.stat().st_mode):
            return path
    except (FileNotFoundError, NotADirectoryError):
        pass
    except (OSError, ValueError) as error:  # closed, too long, a zero byte
        reason = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"{name_or_path}: {reason}") from error
    if path.suffix in {".yaml", ".yml"} or len(path.parts) > 1:
        raise UsageError(f"{name_or_path}: no such {kind} file")
    starter = starter_directory() / KINDS[kind] / f"{name_or_path}.yaml"
    if starter.is_file():
        return starter
    known = names(kind)
    near = difflib.get_close_matches(name_or_path, known, n=1)
    hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(known) or 'none'}; or give a file"
    raise UsageError(f"{name_or_path}: no such {kind}, {hint}")
