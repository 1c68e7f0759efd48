"""Everything a run needs before the first cycle: settings loaded, profile compiled, kinematics built."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mastd.dynamics.table_model import TableModel
from mastd.kinematics.forward import Observer
from mastd.kinematics.geometry import Geometry
from mastd.loop.cycle import Cycle
from mastd.loop.loaded import LoadedProfile
from mastd.motion.compiler import compile_profile
from mastd.motion.timeline import Timeline
from mastd.settings.daemon import DaemonSettings
from mastd.settings.loader import load
from mastd.settings.profile import ProfileSettings
from mastd.settings.table import TableSettings
from mastd.wire.hello import LinkTerms, Mode


@dataclass(frozen=True)
class Plan:
    """Settings and what was made from them; nothing in it changes during the run."""

    table_path: Path
    profile_path: Path
    daemon_path: Path
    table: TableSettings
    profile: ProfileSettings
    daemon: DaemonSettings
    timeline: Timeline
    geometry: Geometry
    observer: Observer
    model: TableModel

    @classmethod
    def load(cls, table_path: Path, profile_path: Path, daemon_path: Path) -> Plan:
        """Load, check and compile; raise SettingsError, FormatError or KinematicsError with every problem."""
        table = load(table_path, TableSettings)
        profile = load(profile_path, ProfileSettings)
        daemon = load(daemon_path, DaemonSettings)
        geometry = Geometry.from_settings(table)
        return cls(
            table_path,
            profile_path,
            daemon_path,
            table,
            profile,
            daemon,
            compile_profile(profile, table),
            geometry,
            Observer(geometry),
            TableModel.from_settings(table, profile.payload),
        )

    def terms(self, mode: Mode) -> LinkTerms:
        """Return what both ends of the plant link must agree on."""
        return LinkTerms.of(
            len(self.table.links), len(self.table.sensors.accelerometers), mode, self.daemon.period_ns
        )

    def loaded(self, level_limit: float = 1.0) -> LoadedProfile:
        """Return the profile as the loop takes it over."""
        return LoadedProfile(1, self.profile.name, self.timeline, level_limit, self.model.values)

    def cycle(self, level_limit: float = 1.0) -> Cycle:
        """Return a cycle with the profile loaded, checked up to ``level_limit`` times its motion."""
        cycle = Cycle(self.table, self.daemon, self.geometry, self.observer, self.model)
        cycle.load(self.loaded(level_limit))
        return cycle
