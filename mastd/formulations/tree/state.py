"""A state of the car in the coordinates of its tree."""

from __future__ import annotations

import numpy as np

from mastd.arrays import FloatArray
from mastd.formulations.tree import arrays as a
from mastd.formulations.tree.arrays import Tree
from mastd.formulations.tree.topology import TreeJoint
from mastd.vehicle.blocks.attitude import inverse, quaternion_product, rotation_matrix
from mastd.vehicle.state.motion import State


def take_state(tree: Tree, state: State) -> None:
    """Write positions, rates, spins and deflections of a state into the tree.

    The state must keep the tree's joints; what it misses of them is lost, since the tree cannot hold it.
    """
    turns = rotation_matrix(state.attitude)
    bodies = tree.links[:, a.L_BODY]
    omega = np.einsum("bij,bj->bi", turns, state.angular_velocity)
    for i, line in enumerate(tree.links):
        body, lower, kind = bodies[i], line[a.L_LOWER], TreeJoint(int(line[a.L_KIND]))
        places, rates = tree.q[line[a.L_PLACE] :], tree.u[line[a.L_FIRST] :]
        constants = tree.joints[i]
        if lower < 0:
            places[:3], places[3:7] = state.position[body], state.attitude[body]
            rates[:3], rates[3:6] = state.velocity[body], omega[body]
            continue
        below = bodies[lower]
        base = turns[below]
        arm = base @ constants[a.LOWER_POINT : a.LOWER_POINT + 3]
        own = turns[body] @ constants[a.UPPER_POINT : a.UPPER_POINT + 3]
        shift = base.T @ (state.position[body] + own - state.position[below] - arm)
        away = state.position[body] + own - state.position[below]
        speed = state.velocity[body] + np.cross(omega[body], own) - state.velocity[below]
        speed = base.T @ (speed - np.cross(omega[below], away))
        turn = base.T @ turns[body]
        relative = quaternion_product(inverse(state.attitude[below]), state.attitude[body])
        spin = base.T @ (omega[body] - omega[below])
        first = constants[a.FIRST_AXIS : a.FIRST_AXIS + 3]
        if kind is TreeJoint.FREE:
            places[:3], places[3:7] = shift, relative
            rates[:3], rates[3:6] = speed, spin
        elif kind is TreeJoint.SPHERICAL:
            places[:4], rates[:3] = relative, spin
        elif kind is TreeJoint.REVOLUTE:
            places[0], rates[0] = _angle(turn, first), first @ spin
        elif kind is TreeJoint.PRISMATIC:
            places[0], rates[0] = first @ shift, first @ speed
        else:
            second = constants[a.SECOND_AXIS : a.SECOND_AXIS + 3]
            places[:2] = _cross_angles(turn, first, second)
            axes = np.column_stack([first, turn @ second])
            rates[:2] = np.linalg.lstsq(axes, spin, rcond=None)[0]
    tree.spin[:] = state.spin
    tree.deflection[:] = state.deflection


def _angle(turn: FloatArray, axis: FloatArray) -> float:
    """Return the angle of a turn about a known axis."""
    sine = 0.5 * axis @ np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]])
    return float(np.arctan2(sine, 0.5 * (np.trace(turn) - 1.0)))


def _cross_angles(turn: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the two angles of R = Rot(first) Rot(second): the first carries the second axis to where it
    is."""
    moved = turn @ second
    level, other = second - (first @ second) * first, moved - (first @ moved) * first
    one = float(np.arctan2(first @ np.cross(level, other), level @ other))
    x, y, z = first
    tilde = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    back = np.eye(3) - np.sin(one) * tilde + (1.0 - np.cos(one)) * tilde @ tilde
    return np.array([one, _angle(back @ turn, second)])
