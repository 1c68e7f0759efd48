"""Suspension kinematics (the K of K&C): how wheels stand as they travel and as the rack moves, chassis held.

All joints are rigid, so there is no compliance. Angles and signs are those of ISO 8855, about a chassis that
stands level in its design position, x forward, y left, z up:

- travel: height of the wheel's centre above its design position, bump positive;
- steer angle: of the wheel plane's forward direction about z from x, positive to the left on both sides;
- toe angle: positive where the front of the wheel points to the car's middle (toe-in): −steer angle on the
  left, +steer angle on the right;
- camber angle: between wheel plane and z, positive where the top of the wheel leans outward;
- castor angle: of the kingpin axis from z in side view, positive where its top leans rearward;
- kingpin inclination: of that axis from z in rear view, positive where its top leans inward;
- castor offset and kingpin offset at the ground: how far the axis meets the ground ahead of the contact
  centre, and how far inside the wheel plane, both positive in the usual car;
- recession: rearward displacement of the wheel's centre from the design position;
- track: distance of the contact centres of left and right wheel in y.

The contact centre lies under the wheel's centre in the wheel plane, at the design position's height of the
centre above the ground. The kingpin axis is that about which the carrier turns when the rack moves and the
spring keeps its length; for ball joints on arms it is the line through them. Where nothing steers it is NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mastd.arrays import FloatArray
from mastd.vehicle.blocks.rotation import cross
from mastd.vehicle.kinematics.linkage import (
    Linkage,
    LinkageError,
    Pose,
    SpringLength,
    WheelHeight,
    design_pose,
)
from mastd.vehicle.model.definition import Axle, Model

TRAVEL = 0.06
"""m, bump and rebound where no stop says how far."""
POINTS = 41
STRIDE = 0.005
"""m of travel or rack that one Newton solution may be away from the last."""
MIN_STEER = 0.02
"""rad, under which no Ackermann share is given: static toe would be most of it."""


@dataclass(frozen=True, eq=False)
class Sweep:
    """One axle's wheels over n positions; arrays (n, corners) in the order of the axle's corners, SI."""

    axle: str
    corners: tuple[str, ...]
    drive: str
    """Name of the drive that is swept, empty for a sweep of travel."""
    travel: FloatArray
    rack: FloatArray
    """(n) displacement of the drive."""
    camber: FloatArray
    toe: FloatArray
    steer: FloatArray
    castor: FloatArray
    kingpin_inclination: FloatArray
    castor_offset: FloatArray
    kingpin_offset: FloatArray
    recession: FloatArray
    centre: FloatArray
    """(n, corners, 3) wheel centres."""
    contact: FloatArray
    """(n, corners, 3) contact centres."""
    track: FloatArray
    """(n) of two wheels; NaN of an axle that has not two."""
    track_change: FloatArray
    """(n) against the design position."""
    spring_length: FloatArray
    """(n, corners) of each corner's first spring-damper, NaN without one."""
    motion_ratio: FloatArray
    """(n, corners): spring compression per wheel travel, −dl/dz at a fixed rack."""
    ackermann: FloatArray
    """(n): (cot outer − cot inner) · wheelbase / track: 1 where all wheels roll about one point; NaN near
    straight ahead and where no axle is without steering."""


@dataclass(frozen=True, eq=False)
class AxleKinematics:
    """All sweeps of one axle."""

    axle: str
    travel: Sweep
    steer: tuple[Sweep, ...]
    """One for each drive of the axle."""


def suspension_kinematics(
    model: Model,
    travel: FloatArray | None = None,
    rack: FloatArray | None = None,
    watch: Callable[[str], None] | None = None,
) -> tuple[AxleKinematics, ...]:
    """Sweep wheel travel and rack of every axle that has wheels.

    ``travel`` (n) in m, both wheels alike; by default 41 points between the first touch of the rebound stops
    and of the bump stops, ±60 mm where there are none. ``rack`` (n) in m, at design height; by default 41
    points between the drive's limits. ``watch`` is reported the name of each axle before its sweeps.

    Raises LinkageError where the linkage cannot get there, naming axle, place, joint and gap.
    """
    results = []
    for axle in model.axles:
        if not axle.corners:
            continue
        if watch is not None:
            watch(axle.name)
        bench = _Bench(model, axle)
        travels = np.linspace(*bench.stops(), POINTS) if travel is None else np.asarray(travel, dtype=float)
        steer = []
        for drive in bench.drives:
            limit = model.drives[drive].limit
            racks = np.linspace(-limit, limit, POINTS) if rack is None else np.asarray(rack, dtype=float)
            steer.append(bench.sweep(np.zeros_like(racks), racks, drive))
        results.append(
            AxleKinematics(axle.name, bench.sweep(travels, np.zeros_like(travels), -1), tuple(steer))
        )
    return tuple(results)


class _Bench:
    """One axle on the test rig: the chassis is held, pads move the wheels, a motor moves the rack."""

    def __init__(self, model: Model, axle: Axle) -> None:
        self.model = model
        self.axle = axle
        corners = [model.corners[index] for index in axle.corners]
        self.corners = corners
        bodies = [*axle.bodies, *(body for corner in corners for body in corner.bodies)]
        primitives = [*axle.primitives, *(index for corner in corners for index in corner.primitives)]
        self.linkage = Linkage(model, bodies, primitives)
        driven = {model.primitives[index].drive for index in primitives}
        self.drives = sorted(driven - {-1})
        self.heights = [WheelHeight(corner.wheel) for corner in corners]
        self.design = np.array([model.wheels[corner.wheel].centre for corner in corners])
        self.sides = np.where(self.design[:, 1] >= 0.0, 1.0, -1.0)
        self.pose = design_pose(model)

    def stops(self) -> tuple[float, float]:
        """Return the travels at which the first rebound stop and the first bump stop touch."""
        rebound, bump = [], []
        for corner in self.corners:
            for index in corner.springs:
                spring = self.model.springs[index]
                if spring.rebound_stop is not None:
                    rebound.append(self._travel_at(corner.wheel, index, spring.rebound_stop.contact_length))
                if spring.bump_stop is not None:
                    bump.append(self._travel_at(corner.wheel, index, spring.bump_stop.contact_length))
        # A stop that touches in the design position already bounds nothing.
        lowest = max((value for value in rebound if value < -STRIDE), default=-TRAVEL)
        highest = min((value for value in bump if value > STRIDE), default=TRAVEL)
        return lowest, highest

    def _travel_at(self, wheel: int, spring: int, length: float) -> float:
        """Return the travel of a wheel at a given length of its spring."""
        drive = np.zeros(len(self.model.drives))
        conditions = [SpringLength(spring)]
        pose = self.pose
        start = self.linkage.measure(pose, conditions[0])[0]
        try:
            for target in _stages(start, length):
                pose = self.linkage.close(pose, drive, conditions, np.array([target]))
        except LinkageError as error:
            raise LinkageError(
                f"{self.model.name}: axle {self.axle.name}: cannot reach the stop of "
                f"{self.model.springs[spring].name} at a length of {1e3 * length:.1f} mm: {error}"
            ) from None
        height = self.linkage.measure(pose, WheelHeight(wheel))[0]
        return height - float(self.model.wheels[wheel].centre[2])

    def sweep(self, travels: FloatArray, racks: FloatArray, drive: int) -> Sweep:
        """Return the positions of lists of travels and racks, reached from the design position outward."""
        targets = np.stack([travels, racks], axis=1)
        poses: list[Pose | None] = [None] * len(targets)
        # From the place nearest to the design position up the list, then down it.
        middle = int(np.argmin(np.sum(np.abs(targets), axis=1))) if len(targets) else 0
        for order in (range(middle, len(targets)), range(middle - 1, -1, -1)):
            if order.start == middle:
                pose, target = self.pose, np.zeros(2)
            else:
                found = poses[middle]
                assert found is not None
                pose, target = found, targets[middle]
            for index in order:
                pose = self._reach(pose, target, targets[index], drive)
                target = targets[index]
                poses[index] = pose
        return self._sweep_of([pose for pose in poses if pose is not None], travels, racks, drive)

    def _drives(self, drive: int, rack: float) -> FloatArray:
        values = np.zeros(len(self.model.drives))
        if drive >= 0:
            values[drive] = rack
        return values

    def _reach(self, pose: Pose, start: FloatArray, goal: FloatArray, drive: int) -> Pose:
        """Return the pose at (travel, rack) ``goal``, from that at ``start``, in strides."""
        count = max(1, int(np.ceil(np.max(np.abs(goal - start)) / STRIDE)))
        for fraction in np.arange(1, count + 1) / count:
            travel, rack = start + fraction * (goal - start)
            try:
                pose = self.linkage.close(
                    pose, self._drives(drive, rack), self.heights, self.design[:, 2] + travel
                )
            except LinkageError as error:
                steered = f", {self.model.drives[drive].name} {1e3 * rack:.1f} mm" if drive >= 0 else ""
                raise LinkageError(
                    f"{self.model.name}: axle {self.axle.name}: cannot reach wheel travel "
                    f"{1e3 * travel:.1f} mm{steered}: {error}"
                ) from None
        return pose

    def _sweep_of(self, poses: list[Pose], travels: FloatArray, racks: FloatArray, drive: int) -> Sweep:
        shape = (len(poses), len(self.corners))
        centre, axis, contact = (np.zeros((*shape, 3)) for _ in range(3))
        kingpin, kingpin_point = np.full((*shape, 3), np.nan), np.full((*shape, 3), np.nan)
        length, ratio = np.full(shape, np.nan), np.full(shape, np.nan)
        for row, pose in enumerate(poses):
            values = self._drives(drive, racks[row])
            for column in range(shape[1]):
                entry = (row, column)
                centre[entry], axis[entry], contact[entry] = self._wheel(pose, column)
                length[entry], ratio[entry] = self._spring(pose, values, column)
                kingpin[entry], kingpin_point[entry] = self._kingpin(pose, values, column)
        reference = self._wheels_of_design()
        steer = np.arctan2(-axis[..., 0], axis[..., 1])
        track = _track(contact)
        offsets = _at_ground(kingpin, kingpin_point, contact) - contact
        forward = np.stack([np.cos(steer), np.sin(steer)], axis=-1)
        left = np.stack([-np.sin(steer), np.cos(steer)], axis=-1)
        return Sweep(
            axle=self.axle.name,
            corners=tuple(corner.name for corner in self.corners),
            drive=self.model.drives[drive].name if drive >= 0 else "",
            travel=centre[..., 2] - self.design[:, 2],
            rack=racks,
            camber=-self.sides * np.arcsin(np.clip(axis[..., 2], -1.0, 1.0)),
            toe=-self.sides * steer,
            steer=steer,
            castor=np.arctan2(-kingpin[..., 0], kingpin[..., 2]),
            kingpin_inclination=np.arctan2(-self.sides * kingpin[..., 1], kingpin[..., 2]),
            castor_offset=np.sum(offsets[..., :2] * forward, axis=-1),
            kingpin_offset=-self.sides * np.sum(offsets[..., :2] * left, axis=-1),
            recession=self.design[:, 0] - centre[..., 0],
            centre=centre,
            contact=contact,
            track=track,
            track_change=track - _track(reference[None])[0],
            spring_length=length,
            motion_ratio=ratio,
            ackermann=self._ackermann(steer, track, drive),
        )

    def _wheels_of_design(self) -> FloatArray:
        return np.stack([self._wheel(self.pose, column)[2] for column in range(len(self.corners))])

    def _wheel(self, pose: Pose, column: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return a wheel's centre, axis and contact centre."""
        wheel = self.model.wheels[self.corners[column].wheel]
        centre = self.linkage.point(pose, wheel.carrier, wheel.centre)
        axis = pose.matrix[wheel.carrier] @ wheel.axis
        up = np.array([0.0, 0.0, 1.0]) - axis[2] * axis
        return centre, axis, centre - self.design[column, 2] * up / np.linalg.norm(up)

    def _spring(self, pose: Pose, drive: FloatArray, column: int) -> tuple[float, float]:
        """Return length and motion ratio of a corner's first spring-damper."""
        springs = self.corners[column].springs
        if not springs:
            return np.nan, np.nan
        rates = np.zeros(len(self.corners))
        rates[column] = 1.0
        demands = (np.zeros(self.linkage.rows), rates)
        velocities = self.linkage.velocities(pose, drive, self.heights, demands)
        length, row = self.linkage.measure(pose, SpringLength(springs[0]))
        return length, -float(row @ velocities)

    def _kingpin(self, pose: Pose, drive: FloatArray, column: int) -> tuple[FloatArray, FloatArray]:
        """Return direction (upward) and a point of the axis about which the carrier steers, or NaN."""
        nothing = np.full(3, np.nan)
        held = [SpringLength(corner.springs[0]) for corner in self.corners if corner.springs]
        if not self.drives or len(held) < len(self.corners):
            return nothing, nothing
        demands = (self.linkage.drive_rates(self.drives[0]), np.zeros(len(held)))
        velocities = self.linkage.velocities(pose, drive, held, demands)
        wheel = self.model.wheels[self.corners[column].wheel]
        motion = self.linkage.body_velocity(velocities, wheel.carrier)
        omega = motion[3:] if motion[5] >= 0.0 else -motion[3:]
        square = float(omega @ omega)
        # In rad of steer per m of rack; an ordinary car has about 7.
        if not square > 1e-4:
            return nothing, nothing
        velocity = motion[:3] if motion[5] >= 0.0 else -motion[:3]
        foot = pose.position[wheel.carrier] + cross(omega, velocity) / square
        return omega / np.sqrt(square), foot

    def _ackermann(self, steer: FloatArray, track: FloatArray, drive: int) -> FloatArray:
        nothing = np.full(len(steer), np.nan)
        straight = [
            self.model.wheels[self.model.corners[corner].wheel].centre[0]
            for axle in self.model.axles
            for corner in axle.corners
            if not any(self.model.primitives[index].drive >= 0 for index in axle.primitives)
        ]
        if drive < 0 or len(self.corners) != 2 or not straight:
            return nothing
        wheelbase = float(np.mean(self.design[:, 0]) - np.mean(straight))
        left, right = (0, 1) if self.sides[0] > self.sides[1] else (1, 0)
        turning = np.min(np.abs(steer), axis=1) > MIN_STEER
        cotangents = 1.0 / np.tan(np.where(turning[:, None], steer, 1.0))
        ackermann = (cotangents[:, right] - cotangents[:, left]) * wheelbase / track
        return np.where(turning, ackermann, nothing)


def _stages(start: float, goal: float) -> FloatArray:
    """Return values from start (left out) to goal in strides."""
    count = max(1, int(np.ceil(abs(goal - start) / STRIDE)))
    return start + (goal - start) * np.arange(1, count + 1) / count


def _track(points: FloatArray) -> FloatArray:
    """Return the distance in y (n) of two wheels' points (n, corners, 3), NaN if there are not two."""
    if points.shape[1] != 2:
        return np.full(len(points), np.nan)
    return np.asarray(np.abs(points[:, 0, 1] - points[:, 1, 1]))


def _at_ground(direction: FloatArray, point: FloatArray, contact: FloatArray) -> FloatArray:
    """Return where lines meet the height of the contact centres."""
    rise = (contact[..., 2] - point[..., 2]) / direction[..., 2]
    return np.asarray(point + rise[..., None] * direction)
