"""Digest of what was sent to the links while a path was played."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray


class CommandDigest:
    """SHA-256 over ``covered``, the part of the command that belongs to the links, cycle by cycle."""

    def __init__(self, covered: NDArray[np.float64]) -> None:
        self._covered = covered
        self._hash = hashlib.sha256()

    def begin(self) -> None:
        """Begin anew."""
        self._hash = hashlib.sha256()

    def add(self) -> None:
        """Add the present command."""
        self._hash.update(self._covered.data)

    @property
    def text(self) -> str:
        """The digest so far, hexadecimal."""
        return self._hash.hexdigest()
