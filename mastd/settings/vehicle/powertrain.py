"""Settings of a powertrain: engine, launch device, gearbox, shaft, differentials.

Speeds are rotational (``rpm``), positive forwards; a ratio is input over output speed, below 0 for a reverse
gear. Differentials have names: one of them is driven by the gearbox, each other one by a differential, and
those at the end drive an axle. ``mastd/vehicle/powertrain/build.py`` makes the powertrain of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator

from mastd.settings.core.base import Problem, Settings, refuse
from mastd.settings.core.error_text import near
from mastd.settings.core.quantity import (
    AngularVelocity,
    Moment,
    Ratio,
    Time,
    TorsionalDamping,
    TorsionalStiffness,
)
from mastd.settings.vehicle.engine import (
    AnyLaunch,
    ConverterSettings,
    EngineSettings,
    PositiveInertia,
    PositiveMoment,
    not_rising,
    rpm,
)
from mastd.settings.vehicle.parts import Identifier

SUM_TOLERANCE = 1e-9

Efficiency = Annotated[Ratio, Field(gt=0, le=1)]
Fraction = Annotated[Ratio, Field(gt=0, lt=1)]
ChangePoint = tuple[
    Annotated[Ratio, Field(ge=0, le=1)],
    Annotated[AngularVelocity, Field(gt=0)],
    Annotated[AngularVelocity, Field(gt=0)],
]


class ChangeSettings(Settings):
    """When an automatic gearbox changes gear, by throttle and the speed of its input shaft."""

    map: Annotated[tuple[ChangePoint, ...], Field(max_length=20)]
    """Rows of throttle pedal, speed above which it changes up, speed below which it changes down."""
    duration: Annotated[Time, Field(gt=0)]
    """Time in which the ratio passes from the old to the new one."""
    throttle_share: Annotated[Ratio, Field(ge=0, le=1)]
    """What is left of the throttle while it changes."""
    hold: Annotated[Time, Field(ge=0)] = 0.5
    """Time after a change until the next may begin."""

    @field_validator("map")
    @classmethod
    def _ordered(cls, rows: tuple[ChangePoint, ...]) -> tuple[ChangePoint, ...]:
        refuse(not_rising([row[0] for row in rows], "throttle", "", column=0))
        return rows


class GearboxSettings(Settings):
    """Gears, changed by the driver's lever, or by itself where there are ``changes``."""

    forward: Annotated[tuple[float, ...], Field(max_length=20)]
    """Ratios from the first gear, falling."""
    reverse: Annotated[tuple[float, ...], Field(max_length=5)] = ()
    """Ratios of the reverse gears, below 0."""
    efficiency: Efficiency
    input_inertia: PositiveInertia
    """Of the input shaft with clutch plate or turbine, and of all gears, at the input shaft."""
    output_inertia: PositiveInertia
    """Of the output shaft, at the output shaft."""
    synchroniser_torque: PositiveMoment
    """Most that brings the input shaft to the speed of the gear to be engaged, at the input shaft."""
    changes: ChangeSettings | None = None
    """Of a gearbox that changes by itself."""

    @field_validator("forward")
    @classmethod
    def _falling(cls, ratios: tuple[float, ...]) -> tuple[float, ...]:
        if not ratios:
            raise ValueError("0 given, a gearbox has at least one forward gear")
        problems: list[Problem] = []
        for k, ratio in enumerate(ratios):
            if not ratio > 0.0:
                problems.append(((k,), f"is {ratio:g}, the ratio of a forward gear is above 0"))
            elif k and not ratio < ratios[k - 1]:
                what = f"{ratio:g} does not lie below the {ratios[k - 1]:g} of the gear before, ratios fall"
                problems.append(((k,), what))
        refuse(problems)
        return ratios

    @field_validator("reverse")
    @classmethod
    def _below_nothing(cls, ratios: tuple[float, ...]) -> tuple[float, ...]:
        refuse(
            [
                ((k,), f"is {ratio:g}, the ratio of a reverse gear is below 0")
                for k, ratio in enumerate(ratios)
                if not ratio < 0.0
            ]
        )
        return ratios

    @field_validator("changes")
    @classmethod
    def _apart(cls, changes: ChangeSettings | None, info: ValidationInfo) -> ChangeSettings | None:
        ratios = info.data.get("forward")
        if changes is not None and ratios is not None:
            refuse(_overlaps(changes, ratios))
        return changes


def _overlaps(changes: ChangeSettings, ratios: tuple[float, ...]) -> list[Problem]:
    """Return where a change up would be followed by one down, or the reverse."""
    problems: list[Problem] = []
    for k, (_, up, down) in enumerate(changes.map):
        for gear in range(1, len(ratios)):
            after = up * ratios[gear] / ratios[gear - 1]
            if not after > down:
                what = (
                    f"gears {gear} and {gear + 1} overlap: changed up at {rpm(up)}, gear {gear + 1} turns at "
                    f"{rpm(after)}, which must be above the {rpm(down)} where it changes down"
                )
                problems.append((("map", k, 2), what))
                break
    return problems


class ShaftSettings(Settings):
    """All that twists behind the gearbox, as one spring and damper at the gearbox's output."""

    stiffness: Annotated[TorsionalStiffness, Field(gt=0)]
    damping: Annotated[TorsionalDamping, Field(ge=0)]


class OpenDifferential(Settings):
    """Both outputs turn as they like."""

    kind: Literal["open"]


class LimitedSlip(Settings):
    """Friction between the outputs: preload + torque_share · torque of the cage."""

    kind: Literal["limited_slip"]
    preload: Annotated[Moment, Field(ge=0)] = 0.0
    torque_share: Annotated[Ratio, Field(ge=0, le=1)] = 0.0


class LockedDifferential(Settings):
    """Both outputs turn alike, as far as the lock can hold."""

    kind: Literal["locked"]
    capacity: PositiveMoment | None = None
    """Torque at which it slips; never if left out."""


AnyLock = Annotated[OpenDifferential | LimitedSlip | LockedDifferential, Field(discriminator="kind")]


class DifferentialSettings(Settings):
    """A ratio with a differential behind it, which drives an axle or two further differentials."""

    axle: str | None = None
    """Name of the axle whose left and right wheel it drives."""
    drives: Annotated[tuple[str, str] | None, Field(validate_default=True)] = None
    """Instead: the two differentials that it drives."""
    shares: Annotated[tuple[Fraction, Fraction] | None, Field(validate_default=True)] = None
    """Of the two in the torque; left and right wheel of an axle get the same."""
    ratio: Annotated[float, Field(gt=0)] = 1.0
    """In front of the differential."""
    efficiency: Efficiency = 1.0
    hub_ratio: Annotated[float, Field(gt=0)] = 1.0
    """Between the differential and each wheel of an axle."""
    lock: AnyLock = OpenDifferential(kind="open")

    @field_validator("drives")
    @classmethod
    def _one_kind(cls, drives: tuple[str, str] | None, info: ValidationInfo) -> tuple[str, str] | None:
        if "axle" in info.data and (drives is None) == (info.data["axle"] is None):
            raise ValueError("give either axle (its wheels are driven) or drives (two differentials)")
        return drives

    @field_validator("shares")
    @classmethod
    def _whole(cls, shares: tuple[float, float] | None, info: ValidationInfo) -> tuple[float, float] | None:
        drives = info.data.get("drives")
        if "drives" in info.data and (shares is None) != (drives is None):
            raise ValueError("give shares where drives is given, and only there")
        if shares is not None and not abs(sum(shares) - 1.0) <= SUM_TOLERANCE:
            raise ValueError(f"{shares[0]:g} and {shares[1]:g} are {sum(shares):g} together, they must be 1")
        return shares

    @field_validator("hub_ratio")
    @classmethod
    def _at_an_axle(cls, ratio: float, info: ValidationInfo) -> float:
        if ratio != 1.0 and info.data.get("drives") is not None:
            raise ValueError("a hub ratio belongs to a differential that drives an axle")
        return ratio


class PowertrainSettings(Settings):
    """What drives the vehicle."""

    engine: EngineSettings
    launch: AnyLaunch
    """Between engine and gearbox."""
    gearbox: GearboxSettings
    shaft: ShaftSettings
    differentials: Annotated[dict[Identifier, DifferentialSettings], Field(max_length=20)]
    """By name; the one that no other drives is driven by the gearbox."""

    @field_validator("gearbox")
    @classmethod
    def _has_the_gear(cls, gearbox: GearboxSettings, info: ValidationInfo) -> GearboxSettings:
        launch = info.data.get("launch")
        if isinstance(launch, ConverterSettings) and launch.lock_up is not None:
            gear = launch.lock_up.first_gear
            if not gear <= len(gearbox.forward):
                what = f"{len(gearbox.forward)} gears, but the converter's lock-up closes from gear {gear}"
                refuse([(("forward",), what)])
        return gearbox

    @field_validator("differentials")
    @classmethod
    def _one_tree(cls, parts: dict[str, DifferentialSettings]) -> dict[str, DifferentialSettings]:
        refuse(_tree_problems(parts))
        return parts

    def first(self) -> str:
        """Return the name of the differential that the gearbox drives."""
        return roots(self.differentials)[0]

    def axle_problems(self, axles: Iterable[str]) -> list[Problem]:
        """Return the driven axles that the vehicle lacks, paths relative to the powertrain."""
        known = list(axles)
        return [
            (("differentials", name, "axle"), f"no axle {part.axle!r}, {near(part.axle, known)}")
            for name, part in self.differentials.items()
            if part.axle is not None and part.axle not in known
        ]


def roots(parts: dict[str, DifferentialSettings]) -> list[str]:
    """Return the differentials that no other drives."""
    driven = {name for part in parts.values() for name in part.drives or ()}
    return [name for name in parts if name not in driven]


def _tree_problems(parts: dict[str, DifferentialSettings]) -> list[Problem]:
    """Return why differentials are not one tree from the gearbox to axles."""
    if not parts:
        return [((), "none given, the gearbox drives at least one")]
    problems: list[Problem] = []
    owner: dict[str, str] = {}
    axles: dict[str, str] = {}
    for name, part in parts.items():
        for k, driven in enumerate(part.drives or ()):
            if driven not in parts:
                problems.append(((name, "drives", k), f"no differential {driven!r}, {near(driven, parts)}"))
            elif driven in owner:
                what = f"{driven!r} is driven by {owner[driven]!r} already, only one can drive it"
                problems.append(((name, "drives", k), what))
            owner.setdefault(driven, name)
        if part.axle is not None and part.axle in axles:
            what = f"axle {part.axle!r} is driven by {axles[part.axle]!r} already, only one can drive it"
            problems.append(((name, "axle"), what))
        if part.axle is not None:
            axles.setdefault(part.axle, name)
    return problems or _unreached(parts)


def _unreached(parts: dict[str, DifferentialSettings]) -> list[Problem]:
    """Return what does not hang on the gearbox, for differentials that each have at most one driver."""
    first = roots(parts)
    if not first:
        return [((), "each is driven by another one, so that none is left for the gearbox to drive")]
    reached, waiting = {first[0]}, [first[0]]
    while waiting:
        following = parts[waiting.pop()].drives or ()
        reached.update(following)
        waiting.extend(following)
    return [
        ((name,), f"is not driven: the gearbox drives {first[0]!r}, add it to the drives of one behind that")
        for name in parts
        if name not in reached
    ]
