"""Where everything continues the machine, as paths of that machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath

PROJECT = Path(__file__).resolve().parents[1]
CONFIGURATION = PurePosixPath("/etc/mastd")
DEFAULTS = PurePosixPath("/etc/default/mastd")
RECORDS = PurePosixPath("/var/lib/mastd")
CACHES = (
    PurePosixPath("/var/cache/mastd"),
    PurePosixPath("/var/cache/mastd-console"),  # a link to the next one, as of every unit with DynamicUser=
    PurePosixPath("/var/cache/private/mastd-console"),
)
"""Compiled kernels."""
UNITS = ("mastd.service", "hil-sim-plant.service", "mastd-console.service")
PROGRAMS = {"mastd": "mastd.cli", "hil-sim": "hil_sim.cli"}


@dataclass(frozen=True)
class Paths:
    """The places below a prefix, `/usr` as a rule."""

    prefix: PurePosixPath

    @property
    def environment(self) -> PurePosixPath:
        """The private environment: interpreter, packages, the product."""
        return self.prefix / "lib/mastd"

    @property
    def programs(self) -> PurePosixPath:
        """What users call."""
        return self.prefix / "bin"

    @property
    def documents(self) -> PurePosixPath:
        """The manuals."""
        return self.prefix / "share/doc/mastd"

    @property
    def units(self) -> PurePosixPath:
        """Where systemd looks for units."""
        return self.prefix / "lib/systemd/system"

    @property
    def manifest(self) -> PurePosixPath:
        """What was installed, for the next installation and for the end of it."""
        return self.environment / "installed.json"


def below(root: Path, path: PurePosixPath) -> Path:
    """Return ``path`` of the machine whose file system is at ``root``."""
    return root / path.relative_to("/")
