"""``mastd vehicle settle`` and ``linearise``: the car at rest, and its modes."""

from __future__ import annotations

import argparse
import csv
import json
import math
from pathlib import Path

from mastd.arrays import FloatArray
from mastd.commands.vehicle.options import deliver
from mastd.commands.vehicle.text import fixed, table_text
from mastd.errors import UsageError
from mastd.formats.core.columns import write_columns
from mastd.record.plain import plain
from mastd.roads.ground import Ground
from mastd.vehicle.analysis.linearise import Linearisation, Mode, linearise
from mastd.vehicle.blocks.rotation import roll_pitch_yaw
from mastd.vehicle.equilibrium.dense_equations import System
from mastd.vehicle.equilibrium.settle import Equilibrium, settle
from mastd.vehicle.model.definition import Model
from mastd.vehicle.model.library import find
from mastd.vehicle.state.motion import State, design_state

POSE_COLUMNS = ("x_m", "y_m", "z_m", "roll_rad", "pitch_rad", "yaw_rad")


def run_settle(arguments: argparse.Namespace, given: dict[str, float]) -> int:
    """Print, write or both: wheel loads and pose of the chassis at rest on flat ground."""
    model = find(arguments.vehicle)
    state, found_loads = _tied_down(model) if arguments.restrained else _standing(model)
    pose = [*state.position[0].tolist(), *roll_pitch_yaw(state.attitude[0]).tolist()]
    loads = dict(zip((wheel.name for wheel in model.wheels), found_loads.tolist(), strict=True))
    if arguments.target:
        names = (*POSE_COLUMNS, *(f"fz_{wheel}_N" for wheel in loads))

        def write(path: Path) -> None:
            with path.open("w", encoding="utf-8", newline="") as file:
                write_columns(file, names, [[*pose, *loads.values()]])

        deliver(arguments.target, write)
    if arguments.json:
        print(json.dumps(plain({"wheel_loads_n": loads, "chassis_pose": pose}), allow_nan=False))
        return 0
    print(f"{model.name} at rest{', tied down' if arguments.restrained else ''}")
    for wheel, load in loads.items():
        print(f"load {wheel:9}{fixed(load, 3):>12} N")
    for name, value in zip(("x", "y", "z"), pose[:3], strict=True):
        print(f"{name:14}{fixed(value * 1e3, 4):>12} mm")
    for name, value in zip(("roll", "pitch", "yaw"), pose[3:], strict=True):
        print(f"{name:14}{fixed(math.degrees(value), 6):>12} deg")
    return 0


def run_linearise(arguments: argparse.Namespace, given: dict[str, float]) -> int:
    """Print, write or both: the modes about the equilibrium."""
    model = find(arguments.vehicle)
    system = System(model)
    found = linearise(
        system,
        _settled(system).state,
        None,
        Ground.flat(),
        speed=given.get("speed", 0.0),
        undamped=System if arguments.undamped else None,
    )
    if arguments.target:
        deliver(arguments.target, lambda path: _write_modes(path, found))
    if arguments.json:
        document = {"modes": _entries(found.modes), "decays": _entries(found.decays), "rigid": found.rigid}
        print(json.dumps(plain(document), allow_nan=False))
        return 0
    rows = [
        [fixed(mode.frequency_hz, 4), fixed(mode.damping, 4), mode.name]
        for mode in (*found.modes, *found.decays)
    ]
    print(table_text(("frequency, Hz", "damping", "mode"), rows))
    return 0


def _standing(model: Model) -> tuple[State, FloatArray]:
    found = _settled(System(model))
    return found.state, found.wheel_loads


def _tied_down(model: Model) -> tuple[State, FloatArray]:
    """Return state and wheel loads under the model's tie-downs, pulled to their preloads."""
    if not model.tie_downs and not model.chocks:
        raise UsageError(f"--restrained: {model.name} has no tie_downs and no chocks")
    from mastd.vehicle.simulation.simulation import Simulation

    simulation = Simulation(model, restrained=True)
    simulation.start(0.0)
    return simulation.state, simulation.sample().wheel_loads[0]


def _settled(system: System) -> Equilibrium:
    return settle(system, design_state(system.model), None, Ground.flat())


def _entries(modes: tuple[Mode, ...]) -> list[dict[str, object]]:
    return [
        {
            "frequency_hz": mode.frequency_hz,
            "damping": mode.damping,
            "name": mode.name,
            "eigenvalue": [mode.eigenvalue.real, mode.eigenvalue.imag],
        }
        for mode in modes
    ]


def _write_modes(path: Path, found: Linearisation) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("frequency_hz", "damping", "name"))
        for mode in (*found.modes, *found.decays):
            writer.writerow((repr(mode.frequency_hz), repr(mode.damping), mode.name))
