"""``hil-sim rig vehicle``: a vehicle of this package on the table, simulated outside the daemon.

In lockstep it gives, to rounding, what the daemon's own vehicle gives: the same vehicle takes the same steps
on the same poses. So it shows that a vehicle may be anywhere, and what a vehicle model of one's own has to
do: read ``smoothed_pose.*``, stand still in OFF, otherwise go on by the periods of the plant's time, and give
the wrench on the table at C, in the table's axes, weight included.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from hil_sim.rigs.program import PlantSteps, add_options, serve
from mastd.errors import UsageError
from mastd.settings.core.axes import AXES

if TYPE_CHECKING:
    from mastd.arrays import FloatArray
    from mastd.settings.table.payload import VehiclePayload
    from mastd.vehicle.payload.on_table import VehicleOnTable
    from mastd.wire.rigs.client import RigClient
    from mastd.wire.rigs.client_session import MotionSeen

READS: Final = tuple(f"smoothed_pose.{axis}" for axis in AXES)
PERIOD: Final = 1e-3
"""Of the loop, s, as it usually is."""


class Riding:
    """A vehicle that is put on the table in OFF, and follows it from then on."""

    def __init__(self, vehicle: VehicleOnTable, period: float) -> None:
        self._vehicle = vehicle
        self._steps = PlantSteps(period)
        self._lain = False

    def answer(self, motion: MotionSeen) -> FloatArray:
        """Return the wrench."""
        steps, pose = self._steps.since(motion.time), motion.values.copy()
        if motion.state == "OFF" or not self._lain:
            self._vehicle.lie(pose)
            self._lain = True
        else:
            self._vehicle.follow(pose, steps)
        return self._vehicle.wrench

    def line(self) -> str:
        """Return the forces on the table."""
        fx, fy, fz = (1e-3 * force for force in self._vehicle.wrench[:3])
        return f"{self._vehicle.model.name}: on the table {fx:+6.2f} {fy:+6.2f} {fz:+7.2f} kN"


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the parser of ``vehicle``."""
    text = "a vehicle on the table, simulated outside the daemon"
    parser = subparsers.add_parser("vehicle", help=text, description=f"{text[0].upper()}{text[1:]}.")
    parser.add_argument("vehicle", nargs="?", metavar="VEHICLE", help="file, or name of a starter vehicle")
    parser.add_argument(
        "--profile", metavar="PROFILE", help="use vehicle, position and restraints of its payload"
    )
    parser.add_argument(
        "--position",
        nargs=2,
        metavar=("X", "Y"),
        help="of the vehicle's origin (its wheels about the middle)",
    )
    parser.add_argument("--free", action="store_true", help="without its tie-downs and chocks")
    parser.add_argument(
        "--table", metavar="FILE", default="table", help="table settings (default: the starter table)"
    )
    add_options(parser, "external_vehicle")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Ride on the table until told to end; return the exit code."""
    from mastd.settings.core.loader import load
    from mastd.settings.core.starter import find
    from mastd.settings.rigs.channels import VEHICLE
    from mastd.settings.table.table import TableSettings
    from mastd.vehicle.payload.load import vehicle_on_table

    payload = _payload(arguments)
    table = load(find("table", arguments.table), TableSettings)
    # Made before joining: it takes a while, and the table does not wait for so long.
    vehicle = vehicle_on_table(payload, table, PERIOD)

    def law(rig: RigClient) -> Riding:
        if rig.period == PERIOD:
            return Riding(vehicle, PERIOD)
        return Riding(vehicle_on_table(payload, table, rig.period), rig.period)

    return serve(arguments, VEHICLE, READS, law)


def _payload(arguments: argparse.Namespace) -> VehiclePayload:
    from mastd.commands.quantities import quantity
    from mastd.settings.core.loader import load
    from mastd.settings.core.starter import find
    from mastd.settings.profile.profile import ProfileSettings
    from mastd.settings.table.payload import VehiclePayload
    from mastd.units import LENGTH

    if (arguments.vehicle is None) == (arguments.profile is None):
        raise UsageError("expected either VEHICLE or --profile")
    if arguments.profile is not None:
        if arguments.position or arguments.free:
            raise UsageError("--position and --free go with VEHICLE; a profile has its own")
        payload = load(find("profile", arguments.profile), ProfileSettings).payload
        if not isinstance(payload, VehiclePayload):
            raise UsageError(f"{arguments.profile}: its payload is of kind {payload.kind}, expected vehicle")
        return payload
    position = [quantity("--position", text, LENGTH) for text in arguments.position or ()]
    return VehiclePayload(
        kind="vehicle",
        vehicle=str(find("vehicle", arguments.vehicle)),
        position=(position[0], position[1]) if position else None,
        restrained=False if arguments.free else None,
    )
