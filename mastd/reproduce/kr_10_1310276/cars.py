"""KR 10-1310276 on a car: the policies in the J-turn, and in braking until they fail.

The car of Kang 2014's comparison on independent coordinates of Kang and Yoon. Its fastest coordinate is the
spin of a wheel, always: the policy of claim 7 updates four columns of all, which is enough while tyres slip
more and more stiffly at lower speed, and no better than none for everything else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.reproduce.item import Item, answer, at_most
from mastd.reproduce.kang_2014.measures import position_error
from mastd.settings.vehicle.solver_names import POLICIES, JacobianPolicy
from mastd.vehicle.drivers.controls import no_controls
from mastd.vehicle.manoeuvres.base import jturn, step_count
from mastd.vehicle.model.definition import Model
from mastd.vehicle.model.library import find
from mastd.vehicle.simulation.simulation import Simulation
from mastd.vehicle.solver.choice import Solver
from mastd.vehicle.state.trace import VELOCITY, Trace

VEHICLE: Final = "benchmark_sedan"
STEPS: Final = (1e-3, 5e-3)
NEGLIGIBLE: Final = 0.1
"""As in ``tables``: a tenth of implicit Euler's own error, in the step that is usual here."""
_REFERENCE_STEP: Final = 5e-4
_DEPARTED: Final = 1e-3

_BRAKE_TORQUE: Final = -600.0
_BRAKE_START: Final = 0.3
_BRAKE_DURATION: Final = 3.4
_BRAKE_STEP: Final = 5e-3
_ANOTHER_SPIN: Final = 1.0


def items() -> list[Item]:
    """Return the comparisons on a car; they take a few seconds."""
    model = find(VEHICLE)
    return [*jturn_items(model, STEPS, jturn(model).duration), *braking_items(model)]


@dataclass(frozen=True, eq=False)
class Drive:
    """A run under a policy, as far as it went well."""

    trace: Trace
    done: int
    """Steps before the first one that failed, or gave no number."""

    @property
    def whole(self) -> bool:
        """Whether all went well."""
        return self.done == len(self.trace.time)


def drive(model: Model, rows: FloatArray, step: float, speed: float, solver: Solver) -> Drive:
    """Return the run on rows of inputs (n, width) at the ends of all steps."""
    simulation = Simulation(model, step=step, solver=solver)
    simulation.start(speed)
    trace = simulation.run(rows)
    failed = trace.first_unconverged
    return Drive(trace, len(trace.time) if failed is None else failed)


def _partly(policy: JacobianPolicy) -> Solver:
    return Solver("partial-jacobian", policy=policy)


def _times(step: float, duration: float) -> FloatArray:
    times: FloatArray = step * np.arange(1, step_count(duration, step) + 1, dtype=np.float64)
    return times


def jturn_items(model: Model, steps: tuple[float, ...], duration: float) -> list[Item]:
    """Return errors in the J-turn from 60 km/h, beside Runge–Kutta with steps of half a millisecond."""
    manoeuvre = jturn(model)
    inputs = manoeuvre.controls(_times(_REFERENCE_STEP, duration)).rows(model)
    reference = drive(model, inputs, _REFERENCE_STEP, manoeuvre.speed, Solver("independent")).trace
    found = []
    for step in steps:
        rows = manoeuvre.controls(_times(step, duration)).rows(model)
        where = f"J-turn from 60 km/h, steps of {step * 1e3:g} ms"
        prefix = f"003.jturn.{step * 1e3:g}ms"
        full = drive(model, rows, step, manoeuvre.speed, _partly("full"))
        own = position_error(full.trace, reference)
        what = f"largest error of implicit Euler itself, full, {where}"
        found.append(answer(f"{prefix}.full.error_m", what, own, "m", within=full.whole))
        for policy in POLICIES:
            if policy != "full":
                other = drive(model, rows, step, manoeuvre.speed, _partly(policy))
                claimed = policy == "round-robin" and step == min(steps)
                found += _beside(f"{prefix}.{policy}", f"{policy}, {where}", other, full, own, claimed)
    return found


def _beside(key: str, where: str, other: Drive, full: Drive, own: float, claimed: bool) -> list[Item]:
    done = min(other.done, full.done)
    apart = np.linalg.norm(other.trace.chassis[:done, :3] - full.trace.chassis[:done, :3], axis=1)
    ratio = float(apart.max()) / own
    what = f"largest distance from full update over implicit Euler's own error, {where}"
    if claimed:
        text = f"paragraph 10: {what}: negligible"
        found = [at_most(f"{key}.over_error", text, 0.0, ratio, "1", bound=NEGLIGIBLE)]
    else:
        judged = "negligible" if ratio <= NEGLIGIBLE else "not negligible"
        found = [answer(f"{key}.over_error", f"{what}: {judged}", ratio, "1")]
    late = np.nonzero(apart > _DEPARTED)[0]
    if len(late):
        text = f"step at which the car is {_DEPARTED * 1e3:g} mm away from full update, {where}"
        found.append(answer(f"{key}.departs_at_step", text, int(late[0]) + 1, "1", within=not claimed))
    return found


def braking_items(model: Model) -> list[Item]:
    """Return when wheels under a braking torque turn otherwise than under full update.

    The rate λ at which slip decays goes as 1 / v, and λ(60 km/h) is 400 / s. With the columns of t = 0 a step
    multiplies slip by 1 − h λ(v) / (1 + h λ(60 km/h)), in steps of 5 ms below −1 under 20 km/h.
    """
    times = _times(_BRAKE_STEP, _BRAKE_DURATION)
    controls = no_controls(model, times)
    controls.drive_torque[times > _BRAKE_START] = _BRAKE_TORQUE
    rows = controls.rows(model)
    speed = jturn(model).speed
    where = f"braked from 60 km/h by {-_BRAKE_TORQUE:g} N m a wheel, steps of {_BRAKE_STEP * 1e3:g} ms"
    full = drive(model, rows, _BRAKE_STEP, speed, _partly("full"))
    last = float(full.trace.chassis[-1, VELOCITY.start])
    found = [
        answer(
            "003.braking.full.last_speed_ms", f"speed reached, full, {where}", last, "m/s", within=full.whole
        )
    ]
    for policy in POLICIES:
        if policy == "full":
            continue
        other = drive(model, rows, _BRAKE_STEP, speed, _partly(policy))
        done = min(other.done, full.done)
        apart = np.abs(other.trace.spin[:done] - full.trace.spin[:done]).max(axis=1)
        late = np.nonzero(~(apart < _ANOTHER_SPIN))[0]
        fails = policy == "none"
        if len(late):
            at = float(full.trace.chassis[late[0], VELOCITY.start])
            what = (
                f"speed at which a wheel turns {_ANOTHER_SPIN:g} rad/s otherwise than full, {policy}, {where}"
            )
            found.append(answer(f"003.braking.{policy}.fails_at_ms", what, at, "m/s", within=fails))
        else:
            what = f"largest difference of a wheel's spin from full, {policy}, {where}"
            largest = float(apart.max())
            found.append(answer(f"003.braking.{policy}.spin_rads", what, largest, "rad/s", within=not fails))
    return found
