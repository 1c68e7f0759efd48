"""One peer of the vehicle bench, in a process of its own, drives on request and says what a step took.

``python worker.py NAME FOLDER``, NAME prototype, mujoco or exudyn, FOLDER that of the programs.
It runs in the peers' own environment and therefore imports nothing of this package. A request is one line on
standard input: the name of a manoeuvre and how many of its steps to drive, 0 for all of them. The answer is
one line of JSON on standard output: processor time of this thread for one step of 1 ms in microseconds, or
the reason why there is none. It ends with its standard input.

What is measured of each is always the configuration that is fastest on this car at 1 ms:

prototype
    The compiled loop of ``chord.py``: corner blocks, co-rotated, ρ∞ 0.2, one iteration. Its joint error is at
    most 8e-9 m in the J-turn and 3e-8 m on the bump.
mujoco
    ``mj_step`` for all steps in one call into C: Euler, dense, Newton. Tyres and rack come from a compiled
    callback, so that no Python runs between the steps.
exudyn
    Its solver between two steps, without the Python function that sets the tyre forces: generalized-α of
    index 3, modified Newton as by default, sparse LU of Eigen.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from importlib import import_module
from types import SimpleNamespace
from typing import Any, TextIO

STEP = 1e-3
WARMING_STEPS = 500
"""Driven before the clock starts: after the others' turn the caches are cold."""

Drive = Callable[[str, int], float]
"""Manoeuvre and number of steps (0: all) → processor time of a step in s."""


class Car:
    """The benchmark sedan of the peers' programs, settled and moving at the speed of each manoeuvre."""

    def __init__(self) -> None:
        common: Any = import_module("common")
        self.reference: Any = import_module("ref_ode")
        self.vehicle: Any = common.Vehicle()
        self.matrices: Any = self.reference.build(self.vehicle)
        self._starts: dict[str, Any] = {}

    def manoeuvre(self, name: str) -> dict[str, Any]:
        """Return speed, road, rack and duration."""
        found: dict[str, Any] = self.vehicle.scenario(name)
        return found

    def start(self, name: str) -> Any:
        """Return positions, quaternions, velocities and angular velocities of all bodies."""
        if name not in self._starts:
            speed = self.manoeuvre(name)["v"]
            self._starts[name] = self.reference.initial(self.vehicle, self.matrices, speed)
        return self._starts[name]

    def steps(self, name: str, wanted: int) -> int:
        """Return how many steps to drive."""
        return wanted or round(float(self.manoeuvre(name)["t_end"]) / STEP)


def prototype() -> Drive:
    """Return the drive of the chord Newton prototype."""
    chord: Any = import_module("chord")
    # The program times its own compiled loop; it shall do so by the processor time of the thread.
    chord.time = SimpleNamespace(perf_counter=time.thread_time)
    car = Car()
    chords: dict[str, tuple[Any, Any]] = {}

    def drive(name: str, steps: int) -> float:
        if name not in chords:
            built = chord.Chord(car.vehicle, car.manoeuvre(name), h=STEP, rho=0.2)
            chords[name] = (built, built.matrix(True))
        car_chord, matrix = chords[name]
        car_chord.run(1, True, 2, matrix, 0.0, 2, t_end=car.steps(name, steps) * STEP)
        return float(car_chord.ts[-1]) * 1e-6

    return drive


def mujoco() -> Drive:
    """Return the drive of MuJoCo."""
    library: Any = import_module("mujoco")
    program: Any = import_module("bench_mujoco")
    car = Car()
    models: dict[str, tuple[Any, Any, Any]] = {}

    def drive(name: str, steps: int) -> float:
        if name not in models:
            built = program.Model(car.vehicle, car.manoeuvre(name), STEP, integrator="Euler", jac="dense")
            models[name] = (built, *compiled_callback(program, car, built))
        model, callback, count = models[name]
        library.set_mjcb_control(callback.ctypes)
        for driven in (WARMING_STEPS, car.steps(name, steps)):
            library.mj_resetData(model.m, model.d)
            model.set_state(*car.start(name))
            model.m.eq_data[model.eq_rack, 0] = 0.0
            count[0] = 0
            begun = time.thread_time()
            library.mj_step(model.m, model.d, driven)
            elapsed = time.thread_time() - begun
        library.set_mjcb_control(None)
        if count[0] != driven:
            raise RuntimeError("the callback was not called once a step")
        return elapsed / driven

    return drive


def compiled_callback(program: Any, car: Car, model: Any) -> tuple[Any, Any]:
    """Return the callback that sets tyre forces and rack, and the array that counts its calls."""
    numba: Any = import_module("numba")
    numpy: Any = import_module("numpy")
    types: Any = import_module("numba.core.types")
    extending: Any = import_module("numba.extending")
    common: Any = import_module("common")

    @extending.intrinsic  # type: ignore[untyped-decorator]
    def pointer(_typing: Any, address: Any) -> Any:
        def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            ir: Any = import_module("llvmlite.ir")
            return builder.inttoptr(arguments[0], ir.IntType(8).as_pointer())

        return types.voidptr(address), generate

    data, vehicle, manoeuvre = model.d, car.vehicle, car.manoeuvre(model.sc["name"])
    count = numpy.zeros(1)
    xipos, xmat, cvel = data.xipos.ctypes.data, data.xmat.ctypes.data, data.cvel.ctypes.data
    centre, applied, loads = data.subtree_com.ctypes.data, data.xfrc_applied.ctypes.data, model.fz.ctypes.data
    equality, calls = model.m.eq_data.ctypes.data, count.ctypes.data
    bodies, equalities, columns = int(model.m.nbody), int(model.m.neq), int(model.m.eq_data.shape[1])
    rack_row, wheels = int(model.eq_rack), model.wb
    tyre, cornering, road, rack = vehicle.tyre, vehicle.calpha, manoeuvre["road"], manoeuvre["rack"]
    steers = bool(rack[2] != 0.0)
    tyre_all, rack_disp, carray = program.tyre_all, common.rack_disp, numba.carray
    real = numpy.float64

    @numba.cfunc("void(voidptr, voidptr)")  # type: ignore[untyped-decorator]
    def callback(_model: Any, _data: Any) -> None:
        done = carray(pointer(calls), (1,), real)
        done[0] += 1.0
        if steers:
            # The constraints of this step stand already: what is set here holds in the next one.
            rows = carray(pointer(equality), (equalities, columns), real)
            rows[rack_row, 0] = rack_disp((done[0] + 1.0) * STEP, rack)
        tyre_all(
            carray(pointer(xipos), (bodies, 3), real),
            carray(pointer(xmat), (bodies, 9), real),
            carray(pointer(cvel), (bodies, 6), real),
            carray(pointer(centre), (bodies, 3), real)[1],
            wheels,
            tyre,
            cornering,
            road,
            carray(pointer(applied), (bodies, 6), real),
            carray(pointer(loads), (4,), real),
        )

    return callback, count


def exudyn() -> Drive:
    """Return the drive of Exudyn."""
    program: Any = import_module("bench_exudyn")
    # The program stamps the beginning and the end of its function between steps.
    program.time = SimpleNamespace(perf_counter=time.thread_time)
    car = Car()

    def drive(name: str, steps: int) -> float:
        model = program.Model(car.vehicle, car.manoeuvre(name), *car.start(name))
        model.solve(STEP, car.steps(name, steps) * STEP)
        begun, ended = model.stamps[0::2], model.stamps[1::2]
        between = sum(later - earlier for later, earlier in zip(begun[1:], ended[:-1], strict=True))
        return float(between) / (len(begun) - 1)

    return drive


PEERS: dict[str, Callable[[], Drive]] = {"prototype": prototype, "mujoco": mujoco, "exudyn": exudyn}


def serve(drive: Drive, answers: TextIO) -> None:
    """Answer every request until standard input ends."""
    for line in sys.stdin:
        name, steps = line.split()
        print(json.dumps({"us": drive(name, int(steps)) * 1e6}), file=answers, flush=True)


def main(name: str, folder: str) -> None:
    """Drive until there are no more requests; tell why if that is not possible."""
    # The programs and their libraries print as they like: answers have a descriptor of their own.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.path.insert(0, folder)
    try:
        serve(PEERS[name](), answers)
    except Exception as problem:
        print(json.dumps({"reason": f"{type(problem).__name__}: {problem}"}), file=answers, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
