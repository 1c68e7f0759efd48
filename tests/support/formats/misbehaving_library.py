"""Readers that do what C libraries do on damaged files."""

from __future__ import annotations

import ctypes
import logging
import os
import tempfile
import warnings
from pathlib import Path
from typing import NoReturn

import numpy as np

from mastd.errors import FormatError
from mastd.formats.sandbox.reader import Packed


def bytes_of(path: Path) -> Packed:
    content = np.frombuffer(path.read_bytes(), np.uint8)
    return Packed({"size": len(content)}, [content.astype(np.float64), np.zeros((0, 3)), np.array(1.5)])


def crash(_: Path) -> Packed:
    ctypes.string_at(0)
    return Packed({}, [])


def abort(_: Path) -> NoReturn:
    os.abort()


def spin(_: Path) -> NoReturn:
    while True:
        pass


def grow(_: Path) -> NoReturn:
    # Memory that is asked for and not touched: the limit of processor time has no say.
    kept = []
    while True:
        kept.append(np.empty(1 << 23))


def fill_disk(path: Path) -> NoReturn:
    with path.with_suffix(".filled").open("wb") as file:
        while True:
            file.seek(1 << 24, os.SEEK_CUR)
            file.write(b"x")
            file.flush()


def leave_files(path: Path) -> NoReturn:
    with tempfile.NamedTemporaryFile(delete=False) as file:
        path.with_suffix(".told").write_text(file.name, encoding="utf-8")
        os.abort()


def leave(_: Path) -> NoReturn:
    os._exit(7)


def refuse(path: Path) -> NoReturn:
    raise FormatError(f"{path}:3: no number")


def stumble(_: Path) -> NoReturn:
    raise ZeroDivisionError("division\n  by zero")


def talk(_: Path) -> Packed:
    os.write(1, b"progress 100 %")
    os.write(2, b"HDF5-DIAG: Error detected")
    warnings.warn("an odd header", stacklevel=1)
    logging.getLogger("library").warning("a group is\nempty")
    return Packed({"format": "none", "series": [], "notes": {}, "warnings": ["own"]}, [])
