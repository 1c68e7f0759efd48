"""Bumpless everywhere: an operator who asks for anything at any moment, on the real plant in process.

The commanded lengths of the actuators are watched through every transition, and the plant's true motion.
Cycles in which the drive is disabled are left out: the set-points follow the measured pose then.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from hil_sim.faults import Fault
from mastd.arrays import BoolArray, FloatArray
from mastd.control.reference.kernels import Source
from mastd.kinematics.workspace import lengths_at
from mastd.loop.process.installation import Plan
from mastd.safety.codes import Code
from mastd.safety.states import State
from mastd.wire.access.verbs import Verb
from tests.support.lab import Lab
from tests.support.rigs.rig import Rig

ROAD = """
name: road
seed: {seed}
fade: 1 s
segments:
  - {{kind: road, road_class: B, speed: 40 km/h, band: [0.5 Hz, 5 Hz], duration: 8 s, wheelbase: 3.6 m,
      track_width: 1.9 m}}
"""
SINES = """
name: sines
fade: 0.5 s
segments:
  - kind: sine
    frequency: {frequency} Hz
    duration: 10 s
    axes:
      heave: {{amplitude: {heave} mm}}
      pitch: {{amplitude: {pitch} deg, phase: 70 deg}}
      roll: {{amplitude: {roll} deg, phase: 200 deg}}
"""
EVERYTHING = ("raise", "arm", "start", "hold", "resume", "stop", "level", "jog", "reset")
PERIOD = 1e-3
SMOOTH = 150.0
"""Jerk of a commanded length in m/s³ that nothing exceeds; profiles, stops and levels make 10 to 90."""
TRUE_KICK = 1.0
"""Acceleration in m/s² by which a true actuator may differ from its command: friction, sag and drive lag."""
CLEAR_OF_STOPS = -0.045
"""Heave above which the table does not touch its lower stops."""


def random_profile(random: np.random.Generator, road: bool) -> str:
    if road:
        return ROAD.format(seed=int(random.integers(1000)))
    frequency = random.uniform(0.5, 4.0)
    return SINES.format(
        frequency=f"{frequency:.2f}",
        heave=f"{random.uniform(2.0, 20.0) / max(1.0, frequency):.2f}",
        pitch=f"{random.uniform(0.05, 0.4) / max(1.0, frequency):.3f}",
        roll=f"{random.uniform(0.05, 0.4) / max(1.0, frequency):.3f}",
    )


@dataclass
class Trace:
    """What is kept of each cycle."""

    enabled: list[bool] = field(default_factory=list)
    command: list[FloatArray] = field(default_factory=list)
    on_path: list[bool] = field(default_factory=list)
    pose: list[FloatArray] = field(default_factory=list)
    gain_and_time: list[tuple[float, float]] = field(default_factory=list)
    truth: list[FloatArray] = field(default_factory=list)

    def take(self, rig: Rig) -> None:
        reference = rig.cycle.reference
        self.enabled.append(rig.supervisor.enabled)
        self.command.append(rig.cycle.frame.command[:21].copy())
        self.on_path.append(reference.source is Source.PROFILE and reference.offset_faded)
        self.pose.append(rig.cycle.frame.motion[0].copy())
        self.gain_and_time.append((reference.gain, reference.time))
        self.truth.append(rig.plant.true_pose)


class Operator:
    """Asks for something at random moments, mostly for what makes sense in the state, sometimes not."""

    def __init__(self, rig: Rig, random: np.random.Generator) -> None:
        self._rig = rig
        self._random = random

    def next(self) -> tuple[Verb, tuple[float, ...]]:
        random, state = self._random, self._rig.state()
        if random.random() < 0.1:
            return self._ask(Verb(int(random.choice([2, 3, 4, 5, 6, 9, 12]))))
        match state:
            case State.OFF:
                return self._ask(Verb.RAISE)
            case State.READY:
                return self._in_ready()
            case State.ARMED:
                return self._ask(Verb.START)
            case State.HOLD:
                return self._ask(Verb(int(random.choice([Verb.RESUME] * 3 + [Verb.STOP, Verb.LEVEL]))))
            case State.RUNNING:
                if random.random() < 0.12:
                    self._rig.plant.inject(Fault("oil-level", self._rig.plant.time_ns, 0, 0.4))
                return self._ask(
                    Verb(
                        int(
                            random.choice(
                                [Verb.HOLD, Verb.HOLD, Verb.HOLD, Verb.STOP, Verb.LEVEL, Verb.LEVEL]
                            )
                        )
                    )
                )
            case State.FAULT:
                self._rig.plant.inject(Fault("clear", self._rig.plant.time_ns, 0, 0.0))
                return self._ask(Verb.RESET)
            case State.RAISING | State.STOPPING:
                return self._ask(Verb.STOP) if random.random() < 0.2 else (Verb.NONE, ())
        return Verb.NONE, ()

    def _in_ready(self) -> tuple[Verb, tuple[float, ...]]:
        random = self._random
        if random.random() < 0.5:
            return self._ask(Verb.JOG)
        at_neutral = bool(np.abs(self._rig.cycle.frame.motion[0]).max() < 1e-6)
        return self._ask(Verb.ARM if at_neutral else Verb.RAISE)

    def _ask(self, verb: Verb) -> tuple[Verb, tuple[float, ...]]:
        random = self._random
        if verb is Verb.LEVEL:
            return verb, (float(random.choice([0.0, 0.3, 1.0, random.random()])),)
        if verb is Verb.JOG:
            axis = int(random.integers(6))
            most = 0.006 if axis < 3 else 0.004
            if random.random() < 0.4:
                return verb, (1.0, float(random.integers(4, 7)), float(random.uniform(-0.006, 0.006)))
            return verb, (0.0, float(axis), float(random.uniform(-most, most)))
        return verb, ()


def operate(rig: Rig, random: np.random.Generator, seconds: float) -> Trace:
    """Let an operator at the table, and check what a reset does."""
    trace, operator = Trace(), Operator(rig, random)
    pause = 1
    for _ in range(round(seconds * 1000)):
        verb: Verb = Verb.NONE
        arguments: tuple[float, ...] = ()
        pause -= 1
        if pause <= 0:
            verb, arguments = operator.next()
            pause = int(random.integers(1, 700))
        before = rig.state(), rig.cycle.frame.motion[0].copy()
        rig.step(verb, arguments=arguments)
        trace.take(rig)
        if verb is Verb.RESET and not rig.supervisor.refusal and before[0] is State.FAULT:
            assert rig.state() is State.READY
            assert rig.cycle.reference.standing
            assert np.array_equal(rig.cycle.frame.motion[0], before[1])
    return trace


def windows(enabled: BoolArray, width: int) -> BoolArray:
    """Tell for each window of ``width`` cycles whether the drive was enabled throughout."""
    return np.asarray(np.all(np.lib.stride_tricks.sliding_window_view(enabled, width), axis=1))


def check_smoothness(rig: Rig, trace: Trace) -> None:
    """Check commanded lengths, the path, and the table's true motion."""
    limits, geometry = rig.plan.table.limits, rig.plan.geometry
    assert limits.jerk >= SMOOTH
    enabled, truth = np.array(trace.enabled), np.array(trace.truth)
    lengths, rates, accelerations = np.array(trace.command).reshape(-1, 3, geometry.actuators).swapaxes(0, 1)
    bounds = [
        (lengths, 3, SMOOTH),
        (rates, 2, SMOOTH),
        (accelerations, 1, SMOOTH),
        (lengths, 1, limits.velocity),
        (lengths, 2, limits.acceleration),
    ]
    for values, order, largest in bounds:
        change = np.diff(values, order, axis=0) / PERIOD**order
        assert np.abs(change[windows(enabled, order + 1)]).max() <= largest
    gains, times = np.array(trace.gain_and_time).T
    path = rig.plan.timeline.sample(times)[:, 0] * gains[:, None]
    on_path = np.array(trace.on_path)
    assert np.abs(np.array(trace.pose) - path)[on_path].max(initial=0.0) <= 1e-12
    clear = windows(enabled & (truth[:, 2] > CLEAR_OF_STOPS), 3)
    true = np.diff(lengths_at(geometry, truth), 2, axis=0) / PERIOD**2
    assert np.abs(true - accelerations[1:-1])[clear].max() <= TRUE_KICK


def test_commands_and_table_are_smooth_whatever_is_asked_at_whatever_moment(lab: Lab) -> None:
    accepted: Counter[str] = Counter()
    for seed in range(4):
        random = np.random.default_rng(seed)
        rig = Rig(Plan.load(lab.table, lab.profile(random_profile(random, road=seed < 2)), lab.config))
        check_smoothness(rig, operate(rig, random, 20.0))
        accepted.update(
            str(event["verb"]) for event in rig.events if event["event"] == "request" and not event["refused"]
        )
    assert min(accepted[verb] for verb in EVERYTHING) >= 2, "each of them was there at some moment"


def test_a_blocked_path_holds_the_table_before_the_limit_and_goes_on_at_a_lower_level(lab: Lab) -> None:
    plan = Plan.load(
        lab.table, lab.profile(SINES.format(frequency=1, heave=5.3, pitch=0, roll=0)), lab.config
    )
    limits = plan.table.limits.model_copy(update={"stroke_margin": 0.045})
    rig = Rig(replace(plan, table=plan.table.model_copy(update={"limits": limits})))
    trace = Trace()

    def steps(count: int) -> None:
        for _ in range(count):
            rig.step()
            trace.take(rig)

    rig.run_profile(0.0)
    steps(1500)
    assert rig.state() is State.HOLD
    assert rig.codes() == [Code.PATH_BLOCKED]
    held = rig.cycle.reference.time
    rig.step(Verb.RESUME)
    steps(1000)
    assert rig.state() is State.HOLD, "the wall is still there"
    assert rig.cycle.reference.time == held
    rig.step(Verb.LEVEL, arguments=(0.3,))
    steps(100)
    rig.step(Verb.RESUME)
    steps(4000)
    assert rig.state() is State.RUNNING
    assert rig.cycle.reference.gain == pytest.approx(0.3, abs=1e-3)
    lengths = np.array(trace.command)[:, :7] - plan.geometry.neutral_lengths
    assert np.abs(lengths).max() <= 0.005
    check_smoothness(rig, trace)


@pytest.mark.parametrize("fault", [False, True])
def test_a_jog_on_its_way_is_ended_by_a_stop_and_by_a_fault(lab: Lab, fault: bool) -> None:
    rig = Rig(
        Plan.load(lab.table, lab.profile(SINES.format(frequency=1, heave=5, pitch=0, roll=0)), lab.config)
    )
    trace = Trace()
    rig.step()
    rig.step(Verb.RAISE)
    rig.until(State.READY)
    rig.step(Verb.JOG, arguments=(0.0, 2.0, 0.02))
    assert rig.supervisor.refusal == ""
    for _ in range(80):
        rig.step()
        trace.take(rig)
    rig.step(Verb.JOG, arguments=(0.0, 0.0, 0.001))
    assert "the last jog is still moving" in rig.supervisor.refusal
    trace.take(rig)
    if fault:
        rig.plant.inject(Fault("oil-level", rig.plant.time_ns, 0, 0.4))
    else:
        rig.step(Verb.STOP)
        trace.take(rig)
    states = set()
    for _ in range(1500):
        rig.step()
        trace.take(rig)
        states.add(rig.state())
    assert State.STOPPING in states
    assert rig.state() is (State.FAULT if fault else State.READY)
    assert rig.cycle.reference.standing
    assert 0.0005 < rig.cycle.frame.motion[0][2] < 0.019
    check_smoothness(rig, trace)
