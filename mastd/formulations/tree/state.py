"""A state of the car in the coordinates of its tree."""

from __future__ import annotations

import numpy as np

from mastd.arrays import FloatArray
from mastd.formulations.tree.arrays import JOINT, LINK, Tree
from mastd.formulations.tree.topology import TreeJoint
from mastd.vehicle.blocks.rotation import inverse_quaternion, quaternion_product, rotation_matrix
from mastd.vehicle.state.motion import State


def load_state(tree: Tree, state: State) -> None:
    """Write positions, rates, spins and deflections of a state into the tree.

    The state must keep the tree's joints; what it misses of them is lost, since the tree cannot hold it.
    """
    rotations = rotation_matrix(state.attitude)
    bodies = tree.links[:, LINK.body]
    omega = np.einsum("bij,bj->bi", rotations, state.angular_velocity)
    for i, line in enumerate(tree.links):
        body, lower, kind = bodies[i], line[LINK.lower], TreeJoint(int(line[LINK.kind]))
        positions, rates = tree.q[line[LINK.position] :], tree.u[line[LINK.first] :]
        constants = tree.joints[i]
        if lower < 0:
            positions[:3], positions[3:7] = state.position[body], state.attitude[body]
            rates[:3], rates[3:6] = state.velocity[body], omega[body]
            continue
        below = bodies[lower]
        base = rotations[below]
        arm = base @ constants[JOINT.lower_point : JOINT.lower_point + 3]
        own = rotations[body] @ constants[JOINT.upper_point : JOINT.upper_point + 3]
        shift = base.T @ (state.position[body] + own - state.position[below] - arm)
        away = state.position[body] + own - state.position[below]
        speed = state.velocity[body] + np.cross(omega[body], own) - state.velocity[below]
        speed = base.T @ (speed - np.cross(omega[below], away))
        rotation = base.T @ rotations[body]
        relative = quaternion_product(inverse_quaternion(state.attitude[below]), state.attitude[body])
        spin = base.T @ (omega[body] - omega[below])
        first = constants[JOINT.first_axis : JOINT.first_axis + 3]
        if kind is TreeJoint.FREE:
            positions[:3], positions[3:7] = shift, relative
            rates[:3], rates[3:6] = speed, spin
        elif kind is TreeJoint.SPHERICAL:
            positions[:4], rates[:3] = relative, spin
        elif kind is TreeJoint.REVOLUTE:
            positions[0], rates[0] = _angle(rotation, first), first @ spin
        elif kind is TreeJoint.PRISMATIC:
            positions[0], rates[0] = first @ shift, first @ speed
        else:
            second = constants[JOINT.second_axis : JOINT.second_axis + 3]
            positions[:2] = _cross_angles(rotation, first, second)
            axes = np.column_stack([first, rotation @ second])
            rates[:2] = np.linalg.lstsq(axes, spin, rcond=None)[0]
    tree.spin[:] = state.spin
    tree.deflection[:] = state.deflection


def _angle(rotation: FloatArray, axis: FloatArray) -> float:
    """Return the angle of a turn about a known axis."""
    sine = (
        0.5
        * axis
        @ np.array(
            [
                rotation[2, 1] - rotation[1, 2],
                rotation[0, 2] - rotation[2, 0],
                rotation[1, 0] - rotation[0, 1],
            ]
        )
    )
    return float(np.arctan2(sine, 0.5 * (np.trace(rotation) - 1.0)))


def _cross_angles(rotation: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the two angles of R = Rot(first) Rot(second): the first carries the second axis to where it
    is."""
    moved = rotation @ second
    level, other = second - (first @ second) * first, moved - (first @ moved) * first
    one = float(np.arctan2(first @ np.cross(level, other), level @ other))
    x, y, z = first
    tilde = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    back = np.eye(3) - np.sin(one) * tilde + (1.0 - np.cos(one)) * tilde @ tilde
    return np.array([one, _angle(back @ rotation, second)])
