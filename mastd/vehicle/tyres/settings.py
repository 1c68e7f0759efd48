"""From the tyres of a vehicle file to those of the model; property files are read here, each once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mastd.errors import FormatError
from mastd.formats.tyre.tir import TyreProperties, read_tir
from mastd.settings.core.base import Problem
from mastd.settings.vehicle.tyres import TyreSettings
from mastd.settings.vehicle.vehicle import VehicleSettings
from mastd.vehicle.magic_formula.tyre import MagicTyre, magic_tyre_of
from mastd.vehicle.tyres.linear_tyre import Tyre, linear_tyre_of


@dataclass(frozen=True)
class AxleTyre:
    """The tyre of an axle, and the side of the vehicle that its numbers belong to."""

    tyre: Tyre | MagicTyre
    side: str
    """``left``, ``right``, or ``symmetric`` where it is the same on both."""

    def on(self, side: str) -> Tyre | MagicTyre:
        """Return the tyre of the wheel on one side."""
        if isinstance(self.tyre, Tyre):
            return self.tyre
        return replace(self.tyre, mirrored=self.side not in {side, "symmetric"})


def tyres_of(settings: VehicleSettings) -> tuple[list[AxleTyre], Sequence[Problem]]:
    """Return the tyre of each axle, and what is wrong with their property files."""
    read: dict[str, TyreProperties] = {}
    tyres: list[AxleTyre] = []
    problems: list[Problem] = []
    for k, axle in enumerate(settings.axles):
        tyre = axle.tyre
        if isinstance(tyre, TyreSettings):
            tyres.append(AxleTyre(linear_tyre_of(tyre), "symmetric"))
            continue
        try:
            if tyre.magic_formula not in read:
                read[tyre.magic_formula] = read_tir(tyre.magic_formula)
        except FormatError as error:
            location = ("axles", k, "tyre", "magic_formula")
            problems += [(location, line) for line in str(error).splitlines()]
            continue
        properties = read[tyre.magic_formula]
        tyres.append(AxleTyre(magic_tyre_of(tyre, properties), properties.side))
    return tyres, problems
