"""Who drives a table or a car by the usual solver loads nothing of the papers' formulations."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PAPERS = ("mastd.formulations", "mastd.counting", "mastd.reproduce")
PROGRAM = f"""
import sys
sys.modules.update(dict.fromkeys({PAPERS}))  # to import one of them is an error
from mastd.cli import main
from mastd.loop.service import service, single_run
assert "scipy.signal" not in sys.modules, "a second of every start, which a loop does not need"
from mastd.vehicle.model.library import find
from mastd.vehicle.simulation.simulation import Simulation
from mastd.vehicle.solver.choice import Solver
assert main(["warmup"]) == 0
assert main(["vehicle", "settle", "--vehicle", "quarter_car", "--solver", "chassis"]) == 0
try:
    Simulation(find("quarter_car"), step=1e-3, solver=Solver("independent"))
except ImportError:
    print("refused")
"""


def test_run_warmup_and_vehicle_import_no_formulation_of_the_papers() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(ROOT)},
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "refused", "the registry loads them for their own solvers"
