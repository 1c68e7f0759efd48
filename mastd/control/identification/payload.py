"""The payload: the body that was found less the table's own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mastd.arrays import FloatArray

_CENTRE, _INERTIA = slice(1, 4), slice(4, 7)


@dataclass(frozen=True, eq=False)
class PayloadFit:
    """A rigid body: mass, centre of gravity in P (3,), moments of inertia about it along P (3,)."""

    mass: float
    mass_deviation: float
    centre: FloatArray
    centre_deviation: FloatArray
    inertia: FloatArray
    inertia_deviation: FloatArray


def payload_of(body: FloatArray, covariance: FloatArray, table: FloatArray) -> PayloadFit:
    """Return the payload of a ``body`` (10,) with ``covariance`` (10, 10) on a ``table`` of values (≥ 10,).

    Both as ``mastd.dynamics.table_model.TableModel`` has them. Deviations by the linear law of propagation.
    Raises ValueError if nothing is left when the table is taken off.
    """
    rest = body - table[: len(body)]
    if not rest[0] > 0.0:
        raise ValueError("the identified mass does not exceed that of the table")
    values = _properties(rest)
    slopes = np.empty((len(values), len(rest)))
    for column in range(len(rest)):
        step = np.zeros(len(rest))
        step[column] = 1e-4 * rest[0]
        slopes[:, column] = (_properties(rest + step) - _properties(rest - step)) / (2.0 * step[column])
    deviations = np.sqrt(np.einsum("vi,ij,vj->v", slopes, covariance, slopes))
    return PayloadFit(
        float(values[0]),
        float(deviations[0]),
        values[_CENTRE],
        deviations[_CENTRE],
        values[_INERTIA],
        deviations[_INERTIA],
    )


def _properties(rest: FloatArray) -> FloatArray:
    """Return mass, centre (3) and moments of inertia about the centre (3) for values about C."""
    mass, centre = rest[0], rest[1:4] / rest[0]
    return np.array([mass, *centre, *(rest[4:7] - mass * (centre @ centre - centre**2))])
