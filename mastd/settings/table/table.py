"""Settings of the table: geometry, body, hydraulics, sensors and limits (``config/table.yaml``).

Frames: B is the ground, P the table with its origin at C. Actuator order and joints are those of Jin 2012.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Final

from pydantic import Field, ValidationInfo, field_validator

from mastd.settings.core.axes import AXES, Axis
from mastd.settings.core.base import Problem, Settings, computed, refuse
from mastd.settings.core.quantity import (
    Acceleration,
    Length,
    Point,
)
from mastd.settings.table.actuators import (
    ActuatorType,
    feedback_problems,
    force_problems,
    no_load_speed,
    sensor_problems,
    transducer_problems,
)
from mastd.settings.table.body import BodySettings
from mastd.settings.table.electric import ElectricSettings, ElectricTypeSettings
from mastd.settings.table.fed import strongest, wrong_supplies
from mastd.settings.table.guides import HELD_STILL, GuideSettings
from mastd.settings.table.held import condition, left_free
from mastd.settings.table.hydraulics import (
    ActuatorSettings,
    ActuatorTypeSettings,
    DriveSettings,
    Feedback,
    ValveSettings,
)
from mastd.settings.table.limits import LimitSettings
from mastd.settings.table.neutral_lengths import wrong_displacements, wrong_length
from mastd.settings.table.patterns import wrong_patterns
from mastd.settings.table.sensors import (
    LengthTransducerSettings,
    LoadCellSettings,
    Name,
    PressureDifferenceSettings,
    PressureTransducerSettings,
    SensorSettings,
)
from mastd.settings.table.supply import MAX_SUPPLIES, SupplySettings
from mastd.settings.table.support_checks import lifting, wrong_gas
from mastd.settings.table.supports import SupportSettings

MAX_LINKS: Final = 24

VELOCITY_RATIO: Final = 0.75
"""Limit of an actuator's velocity over its speed without load where none is stated."""

Named = tuple[tuple[str | int, ...], str]
"""Place and name of something that must differ from its like."""


class LinkSettings(Settings):
    """One actuator: joints, length and transducers."""

    name: Name
    actuator: Name | None = None
    """Its type, one of ``actuators``; none where all are of the one type that ``actuator`` says."""
    supply: Name | None = None
    """The one of ``supplies`` that feeds it; if left out, that of its type."""
    table_joint: Point
    """Centre of the joint at the table, in P."""
    base_joint: Point
    """Centre of the joint at the ground, in B."""
    neutral_length: Length = Field(gt=0)
    stroke: Length = Field(gt=0)
    """Travel to either side of the neutral length."""
    transducer: LengthTransducerSettings
    pressure_transducers: tuple[PressureTransducerSettings, PressureTransducerSettings] | None = None
    """Chamber 1, which extends the actuator, and chamber 2; where the feedback is chamber_pressures."""
    pressure_difference_transducer: PressureDifferenceSettings | None = None
    """Where the feedback is pressure_difference."""
    load_cell: LoadCellSettings | None = None
    """Where the feedback is load_cell."""

    @field_validator("stroke")
    @classmethod
    def _shorter_than_link(cls, stroke: float, info: ValidationInfo) -> float:
        neutral_length = info.data.get("neutral_length", math.inf)
        if not (stroke < neutral_length):
            raise ValueError(f"is {stroke:g} m, it must be below the neutral length, {neutral_length:g} m")
        return stroke


class TableSettings(Settings):
    """A shaking table of one to six degrees of freedom on as many actuators or more.

    The actuators are of one type, ``actuator`` with its ``valve``, or of several named ones, ``actuators``.
    """

    name: Name
    gravity: Acceleration = Field(ge=0, le=20)
    """Of the place; 0 only for study."""
    neutral_position: Point
    """C in B when every actuator has its neutral length."""
    control_point: Point
    """T in P."""
    freedoms: Annotated[tuple[Axis, ...], Field(min_length=1)] = AXES
    """Axes of the pose in which the table moves; guides hold the others at neutral."""
    guides: GuideSettings = GuideSettings()
    body: BodySettings
    supply: SupplySettings | None = None
    """The only one of the hydraulic actuators; none where all are electric."""
    supplies: Annotated[dict[Name, SupplySettings], Field(max_length=MAX_SUPPLIES)] = Field(
        default_factory=dict
    )
    """Several, by name."""
    electric: ElectricSettings | None = None
    """The electric drive of all links, in place of ``actuator`` and ``valve``."""
    electric_actuators: dict[Name, ElectricTypeSettings] = Field(default_factory=dict)
    """Types of electric drives by name, beside those of ``actuators``."""
    actuator: ActuatorSettings | None = None
    valve: ValveSettings | None = None
    actuators: Annotated[dict[Name, ActuatorTypeSettings], Field(validate_default=True)] = Field(
        default_factory=dict
    )
    """Types of actuators by name."""
    drive: DriveSettings
    links: Annotated[tuple[LinkSettings, ...], Field(max_length=MAX_LINKS)]
    sensors: SensorSettings
    limits: LimitSettings
    supports: tuple[SupportSettings, ...] = ()
    """What carries a part of the dead weight or holds the table down beside the actuators."""

    @property
    def pose_limits(self) -> tuple[float, ...]:
        """Largest pose (6,) to either side of neutral, m and rad; hardly any where guides hold an axis."""
        return tuple(
            computed(getattr(self.limits.pose, axis)) if axis in self.freedoms else HELD_STILL
            for axis in AXES
        )

    @property
    def types(self) -> tuple[ActuatorType, ...]:
        """The type of each link's actuator, in the order of the links."""
        packs: list[SupplySettings | None] = [*self.packs.values()] or [None]
        fed = [packs[number] for number in self.fed_by]
        if self.actuator is not None and self.valve is not None:
            return tuple(ActuatorType(self.actuator, self.valve, self.drive, supply) for supply in fed)
        if self.electric is not None:
            return (ActuatorType(self.electric, self.electric.velocity_loop, self.drive),) * len(self.links)
        found = {
            name: ActuatorType(actuator, actuator.valve, actuator.drive or self.drive)
            for name, actuator in self.actuators.items()
        }
        for name, drive in self.electric_actuators.items():
            found[name] = ActuatorType(drive, drive.velocity_loop, drive.drive or self.drive)
        kinds = [found[link.actuator or ""] for link in self.links]
        return tuple(
            kind if kind.electric is not None else kind._replace(fed=supply)
            for kind, supply in zip(kinds, fed, strict=True)
        )

    @property
    def packs(self) -> dict[str, SupplySettings]:
        """The supplies by name, the only one under "", none without hydraulics."""
        return {"": self.supply} if self.supply is not None else self.supplies

    @property
    def fed_by(self) -> tuple[int, ...]:
        """The number of the supply of each link's actuator, in the order of ``packs``; 0 of electric ones."""
        numbers = {name: number for number, name in enumerate(self.supplies)}
        return tuple(numbers.get(_supply_name(link, self.actuators), 0) for link in self.links)

    @property
    def feedback(self) -> tuple[Feedback, ...]:
        """What measures the force of each link's actuator."""
        return tuple(type_.feedback for type_ in self.types)

    @property
    def measures_forces(self) -> bool:
        """Something measures the forces of the actuators."""
        return "none" not in self.feedback

    @field_validator("freedoms")
    @classmethod
    def _freedoms_differ(cls, freedoms: tuple[Axis, ...]) -> tuple[Axis, ...]:
        refuse(_repeated([((index,), axis) for index, axis in enumerate(freedoms)], "freedom"))
        return tuple(axis for axis in AXES if axis in freedoms)

    @field_validator("guides")
    @classmethod
    def _guides_guide(cls, guides: GuideSettings, info: ValidationInfo) -> GuideSettings:
        if guides != GuideSettings() and info.data.get("freedoms") == AXES:
            raise ValueError("with all six freedoms nothing is guided: state freedoms, or leave guides out")
        return guides

    @property
    def velocities(self) -> tuple[float, ...]:
        """Limit of the velocity of each link's actuator, m/s."""
        stated = self.limits.velocity
        if stated is not None and not (self.actuators or self.electric_actuators):
            return (stated,) * len(self.links)
        speeds = (type_.no_load_speed() for type_ in self.types)
        return tuple(VELOCITY_RATIO * speed if stated is None else min(stated, speed) for speed in speeds)

    @field_validator("links")
    @classmethod
    def _links_fit(cls, links: tuple[LinkSettings, ...], info: ValidationInfo) -> tuple[LinkSettings, ...]:
        problems = _repeated([((index, "name"), link.name) for index, link in enumerate(links)], "name")
        problems += _repeated(_serials(links), "serial")
        freedoms = info.data.get("freedoms", ())
        if len(links) < len(freedoms):
            what = (
                f"{len(links)} actuators cannot hold {len(freedoms)} freedoms ({', '.join(freedoms)}): where "
                "guides hold the others, state the free ones, such as freedoms: [surge]"
            )
            problems.append(((), what))
        neutral_position = info.data.get("neutral_position")
        if neutral_position is not None:
            wrong = _wrong_lengths(links, neutral_position)
            problems += wrong or left_free(_joints(links), neutral_position, freedoms)
        if {"actuators", "electric_actuators", "actuator", "electric"} <= info.data.keys():
            kinds = {**info.data["actuators"], **info.data["electric_actuators"]}
            unknown = _wrong_types(links, kinds)
            one = info.data["actuator"] or info.data["electric"]
            problems += unknown or _wrong_feedback(links, one, kinds, len(freedoms))
            if "supplies" in info.data:
                names = [_supply_name(link, info.data["actuators"]) for link in links]
                own = [link.supply is not None for link in links]
                fed = [link.actuator not in info.data["electric_actuators"] for link in links]
                problems += wrong_supplies(names, own, fed, info.data["supplies"])
        refuse(problems)
        return links

    @field_validator("actuator")
    @classmethod
    def _force_is_reached(
        cls, actuator: ActuatorSettings | None, info: ValidationInfo
    ) -> ActuatorSettings | None:
        if actuator is not None:
            refuse(force_problems(actuator, strongest(info.data)))
        return actuator

    @field_validator("actuators")
    @classmethod
    def _types_fit(
        cls, actuators: dict[str, ActuatorTypeSettings], info: ValidationInfo
    ) -> dict[str, ActuatorTypeSettings]:
        named = {**actuators, **info.data.get("electric_actuators", {})}
        advice = "state the types of actuators by name, or actuator and valve or electric for all links"
        stated = [one for one in ("actuator", "valve", "electric") if info.data.get(one, ...) is not None]
        if named and stated:
            raise ValueError(f"stands beside {stated[0]}: {advice}")
        if "electric" in stated and len(stated) > 1:
            raise ValueError(f"electric stands beside {stated[0]}: {advice}")
        if not named and "electric" not in stated:
            for one in ("actuator", "valve"):
                if one not in stated:
                    raise ValueError(f"neither {one} nor actuators are stated: {advice}")
        hydraulic = bool(actuators) or "actuator" in stated
        supply, supplies = info.data.get("supply", ...), info.data.get("supplies", {})
        if supplies and supply is not None:
            raise ValueError("supply stands beside supplies: state them by name, or supply for the only one")
        if hydraulic and supply is None and not supplies:
            raise ValueError("supply is missing, and there are hydraulic actuators")
        if not hydraulic and (info.data.get("supply") is not None or supplies):
            raise ValueError("supply stands there, but all actuators are electric: leave it out")
        twice = sorted(set(actuators) & set(info.data.get("electric_actuators", {})))
        if twice:
            raise ValueError(f"{twice[0]} stands in electric_actuators too: give the types different names")
        problems: list[Problem] = []
        for name, actuator in actuators.items():
            found = force_problems(actuator, strongest(info.data, actuator.supply))
            problems += [((name, *location), what) for location, what in found]
        refuse(problems)
        return actuators

    @field_validator("sensors")
    @classmethod
    def _sensors_differ(cls, sensors: SensorSettings, info: ValidationInfo) -> SensorSettings:
        felt, beside = sensors.accelerometers, sensors.displacement
        serials: list[Named] = [(("accelerometers", k, "serial"), one.serial) for k, one in enumerate(felt)]
        serials += [(("displacement", k, "serial"), one.serial) for k, one in enumerate(beside)]
        names: list[Named] = [(("accelerometers", k, "name"), one.name) for k, one in enumerate(felt)]
        lengths: list[Named] = [(("displacement", k, "name"), one.name) for k, one in enumerate(beside)]
        elsewhere: list[Named] = [
            (location, serial) for location, serial in _serials(info.data.get("links", ()))
        ]
        links: list[Named] = [((), link.name) for link in info.data.get("links", ())]
        problems = _repeated(names, "name") + _repeated(lengths, "name", links)
        problems += _repeated(serials, "serial", elsewhere)
        if "neutral_position" in info.data:
            problems += wrong_displacements(sensors.displacement, info.data["neutral_position"])
        kinds = [one for one in (info.data.get("actuator"), info.data.get("electric")) if one is not None] + [
            *info.data.get("actuators", {}).values(),
            *info.data.get("electric_actuators", {}).values(),
        ]
        problems += sensor_problems(
            sensors, [kind.feedback for kind in kinds], info.data.get("supply") is not None
        )
        refuse(problems)
        return sensors

    @field_validator("limits")
    @classmethod
    def _limits_are_reached(cls, limits: LimitSettings, info: ValidationInfo) -> LimitSettings:
        problems: list[Problem] = []
        for axis in info.data.get("freedoms", ()):
            if getattr(limits.pose, axis) is None:
                problems.append((("pose",), f"{axis} is missing, and the table is free to move there"))
        shortest = min((link.stroke for link in info.data.get("links", ())), default=math.inf)
        if not (limits.stroke_margin < shortest):
            what = f"leaves no usable travel of the shortest stroke, {shortest * 1e3:g} mm"
            problems.append((("stroke_margin",), what))
        types = [("", info.data.get("actuator"), info.data.get("valve"))]
        types += [
            (f" of {name}", type_, type_.valve) for name, type_ in info.data.get("actuators", {}).items()
        ]
        supply = strongest(info.data)
        known = [one for one in types if one[1] is not None]
        electric = {"": info.data.get("electric")}
        electric |= {f" of {name}": type_ for name, type_ in info.data.get("electric_actuators", {}).items()}
        reached = [
            (no_load_speed(actuator, valve, supply), f"valve, supply and piston area{name}")
            for name, actuator, valve in known
        ] + [
            (type_.maximum_speed, f"the maximum speed of the electric drive{name}")
            for name, type_ in electric.items()
            if type_ is not None
        ]
        speed, what_limits = max(reached, default=(math.inf, ""))
        if limits.velocity is not None and not (limits.velocity <= speed):
            verb = "allows" if what_limits.startswith("the maximum") else "allow"
            what = f"is {limits.velocity:g} m/s, but {what_limits} {verb} only {speed:.4g} m/s"
            problems.append((("velocity",), what))
        if "links" in info.data and "neutral_position" in info.data:
            place = info.data["neutral_position"], info.data.get("freedoms", ())
            number = condition(_joints(info.data["links"]), *place)
            if not (limits.conditioning >= number):
                what = f"is {limits.conditioning:g}, but at the neutral position the number is {number:.3g}"
                problems.append((("conditioning",), what))
            if limits.internal_forces:
                links = info.data["links"]
                names = [link.name for link in links]
                found = wrong_patterns(
                    [one.actuators for one in limits.internal_forces], names, _joints(links), *place
                )
                problems += [(("internal_forces", *where), what) for where, what in found]
        refuse(problems)
        return limits

    @field_validator("supports")
    @classmethod
    def _supports_fit(
        cls, supports: tuple[SupportSettings, ...], info: ValidationInfo
    ) -> tuple[SupportSettings, ...]:
        problems = _repeated([((index, "name"), one.name) for index, one in enumerate(supports)], "name")
        known = info.data
        if {"links", "neutral_position", "limits", "body", "gravity", "freedoms"} <= known.keys():
            problems += wrong_gas(supports, known) or lifting(supports, known)
        refuse(problems)
        return supports


def _wrong_feedback(
    links: tuple[LinkSettings, ...],
    one: ActuatorSettings | ElectricSettings | None,
    kinds: dict[str, ActuatorTypeSettings | ElectricTypeSettings],
    freedoms: int,
) -> list[Problem]:
    """Return what the links lack for the feedback of their types, ``one`` or ``kinds`` by name."""
    if one is None and not kinds:
        return []
    feedback = [(one or kinds[link.actuator or ""]).feedback for link in links]
    return transducer_problems(links, feedback) or feedback_problems(feedback, freedoms)


def _supply_name(link: LinkSettings, actuators: dict[str, ActuatorTypeSettings]) -> str:
    """Return the name of the supply that a link or its type states, "" for none."""
    type_ = actuators.get(link.actuator or "")
    return link.supply or (type_.supply if type_ is not None else None) or ""


def _wrong_types(
    links: tuple[LinkSettings, ...], actuators: dict[str, ActuatorTypeSettings | ElectricTypeSettings]
) -> list[Problem]:
    """Return what is wrong with the names of the links' types, known are those of the table."""
    problems: list[Problem] = []
    known = ", ".join(actuators) or "none, all are of the one type that actuator says"
    for index, link in enumerate(links):
        if link.actuator is None and actuators:
            problems.append(((index,), f"actuator is missing, known types are {known}"))
        elif link.actuator is not None and link.actuator not in actuators:
            problems.append(((index, "actuator"), f"{link.actuator!r} is no type of actuators: {known}"))
    return problems


def _serials(links: tuple[LinkSettings, ...]) -> list[Named]:
    found: list[Named] = []
    for index, link in enumerate(links):
        found.append(((index, "transducer", "serial"), link.transducer.serial))
        for chamber, transducer in enumerate(link.pressure_transducers or ()):
            found.append(((index, "pressure_transducers", chamber, "serial"), transducer.serial))
        for key in ("pressure_difference_transducer", "load_cell"):
            if (single := getattr(link, key)) is not None:
                found.append(((index, key, "serial"), single.serial))
    return found


def _repeated(named: list[Named], what: str, elsewhere: Sequence[Named] = ()) -> list[Problem]:
    """Return a problem for each name that was used before, in the list or elsewhere."""
    used = {name for _, name in elsewhere}
    problems: list[Problem] = []
    for location, name in named:
        if name in used:
            problems.append((location, f"{what} {name!r} is used twice"))
        used.add(name)
    return problems


def _joints(links: tuple[LinkSettings, ...]) -> list[tuple[Point, Point]]:
    return [(link.table_joint, link.base_joint) for link in links]


def _wrong_lengths(links: tuple[LinkSettings, ...], neutral_position: Point) -> list[Problem]:
    problems: list[Problem] = []
    for index, link in enumerate(links):
        ends = "joints", link.table_joint, link.base_joint
        found = wrong_length(link.name, link.neutral_length, ends, neutral_position)
        if found:
            problems.append(((index, "neutral_length"), found))
    return problems
