"""``hil-sim rig fmu``: a co-simulation FMU as a rig."""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from mastd import units
from mastd.errors import UsageError

if TYPE_CHECKING:
    from hil_sim.rigs.fmu_model import FmuModel
    from hil_sim.rigs.fmu_wiring import Wiring

WAIT: Final = 0.2
"""s without motion after which is looked whether to end."""
MOST_BEHIND: Final = 1.0
"""s that the FMU may be behind the table before the rig gives up."""
_UNFIT: Final = re.compile(r"[^a-z0-9_]+")


class Seen(Protocol):
    """What is used of a motion that the table shows: see ``mastd.wire.rig_client``."""

    @property
    def step(self) -> int: ...
    @property
    def values(self) -> Any: ...


class Terms(Protocol):
    """What is used of what the daemon says of a channel."""

    @property
    def name(self) -> str: ...
    @property
    def unit(self) -> str: ...


class Joined(Protocol):
    """What is used of a rig's place at the table: see ``mastd.wire.rig_client.RigClient``."""

    @property
    def channels(self) -> Sequence[Terms]: ...
    @property
    def reads(self) -> Sequence[tuple[str, str]]: ...
    @property
    def period(self) -> float: ...
    def receive(self, timeout: float) -> Any: ...
    def send(self, values: Sequence[float], motion: Any) -> None: ...


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the parser of ``fmu``."""
    parser = subparsers.add_parser(
        "fmu",
        help="run a co-simulation FMU (FMI 2.0 or 3.0) as a rig",
        description="Run a co-simulation FMU as a rig: its outputs give the rig's channels, its inputs "
        "follow the telemetry channels of the same names (docs/fmi.md).",
    )
    add = parser.add_argument
    add("file", metavar="FILE", type=Path, help="the FMU")
    add("--name", metavar="RIG", help="name of the rig in the daemon's settings (name of the file)")
    add("--address", metavar="ADDR", help="rigs' socket of the daemon (the one on this machine)")
    add(
        "--map",
        metavar="CHANNEL=VARIABLE",
        action="append",
        default=[],
        help="a channel that the FMU calls otherwise; a * at both ends stands for the same rest",
    )
    add(
        "--unit",
        metavar="VARIABLE=UNIT",
        action="append",
        default=[],
        help="unit of a variable for which the FMU says none",
    )
    add(
        "--set",
        metavar="VARIABLE=VALUE",
        action="append",
        default=[],
        help="an input or parameter that is set once, in its own unit",
    )
    add("--step", metavar="TIME", help="communication step, a multiple of the daemon's period (that period)")
    add("--patience", metavar="TIME", default="5 s", help="how long to wait for the daemon (5 s)")
    add("--key", type=Path, metavar="FILE", help="own secret key, for a network address")
    add("--server-key", type=Path, metavar="FILE", help="the daemon's public key")
    add("--check", action="store_true", help="check and load the FMU, name its variables, and end")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Check the FMU, join the table and follow it until told to end; return 0.

    Raises UsageError for an FMU that cannot be run here or does not fit, FmuError for one that fails,
    ProtocolError when the daemon is gone.
    """
    from hil_sim.plant.process import EndOfLife
    from hil_sim.rigs.fmu_model import FmuModel
    from hil_sim.rigs.fmu_wiring import wire
    from hil_sim.rigs.last_resort import LastResort

    step_ns = None if arguments.step is None else round(1e9 * _positive("--step", arguments.step))
    patience = _positive("--patience", arguments.patience)
    if (arguments.key is None) != (arguments.server_key is None):
        raise UsageError("--key and --server-key go together")
    # From here on a signal ends the process cleanly, so that what is extracted is removed.
    end_of_life = EndOfLife(None)
    directory = Path(tempfile.mkdtemp(prefix="mastd-fmu-"))
    with LastResort(directory), FmuModel(arguments.file, directory=directory) as model:
        wiring = wire(model.variables, arguments.map, arguments.unit, arguments.set)
        if step_ns is not None:
            model.check_step(step_ns)
        if arguments.check:
            print(table(model), end="")
            return 0
        # Before the table waits for answers: an instance may take long to make.
        model.instantiate()
        for variable, value in wiring.fixed.items():
            model.set_now(wiring.variables[variable], value)
        from mastd.wire.client import ClientKeys
        from mastd.wire.rig_client import RigClient

        keys = ClientKeys(arguments.key, arguments.server_key) if arguments.key else None
        name = arguments.name or rig_name(arguments.file)
        with RigClient.join(
            name,
            reads=wiring.channels,
            address=arguments.address,
            keys=keys,
            patience=patience,
            program=model.name,
        ) as rig:
            print(f"rig {name!r} has joined ({rig.mode}): {model.name}", flush=True)
            follow(model, wiring, rig, step_ns, end_of_life.reached)
    return 0


def follow(
    model: FmuModel,
    wiring: Wiring,
    rig: Joined,
    step_ns: int | None,
    ended: Callable[[], bool],
) -> None:
    """Step the FMU with the table and answer each motion, until ``ended``.

    The first motion initialises the FMU; from then on its time is that of the table since. A motion that is
    not a whole step later is answered with the last values. Raises UsageError for a step that is no multiple
    of the daemon's period, and where the FMU is slower than the table.
    """
    period_ns = round(rig.period * 1e9)
    ratio = periods_in(step_ns or period_ns, period_ns)
    step_ns = ratio * period_ns
    model.check_step(step_ns)
    inputs, places = wiring.inputs(rig.reads)
    outputs = wiring.outputs([(channel.name, channel.unit) for channel in rig.channels])
    most_behind = max(2, round(MOST_BEHIND * 1e9 / step_ns))
    first: int | None = None
    values: Any = ()
    while not ended():
        motion: Seen | None = rig.receive(WAIT)
        if motion is None:
            continue
        seen = [float(motion.values[place]) for place in places]
        if first is None:
            first = motion.step
            values = model.start(inputs, outputs, seen, step_ns)
        due = (motion.step - first) // ratio - model.count
        if due > most_behind:
            raise UsageError(
                f"{model.path}: is slower than the table: {due * step_ns / 1e9:.1f} s behind; take a longer "
                "--step, or run in lockstep"
            )
        for _ in range(due):
            values = model.step(seen)
        rig.send(values.tolist(), motion)


def periods_in(step_ns: int, period_ns: int) -> int:
    """Return how many periods a step lasts; raise UsageError for one that is no multiple."""
    if step_ns < period_ns or step_ns % period_ns:
        raise UsageError(
            f"--step {step_ns / 1e6:g} ms is no multiple of the daemon's period, {period_ns / 1e6:g} ms"
        )
    return step_ns // period_ns


def rig_name(path: Path) -> str:
    """Return the name of a rig from that of its file."""
    return _UNFIT.sub("_", path.stem.lower()).strip("_")[:30]


def table(model: FmuModel) -> str:
    """Return what an FMU is and has, one line each."""
    lines = [f"{model.path.name}: {model.name}, co-simulation, FMI {model.interface.version}"]
    for variable in model.variables.values():
        if variable.causality in {"input", "output", "parameter"}:
            unit = variable.unit.name if variable.unit is not None else "-"
            lines.append(
                f"  {variable.causality:9s} {variable.name:32s} {unit:8s} {variable.description}".rstrip()
            )
    return "\n".join(lines) + "\n"


def _positive(option: str, text: str) -> float:
    """Return an option's time, s."""
    try:
        time = units.parse(text, units.TIME)
    except units.UnitError as error:
        raise UsageError(f"{option}: {error}") from error
    if not time > 0.0:
        raise UsageError(f"{option}: {text} is not above zero")
    return time
