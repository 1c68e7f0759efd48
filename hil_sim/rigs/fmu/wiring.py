"""Which variable of an FMU is which channel of the table: by name, or as ``--map`` says."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from hil_sim.rigs.fmu.units import DeclaredUnit, conversion, named
from hil_sim.rigs.fmu.variables import Port, Variable
from mastd.errors import UsageError, printable
from mastd.units import UnitError

INPUT, OUTPUT, PARAMETER = "input", "output", "parameter"
_PAIR: Final = re.compile(r"([^=]+)=([^=]+)")
_MAX_SHOWN: Final = 12

ChannelUnit = tuple[str, str]
"""Name and SI unit of a channel."""


@dataclass(frozen=True)
class Wiring:
    """What is read from the table, and where what the table takes comes from."""

    variables: Mapping[str, Variable]
    reads: Mapping[str, str]
    """Channel that each input follows, by the input's name."""
    sources: Mapping[str, str]
    """Output for each channel that was mapped, by the channel's name; others have the channel's own name."""
    fixed: Mapping[str, float]
    """Inputs and parameters that are set once, in their own unit."""

    @property
    def channels(self) -> tuple[str, ...]:
        """Channels to read, each once, in a fixed order."""
        return tuple(dict.fromkeys(self.reads.values()))

    def inputs(self, read: Sequence[ChannelUnit]) -> tuple[list[Port], list[int]]:
        """Return the inputs, and for each the index of its value among ``read``.

        Raises UsageError, one line each, for units that do not fit.
        """
        units = dict(read)
        indices = {name: index for index, (name, _) in enumerate(read)}
        pairs = [(name, channel, units[channel]) for name, channel in self.reads.items()]
        return self._ports(pairs), [indices[channel] for channel in self.reads.values()]

    def outputs(self, channels: Sequence[ChannelUnit]) -> list[Port]:
        """Return the outputs that give these channels, in their order.

        Raises UsageError, one line each, for a channel that nothing gives, a mapped one that the rig does not
        have, and units that do not fit.
        """
        names = [name for name, _ in channels]
        problems = [
            f"--map {name}={source}: the rig has no channel {name}; it has {', '.join(names)}"
            for name, source in self.sources.items()
            if name not in names
        ]
        there = [name for name, variable in self.variables.items() if variable.causality == OUTPUT]
        pairs = []
        for name, unit in channels:
            source = self.sources.get(name, name)
            if source in there:
                pairs.append((source, name, unit))
            else:
                problems.append(
                    f"{name}: no output of the FMU has this name; add --map {name}=VARIABLE, one of "
                    f"{_some(there)}"
                )
        if problems:
            raise UsageError("\n".join(problems))
        return self._ports(pairs)

    def _ports(self, pairs: Sequence[tuple[str, str, str]]) -> list[Port]:
        ports, problems = [], []
        for name, channel, si in pairs:
            variable = self.variables[name]
            try:
                ports.append(Port(variable, conversion(variable.unit, channel, si)))
            except UnitError as error:
                problems.append(f"{name}: {error}")
        if problems:
            raise UsageError("\n".join(problems))
        return ports


def wire(
    variables: Mapping[str, Variable],
    maps: Sequence[str] = (),
    units: Sequence[str] = (),
    settings: Sequence[str] = (),
) -> Wiring:
    """Return how an FMU is connected.

    ``maps``: CHANNEL=VARIABLE, where both may end in ``*``, which stands for the same rest; ``units``:
    VARIABLE=UNIT for variables that say none; ``settings``: VARIABLE=VALUE. Raises UsageError, one line each,
    for what does not fit.
    """
    problems: list[str] = []
    known = _with_units(variables, units, problems)
    fixed = _fixed(known, settings, problems)
    reads: dict[str, str] = {}
    sources: dict[str, str] = {}
    for text in maps:
        for channel, name in _pairs("--map", text, "CHANNEL=VARIABLE", known, problems):
            variable = known[name]
            if variable.causality == INPUT:
                if name in reads or name in fixed:
                    problems.append(f"--map {text}: the input {name} has its value already")
                reads[name] = channel
            elif variable.causality == OUTPUT:
                if channel in sources:
                    problems.append(f"--map {text}: the channel {channel} has its variable already")
                sources[channel] = name
            else:
                problems.append(f"--map {text}: {name} is neither input nor output but {variable.causality}")
    if problems:
        raise UsageError("\n".join(problems))
    inputs = [name for name, variable in known.items() if variable.causality == INPUT]
    ordered = {name: reads.get(name, name) for name in inputs if name not in fixed}
    return Wiring(known, ordered, sources, fixed)


def _with_units(
    variables: Mapping[str, Variable], units: Sequence[str], problems: list[str]
) -> dict[str, Variable]:
    known = dict(variables)
    for text in units:
        for unit, name in _pairs("--unit", text, "VARIABLE=UNIT", known, problems, turned=True):
            if known[name].unit is not None:
                problems.append(
                    f"--unit {text}: {name} states its unit, {_unit_name(known[name].unit)}; omit --unit"
                )
            elif named(unit).powers is None:
                problems.append(f"--unit {text}: the unit {unit} is not known")
            else:
                known[name] = Variable(**{**vars(known[name]), "unit": named(unit)})
    return known


def _fixed(
    variables: Mapping[str, Variable], settings: Sequence[str], problems: list[str]
) -> dict[str, float]:
    fixed: dict[str, float] = {}
    for text in settings:
        for value, name in _pairs("--set", text, "VARIABLE=VALUE", variables, problems, turned=True):
            if variables[name].causality not in {INPUT, PARAMETER}:
                problems.append(
                    f"--set {text}: {name} is {variables[name].causality}, not input or parameter"
                )
                continue
            try:
                fixed[name] = float(value)
            except ValueError:
                problems.append(f"--set {text}: {value} is not a number (in the variable's own unit)")
    return fixed


def _pairs(
    option: str,
    text: str,
    shape: str,
    variables: Mapping[str, Variable],
    problems: list[str],
    *,
    turned: bool = False,
) -> list[tuple[str, str]]:
    """Return pairs of the other side and a variable's name; several for one text with stars."""
    match = _PAIR.fullmatch(text)
    if match is None:
        problems.append(f"{option} {text}: write {shape}")
        return []
    other, name = (match[2].strip(), match[1].strip()) if turned else (match[1].strip(), match[2].strip())
    if not turned and other.endswith("*") and name.endswith("*"):
        found = [
            (other[:-1] + known[len(name) - 1 :], known)
            for known, variable in variables.items()
            if known.startswith(name[:-1]) and variable.causality in {INPUT, OUTPUT}
        ]
        if not found:
            problems.append(f"{option} {text}: the FMU has no input or output {name}")
        return found
    if name not in variables:
        problems.append(f"{option} {text}: the FMU has no variable {name}; it has {_some(list(variables))}")
        return []
    return [(other, name)]


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_MAX_SHOWN]) or "none"
    more = f" and {len(names) - _MAX_SHOWN} more" if len(names) > _MAX_SHOWN else ""
    return printable(shown, keep="") + more


def _unit_name(unit: DeclaredUnit | None) -> str:
    return unit.name if unit is not None else "none"
