"""``hil-sim rig fmu``: a co-simulation FMU as a rig."""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from hil_sim.rigs.program import add_options, serve
from mastd.errors import UsageError

if TYPE_CHECKING:
    from hil_sim.rigs.fmu.base import Fmu
    from hil_sim.rigs.fmu.wiring import Wiring
    from mastd.arrays import FloatArray

MAX_BEHIND: Final = 1.0
"""s that the FMU may be behind the table before the rig gives up."""
_UNFIT: Final = re.compile(r"[^a-z0-9_]+")


class Seen(Protocol):
    """What is used of a motion: see ``mastd.wire.rigs.client_session.MotionSeen``."""

    @property
    def time(self) -> float: ...
    @property
    def values(self) -> FloatArray: ...


class Terms(Protocol):
    """What is used of what the daemon says of a channel."""

    @property
    def name(self) -> str: ...
    @property
    def unit(self) -> str: ...


class Joined(Protocol):
    """What is used of a rig's session: see ``mastd.wire.rigs.client.RigClient``."""

    @property
    def channels(self) -> Sequence[Terms]: ...
    @property
    def reads(self) -> Sequence[tuple[str, str]]: ...
    @property
    def period(self) -> float: ...


class FmuAtTable:
    """An FMU that is stepped with the table.

    The first motion initialises it; from then on its time is that of the plant since. A motion that is not a
    whole step later is answered with the last values.
    """

    def __init__(self, model: Fmu, wiring: Wiring, rig: Joined, step_ns: int | None) -> None:
        """``step_ns``: the communication step, None for the daemon's period.

        Raises UsageError for a step that is no multiple of that period or that the FMU cannot take, and, one
        line each, for channels and units that do not fit.
        """
        period_ns = round(rig.period * 1e9)
        self._model = model
        self._period = rig.period
        self._ratio = periods_in(step_ns or period_ns, period_ns)
        self._step_ns = self._ratio * period_ns
        model.check_step(self._step_ns)
        self._inputs, self._indices = wiring.inputs(rig.reads)
        self._outputs = wiring.outputs([(channel.name, channel.unit) for channel in rig.channels])
        self._max_behind = max(2, round(MAX_BEHIND * 1e9 / self._step_ns))
        self._first: float | None = None
        self._values: FloatArray

    def answer(self, motion: Seen) -> FloatArray:
        """Return the values of the rig's channels.

        Raises FmuError for an FMU that fails, or is slower than the table.
        """
        model = self._model
        seen = [float(motion.values[index]) for index in self._indices]
        if self._first is None:
            self._first = motion.time
            self._values = model.start(self._inputs, self._outputs, seen, self._step_ns)
        periods = round((motion.time - self._first) / self._period)
        due = periods // self._ratio - model.count
        if due > self._max_behind:
            raise model.error(
                f"is slower than the table: {due * self._step_ns / 1e9:.1f} s behind; use a longer --step, "
                "or run in lockstep"
            )
        for _ in range(due):
            self._values = model.step(seen)
        return self._values

    def line(self) -> str:
        """Return how far it has come."""
        return f"{self._model.name}: {self._model.count} steps, {self._model.time:.3f} s"


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the parser of ``fmu``."""
    parser = subparsers.add_parser(
        "fmu",
        help="run a co-simulation FMU (FMI 2.0 or 3.0) as a rig",
        description="Run a co-simulation FMU as a rig: its outputs set the rig's channels, its inputs "
        "follow the telemetry channels of the same names (docs/fmi.md).",
    )
    add = parser.add_argument
    add("file", metavar="FILE", type=Path, help="the FMU")
    add(
        "--map",
        metavar="CHANNEL=VARIABLE",
        action="append",
        default=[],
        help="a channel with another name in the FMU; a * at both ends matches the same rest",
    )
    add(
        "--unit",
        metavar="VARIABLE=UNIT",
        action="append",
        default=[],
        help="unit of a variable for which the FMU states none",
    )
    add(
        "--set",
        metavar="VARIABLE=VALUE",
        action="append",
        default=[],
        help="an input or parameter that is set once, in its own unit",
    )
    add("--step", metavar="TIME", help="communication step, a multiple of the daemon's period (that period)")
    add("--check", action="store_true", help="check and load the FMU, name its variables, and end")
    add_options(parser, None)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Check the FMU, join the table and follow it until told to end; return the exit code.

    Raises UsageError for an FMU that cannot be run here or does not fit, FmuError for one that fails, and
    what ``hil_sim.rigs.program.serve`` raises.
    """
    from hil_sim.rigs.fmu.process import FmuProcess
    from hil_sim.rigs.fmu.wiring import wire
    from hil_sim.rigs.last_resort import LastResort
    from mastd.commands.quantities import quantity
    from mastd.units import TIME
    from mastd.wire.rigs.messages import ANY

    step_ns = None if arguments.step is None else round(1e9 * quantity("--step", arguments.step, TIME))
    if step_ns is not None and step_ns <= 0:
        raise UsageError(f"--step: {arguments.step} is not above zero")
    arguments.name = arguments.name or rig_name(arguments.file)
    directory = Path(tempfile.mkdtemp(prefix="mastd-fmu-"))
    with LastResort(directory), FmuProcess(arguments.file, directory=directory) as model:
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
        return serve(arguments, ANY, wiring.channels, lambda rig: FmuAtTable(model, wiring, rig, step_ns))


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


def table(model: Fmu) -> str:
    """Return what an FMU is and has, one line each."""
    lines = [f"{model.path.name}: {model.name}, co-simulation, FMI {model.interface.version}"]
    for variable in model.variables.values():
        if variable.causality in {"input", "output", "parameter"}:
            unit = variable.unit.name if variable.unit is not None else "-"
            lines.append(
                f"  {variable.causality:9s} {variable.name:32s} {unit:8s} {variable.description}".rstrip()
            )
    return "\n".join(lines) + "\n"
