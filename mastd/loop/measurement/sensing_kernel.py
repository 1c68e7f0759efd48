"""Compiled part of ``Sensing``: validate a sample, estimate pose and motion, inspect the limits.

The kernel reads and writes the frame itself. It is one call a cycle, by its entry (``mastd.kernel.entry``):
each array in the arguments costs time, with the cold caches of a cycle several times that of a warm call. So
what lies in the frame is given as columns, not as views.
"""

from __future__ import annotations

from typing import NamedTuple

from mastd.arrays import FloatArray
from mastd.control.estimation.layout import MOTION, STATUS, MotionModel, MotionState
from mastd.control.estimation.motion_estimate import estimate_motion
from mastd.control.estimation.pose_estimate import PoseEstimate, PoseModel, estimate_pose
from mastd.kernel import entry_kernel, kernel
from mastd.kinematics.conditioning import condition_number
from mastd.kinematics.jacobian import euler_jacobian
from mastd.loop.measurement.frame import Frame
from mastd.safety.inspection import (
    MEMORY,
    Commanded,
    GuardModel,
    GuardState,
    Measured,
    clear_unmonitored,
    inspect_actuators,
    inspect_readings,
    inspect_scalars,
    validate_sample,
)
from mastd.safety.unasked_motion import UnaskedModel, UnaskedState, inspect_unasked

FOUND = 1
"""Bit of the mask that says that the pose was found (fault codes begin at 1)."""


class FrameColumns(NamedTuple):
    """First column in the frame of the fields that the kernel reads and writes."""

    raw_lengths: int
    raw_forces: int
    accelerometers: int
    commanded_lengths: int
    commanded_rates: int
    commanded_accelerations: int
    reference_accelerations: int
    lengths: int
    rates: int
    forces: int
    pose: int
    pose_rates: int
    pose_accelerations: int
    scalars: int
    """Residual, updates, redundancy residual and internal force."""
    conditioning: int

    @classmethod
    def of(cls, frame: Frame) -> FrameColumns:
        """Return those of ``frame``."""
        at = frame.index
        return cls(
            raw_lengths=at["sample.lengths"],
            raw_forces=at["sample.lengths"] + len(frame.field("sample.lengths")),
            accelerometers=at["sample.accelerometers"],
            commanded_lengths=at["command.lengths"],
            commanded_rates=at["command.rates"],
            commanded_accelerations=at["command.accelerations"],
            reference_accelerations=at["reference_acceleration"],
            lengths=at["length"],
            rates=at["length_rate"],
            forces=at["force"],
            pose=at["pose"],
            pose_rates=at["pose_rate"],
            pose_accelerations=at["pose_acceleration"],
            scalars=at["residual"],
            conditioning=at["conditioning"],
        )


class SensingModel(NamedTuple):
    """Constants of the measurement."""

    columns: FrameColumns
    pose: PoseModel
    motion: MotionModel
    guard: GuardModel
    unasked: UnaskedModel


class SensingState(NamedTuple):
    """Memory of the measurement: last accepted lengths (n,), and those of motion and guard.

    ``redundancy`` (n − 6,), ``jacobian`` (n, 6) and ``gram`` (6, 6) are scratch.
    """

    lengths: FloatArray
    redundancy: FloatArray
    jacobian: FloatArray
    gram: FloatArray
    motion: MotionState
    guard: GuardState
    unasked: UnaskedState


class SampleStep(NamedTuple):
    """How a sample follows the last one, and what is watched.

    ``steps`` and ``dt`` (s) since the last accepted sample, 0 without one; ``smoothing`` as in
    ``estimate_pose``; ``valid``: bits of the accelerometers; ``watched``: mask of the codes in force.
    """

    steps: int
    dt: float
    smoothing: float
    valid: int
    watched: int


@kernel
def _update_motion(
    frame: FloatArray, found: bool, step: SampleStep, model: SensingModel, state: MotionState
) -> None:
    """Write the rates and accelerations of the pose into the frame; without a pose they stay.

    The steps of samples without a pose are added to those of the next one with it.
    """
    at, status = model.columns, state.status
    if step.steps < 1:
        status[STATUS.started] = 0
    status[STATUS.pending] += step.steps
    if not found:
        return
    sensors = model.motion.sensors.shape[0]
    status[STATUS.excluded] = estimate_motion(
        frame[at.pose : at.pose + 6],
        frame[at.accelerometers : at.accelerometers + sensors],
        step.valid,
        status[STATUS.pending],
        model.motion,
        state,
    )
    status[STATUS.pending] = 0
    for k in range(6):
        frame[at.pose_rates + k] = state.motion[MOTION.rate + k]
        frame[at.pose_accelerations + k] = state.motion[MOTION.acceleration + k]


@kernel
def _project_acceleration(pose_acceleration: FloatArray, jacobian: FloatArray, along: FloatArray) -> None:
    """Write the measured accelerations ``along`` (n,) the actuators, m/s².

    It is J q̈ with the estimated ``pose_acceleration`` (6,): the Jacobian's own change adds less than v²/l,
    0.3 m/s² at 0.6 m/s.
    """
    for i in range(along.shape[0]):
        total = 0.0
        for k in range(6):
            total += jacobian[i, k] * pose_acceleration[k]
        along[i] = total


@kernel
def _inspect(
    frame: FloatArray,
    found: bool,
    step: SampleStep,
    estimate: PoseEstimate,
    model: SensingModel,
    state: GuardState,
) -> int:
    """Return the mask of the faults that are in force, and ``FOUND``."""
    at, guard = model.columns, model.guard
    n = guard.strokes.shape[0]
    measured = Measured(
        estimate.lengths, estimate.rates, estimate.forces, state.memory[MEMORY.measured_acceleration]
    )
    commanded = Commanded(
        frame[at.commanded_lengths : at.commanded_lengths + n],
        frame[at.commanded_rates : at.commanded_rates + n],
        frame[at.commanded_accelerations : at.commanded_accelerations + n],
    )
    mask = inspect_actuators(measured, commanded, step.dt, step.watched, guard, state)
    # forces and spools follow each other in the sample
    mask |= inspect_readings(
        frame[at.raw_forces : at.raw_forces + guard.ranges.shape[0] + n], n, guard, state
    )
    mask |= inspect_scalars(frame, found, guard, state)
    clear_unmonitored(step.watched, state.counts)
    mask &= step.watched
    if found:
        mask |= FOUND
    return mask


@entry_kernel
def measure_sample(frame: FloatArray, step: SampleStep, model: SensingModel, state: SensingState) -> int:
    """Return the mask of faults and ``FOUND``; the estimates of the sample are written into the frame.

    If a reading is implausible, nothing is changed and the result is negative: the ``encode_rejection`` of
    ``mastd.safety.inspection``.
    """
    at, n = model.columns, model.guard.strokes.shape[0]
    raw_lengths = frame[at.raw_lengths : at.raw_lengths + n]
    raw_forces = frame[at.raw_forces : at.raw_forces + model.guard.ranges.shape[0]]
    rejection = validate_sample(
        raw_lengths,
        raw_forces,
        model.pose.length_calibration,
        model.pose.force_calibration,
        state.lengths,
        model.guard,
        step.dt,
    )
    if rejection:
        return rejection
    estimate = PoseEstimate(
        frame[at.lengths : at.lengths + n],
        frame[at.rates : at.rates + n],
        frame[at.forces : at.forces + model.pose.measured_forces],
        frame[at.pose : at.pose + 6],
        frame[at.scalars : at.scalars + 4],
    )
    found = estimate_pose(
        raw_lengths,
        raw_forces,
        model.pose,
        step.dt,
        step.smoothing,
        state.lengths,
        state.redundancy,
        estimate,
    )
    euler_jacobian(model.pose.legs, estimate.pose, state.jacobian)
    frame[at.conditioning] = condition_number(state.jacobian, model.pose.legs.freedoms, state.gram)
    _update_motion(frame, found, step, model, state.motion)
    _project_acceleration(
        frame[at.pose_accelerations : at.pose_accelerations + 6],
        state.jacobian,
        state.guard.memory[MEMORY.measured_acceleration],
    )
    mask = _inspect(frame, found, step, estimate, model, state.guard)
    asked = frame[at.reference_accelerations : at.reference_accelerations + 6]
    measured = frame[at.pose_accelerations : at.pose_accelerations + 6]
    return mask | inspect_unasked(measured, asked, step.watched, model.unasked, state.unasked)
