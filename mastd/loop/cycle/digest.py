"""Digest of the commands that were sent to the actuators while a profile ran."""

from __future__ import annotations

import hashlib

from mastd.arrays import FloatArray


class CommandDigest:
    """SHA-256 over ``covered``, the part of the command that belongs to the actuators, cycle by cycle."""

    def __init__(self, covered: FloatArray) -> None:
        self._covered = covered
        self._hash = hashlib.sha256()

    def begin(self) -> None:
        """Start again."""
        self._hash = hashlib.sha256()

    def add(self) -> None:
        """Add the present command."""
        self._hash.update(self._covered.data)

    @property
    def text(self) -> str:
        """The digest so far, hexadecimal."""
        return self._hash.hexdigest()
