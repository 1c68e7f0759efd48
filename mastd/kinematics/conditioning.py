"""Condition number of the Jacobian: how well the actuators hold the table at a pose.

By Frobenius norms, ‖J‖ ‖J⁺‖ / m with arms in m, over the m axes that no guides hold: 1 for a table that is
equally stiff in all its directions, infinite where the actuators lose hold of one. It bounds the condition
number of the 2-norm from both sides within a factor of m and needs no eigenvalues: JᵀJ = L Lᵀ by Cholesky,
‖J⁺‖² is the sum of squares of L⁻¹.
"""

from __future__ import annotations

import math

from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel


@fused_kernel
def condition_number(jacobian: FloatArray, freedoms: FloatArray, work: FloatArray) -> float:
    """Return the condition number of ``jacobian`` (n, 6), infinite if it is singular or not finite.

    ``freedoms`` (6,): 0 for an axis that guides hold, whose column of 0 does not count. ``work``
    (6, 6) is scratch: L below the diagonal, its inverse transposed above, the diagonal inverted.
    """
    total = 0.0
    for row in range(6):
        for column in range(row + 1):
            product = 0.0
            for i in range(jacobian.shape[0]):
                product += jacobian[i, row] * jacobian[i, column]
            if row == column:
                total += product
                if freedoms[row] == 0.0:
                    work[row, row] = 0.0
                    continue
            for k in range(column):
                product -= work[row, k] * work[column, k]
            if row == column:
                if not product > 1e-24:
                    return math.inf
                work[row, row] = 1.0 / math.sqrt(product)
            else:
                work[row, column] = product * work[column, column]
    inverse = 0.0
    for column in range(6):
        inverse += work[column, column] * work[column, column]
        for row in range(column + 1, 6):
            product = 0.0
            for k in range(column, row):
                product -= work[row, k] * work[column, k]
            work[column, row] = product * work[row, row]
            inverse += work[column, row] * work[column, row]
    return float(math.sqrt(total * inverse) / freedoms.sum())
