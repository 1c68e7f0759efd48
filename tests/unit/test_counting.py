"""Kernels as plain functions: the same numbers as compiled, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from mastd.lanes import LANES
from mastd.vehicle.library import find
from mastd.vehicle.system import System
from tests.vehicle_states import any_inputs, anywhere

Array = NDArray[np.float64]

ROOT = Path(__file__).resolve().parents[2]
PLAIN = """
import json, sys
from mastd.lanes import LANES
from tests.unit.test_counting import equations
print(json.dumps([LANES, [column.tolist() for column in equations(sys.argv[1])]]))
"""


def equations(name: str) -> list[Array]:
    """Return the residual, and the gaps' accelerations, of a vehicle far from rest."""
    model = find(name)
    system, state, inputs = System(model), anywhere(model, 1), any_inputs(model, 1)
    return [system.residual(state, inputs), system.constraints(state)[2]]


@pytest.mark.alone
@pytest.mark.parametrize("name", ["benchmark_sedan", "mcpherson_hatchback"])
def test_plain_kernels_in_one_lane_find_what_compiled_ones_find_in_four(name: str) -> None:
    """Linear tyres and Magic Formula tyres; the bound is a share of the largest entry."""
    told = subprocess.run(
        [sys.executable, "-c", PLAIN, name],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(ROOT)},
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    lanes, plain = json.loads(told.stdout)
    assert (lanes, LANES) == (1, 4)
    for found, expected in zip(plain, equations(name), strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())
