"""From the tyres of a vehicle file to those of the model; property files are read here, each once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from mastd.settings.base import Problem
from mastd.settings.vehicle import VehicleSettings
from mastd.settings.vehicle_tyres import MagicTyreSettings, TyreSettings
from mastd.vehicle.model import MagicTyre, Tyre

Side = Literal["left", "right"]


@dataclass(frozen=True)
class AxleTyre:
    """The tyre of an axle, and the side of the vehicle that its numbers belong to."""

    tyre: Tyre | MagicTyre
    measured: str
    """``left``, ``right``; of no consequence for a linear tyre."""

    def on(self, side: str) -> Tyre | MagicTyre:
        """Return the tyre of the wheel on one side."""
        if isinstance(self.tyre, Tyre):
            return self.tyre
        return replace(self.tyre, mirrored=self.measured != side)


def tyres_of(settings: VehicleSettings) -> tuple[list[AxleTyre], Sequence[Problem]]:
    """Return the tyre of each axle, and what is wrong with their property files."""
    tyres: list[AxleTyre] = []
    for axle in settings.axles:
        if isinstance(axle.tyre, MagicTyreSettings):
            raise NotImplementedError
        tyres.append(AxleTyre(_linear(axle.tyre), "left"))
    return tyres, []


def _linear(tyre: TyreSettings) -> Tyre:
    return Tyre(
        tyre.free_radius,
        tyre.rolling_radius,
        tyre.stiffness,
        tyre.damping,
        tyre.longitudinal_slip_stiffness,
        tyre.cornering_stiffness,
        tyre.least_speed,
    )
