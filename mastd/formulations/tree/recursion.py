"""Recursive kinematics over the tree, eqs. (4)–(16) of Kang and Yoon.

The paper takes a joint's point as the origin of its upper body and goes on from there to the centre of
mass, (16); here both steps are one, since only centres of mass are asked for.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.formulations.tree.arrays import DRIVEN, JOINT, LINK, Tree
from mastd.kernel import fused_kernel, merged_kernel
from mastd.vehicle.blocks.rotation import (
    Quaternion,
    multiply_quaternions,
    quaternion_matrix,
    rotate_vector,
)
from mastd.vehicle.blocks.vectors import Triple, cross

FREE_LINK: Final = 0
SPHERICAL: Final = 1
UNIVERSAL: Final = 2
REVOLUTE: Final = 3
PRISMATIC: Final = 4
"""``topology.TreeJoint``, as plain numbers for the kernels."""


@fused_kernel
def row_of(block: FloatArray, i: int, first: int) -> Triple:
    """Return three neighbouring numbers of a row."""
    return block[i, first], block[i, first + 1], block[i, first + 2]


@fused_kernel
def write(block: FloatArray, i: int, first: int, x: float, y: float, z: float) -> None:
    """Write three neighbouring numbers of a row."""
    block[i, first], block[i, first + 1], block[i, first + 2] = x, y, z


@fused_kernel
def axis_angle_quaternion(x: float, y: float, z: float, angle: float) -> Quaternion:
    """Return the quaternion of a turn about a unit axis."""
    half = 0.5 * angle
    sine = np.sin(half)
    return np.cos(half), sine * x, sine * y, sine * z


@merged_kernel
def forward_kinematics(tree: Tree) -> None:
    """Write attitude and place of all links from ``q``, (4), (5), (13), and the directions of all
    coordinates."""
    q, joints = tree.q, tree.joints
    for i in range(tree.links.shape[0]):
        j, kind = tree.links[i, LINK.lower], tree.links[i, LINK.kind]
        at = tree.links[i, LINK.position]
        s0, s1, s2 = row_of(joints, i, JOINT.lower_point)
        x0, x1, x2 = row_of(joints, i, JOINT.first_axis)
        if kind == FREE_LINK:
            relative = q[at + 3], q[at + 4], q[at + 5], q[at + 6]
            s0, s1, s2 = s0 + q[at], s1 + q[at + 1], s2 + q[at + 2]
        elif kind == SPHERICAL:
            relative = q[at], q[at + 1], q[at + 2], q[at + 3]
        elif kind == REVOLUTE:
            relative = axis_angle_quaternion(x0, x1, x2, q[at])
        elif kind == UNIVERSAL:
            y0, y1, y2 = row_of(joints, i, JOINT.second_axis)
            relative = multiply_quaternions(
                axis_angle_quaternion(x0, x1, x2, q[at]), axis_angle_quaternion(y0, y1, y2, q[at + 1])
            )
        else:
            relative = 1.0, 0.0, 0.0, 0.0
            s0, s1, s2 = s0 + q[at] * x0, s1 + q[at] * x1, s2 + q[at] * x2
        if j < 0:
            whole = relative
        elif kind == PRISMATIC:
            whole = tree.quaternion[j, 0], tree.quaternion[j, 1], tree.quaternion[j, 2], tree.quaternion[j, 3]
        else:
            lower = tree.quaternion[j, 0], tree.quaternion[j, 1], tree.quaternion[j, 2], tree.quaternion[j, 3]
            whole = multiply_quaternions(lower, relative)
        _write_attitude(tree, i, whole)
        if j < 0:
            write(tree.position, i, 0, 0.0, 0.0, 0.0)
            write(tree.lower_arm, i, 0, 0.0, 0.0, 0.0)
            write(tree.arm, i, 0, 0.0, 0.0, 0.0)
            continue
        r0, r1, r2 = rotate_vector(tree.rotation, j, s0, s1, s2)
        u0, u1, u2 = row_of(joints, i, JOINT.upper_point)
        t0, t1, t2 = rotate_vector(tree.rotation, i, u0, u1, u2)
        write(tree.lower_arm, i, 0, r0, r1, r2)
        write(tree.arm, i, 0, t0, t1, t2)
        write(
            tree.position,
            i,
            0,
            tree.position[j, 0] + r0 - t0,
            tree.position[j, 1] + r1 - t1,
            tree.position[j, 2] + r2 - t2,
        )


@fused_kernel
def _write_attitude(tree: Tree, i: int, whole: Quaternion) -> None:
    w, x, y, z = whole
    unit = 1.5 - 0.5 * (w * w + x * x + y * y + z * z)
    w, x, y, z = w * unit, x * unit, y * unit, z * unit
    tree.quaternion[i, 0], tree.quaternion[i, 1], tree.quaternion[i, 2], tree.quaternion[i, 3] = w, x, y, z
    entries = quaternion_matrix(w, x, y, z)
    for k in range(9):
        tree.rotation[i, k] = entries[k]


@merged_kernel
def joint_axes(tree: Tree) -> None:
    """Write the directions of all coordinates, W and U of (7): columns of the lower body's axes, or axes."""
    for i in range(tree.links.shape[0]):
        j, kind, first = tree.links[i, LINK.lower], tree.links[i, LINK.kind], tree.links[i, LINK.first]
        if kind in (FREE_LINK, SPHERICAL):
            for k in range(tree.links[i, LINK.coordinates]):
                for c in range(3):
                    if j < 0:
                        tree.axis[first + k, c] = 1.0 if k % 3 == c else 0.0
                    else:
                        tree.axis[first + k, c] = tree.rotation[j, 3 * c + k % 3]
            continue
        x, y, z = row_of(tree.joints, i, JOINT.first_axis)
        x, y, z = rotate_vector(tree.rotation, j, x, y, z)
        write(tree.axis, first, 0, x, y, z)
        if kind == UNIVERSAL:
            x, y, z = row_of(tree.joints, i, JOINT.second_axis)
            x, y, z = rotate_vector(tree.rotation, i, x, y, z)
            write(tree.axis, first + 1, 0, x, y, z)


@merged_kernel
def velocity_columns(tree: Tree) -> None:
    """Write the columns of W and V, (9) and (16): those of the lower body carried on, then the own ones."""
    v, w = tree.v, tree.w
    for i in range(tree.links.shape[0]):
        j, path = tree.links[i, LINK.lower], tree.links[i, LINK.path]
        first, count = tree.links[i, LINK.first], tree.links[i, LINK.coordinates]
        inherited = tree.links[i, LINK.path_size] - count
        if j >= 0:
            below = tree.links[j, LINK.path]
            d0, d1, d2 = (
                tree.position[i, 0] - tree.position[j, 0],
                tree.position[i, 1] - tree.position[j, 1],
                tree.position[i, 2] - tree.position[j, 2],
            )
            for k in range(inherited):
                x, y, z = row_of(v, below + k, 0)
                if tree.rotational[tree.path[path + k]] > 0:
                    p, q, r = row_of(w, below + k, 0)
                    write(w, path + k, 0, p, q, r)
                    p, q, r = cross(p, q, r, d0, d1, d2)
                    x, y, z = x + p, y + q, z + r
                write(v, path + k, 0, x, y, z)
        for k in range(count):
            at = path + inherited + k
            x, y, z = row_of(tree.axis, first + k, 0)
            if tree.rotational[first + k] > 0:
                write(w, at, 0, x, y, z)
                p, q, r = row_of(tree.arm, i, 0)
                x, y, z = cross(p, q, r, x, y, z)
            write(v, at, 0, x, y, z)


@merged_kernel
def link_velocities(tree: Tree) -> None:
    """Write velocities and angular velocities of all links, (6)."""
    for i in range(tree.links.shape[0]):
        j, first = tree.links[i, LINK.lower], tree.links[i, LINK.first]
        v0, v1, v2, w0, w1, w2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        if j >= 0:
            w0, w1, w2 = row_of(tree.omega, j, 0)
            x, y, z = row_of(tree.lower_arm, i, 0)
            x, y, z = cross(w0, w1, w2, x, y, z)
            v0, v1, v2 = tree.velocity[j, 0] + x, tree.velocity[j, 1] + y, tree.velocity[j, 2] + z
        for k in range(first, first + tree.links[i, LINK.coordinates]):
            x, y, z = row_of(tree.axis, k, 0)
            rate = tree.u[k]
            if tree.rotational[k] > 0:
                w0, w1, w2 = w0 + rate * x, w1 + rate * y, w2 + rate * z
            else:
                v0, v1, v2 = v0 + rate * x, v1 + rate * y, v2 + rate * z
        x, y, z = row_of(tree.arm, i, 0)
        x, y, z = cross(x, y, z, w0, w1, w2)
        write(tree.velocity, i, 0, v0 + x, v1 + y, v2 + z)
        write(tree.omega, i, 0, w0, w1, w2)


@merged_kernel
def bias_accelerations(tree: Tree) -> None:
    """Write γ of all links, (11) and (16), with the given accelerations of driven coordinates in ``udot``."""
    for i in range(tree.links.shape[0]):
        j, first = tree.links[i, LINK.lower], tree.links[i, LINK.first]
        if j < 0:
            write(tree.gamma_v, i, 0, 0.0, 0.0, 0.0)
            write(tree.gamma_w, i, 0, 0.0, 0.0, 0.0)
            continue
        w0, w1, w2 = row_of(tree.omega, j, 0)
        g0, g1, g2 = row_of(tree.gamma_w, j, 0)
        r0, r1, r2 = row_of(tree.lower_arm, i, 0)
        x, y, z = cross(g0, g1, g2, r0, r1, r2)
        c0, c1, c2 = tree.gamma_v[j, 0] + x, tree.gamma_v[j, 1] + y, tree.gamma_v[j, 2] + z
        x, y, z = cross(w0, w1, w2, r0, r1, r2)
        t0, t1, t2 = 0.0, 0.0, 0.0
        # ω of what carries the present axis: of the lower body, and after a cross joint's first axis of that.
        b0, b1, b2 = w0, w1, w2
        for k in range(first, first + tree.links[i, LINK.coordinates]):
            p, q, r = row_of(tree.axis, k, 0)
            rate = tree.u[k]
            if tree.fixed[k] == DRIVEN:
                given = tree.udot[k]
                if tree.rotational[k] > 0:
                    g0, g1, g2 = g0 + given * p, g1 + given * q, g2 + given * r
                else:
                    c0, c1, c2 = c0 + given * p, c1 + given * q, c2 + given * r
            if tree.rotational[k] > 0:
                p, q, r = rate * p, rate * q, rate * r
                d0, d1, d2 = cross(b0, b1, b2, p, q, r)
                g0, g1, g2 = g0 + d0, g1 + d1, g2 + d2
                if tree.links[i, LINK.kind] == UNIVERSAL:
                    b0, b1, b2 = b0 + p, b1 + q, b2 + r
            else:
                t0, t1, t2 = t0 + 2.0 * rate * p, t1 + 2.0 * rate * q, t2 + 2.0 * rate * r
        x, y, z = cross(w0, w1, w2, x + t0, y + t1, z + t2)
        c0, c1, c2 = c0 + x, c1 + y, c2 + z
        write(tree.gamma_w, i, 0, g0, g1, g2)
        p, q, r = row_of(tree.arm, i, 0)
        x, y, z = cross(p, q, r, g0, g1, g2)
        c0, c1, c2 = c0 + x, c1 + y, c2 + z
        w0, w1, w2 = row_of(tree.omega, i, 0)
        x, y, z = cross(w0, w1, w2, p, q, r)
        x, y, z = cross(w0, w1, w2, x, y, z)
        write(tree.gamma_v, i, 0, c0 - x, c1 - y, c2 - z)


@merged_kernel
def link_inertias(tree: Tree) -> None:
    """Write J of all links in inertial axes, R J′ Rᵀ."""
    for i in range(tree.links.shape[0]):
        xx, yy, zz, xy, xz, yz = (
            tree.inertia_constants[i, 0],
            tree.inertia_constants[i, 1],
            tree.inertia_constants[i, 2],
            tree.inertia_constants[i, 3],
            tree.inertia_constants[i, 4],
            tree.inertia_constants[i, 5],
        )
        at = 0
        for n in range(3):
            r0, r1, r2 = row_of(tree.rotation, i, 3 * n)
            p0, p1, p2 = (
                xx * r0 + xy * r1 + xz * r2,
                xy * r0 + yy * r1 + yz * r2,
                xz * r0 + yz * r1 + zz * r2,
            )
            tree.inertia[i, n] = p0 * r0 + p1 * r1 + p2 * r2
            for k in range(n + 1, 3):
                # xy, xz, yz
                s0, s1, s2 = row_of(tree.rotation, i, 3 * k)
                tree.inertia[i, 3 + at] = p0 * s0 + p1 * s1 + p2 * s2
                at += 1
