"""From the tyres of a vehicle file to those of the model; property files are read here, each once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mastd.errors import FormatError
from mastd.formats.tyre.tir import TyreProperties, read_tir
from mastd.settings.core.base import Problem
from mastd.settings.vehicle.tyres import MagicTyreSettings, TyreSettings
from mastd.settings.vehicle.vehicle import VehicleSettings
from mastd.vehicle.magic_formula.formula import pack, rolling_radius
from mastd.vehicle.model.definition import MagicTyre, Tyre
from mastd.vehicle.model.standing_tyre import depth_at, stiffness_at


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
            tyres.append(AxleTyre(_linear(tyre), "symmetric"))
            continue
        try:
            if tyre.magic_formula not in read:
                read[tyre.magic_formula] = read_tir(tyre.magic_formula)
        except FormatError as error:
            location = ("axles", k, "tyre", "magic_formula")
            problems += [(location, line) for line in str(error).splitlines()]
            continue
        properties = read[tyre.magic_formula]
        tyres.append(AxleTyre(_magic(tyre, properties), properties.side))
    return tyres, problems


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


def _magic(settings: MagicTyreSettings, properties: TyreProperties) -> MagicTyre:
    """Return the tyre for the side that it was measured on."""
    scales = {name: properties.get(name, 1.0) * settings.friction for name in ("LMUX", "LMUY")}
    scaled = replace(properties, coefficients={**properties.coefficients, **scales})
    nominal = properties.get("FNOMIN")
    coefficients = pack(scaled)
    return MagicTyre(
        name=properties.name,
        coefficients=coefficients,
        mirrored=False,
        free_radius=properties.get("UNLOADED_RADIUS"),
        rolling_radius=float(rolling_radius(coefficients, nominal)),
        stiffness=stiffness_at(coefficients, depth_at(coefficients, nominal)),
        damping=properties.get("VERTICAL_DAMPING"),
    )
