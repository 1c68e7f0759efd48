"""``hil-sim plant``: the simulated plant as a process, waiting for a daemon at its address."""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import nullcontext
from pathlib import Path

from hil_sim.faults import describe
from mastd import units
from mastd.commands.plant_options import seed
from mastd.wire.common.address import check_address
from mastd.wire.plant.hello import MODES
from mastd.wire.plant.provider import PlantRequest, RigidPayload, rigid_payload

DEFAULT_ADDRESS = "tcp://127.0.0.1:5570"


def add_parsers(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the parser of ``plant``."""
    parser = subparsers.add_parser(
        "plant",
        help="run the simulated plant",
        description=__doc__,
        epilog=f"faults:\n{describe()}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--table", metavar="FILE", default="table", help="table settings (default: the starter table)")
    add(
        "--truth", metavar="FILE", type=Path, help="the plant's true parameters (default: the table settings)"
    )
    add(
        "--payload",
        metavar="PROFILE",
        type=_payload,
        help="the rigid payload of this profile (file, or name of a starter profile), or JSON in SI units",
    )
    add("--address", metavar="ADDR", default=DEFAULT_ADDRESS, help=f"where to listen ({DEFAULT_ADDRESS})")
    add("--mode", choices=MODES, default="free-run", help="own clock, or one period per command (free-run)")
    add("--period", metavar="TIME", type=_period_ns, default="1 ms", help="period of the plant link (1 ms)")
    add("--seed", metavar="N", type=seed, default=0, help="seed of the sensors' noise (0)")
    add(
        "--fault",
        metavar="NAME[.CHANNEL]@TIME[:VALUE]",
        action="append",
        default=[],
        help="a fault (below) that starts at this plant time; may be given several times",
    )
    add("--motion-log", metavar="FILE", type=Path, help="write the true motion, one row per period")
    add("--parent-pid", metavar="PID", type=int, help="end when this process has ended")
    add("--allow-remote", action="store_true", help="permit an address that other machines reach")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Serve the plant until SIGTERM or SIGINT, or until its parent is gone."""
    from hil_sim.plant.motion_log import MotionLog
    from hil_sim.plant.process import EndOfLife, PlantServer, quieten_collector, raise_priority
    from hil_sim.plant.provider import provider
    from hil_sim.plant.requests import PlantRequests
    from mastd.loop.process.compile_progress import report_compiling
    from mastd.settings.core.starter import find
    from mastd.wire.plant.hello import LinkTerms

    address = check_address(arguments.address, arguments.allow_remote)
    # From here on a signal ends the process cleanly, also while the kernels are being compiled.
    end_of_life = EndOfLife(arguments.parent_pid)
    # A daemon that has started the plant tells of its own kernels, and takes these words for an error's.
    telling = report_compiling() if arguments.parent_pid is None else nullcontext()
    with telling:
        plant = provider.open(
            PlantRequest(
                find("table", arguments.table),
                arguments.truth,
                arguments.payload,
                arguments.mode,
                arguments.period,
                arguments.seed,
                tuple(arguments.fault),
            )
        )
    terms = LinkTerms(plant.sample_layout, plant.command_layout, arguments.mode, arguments.period)
    log = MotionLog(arguments.motion_log, plant) if arguments.motion_log else None
    server = PlantServer(plant, terms, address, PlantRequests(plant), log, arguments.allow_remote)
    print(f"plant {plant.name!r} listens at {server.endpoint.address} ({arguments.mode})", flush=True)
    if arguments.mode == "free-run" and not raise_priority():
        print("no right to real-time scheduling: the plant's clock may stutter", file=sys.stderr)
    quieten_collector()
    server.serve(end_of_life.reached)
    if log is not None:
        log.close()
    return 0


def _payload(text: str) -> RigidPayload | None:
    if not text.lstrip().startswith("{"):
        from mastd.settings.core.loader import load
        from mastd.settings.core.starter import find
        from mastd.settings.profile.profile import ProfileSettings

        return rigid_payload(load(find("profile", text), ProfileSettings))
    try:
        entries = json.loads(text)
        centre_x, centre_y, centre_z = map(float, entries["centre_of_gravity"])
        inertia_x, inertia_y, inertia_z = map(float, entries["inertia"])
        payload = RigidPayload(
            float(entries["mass"]), (centre_x, centre_y, centre_z), (inertia_x, inertia_y, inertia_z)
        )
    except (ValueError, KeyError, TypeError) as error:
        raise argparse.ArgumentTypeError(
            'must be like \'{"mass": 12000, "centre_of_gravity": [0, 0, 2], "inertia": [8e3, 3e4, 3e4]}\''
        ) from error
    return payload


def _period_ns(text: str) -> int:
    try:
        period_ns = round(1e9 * units.parse(text, units.TIME))
    except units.UnitError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if not 100_000 <= period_ns <= 100_000_000:
        raise argparse.ArgumentTypeError(f"the period must be 0.1 ms to 100 ms, not {text}")
    return period_ns
