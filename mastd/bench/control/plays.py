"""One play of a profile on a simulated table whose true motion is seen: for benches of the control.

In process and in lockstep, as fast as it goes, without record and gateway; the loop is the real one. Motion
is compared where it belongs together: the command of cycle k is answered by step k + 1.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Protocol, cast, runtime_checkable

import numpy as np

from mastd.arrays import FloatArray
from mastd.bench.control.streams import StreamedMotion
from mastd.bench.control.truth import TableTruth
from mastd.errors import UsageError
from mastd.formats.mcap.frames import FRAME_TOPIC, FrameSeries
from mastd.kinematics.control_point import motion_at_point
from mastd.loop.cycle.cycle import Cycle
from mastd.loop.measurement.frame import frame_channels
from mastd.loop.payload.loaded_profile import LoadedProfile
from mastd.loop.payload.oils import DrivenVehicle
from mastd.loop.payload.prepare import ready_profile
from mastd.loop.payload.profile_inputs import ProfileInputs
from mastd.loop.process.child_watch import ChildWatch
from mastd.loop.process.host import Blocks
from mastd.loop.process.installation import Installation
from mastd.loop.process.operator_requests import RequestPort
from mastd.loop.process.runner import Ports, Runner
from mastd.loop.process.script import RunScript
from mastd.loop.process.status_publisher import StatusPublisher
from mastd.motion.profile.timeline import Timeline, at_rest
from mastd.record.reader import Run
from mastd.safety.states import State
from mastd.settings.core.starter import find
from mastd.settings.daemon.daemon import DaemonSettings
from mastd.settings.profile.profile import ProfileSettings
from mastd.wire.access.verbs import Verb
from mastd.wire.common.layout import Layout
from mastd.wire.plant.direct_link import DirectLink, DirectPlant
from mastd.wire.plant.messages import Command
from mastd.wire.plant.provider import PlantRequest, find_provider

Streamed = Literal["poses", "derivatives"]
"""What a source gives whose motion comes as it is made."""

TRUE_MOTION = 18
"""Numbers of the true motion: pose, Euler rates, accelerations of C."""
_BEGUN = frozenset({State.RUNNING, State.HOLD, State.STOPPING})


@runtime_checkable
class ObservedPlant(Protocol):
    """What a simulated plant tells of its true motion beside the link's messages."""

    def report_truth(self, truth: FloatArray) -> None:
        """Write true pose, Euler rates, accelerations of C (6 each) and forces of the actuators (n)."""


@dataclass(frozen=True, eq=False)
class Played:
    """One play; rows are the periods in which the profile ran, ``rate`` of them a second."""

    rate: float
    point: FloatArray
    """Judged point in P (3,): C or the control point T."""
    frames: FloatArray
    """Frames as a record has them (k, channels)."""
    layout: Layout
    """Of the frames."""
    columns: dict[str, int]
    """Column of each channel."""
    truth: FloatArray
    """True pose, Euler rates, accelerations of C (6 each), forces of the actuators (n), as the plant has
    answered the command of the same row: (k, 18 + n)."""
    band: tuple[float, float] | None
    """Hz of what the motion excites."""
    asked_motion: FloatArray
    """Pose, rates, accelerations of C (k, 18) asked for, from the motion itself: what the control holds back
    or a stream brings late is none of it."""
    began_ns: int
    """Plant time at which the profile began."""
    state: State
    """Where it ended, before lowering."""
    cause: str | None
    """Fault or refusal that ended it, None for none."""
    indicated: tuple[str, ...]
    """Causes of faults that were only shown."""

    @property
    def completed(self) -> bool:
        """The profile was played to its end."""
        return self.cause is None and self.state is State.READY

    def channel(self, name: str) -> FloatArray:
        """Return one channel (k,)."""
        return self.frames[:, self.columns[name]]

    def channels(self, name: str, count: int) -> FloatArray:
        """Return neighbouring channels that begin with ``name`` (k, count)."""
        first = self.columns[name]
        return self.frames[:, first : first + count]

    def against(self, timeline: Timeline, band: tuple[float, float] | None) -> Played:
        """Return the play as one in which another motion, of frequencies ``band`` in Hz, was asked for."""
        times = np.ascontiguousarray(self.channel("profile_time"))
        return replace(self, asked_motion=_asked(timeline, times), band=band)

    def as_record(self) -> Run:
        """Return the frames as a record of them would be read."""
        channels = frame_channels(self.layout)
        names = tuple(channel.name for channel in channels)
        units = tuple(channel.unit for channel in channels)
        meanings = tuple(channel.meaning for channel in channels)
        numbers = np.arange(len(self.frames))
        times = numbers / self.rate
        frames = self.frames[:, : len(names)]
        series = FrameSeries(times, numbers, frames, names, units, meanings, self.rate)
        return Run(
            path=Path("bench"),
            times=times,
            numbers=numbers,
            columns={name: frames[:, column] for name, column in self.columns.items()},
            units=dict(zip(names, units, strict=True)),
            metadata={"states": [state.name for state in State]},
            end={},
            recovery={},
            events=(),
            series={FRAME_TOPIC: series},
            damage=None,
        )

    @property
    def true_pose(self) -> FloatArray:
        """True pose of C (k, 6)."""
        return self.truth[:, :6]

    @property
    def achieved(self) -> FloatArray:
        """True acceleration at the judged point (k, 6) in m/s² and rad/s²."""
        return _acceleration_at(self.truth[:, :TRUE_MOTION], self.point)

    @property
    def asked(self) -> FloatArray:
        """Acceleration asked for there (k, 6)."""
        return _acceleration_at(self.asked_motion, self.point)

    @property
    def internal_force(self) -> FloatArray:
        """Measured force of the actuators along their null space (k,) in N."""
        return self.channel("internal_force")


def _asked(timeline: Timeline, times: FloatArray) -> FloatArray:
    """Return pose, rates and accelerations of C (k, 18) of a motion at profile times."""
    return timeline.sample(times)[:, :3].reshape(-1, TRUE_MOTION)


def _acceleration_at(motion: FloatArray, point: FloatArray) -> FloatArray:
    """Return the acceleration (k, 6) of a point in P; ``motion`` (k, 18): pose, rates, accelerations of C."""
    if not np.any(point):
        return np.array(motion[:, 12:18])
    result = np.empty((len(motion), 6))
    there = np.empty((3, 6))
    for row, out in zip(motion, result, strict=True):
        motion_at_point(np.ascontiguousarray(row).reshape(3, 6), point, there)
        out[:] = there[2]
    return result


class _Script:
    """Raises, waits, plays once; ends where the profile does, or with whatever kept it from that."""

    def __init__(self, cycle: Cycle, settle_ns: int) -> None:
        self._asks = RunScript(cycle.supervisor)
        self._supervisor = cycle.supervisor
        self._settle_ns = settle_ns
        self._ready_ns = -1
        self._begun = False
        self._over = False

    @property
    def finished(self) -> bool:
        """Whether the play is over."""
        return self._over or self._asks.finished

    @property
    def cause(self) -> str | None:
        """Why the profile was not played to its end."""
        first = self._asks.fault or self._supervisor.latch.first
        if first is not None:
            return first.cause
        return None if self._begun and not self._asks.refusal else self._asks.refusal or "did not begin"

    def next(self, now_ns: int) -> Verb:
        """Return what to ask for in this cycle."""
        state = self._supervisor.state
        self._begun |= state is State.RUNNING
        self._over = state in (State.FAULT, State.ESTOP) or (self._begun and state not in _BEGUN)
        if state is State.READY and not self._begun:
            self._ready_ns = now_ns if self._ready_ns < 0 else self._ready_ns
            if now_ns - self._ready_ns < self._settle_ns:
                return Verb.NONE
        return Verb.NONE if self._over else self._asks.next(now_ns)

    def heard(self, verb: Verb) -> None:
        """Nobody operates a bench."""


class _Events:
    """Keeps the causes of what was only indicated."""

    def __init__(self) -> None:
        self.indicated: dict[str, None] = {}

    def event(self, event: object) -> None:
        """Take one event of the loop."""
        if isinstance(event, dict) and event.get("action") == "INDICATE":
            self.indicated[str(event.get("cause"))] = None


class _ObservedLink(DirectLink):
    """A direct link that keeps each frame of the running profile, and how the plant has answered it."""

    def __init__(self, plant: DirectPlant, installation: Installation, cycle: Cycle) -> None:
        super().__init__(plant, installation.terms("lockstep"))
        assert isinstance(plant, ObservedPlant)
        self._observed = plant
        self._cycle = cycle
        self._actuators = len(installation.table.links)
        self.frames: list[FloatArray] = []
        self.truth: list[FloatArray] = []

    def send(self, command: Command) -> bool:
        """Hand over the command; see ``DirectLink.send``."""
        running = self._cycle.supervisor.state is State.RUNNING
        if running:
            self.frames.append(self._cycle.frame.values.copy())
        sent = super().send(command)
        if running:
            row = np.empty(TRUE_MOTION + self._actuators)
            self._observed.report_truth(row)
            self.truth.append(row)
        return sent


def installation(daemon: DaemonSettings | None = None, table: str = "table") -> Installation:
    """Return a starter table with these daemon settings, those of the starter preset if None."""
    read = Installation.read(find("table", table), find("daemon", "simulated"))
    return read if daemon is None else replace(read, daemon=daemon)


@dataclass(frozen=True)
class BenchPlant:
    """The plant of one run."""

    truth: TableTruth
    seed: int
    """Of its sensors' noise."""
    faults: tuple[str, ...] = ()
    """As of ``hil-sim``, at plant times."""
    table: Path | None = None
    """Its settings where they are not the daemon's."""


def play(
    profile: ProfileSettings,
    plant: BenchPlant,
    *,
    on: Installation | None = None,
    streamed: Streamed | None = None,
    settle: float = 1.0,
    made: Callable[[Installation], Cycle] = Installation.bare_cycle,
) -> Played:
    """Run a profile once on a simulated plant.

    ``on`` says, too, what was identified; ``streamed``: the motion comes as it is made, with or without
    derivatives; ``settle``: s that the raised table is at rest before the profile begins. Raises UsageError
    where the installed plant does not report its true motion, and what making the profile ready raises.
    """
    house = on or installation()
    period = house.daemon.period_ns * 1e-9
    ready = ready_profile(ProfileInputs.read(profile, house.table), period, 1.0, identified=house.identified)
    asked = ready.timeline
    cycle = made(house)
    cycle.orders.meet_plant(simulated=True)
    cycle.supervisor.rights = True
    cycle.load(ready if streamed is None else _as_stream(ready, streamed, period))
    with tempfile.TemporaryDirectory(prefix="mastd-bench-") as directory:
        request = PlantRequest(
            plant.table or house.table_path,
            plant.truth.write(Path(directory) / "truth.yaml"),
            mode="lockstep",
            period_ns=house.daemon.period_ns,
            seed=plant.seed,
            faults=plant.faults,
        )
        opened = find_provider().open(request)
    if not isinstance(opened, ObservedPlant):
        raise UsageError(f"the plant {opened.name} does not report its true motion, which this bench needs")
    link = _ObservedLink(opened, house, cycle)
    script = _Script(cycle, round(settle * 1e9))
    events = _run(house, cycle, link, script)
    point = np.array(house.table.control_point if profile.point == "T" else (0.0, 0.0, 0.0))
    width = cycle.frame.layout.size
    columns = {c.name: column for column, c in enumerate(frame_channels(cycle.frame.layout))}
    frames = np.array(link.frames).reshape(-1, width)
    times = np.ascontiguousarray(frames[:, columns["profile_time"]])
    actuators = len(house.table.links)
    return Played(
        rate=1e9 / house.daemon.period_ns,
        point=point,
        frames=frames,
        layout=cycle.frame.layout,
        columns=columns,
        truth=np.array(link.truth).reshape(-1, TRUE_MOTION + actuators),
        band=ready.band,
        asked_motion=_asked(asked, times),
        began_ns=round(float(frames[0, columns["plant_time"]]) * 1e9) if len(frames) else 0,
        state=cycle.supervisor.state,
        cause=script.cause,
        indicated=tuple(events.indicated),
    )


def _as_stream(ready: LoadedProfile, streamed: Streamed, period: float) -> LoadedProfile:
    """Return the profile with its motion as a stream."""
    source = StreamedMotion(ready.timeline, period, derivatives=streamed == "derivatives")
    return replace(ready, timeline=at_rest(), is_driven=True, driven=cast(DrivenVehicle, source))


def _run(house: Installation, cycle: Cycle, link: DirectLink, script: _Script) -> _Events:
    blocks = Blocks.of(house)
    events = _Events()
    try:
        requests = RequestPort(blocks.request)
        publisher = StatusPublisher(blocks.status, cycle, requests, None, degraded=False)
        child_watch = ChildWatch(cycle.supervisor, requests, None, None, 0)
        period_ns = house.daemon.period_ns
        ports = Ports(requests, publisher, child_watch)
        Runner(cycle, link, script, period_ns, None, ports, events).lockstep()
    finally:
        blocks.close()
    return events
