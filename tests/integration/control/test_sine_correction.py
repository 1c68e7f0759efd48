"""Sines with their amplitude, phase and harmonics corrected, on a plant that is not the nominal one."""

from __future__ import annotations

import numpy as np

from hil_sim.plant.plant import Plant
from hil_sim.plant.provider import provider
from mastd.arrays import ComplexArray, FloatArray
from mastd.kinematics.jacobian import euler_jacobian
from mastd.loop.cycle.slots import ProfileSlots
from mastd.loop.payload.prepare import ready_profile
from mastd.loop.process.installation import Plan
from mastd.safety.states import State
from mastd.wire.access.verbs import Verb
from mastd.wire.plant.provider import PlantRequest
from tests.support.lab import Lab
from tests.support.rigs.rig import Rig

FREQUENCY = 10.0
BOUND = 0.2
PROFILE = """
name: sine
segments:
  - kind: sine
    frequency: 10 Hz
    axes: {heave: {peak: 0.3 g}}
    duration: 10 s
    fade: 0.5 s
    correction: {harmonics: 5, bound: 30 %, time: 0.5 s}
"""
TRUTH = "name: another plant\ndeviation: {spread: 10 %, seed: 3}\n"
HEAVE = 2


class Watched(Rig):
    """A rig that keeps, for each cycle, what was asked, what came of it and what the actuators were sent."""

    def __init__(self, lab: Lab) -> None:
        plan = Plan.load(lab.table, lab.profile(PROFILE), lab.config)
        super().__init__(plan)
        request = PlantRequest(plan.table_path, lab.profile(TRUTH, "truth.yaml"), mode="lockstep", seed=3)
        plant = provider.open(request)
        assert isinstance(plant, Plant)
        self.plant = plant
        slots = ProfileSlots()
        slots.write(
            0,
            ready_profile(plan.inputs, plan.daemon.period_ns * 1e-9, 1.0, slot=0),
        )
        self.cycle = plan.bare_cycle(slots)
        self.supervisor = self.cycle.supervisor
        self.step()
        self.step(Verb.LOAD, arguments=(0.0, 1.0))
        assert self.supervisor.refusal == ""
        self.rows: list[tuple[FloatArray, ...]] = []

    def watch(self, verb: Verb = Verb.NONE) -> State:
        """One cycle."""
        self.step(verb)
        motion = self.cycle.frame.motion.copy()
        rates = self.cycle.command.values[7:21].copy().reshape(2, 7)
        self.rows.append((motion, self.plant.true_acceleration.copy(), rates))
        return self.supervisor.state

    def play(self, cycles: int, verb: Verb = Verb.NONE) -> None:
        """Ask for something and look on."""
        self.watch(verb)
        for _ in range(cycles - 1):
            self.watch()


def test_a_sine_becomes_what_was_asked_holds_and_ends_so(lab: Lab) -> None:
    rig = Watched(lab)
    rig.step(Verb.RAISE)
    rig.until(State.READY)
    rig.step(Verb.ARM)
    rig.play(6500, Verb.START)
    assert rig.state() is State.RUNNING
    rig.play(2500, Verb.HOLD)
    assert rig.state() is State.HOLD
    rig.play(2000, Verb.RESUME)
    while rig.watch() is State.RUNNING:
        pass
    assert rig.state() is State.READY
    assert rig.codes() == []
    motions, accelerations, actuators = (np.array(column) for column in zip(*rig.rows, strict=True))
    asked, felt = motions[:, 2, HEAVE], accelerations[:, HEAVE]

    early, late = slice(600, 900), slice(5500, 6500)
    assert amplitude_error(felt, asked, early) > 3.0 * amplitude_error(felt, asked, late)
    assert amplitude_error(felt, asked, late) < 0.002
    assert distortion(felt, early) > 3.0 * distortion(felt, late)
    assert distortion(felt, late) < 0.005

    # What the actuators are sent beyond what the record's reference asks.
    jacobian = np.empty((7, 6))
    geometry = rig.plan.geometry
    added = np.empty_like(actuators[:, 0])
    largest = 0.0
    for row, (motion, sent) in enumerate(zip(motions, actuators, strict=True)):
        euler_jacobian(geometry.legs, motion[0], jacobian)
        added[row] = sent[0] - jacobian @ motion[1]
        largest = max(largest, float(np.abs(jacobian @ motion[1]).max()))
    assert 0.005 * largest < np.abs(added).max() < BOUND * largest
    assert np.abs(added[8900:9000]).max() < 1e-4 * largest, "it has faded while the table stood"
    assert np.abs(added[-4:]).max() < 1e-6 * largest, "and it ends with the sine"
    # Rates and accelerations of the actuators are one motion, through hold and resume.
    accelerations = actuators[:, 1]
    difference = (actuators[2:, 0] - actuators[:-2, 0]) / 2e-3
    assert np.abs(difference - accelerations[1:-1]).max() < 0.02 * np.abs(accelerations).max()


def amplitudes(signal: FloatArray, part: slice) -> ComplexArray:
    """Return what a signal has of the first five multiples of the frequency, over whole periods."""
    turning = np.exp(-2j * np.pi * FREQUENCY * 1e-3 * np.outer(np.arange(1, 6), np.arange(len(signal))))
    return np.asarray(2.0 * turning[:, part] @ signal[part] / len(signal[part]))


def amplitude_error(felt: FloatArray, asked: FloatArray, part: slice) -> float:
    """Return what is missing of the fundamental, as a share of it."""
    return float(abs(amplitudes(felt - asked, part)[0]) / abs(amplitudes(asked, part)[0]))


def distortion(felt: FloatArray, part: slice) -> float:
    """Return the effective value of the harmonics over that of the fundamental."""
    found = np.abs(amplitudes(felt, part))
    return float(np.sqrt(np.sum(found[1:] ** 2)) / found[0])
