"""Variables of an FMU: what there is, and the arrays through which they are set and read."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from hil_sim.rigs.fmu.units import BASE, SAME, Conversion, DeclaredUnit, declared_powers
from mastd.arrays import FloatArray
from mastd.errors import MastdError

_TYPES_2: Final = {
    "Real": ("Real", ctypes.c_double),
    "Integer": ("Integer", ctypes.c_int),
    "Enumeration": ("Integer", ctypes.c_int),
    "Boolean": ("Boolean", ctypes.c_int),
}
_TYPES_3: Final = {
    "Float64": ("Float64", ctypes.c_double),
    "Float32": ("Float32", ctypes.c_float),
    "Int8": ("Int8", ctypes.c_int8),
    "UInt8": ("UInt8", ctypes.c_uint8),
    "Int16": ("Int16", ctypes.c_int16),
    "UInt16": ("UInt16", ctypes.c_uint16),
    "Int32": ("Int32", ctypes.c_int32),
    "UInt32": ("UInt32", ctypes.c_uint32),
    "Int64": ("Int64", ctypes.c_int64),
    "UInt64": ("UInt64", ctypes.c_uint64),
    "Enumeration": ("Int64", ctypes.c_int64),
    "Boolean": ("Boolean", ctypes.c_bool),
}
"""What a type is called in the names of functions, and what it is in C."""
_REAL: Final = {"Real", "Float64", "Float32"}


class FmuError(MastdError):
    """An FMU that went wrong while it ran; one line."""


@dataclass(frozen=True)
class Variable:
    """One scalar variable of an FMU."""

    name: str
    kind: str
    """Type in FMI's words: Real, Float64, Int32, …"""
    causality: str
    reference: int
    unit: DeclaredUnit | None
    description: str


@dataclass(frozen=True)
class Port:
    """A variable that is set or read, and how its value becomes an SI one."""

    variable: Variable
    conversion: Conversion = SAME


class Group:
    """Variables of one type, which are set or read by one call."""

    def __init__(
        self, major: int, name: str, c_type: Any, indices: Sequence[int], ports: Sequence[Port]
    ) -> None:
        count = len(ports)
        self._names = [port.variable.name for port in ports]
        self._references = (ctypes.c_uint * count)(*(port.variable.reference for port in ports))
        self._buffer = (c_type * count)()
        self._counts = (count,) if major == 2 else (count, count)
        self._setter, self._getter = f"fmi{major}Set{name}", f"fmi{major}Get{name}"
        self._real = c_type in {ctypes.c_double, ctypes.c_float}
        self._truth = name == "Boolean"
        self._ports = [(index, port.conversion) for index, port in zip(indices, ports, strict=True)]

    def fill(self, values: Sequence[float]) -> None:
        """Take the values (SI) that belong here."""
        buffer = self._buffer
        for k, (index, conversion) in enumerate(self._ports):
            value = conversion.from_si(float(values[index]))
            buffer[k] = value if self._real else value >= 0.5 if self._truth else round(value)

    def set(self, slave: Any) -> None:
        """Set them in the FMU."""
        self._call(slave, self._setter)

    def get(self, slave: Any, values: FloatArray) -> None:
        """Read them from the FMU into ``values`` (SI)."""
        self._call(slave, self._getter)
        for k, (index, conversion) in enumerate(self._ports):
            value = conversion.to_si(float(self._buffer[k]))
            if not math.isfinite(value):
                raise FmuError(f"its output {self._names[k]} is {value}")
            values[index] = value

    def _call(self, slave: Any, function: str) -> None:
        count, *more = self._counts
        getattr(slave, function)(slave.component, self._references, count, self._buffer, *more)


def groups(major: int, ports: Sequence[Port]) -> list[Group]:
    """Return ports by type, each type once; ``major``: version of FMI."""
    types = _TYPES_2 if major == 2 else _TYPES_3
    indices: dict[str, list[int]] = {}
    for index, port in enumerate(ports):
        indices.setdefault(types[port.variable.kind][0], []).append(index)
    c_types = dict(types.values())
    return [
        Group(major, name, c_types[name], at, [ports[index] for index in at]) for name, at in indices.items()
    ]


def variables_of(description: Any, major: int) -> dict[str, Variable]:
    """Return the variables of a description, as fmpy reads it, that are one number or truth value."""
    units = {unit.name: _unit(unit) for unit in description.unitDefinitions}
    found = (_variable(item, units, major) for item in description.modelVariables)
    return {variable.name: variable for variable in found if variable is not None}


def _variable(item: Any, units: dict[str, DeclaredUnit], major: int) -> Variable | None:
    """Return a variable of the description, None for one that is no single number."""
    types = _TYPES_2 if major == 2 else _TYPES_3
    if item.type not in types or item.shape:
        return None
    name = item.unit
    if name is None and item.declaredType is not None:
        name = item.declaredType.unit
    unit = None if name is None or item.type not in _REAL else units.get(name, DeclaredUnit(name))
    if unit is not None and _relative(item) and unit.offset:
        unit = DeclaredUnit(unit.name, unit.powers, unit.factor)
    return Variable(
        item.name, item.type, item.causality, int(item.valueReference), unit, item.description or ""
    )


def _relative(item: Any) -> bool:
    return bool(
        item.relativeQuantity or (item.declaredType is not None and item.declaredType.relativeQuantity)
    )


def _unit(unit: Any) -> DeclaredUnit:
    base = unit.baseUnit
    if base is None:
        return DeclaredUnit(unit.name)
    powers = declared_powers({name: int(getattr(base, name)) for name in BASE})
    return DeclaredUnit(unit.name, powers, float(base.factor), float(base.offset))
