"""``mastd vehicle fmu``: a vehicle on the table as a co-simulation FMU."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from mastd.errors import UsageError

if TYPE_CHECKING:
    from mastd.commands import Subparsers

_TEXT = "write a vehicle on the table as a co-simulation FMU: pose in, wrench out (docs/fmi.md)"


def add_fmu_parser(manoeuvres: Subparsers) -> None:
    """Add the parser of ``fmu``."""
    parser = manoeuvres.add_parser("fmu", help=_TEXT, description=_TEXT[0].upper() + _TEXT[1:] + ".")
    parser.add_argument("vehicle", metavar="NAME|FILE", help="vehicle settings")
    parser.add_argument(
        "-o", "--out", dest="target", type=Path, metavar="FILE.fmu", required=True, help="file to write"
    )
    parser.add_argument("--fmi", choices=("2", "3"), default="2", help="version of FMI (default: 2)")
    parser.add_argument(
        "--table", metavar="FILE", default="table", help="table settings (default: the starter table)"
    )
    parser.add_argument(
        "--unrestrained", action="store_true", help="without the vehicle's tie_downs and chocks"
    )
    parser.set_defaults(carry_out=run_fmu)


def run_fmu(arguments: argparse.Namespace) -> int:
    """Write the FMU and print its description; return 0.

    Raises UsageError, SettingsError, GroundError or EquilibriumError for a vehicle that cannot stand on the
    table, or a file that cannot be written.
    """
    from mastd.settings.core import starter
    from mastd.settings.core.loader import load
    from mastd.settings.table.payload import VehiclePayload
    from mastd.settings.table.table import TableSettings
    from mastd.vehicle.fmu.export import STEP, write_vehicle_fmu

    if arguments.target.suffix != ".fmu":
        raise UsageError(f"{arguments.target}: an FMU's name ends in .fmu")
    vehicle = str(starter.find("vehicle", arguments.vehicle))
    payload = VehiclePayload(
        kind="vehicle", vehicle=vehicle, restrained=False if arguments.unrestrained else None
    )
    table = load(starter.find("table", arguments.table), TableSettings)
    count = write_vehicle_fmu(arguments.target, payload, table, int(arguments.fmi))
    print(f"{arguments.target}: FMI {arguments.fmi}.0, {count} variables, steps of {1e3 * STEP:g} ms")
    return 0
