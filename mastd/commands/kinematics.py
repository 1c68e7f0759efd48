"""``mastd fk`` and ``mastd ik``: lengths → pose and pose → lengths, single or by rows of a CSV file."""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mastd.arrays import FloatArray
    from mastd.commands import Subparsers
    from mastd.kinematics.forward import ForwardSolution, ForwardSolver
    from mastd.kinematics.geometry import Geometry
    from mastd.units import Dimension


POSE_NAMES = ("x", "y", "z", "roll", "pitch", "yaw")
POSE_COLUMNS = ("x_m", "y_m", "z_m", "roll_rad", "pitch_rad", "yaw_rad")

# argparse takes what looks like a negative number for a value, not for an option; here it may have a unit.
_NEGATIVE_QUANTITY = re.compile(r"-\.?[0-9]")


def add_parsers(subparsers: Subparsers) -> None:
    """Add the parsers of ``fk`` and ``ik``."""
    forward = subparsers.add_parser(
        "fk", help="forward kinematics: actuator lengths to pose", description=_FORWARD
    )
    forward.add_argument(
        "quantities", metavar="LENGTH", nargs="*", help="length of each actuator, such as 1.2m"
    )
    forward.add_argument(
        "--method",
        choices=("observer", "second-order", "newton"),
        default="observer",
        help="solver (default: observer)",
    )
    forward.set_defaults(run=run_forward)
    inverse = subparsers.add_parser(
        "ik", help="inverse kinematics: pose to actuator lengths", description=_INVERSE
    )
    inverse.add_argument(
        "quantities", metavar="QUANTITY", nargs="*", help="x y z roll pitch yaw, such as 5mm 0mm -3mm 0.5deg"
    )
    inverse.set_defaults(run=run_inverse)
    for parser in (forward, inverse):
        parser._negative_number_matcher = _NEGATIVE_QUANTITY
        parser.add_argument(
            "--point", choices=("C", "T"), default="C", help="pose of the centre C or of the control point T"
        )
        parser.add_argument(
            "--table", metavar="FILE", default="table", help="table settings (default: the starter table)"
        )
        parser.add_argument("--in", dest="source", metavar="FILE.csv", type=Path, help="read rows, SI units")
        parser.add_argument(
            "--out", dest="target", metavar="FILE.csv", type=Path, help="write rows, SI units"
        )
        parser.add_argument("--json", action="store_true", help="print the result as one JSON document")


_FORWARD = (
    "Find the pose for these actuator lengths. Exit code 2 if there is none near neutral. "
    "Columns of --in: length_1_m, length_2_m, …; of --out: x_m … yaw_rad, converged, updates, residual_m."
)
_INVERSE = (
    "Find the actuator lengths at a pose relative to neutral; missing last quantities are zero. "
    "Columns of --in: x_m, y_m, z_m, roll_rad, pitch_rad, yaw_rad; of --out: length_1_m, length_2_m, …"
)


def run_forward(arguments: argparse.Namespace) -> int:
    """Solve for one pose or for the rows of a file; return 0, or 2 if a row did not converge."""
    from mastd.errors import KinematicsError
    from mastd.kinematics.control_point import pose_at_point
    from mastd.kinematics.forward import ForwardSolution

    geometry = _geometry(arguments.table)
    solver = _solver(geometry, arguments.method)
    columns = _length_columns(geometry.actuators)
    solutions = []
    for lengths in _rows(arguments, columns, ["length"] * geometry.actuators, geometry.actuators):
        solution = solver.solve(lengths)
        if solution.pose is not None and arguments.point == "T":
            pose = pose_at_point(solution.pose, geometry.control_point)
            solution = ForwardSolution(pose, True, solution.updates, solution.residual)
        solutions.append(solution)
    table: list[list[float | int | None]] = [
        [*_pose_values(solution), int(solution.converged), solution.updates, _finite(solution.residual)]
        for solution in solutions
    ]
    names = (*POSE_COLUMNS, "converged", "updates", "residual_m")
    documents: list[dict[str, object]] = [
        {
            "pose": _pose_values(solution) if solution.converged else None,
            "converged": solution.converged,
            "updates": solution.updates,
            "residual_m": _finite(solution.residual),
        }
        for solution in solutions
    ]
    single = None if arguments.source else documents[0]
    _deliver(arguments, names, table, documents if single is None else single)
    if single is not None and not arguments.json and not arguments.target:
        _print_solution(solutions[0])
    return 0 if all(solution.converged for solution in solutions) else KinematicsError.exit_code


def run_inverse(arguments: argparse.Namespace) -> int:
    """Compute the lengths at one pose or at the rows of a file; return 0."""
    import numpy as np

    from mastd.errors import UsageError
    from mastd.kinematics.control_point import pose_of_centre
    from mastd.kinematics.workspace import lengths_at

    geometry = _geometry(arguments.table)
    dimensions = ["length"] * 3 + ["angle"] * 3
    poses = _rows(arguments, POSE_COLUMNS, dimensions, 0)
    if arguments.point == "T":
        poses = np.array([pose_of_centre(pose, geometry.control_point) for pose in poses])
    lengths = lengths_at(geometry, poses)
    if not np.all(np.isfinite(lengths)):
        row = int(np.flatnonzero(~np.isfinite(lengths).all(axis=1))[0])
        raise UsageError(f"pose {row + 1}: too far from neutral: the lengths overflow")
    table: list[list[float | int | None]] = [list(row) for row in lengths.tolist()]
    documents = [{"lengths_m": row} for row in lengths.tolist()]
    document = documents if arguments.source else documents[0]
    _deliver(arguments, _length_columns(geometry.actuators), table, document)
    if not (arguments.source or arguments.json or arguments.target):
        for actuator, length in enumerate(lengths[0]):
            beyond = not geometry.shortest_lengths[actuator] <= length <= geometry.longest_lengths[actuator]
            note = "  beyond the stroke" if beyond else ""
            print(f"actuator {actuator + 1}  {length * 1e3:12.6f} mm{note}")
    return 0


def _geometry(table: str) -> Geometry:
    from mastd.kinematics.geometry import Geometry
    from mastd.settings.core.loader import load
    from mastd.settings.core.starter import find
    from mastd.settings.table.table import TableSettings

    return Geometry.from_settings(load(find("table", table), TableSettings))


def _solver(geometry: Geometry, method: str) -> ForwardSolver:
    from mastd.bench.kinematics.newton import Newton
    from mastd.bench.kinematics.second_order import SecondOrderObserver
    from mastd.errors import KinematicsError
    from mastd.kinematics.forward import Observer

    if method == "newton":
        return Newton(geometry)
    try:
        return SecondOrderObserver(geometry) if method == "second-order" else Observer(geometry)
    except KinematicsError as error:
        raise KinematicsError(f"{error}; use --method newton") from error


def _length_columns(actuators: int) -> tuple[str, ...]:
    return tuple(f"length_{actuator + 1}_m" for actuator in range(actuators))


def _rows(
    arguments: argparse.Namespace, columns: tuple[str, ...], dimensions: list[str], minimum: int
) -> FloatArray:
    """Return the rows of the file, or the one row of the command line, in SI."""
    import numpy as np

    from mastd.errors import UsageError
    from mastd.formats.core.columns import read_columns

    texts = arguments.quantities
    if arguments.source:
        if texts:
            raise UsageError("give quantities or --in FILE.csv, not both")
        return read_columns(arguments.source, columns)
    if not max(minimum, 1) <= len(texts) <= len(columns):
        names = POSE_NAMES if columns == POSE_COLUMNS else columns
        wanted = f"{len(columns)} quantities expected ({' '.join(names)})"
        raise UsageError(f"{len(texts)} quantities given, {wanted}, or --in FILE.csv")
    row = np.zeros(len(columns))
    problems = []
    for index, (text, name, kind) in enumerate(zip(texts, columns, dimensions, strict=False)):
        try:
            row[index] = _quantity(text, kind)
        except ValueError as error:
            problems.append(f"{name.rsplit('_', 1)[0]}: {error}")
    if problems:
        raise UsageError("\n".join(problems))
    return row[None, :]


def _quantity(text: str, kind: str) -> float:
    from mastd import units

    dimension: Dimension = units.LENGTH if kind == "length" else units.ANGLE
    return units.parse(text, dimension)


def _deliver(
    arguments: argparse.Namespace,
    names: tuple[str, ...],
    table: list[list[float | int | None]],
    document: object,
) -> None:
    """Write the file, or print the JSON document or the rows."""
    from mastd.errors import UsageError
    from mastd.formats.core.columns import write_columns

    if arguments.target:
        try:
            with arguments.target.open("w", encoding="utf-8", newline="") as file:
                write_columns(file, names, table)
        except OSError as error:
            raise UsageError(f"{arguments.target}: cannot be written: {error.strerror}") from error
    if arguments.json:
        print(json.dumps(document, allow_nan=False))
    elif arguments.source and not arguments.target:
        write_columns(sys.stdout, names, table)


def _pose_values(solution: ForwardSolution) -> list[float | int | None]:
    if solution.pose is None:
        return [None] * 6
    return [float(value) for value in solution.pose]


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _print_solution(solution: ForwardSolution) -> None:
    if solution.pose is None:
        print(f"no pose found after {solution.updates} updates, residual {solution.residual * 1e3:.6g} mm")
        return
    for name, value in zip(POSE_NAMES, solution.pose, strict=True):
        if name in {"x", "y", "z"}:
            print(f"{name:6}{value * 1e3:12.6f} mm")
        else:
            print(f"{name:6}{math.degrees(value):12.6f} deg")
    print(f"{solution.updates} updates, residual {solution.residual * 1e6:.6g} um")
