"""Everything the loop needs before the first cycle: settings loaded, profile compiled, kinematics built."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from mastd.control.table.computed import with_computed_settings
from mastd.control.table.gains import with_drive_gains
from mastd.dynamics.actuator import actuator_rows
from mastd.dynamics.table_model import TableModel
from mastd.errors import SettingsError
from mastd.kinematics.forward import Observer
from mastd.kinematics.geometry import Geometry
from mastd.kinematics.workspace import lengths_at
from mastd.loop.cycle.cycle import Cycle
from mastd.loop.cycle.motion_limits import lowered_pose
from mastd.loop.cycle.slots import ProfileSlots
from mastd.loop.measurement.frame import Frame, channel_units
from mastd.loop.payload.loaded_profile import LoadedProfile
from mastd.loop.payload.prepare import channels_of, ready_profile
from mastd.loop.payload.profile_inputs import ProfileInputs
from mastd.loop.rigs.rigs import rig_channels
from mastd.motion.preflight.preflight import Tell, check
from mastd.motion.preflight.verdict import Preflight
from mastd.motion.profile.timeline import Timeline
from mastd.record.channels import Channel
from mastd.settings.core.loader import load_text
from mastd.settings.core.strict_yaml import read_text
from mastd.settings.daemon.daemon import DaemonSettings
from mastd.settings.profile.profile import ProfileSettings
from mastd.settings.profile.rig_checks import rigs_problems
from mastd.settings.rigs.rigs import NO_RIGS, RigsSettings
from mastd.settings.table.identified import IdentifiedSettings
from mastd.settings.table.payload import NoPayload
from mastd.settings.table.table import TableSettings
from mastd.vehicle.payload.checks import placed
from mastd.wire.common.layout import sample_layout
from mastd.wire.plant.hello import LinkTerms, Mode
from mastd.wire.plant.table_block import instruments, table_block


@dataclass(frozen=True)
class Installation:
    """Table and daemon, whatever is played on them; nothing in it changes while the loop lives."""

    table_path: Path
    daemon_path: Path
    table: TableSettings
    daemon: DaemonSettings
    texts: Mapping[str, str]
    """Of the settings' files, from which all below was made."""
    geometry: Geometry
    observer: Observer
    identified_path: Path | None
    identified: IdentifiedSettings | None
    """What was found out about the table, instead of nominal values."""
    rigs_path: Path | None = None
    rigs: RigsSettings = NO_RIGS
    """Who may join from outside."""

    @classmethod
    def read(
        cls,
        table_path: Path,
        daemon_path: Path,
        identified_path: Path | None = None,
        rigs_path: Path | None = None,
    ) -> Installation:
        """Load and check; raise SettingsError or KinematicsError with every problem of a file.

        ``identified_path`` and ``rigs_path`` replace what the daemon's settings name.
        """
        texts = {"table": read_text(table_path), "daemon": read_text(daemon_path)}
        table = with_drive_gains(load_text(texts["table"], str(table_path), TableSettings))
        daemon = load_text(texts["daemon"], str(daemon_path), DaemonSettings)
        daemon = with_computed_settings(table, daemon)
        observer = Observer.of(table, table_path)
        if identified_path is None and daemon.control.identified is not None:
            identified_path = Path(daemon.control.identified)
        identified = None
        if identified_path is not None:
            texts["identified"] = read_text(identified_path)
            identified = load_text(texts["identified"], str(identified_path), IdentifiedSettings)
            actuator_rows(table, identified)
        if rigs_path is None and daemon.rigs is not None:
            rigs_path = Path(daemon.rigs)
        rigs = NO_RIGS
        if rigs_path is not None:
            texts["rigs"] = read_text(rigs_path)
            rigs = load_text(texts["rigs"], str(rigs_path), RigsSettings)
        return cls(
            table_path,
            daemon_path,
            table,
            daemon,
            texts,
            observer.geometry,
            observer,
            identified_path,
            identified,
            rigs_path,
            rigs,
        )

    @property
    def files(self) -> dict[str, Path]:
        """The settings' files, under the names of ``texts``."""
        paths = {
            "table": self.table_path,
            "daemon": self.daemon_path,
            "identified": self.identified_path,
            "rigs": self.rigs_path,
        }
        return {name: path for name, path in paths.items() if path is not None}

    def terms(self, mode: Mode) -> LinkTerms:
        """Return what both ends of the plant link must agree on."""
        return LinkTerms.of(
            len(self.table.links),
            len(self.table.sensors.accelerometers),
            mode,
            self.daemon.period_ns,
            table_block(self.table, lengths_at(self.geometry, lowered_pose(self.geometry, 0.0))[0]),
            sample_layout(*instruments(self.table)),
        )

    def bare_cycle(self, slots: ProfileSlots | None = None) -> Cycle:
        """Return a cycle without a profile; profiles are loaded from ``slots``."""
        return Cycle(
            self.table,
            self.daemon,
            self.geometry,
            self.observer,
            self.bare_model,
            slots,
            self.identified,
            self.rigs,
        )

    @property
    def frame_width(self) -> int:
        """Numbers of the loop's frame, a simulated vehicle's included."""
        return Frame.of(self.table, self.rig_channels).layout.size

    @property
    def rig_channels(self) -> tuple[Channel, ...]:
        """Channels of what rigs give, which every record has."""
        return rig_channels(self.rigs)

    @property
    def bare_model(self) -> TableModel:
        """Nominal model of the table without a payload."""
        return TableModel.from_settings(self.table, NoPayload())


@dataclass(frozen=True, kw_only=True)
class Plan(Installation):
    """An installation and the one profile that ``mastd run`` plays on it."""

    profile_path: Path
    profile_text: str
    inputs: ProfileInputs
    ready: LoadedProfile
    """As the loop takes it over, checked up to its own motion."""

    @classmethod
    def load(
        cls,
        table_path: Path,
        profile_path: Path,
        daemon_path: Path,
        identified_path: Path | None = None,
        rigs_path: Path | None = None,
    ) -> Plan:
        """Load, check and compile; raise SettingsError, FormatError or KinematicsError with every problem."""
        installation = Installation.read(table_path, daemon_path, identified_path, rigs_path)
        table = installation.table
        text = read_text(profile_path)
        profile = load_text(text, str(profile_path), ProfileSettings, channels=channel_units(table))
        problems = rigs_problems(profile, installation.rigs)
        if problems:
            raise SettingsError([f"{profile_path}: {problem}" for problem in problems])
        inputs = ProfileInputs.read(profile, table)
        period = installation.daemon.period_ns * 1e-9
        with placed(profile_path, text):
            ready = ready_profile(inputs, period, 1.0, identified=installation.identified)
        inputs.confirm()
        return cls(
            **vars(installation), profile_path=profile_path, profile_text=text, inputs=inputs, ready=ready
        )

    @property
    def profile(self) -> ProfileSettings:
        """Settings of the profile."""
        return self.inputs.profile

    def check(self, tell: Tell | None = None) -> Preflight:
        """Return the proof of the very motion that is played (``mastd.motion.preflight.preflight.check``).

        Raises FormatError for a file of the profile that has changed since it was read.
        """
        verdict = check(self.profile, self.table, tell, self.inputs.motion)
        self.inputs.confirm()
        return verdict

    def loaded(self, level_limit: float = 1.0) -> LoadedProfile:
        """Return the profile as the loop takes it over, checked up to ``level_limit`` times its motion."""
        return replace(self.ready, level_limit=level_limit)

    @property
    def timeline(self) -> Timeline:
        """The motion of the profile's segments."""
        return self.ready.timeline

    @property
    def vehicle_channels(self) -> tuple[Channel, ...]:
        """Channels of what is simulated, which a record of the profile has beside the table's."""
        return channels_of(self.ready.vehicle, self.ready.driven)

    def cycle(self, level_limit: float = 1.0) -> Cycle:
        """Return a cycle with the profile loaded."""
        cycle = self.bare_cycle()
        cycle.load(self.loaded(level_limit))
        return cycle
