"""One control cycle, as a straight list of named calls on one frame.

The cycle knows neither sockets nor clocks: the runner puts the newest sample into ``sample``, calls ``step``
with the time and the periods since the last call, sends ``command`` and records ``frame.values``. The same
samples therefore give the same commands bit for bit, in process or over sockets.
"""

from __future__ import annotations

import contextlib
import math
import os
import traceback
from collections.abc import Sequence

import numpy as np

from mastd.arrays import numbers
from mastd.control.reference.kernels import ON_PATH
from mastd.dynamics.table_model import TableModel
from mastd.errors import printable
from mastd.kinematics.forward import Observer
from mastd.kinematics.geometry import Geometry
from mastd.loop.cycle.control import LoopControl
from mastd.loop.cycle.digest import CommandDigest
from mastd.loop.cycle.motion_limits import lowered_pose
from mastd.loop.cycle.orders import Orders
from mastd.loop.cycle.payload_check import PayloadCheck
from mastd.loop.cycle.profile_limits import ProfileWatch
from mastd.loop.cycle.slots import ProfileSlots
from mastd.loop.cycle.supervisor import Supervisor
from mastd.loop.measurement.frame import SCALAR, Frame
from mastd.loop.measurement.sensing import Sensing
from mastd.loop.payload.loaded_profile import LoadedProfile
from mastd.loop.payload.vehicles import Vehicles
from mastd.loop.rigs.rigs import LoopRigs, rig_channels
from mastd.safety.faults import Code, Report
from mastd.safety.pace import Pace
from mastd.safety.states import State
from mastd.settings.daemon.daemon import DaemonSettings
from mastd.settings.rigs.rigs import NO_RIGS, RigsSettings
from mastd.settings.table.identified import IdentifiedSettings
from mastd.settings.table.table import TableSettings
from mastd.wire.access.verbs import Verb
from mastd.wire.plant.messages import Command, DriveMode, Sample, Stage

# Looking a member up costs 0.1 µs: those of every cycle are looked up once.
_RUNNING, _ARMED = State.RUNNING, State.ARMED


def exception_text(error: Exception) -> str:
    """Return what an exception is, and where it was raised, in one short line."""
    (origin,) = traceback.extract_tb(error.__traceback__, limit=-1)
    where = f"{os.path.basename(origin.filename)}:{origin.lineno}"
    return f"{type(error).__name__} in {where}: {printable(str(error)[:MAX_CAUSE_LENGTH], keep='')}"


MAX_CAUSE_LENGTH = 200
"""Letters of an exception's own text."""


class Cycle:
    """All control state of the loop; ``step`` is one cycle."""

    def __init__(
        self,
        table: TableSettings,
        daemon: DaemonSettings,
        geometry: Geometry,
        observer: Observer,
        model: TableModel,
        slots: ProfileSlots | None = None,
        identified: IdentifiedSettings | None = None,
        rigs: RigsSettings = NO_RIGS,
    ) -> None:
        self.frame = Frame(table, rig_channels(rigs))
        self.full_oil = np.array([pack.accumulator.oil(pack.pressure) for pack in table.packs.values()])
        """Of the accumulators of each supply, m³."""
        self.sample = Sample(self.frame.sample_layout, self.frame.sample)
        self.command = Command(self.frame.command_layout, self.frame.command)
        self.command.sequence = -1  # none was sent
        self._numbers = numbers(self.frame.values)
        self._period_ns, self._period = daemon.period_ns, daemon.period_ns * 1e-9
        self.sensing = Sensing(table, daemon, observer, self.frame, self.sample, self.command)
        self.rigs = LoopRigs(rigs, self.frame, self.sensing, self._period)
        self.vehicles = Vehicles(self.frame, self.sensing, self.rigs.bound)
        self._control = LoopControl(table, daemon, geometry, model, self.frame, self.sensing, identified)
        self.reference = self._control.reference
        self.orders = Orders(self.reference, self._control, observer, self.vehicles, slots)
        self.payload_check = PayloadCheck(table, daemon, self.frame, self.sensing, self.orders)
        lowered = lowered_pose(geometry, daemon.moves.clearance)
        self.supervisor = Supervisor(daemon, self.sensing, self.sample, self.reference, lowered, self.orders)
        self.missed = self.cycles = self.late = 0
        self._digest = CommandDigest(self.frame.command[: 5 * len(table.links)])
        self._bridged = table.drive.command_timeout
        self._pace = Pace(daemon, self._bridged)
        self._watch = ProfileWatch(self.reference, self.frame, self._period)

    def load(self, loaded: LoadedProfile) -> None:
        """Take over a checked profile; only while nothing moves."""
        self.orders.take(loaded)

    @property
    def command_sha256(self) -> str:
        """Digest of what was sent to the actuators from the profile's first to its last command."""
        return self._digest.text

    def step(
        self,
        received: int,
        now_ns: int,
        verb: Verb = Verb.NONE,
        skipped: int = 0,
        late_ns: int = 0,
        arguments: Sequence[float] = (),
    ) -> None:
        """Execute one cycle: ``received`` samples have come, ``skipped`` periods were missed before this one.

        ``arguments`` go with ``verb`` (``mastd.wire.common.blocks.ARGUMENTS``).
        """
        supervisor = self.supervisor
        state = supervisor.state
        measured = self.sensing.measure(received, now_ns, skipped, state, supervisor.enabled)
        rigs = self.rigs.exchange(state, self.reference.speed, skipped, self.orders.rigs)
        vehicle = self.vehicles.ride(state)
        payload = self.payload_check.inspect(state)
        pace = self._account(skipped, late_ns)
        elapsed = (1 + skipped) * self._period
        limits = self._watch.inspect(state is _RUNNING, self.sensing.usable, elapsed)
        supervisor.reports = [*measured, *rigs, *vehicle, *payload, *pace, *limits]
        self._decide(verb, now_ns, arguments)
        self._follow(skipped)
        self._act()
        self._note(late_ns)

    def _account(self, skipped: int, late_ns: int) -> Sequence[Report]:
        """Count the cycle and the missed periods; return what is wrong with the pace."""
        self.supervisor.cycle = self.cycles = self.cycles + 1
        self.missed += skipped
        self.late += 2 * (late_ns + skipped * self._period_ns) > self._period_ns
        # Making another vehicle, in OFF, may take longer than a period; nothing moves then.
        expected, self.orders.busy = self.orders.busy, False
        return self._pace.account(0 if expected else skipped)

    def _decide(self, verb: Verb, now_ns: int, arguments: Sequence[float]) -> None:
        """Move the state machine; a start of the profile resets what belongs to one run."""
        supervisor = self.supervisor
        before = supervisor.state
        supervisor.decide(verb, now_ns, arguments)
        if before is _ARMED and supervisor.state is _RUNNING:
            self._digest.begin()
            assert self.orders.loaded is not None
            self._watch.begin(self.orders.loaded.limits)
            self.sensing.reset_following_peak()

    def _follow(self, skipped: int) -> None:
        """Advance the reference; past what the drive bridges, path time has stood still."""
        reference = self.reference
        self.supervisor.follow_measured()
        elapsed = (1 + skipped) * self._period
        if skipped and elapsed > self._bridged and self.supervisor.enabled and self.sensing.usable:
            self.advance(self._bridged)
            reference.rejoin(self.sensing.pose, self.sensing.pose_rates)
            elapsed = self._period
        self.advance(elapsed)

    def advance(self, dt: float) -> None:
        """Advance the reference by ``dt`` seconds."""
        self.vehicles.drive_on(self.reference, dt)
        self.reference.advance(dt, self.orders.timeline)

    def _act(self) -> None:
        """Turn the reference into the command of the actuators; nothing that is not finite is sent."""
        supervisor, command = self.supervisor, self.command
        if not self._control.write(supervisor.state, supervisor.enabled, self.orders.loaded):
            supervisor.report(Code.COMMAND_NOT_FINITE, "reference or kinematics not finite")
            supervisor.decide(Verb.NONE, self.sensing.last_ns)
            self._stand()
        self._control.report(supervisor)
        command.mode = int(supervisor.mode)
        command.stage = int(supervisor.stage)
        if supervisor.playing:
            self._digest.add()

    def _stand(self) -> None:
        """Write a command that keeps the table where it is."""
        self.reference.rest(self.sensing.pose)
        self.reference.advance(self._period)
        self._control.write(self.supervisor.state, follows=False)

    def fail(self, error: Exception, now_ns: int) -> None:
        """End a cycle that an exception has broken: supply off, the drive lets the table down.

        What else was to be done in this cycle may be broken too, so each part is tried for itself.
        """
        self.supervisor.reports.clear()
        self.supervisor.report(Code.LOOP_EXCEPTION, exception_text(error))
        with contextlib.suppress(Exception):
            self.supervisor.decide(Verb.NONE, now_ns)
        with contextlib.suppress(Exception):
            self._stand()
        with contextlib.suppress(Exception):
            self._note(0)
        self.command.mode, self.command.stage = int(DriveMode.DISABLED), int(Stage.OFF)

    def _note(self, late_ns: int) -> None:
        """Write the scalars of the frame; the processor time stays that of the cycle before."""
        first, frame = self.supervisor.latch.first, self._numbers
        frame[SCALAR.cycle] = self.cycles
        frame[SCALAR.step] = self.sample.step
        frame[SCALAR.plant_time] = self.sample.time_ns * 1e-9
        frame[SCALAR.profile_time] = self.reference.time if self.reference.source in ON_PATH else math.nan
        frame[SCALAR.state] = self.supervisor.state
        frame[SCALAR.fault] = first.code if first else 0
        frame[SCALAR.flags] = self.sample.flags
        frame[SCALAR.late] = late_ns * 1e-9
        frame[SCALAR.missed] = self.missed
        frame[SCALAR.round_trip] = self.sensing.round_trip * self._period
        frame[SCALAR.feedback] = self.sensing.feedback.weight

    def note_compute(self, nanoseconds: int) -> None:
        """Keep the processor time of the cycle that has just ended, for the next frame."""
        self._numbers[SCALAR.compute] = nanoseconds * 1e-9
