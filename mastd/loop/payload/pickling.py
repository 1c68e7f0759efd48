"""How a loaded vehicle crosses from the loader's process into the loop: a pickle of our own classes only.

The bytes lie in memory that the gateway's children can write to. Reading them makes objects of ``mastd`` and
of numpy's arrays, and refuses to look up anything else.
"""

from __future__ import annotations

import io
import pickle
from typing import Final

MAX_BYTES: Final = 16 * 1024 * 1024
_OURS: Final = tuple(
    f"mastd.{package}."
    for package in ("control", "loop.payload", "motion", "roads", "settings", "signals", "vehicle")
)
"""Packages whose classes vehicles and streams are made of: reading a name imports its module."""
_FOREIGN: Final = frozenset(
    {
        ("numpy", "dtype"),
        ("numpy", "ndarray"),
        ("numpy._core.multiarray", "_reconstruct"),
        ("numpy._core.multiarray", "scalar"),
        ("numpy._core.numeric", "_frombuffer"),
        ("numpy.core.multiarray", "_reconstruct"),
        ("numpy.core.multiarray", "scalar"),
        ("numpy.core.numeric", "_frombuffer"),
    }
)


def pack(content: object) -> bytes:
    """Return the bytes of ``content``; raise ValueError if there are too many."""
    data = pickle.dumps(content, protocol=pickle.HIGHEST_PROTOCOL)
    if len(data) > MAX_BYTES:
        raise ValueError(f"{len(data)} bytes of a vehicle, maximum {MAX_BYTES}: simplify the vehicle")
    return data


def unpack(data: bytes | memoryview) -> object:
    """Return what ``pack`` was given; raise ValueError for bytes that are none of ours."""
    try:
        return _Reader(io.BytesIO(data)).load()
    except (Exception, SystemExit) as error:  # what a module does that is imported for it
        raise ValueError(f"not a pickle of mastd: {error}") from error


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> object:
        """Return a class of mastd's vehicles or of numpy's arrays; raise for all else."""
        if (module, name) in _FOREIGN or (module.startswith(_OURS) and "." not in name):
            found = super().find_class(module, name)
            if (module, name) in _FOREIGN or isinstance(found, type):
                return found
        raise pickle.UnpicklingError(f"{module}.{name} is not allowed in a loaded vehicle")
