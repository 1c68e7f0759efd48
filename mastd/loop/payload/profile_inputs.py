"""What a profile is made of, read once: proof, motion and the digests in the record are of one reading.

The files that a profile names are looked at before the first is read and after the last. One that has changed
in between is told, and the profile is not played.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mastd.errors import FormatError
from mastd.motion.profile.compiler import Program, program
from mastd.settings.profile.profile import ProfileSettings
from mastd.settings.table.payload import VehiclePayload
from mastd.settings.table.table import TableSettings
from mastd.settings.vehicle.tyres import MagicTyreSettings
from mastd.vehicle.model import library

FileMark = tuple[int, int, int, int, int]
"""Device, inode, size, times of the last change of content and of the file."""


@dataclass(frozen=True, eq=False)
class ProfileInputs:
    """A profile on a table with the one reading of its files.

    ``motion``: of its segments, None where a driver or a rig makes the motion. ``digests``: SHA-256 of each
    file that profile and vehicle name, by path; ``marks`` tell a file that was replaced by its equal.
    """

    profile: ProfileSettings
    table: TableSettings
    motion: Program | None
    digests: Mapping[str, str]
    marks: Mapping[str, FileMark]

    @classmethod
    def read(cls, profile: ProfileSettings, table: TableSettings) -> ProfileInputs:
        """Read the profile's files; raise SettingsError, FormatError for what cannot be read or made."""
        marks: dict[str, FileMark] = {}
        digests: dict[str, str] = {}
        for name in profile.input_files():
            marks[name], digests[name] = _look(name)
        for name in _tyre_files(profile):
            marks[name], digests[name] = _look(name)
        made = profile.made_duration is not None
        return cls(profile, table, None if made else program(profile, table), digests, marks)

    def confirm(self) -> None:
        """Raise FormatError for a file that is not the one that was read any more."""
        for name, digest in self.digests.items():
            if _look(name) != (self.marks[name], digest):
                raise FormatError(f"{name}: changed while the profile was being read; repeat the command")

    @property
    def payload_digests(self) -> str:
        """Digests of the files of the vehicle on the table and its tyres, empty without one."""
        if not isinstance(self.profile.payload, VehiclePayload):
            return ""
        motion = {name for name in self.profile.input_files() if name != self.profile.payload.vehicle}
        return "".join(digest for name, digest in self.digests.items() if name not in motion)


def _look(name: str) -> tuple[FileMark, str]:
    path = Path(name)
    try:
        found = path.stat()
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise FormatError(f"{path}: cannot be read: {error.strerror}") from error
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns), digest


def _tyre_files(profile: ProfileSettings) -> tuple[str, ...]:
    """Return the property files of the tyres of the vehicle that a profile simulates, each once."""
    payload = profile.payload
    if profile.oils is not None:
        vehicle = profile.oils.vehicle
    elif isinstance(payload, VehiclePayload):
        vehicle = payload.vehicle
    else:
        return ()
    tyres = [axle.tyre for axle in library.settings(vehicle).axles]
    return tuple(dict.fromkeys(tyre.magic_formula for tyre in tyres if isinstance(tyre, MagicTyreSettings)))
