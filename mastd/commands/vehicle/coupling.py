"""``mastd vehicle coupling``: how stable the loop of a vehicle on the table is."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Final

from mastd.errors import GroundError, UsageError

if TYPE_CHECKING:
    from mastd.commands import Subparsers
    from mastd.settings.table.table import TableSettings
    from mastd.vehicle.analysis.coupling import Margins, Table

PERIOD: Final = 1e-3
DAMPING: Final = 0.02
"""Damping ratio of the oil columns without the drive's own damping: leakage and friction of the pistons."""
_TEXT = "vehicles on the table: stability of the loop with a wrench delayed by one period, and its margins"
_HEADINGS = (
    "vehicle",
    "table",
    "largest |z|",
    "at Hz",
    "wrench times",
    "periods late",
    "table mass",
    "tyre stiffness",
    "min. damping",
)


def add_coupling_parser(manoeuvres: Subparsers) -> None:
    """Add the parser of ``coupling``."""
    parser = manoeuvres.add_parser("coupling", help=_TEXT, description=_TEXT[0].upper() + _TEXT[1:] + ".")
    parser.add_argument(
        "--vehicle",
        metavar="NAME|FILE",
        help="vehicle settings (default: each shipped one that the table is large enough for)",
    )
    parser.add_argument(
        "--table", metavar="FILE", default="table", help="table settings (default: the starter table)"
    )
    parser.add_argument(
        "--unrestrained", action="store_true", help="without the vehicle's tie_downs and chocks"
    )
    parser.add_argument("--json", action="store_true", help="print the result as one JSON document")
    parser.set_defaults(carry_out=run_coupling)


def run_coupling(arguments: argparse.Namespace) -> int:
    """Print the ``coupling.margins`` on the table's oil columns and on a free table.

    Raises UsageError, SettingsError, GroundError or EquilibriumError for a vehicle that cannot stand there.
    """
    from mastd.settings.core import starter
    from mastd.settings.core.loader import load
    from mastd.settings.table.table import TableSettings

    settings = load(starter.find("table", arguments.table), TableSettings)
    chosen = [arguments.vehicle] if arguments.vehicle else starter.names("vehicle")
    shown = sys.stderr.isatty() and not arguments.json
    found: dict[str, dict[str, Margins]] = {}
    for name in chosen:
        if shown:
            print(f"\r\x1b[K{name} …", end="", file=sys.stderr, flush=True)
        try:
            found[name] = _margins(name, settings, restrained=not arguments.unrestrained)
        except GroundError:
            if arguments.vehicle:
                raise
    if shown:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    if not found:
        raise UsageError(f"{settings.name}: no shipped vehicle fits on it; name another one")
    print(_document(found, settings) if arguments.json else _page(found, settings))
    return 0


def _margins(name: str, settings: TableSettings, *, restrained: bool) -> dict[str, Margins]:
    import numpy as np

    from mastd.settings.core import starter
    from mastd.settings.table.payload import VehiclePayload
    from mastd.vehicle.analysis.coupling import margins
    from mastd.vehicle.analysis.on_plane import linear_vehicle
    from mastd.vehicle.payload.load import model_on_table, position_on_table, vehicle_on_table
    from mastd.vehicle.simulation.simulation import Simulation

    file = str(starter.find("vehicle", name))
    payload = VehiclePayload(kind="vehicle", vehicle=file, restrained=None if restrained else False)
    # Refuses what does not stand on it.
    vehicle_on_table(payload, settings, PERIOD)
    model = model_on_table(payload, settings)
    simulation = Simulation(model, step=PERIOD, restrained=restrained)
    simulation.start(0.0)
    linear = linear_vehicle(simulation, np.array(position_on_table(payload, settings, model)))
    return {kind: margins(linear, table) for kind, table in _tables(settings).items()}


def _tables(settings: TableSettings) -> dict[str, Table]:
    """Return the table on its oil columns, and without them."""
    import numpy as np

    from mastd.dynamics.oil_flow import oil_springs
    from mastd.dynamics.table_model import TableModel
    from mastd.kinematics.geometry import Geometry
    from mastd.kinematics.jacobian import geometric_jacobian
    from mastd.settings.table.payload import NoPayload
    from mastd.vehicle.analysis.coupling import Table

    geometry = Geometry.from_settings(settings)
    rows = np.empty((geometry.actuators, 6))
    geometric_jacobian(geometry.legs, np.zeros(6), rows)
    stiffness = rows.T @ (oil_springs(settings)[:, None] * rows)
    mass = TableModel.from_settings(settings, NoPayload(kind="none")).mass_matrix
    return {
        "oil columns": Table(mass, stiffness, DAMPING, PERIOD),
        "free": Table(mass, np.zeros((6, 6)), 0.0, PERIOD),
    }


def _document(found: dict[str, dict[str, Margins]], settings: TableSettings) -> str:
    from dataclasses import asdict

    from mastd.record.plain import plain

    vehicles = {
        name: {kind.replace(" ", "_"): asdict(one) for kind, one in kinds.items()}
        for name, kinds in found.items()
    }
    document = {"table": settings.name, "period_s": PERIOD, "damping": DAMPING, "vehicles": vehicles}
    return json.dumps(plain(document), allow_nan=False)


def _page(found: dict[str, dict[str, Margins]], settings: TableSettings) -> str:
    from mastd.commands.vehicle.text import table_text
    from mastd.vehicle.analysis.coupling import FARTHEST, MAX_PERIODS

    rows = []
    for name, kinds in found.items():
        for kind, one in kinds.items():
            rows.append(
                [
                    name,
                    kind,
                    f"{one.largest:.6f}",
                    f"{one.frequency:.1f}",
                    _limit(one.gain, f"> {FARTHEST:.0f}"),
                    f"> {MAX_PERIODS}" if one.periods is None else str(one.periods),
                    _limit(None if one.mass is None else 100.0 * one.mass, f"< {100.0 / FARTHEST:g}", " %"),
                    _limit(one.stiffness, f"> {FARTHEST:.0f}"),
                    "-" if one.damping is None else f"{100.0 * one.damping:.2g} %",
                ]
            )
    head = f"{settings.name}: wrench {1e3 * PERIOD:g} ms late (one period), oil damped by {DAMPING:.0%}"
    legend = (
        "largest |z| below 1: stable. The other columns are the stability limits, one parameter at a time:\n"
        "factor on the wrench, delay in periods (1 in the loop), factor on the table's mass, factor on the\n"
        "tyre stiffness, minimum damping of the oil columns."
    )
    return f"{head}\n{table_text(_HEADINGS, rows)}\n{legend}"


def _limit(value: float | None, none: str, unit: str = "") -> str:
    return f"{none}{unit}" if value is None else f"{value:.3g}{unit}"
