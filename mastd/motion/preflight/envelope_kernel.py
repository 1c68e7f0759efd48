"""Many motions of the seat through the kernels of the actuators, compiled."""

from __future__ import annotations

from mastd.arrays import FloatArray
from mastd.dynamics.oil_flow import valve_ratio
from mastd.dynamics.table_model import force_reference
from mastd.kernel import fused_kernel
from mastd.kinematics.geometry import Legs
from mastd.kinematics.inverse import actuator_motion
from mastd.motion.washout.seat_point import centre_motion


@fused_kernel
def actuators_of_motions(
    legs: Legs,
    model: FloatArray,
    supports: FloatArray,
    point: FloatArray,
    motions: FloatArray,
    work: FloatArray,
    centres: FloatArray,
    actuators: FloatArray,
) -> None:
    """Write lengths, their rates and accelerations, and forces of the actuators: ``actuators`` (m, 4, n).

    ``motions`` (m, 4, 6) of the seat at ``point`` (3,) in P; ``centres`` (m, 4, 6) takes those of C, ``work``
    (n + 8, 6) is scratch, ``model`` that of ``TableModel``, ``supports`` (k, SUPPORT). SI.
    """
    for m in range(motions.shape[0]):
        centre, rows = centres[m], actuators[m]
        centre_motion(point, motions[m], centre)
        actuator_motion(
            legs,
            centre[0],
            centre[1],
            centre[2],
            rows[0],
            rows[1],
            rows[2],
        )
        force_reference(
            legs,
            model,
            supports,
            centre[0],
            centre[1],
            centre[2],
            work,
            rows[3],
        )


@fused_kernel
def worst_valve_ratios(
    hydraulics: FloatArray, rates: FloatArray, pushes: FloatArray, pulls: FloatArray, ratios: FloatArray
) -> None:
    """Write the greatest ratio of its valve's flow that each actuator needs at ±``rates`` against the force.

    All (m, n): ``rates`` ≥ 0 in m/s, ``pushes`` and ``pulls`` the greatest forces in N either way.
    """
    for m in range(rates.shape[0]):
        for i in range(rates.shape[1]):
            ratios[m, i] = max(
                valve_ratio(hydraulics[i], rates[m, i], pushes[m, i]),
                valve_ratio(hydraulics[i], -rates[m, i], -pulls[m, i]),
            )
