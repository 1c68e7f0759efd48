"""Settings of the table: geometry, body, hydraulics, sensors and limits (``config/table.yaml``).

Frames: B is the ground, P the table with its origin at C. Actuator order and joints are those of Jin 2012.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any, Final, NamedTuple

import numpy as np
from pydantic import Field, ValidationInfo, field_validator

from mastd.settings.core.base import Problem, Settings, computed, refuse
from mastd.settings.core.quantity import (
    Acceleration,
    Length,
    Point,
)
from mastd.settings.table.body import BodySettings
from mastd.settings.table.fed import force_problems, strongest, wrong_supplies
from mastd.settings.table.guides import ALL_FREEDOMS, HELD_STILL, Axis, GuideSettings
from mastd.settings.table.held import condition, left_free, lowest_heave, neutral_vectors
from mastd.settings.table.hydraulics import (
    ActuatorSettings,
    ActuatorTypeSettings,
    DriveGainSettings,
    DriveSettings,
    ValveSettings,
)
from mastd.settings.table.limits import LimitSettings
from mastd.settings.table.sensors import (
    LengthTransducerSettings,
    Name,
    PressureTransducerSettings,
    SensorSettings,
)
from mastd.settings.table.supply import MAX_SUPPLIES, SupplySettings
from mastd.settings.table.supports import MIN_VOLUME, SupportSettings

MAX_LINKS: Final = 24
NEUTRAL_LENGTH_TOLERANCE: Final = 0.05e-3
"""Metres between an actuator's neutral length and its joints' distance at neutral."""
ROUNDING: Final = 2e-3
"""m: what the figures of a drawing differ by; beyond, a joint is wrong."""

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
    pressure_transducers: tuple[PressureTransducerSettings, PressureTransducerSettings]
    """Chamber 1, which extends the actuator, and chamber 2."""

    @field_validator("stroke")
    @classmethod
    def _shorter_than_link(cls, stroke: float, info: ValidationInfo) -> float:
        neutral_length = info.data.get("neutral_length", math.inf)
        if not (stroke < neutral_length):
            raise ValueError(f"is {stroke:g} m, it must be below the neutral length, {neutral_length:g} m")
        return stroke


class ActuatorType(NamedTuple):
    """What stands between the joints of a link."""

    cylinder: ActuatorSettings
    valve: ValveSettings
    gains: DriveGainSettings
    supply: SupplySettings

    @property
    def valve_lead(self) -> float:
        """Of the drive, s."""
        if self.gains.valve_lead is not None:
            return self.gains.valve_lead
        return self.valve.delay + self.valve.low_frequency_lag

    @property
    def length_gain(self) -> float:
        """Of the drive, 1/s; raises ValueError where it is still to be computed."""
        return computed(self.gains.length_gain)

    @property
    def pressure_damping(self) -> float:
        """Of the drive, 1/s; raises ValueError where it is still to be computed."""
        return computed(self.gains.pressure_damping)


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
    freedoms: Annotated[tuple[Axis, ...], Field(min_length=1)] = ALL_FREEDOMS
    """Axes of the pose in which the table moves; guides hold the others at neutral."""
    guides: GuideSettings = GuideSettings()
    body: BodySettings
    supply: SupplySettings | None = None
    """The only one."""
    supplies: Annotated[dict[Name, SupplySettings], Field(validate_default=True, max_length=MAX_SUPPLIES)] = (
        Field(default_factory=dict)
    )
    """Several, by name."""
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
            for axis in ALL_FREEDOMS
        )

    @property
    def types(self) -> tuple[ActuatorType, ...]:
        """The type of each link's actuator, in the order of the links."""
        supplies = tuple(self.packs.values())
        fed = [supplies[index] for index in self.fed_by]
        if self.actuator is not None and self.valve is not None:
            return tuple(ActuatorType(self.actuator, self.valve, self.drive, supply) for supply in fed)
        found = {
            name: (actuator, actuator.valve, actuator.drive or self.drive)
            for name, actuator in self.actuators.items()
        }
        return tuple(
            ActuatorType(*found[link.actuator or ""], supply)
            for link, supply in zip(self.links, fed, strict=True)
        )

    @property
    def packs(self) -> dict[str, SupplySettings]:
        """The supplies by name, the only one under ""."""
        return {"": self.supply} if self.supply is not None else self.supplies

    @property
    def fed_by(self) -> tuple[int, ...]:
        """The number of the supply of each link's actuator, in the order of ``packs``."""
        if self.supply is not None:
            return (0,) * len(self.links)
        names = list(self.supplies)
        return tuple(names.index(_supply_name(link, self.actuators)) for link in self.links)

    @field_validator("supplies")
    @classmethod
    def _one_or_several(
        cls, supplies: dict[str, SupplySettings], info: ValidationInfo
    ) -> dict[str, SupplySettings]:
        advice = "state the supplies by name, or supply for the only one"
        if supplies and info.data.get("supply", ...) is not None:
            raise ValueError(f"stands beside supply: {advice}")
        if not supplies and info.data.get("supply", ...) is None:
            raise ValueError(f"neither supply nor supplies are stated: {advice}")
        return supplies

    @field_validator("freedoms")
    @classmethod
    def _freedoms_differ(cls, freedoms: tuple[Axis, ...]) -> tuple[Axis, ...]:
        refuse(_repeated([((index,), axis) for index, axis in enumerate(freedoms)], "freedom"))
        return tuple(axis for axis in ALL_FREEDOMS if axis in freedoms)

    @field_validator("guides")
    @classmethod
    def _guides_guide(cls, guides: GuideSettings, info: ValidationInfo) -> GuideSettings:
        if guides != GuideSettings() and info.data.get("freedoms") == ALL_FREEDOMS:
            raise ValueError("with all six freedoms nothing is guided: state freedoms, or leave guides out")
        return guides

    @property
    def velocities(self) -> tuple[float, ...]:
        """Limit of the velocity of each link's actuator, m/s."""
        stated = self.limits.velocity
        if stated is not None and not self.actuators:
            return (stated,) * len(self.links)
        speeds = (no_load_speed(type_.cylinder, type_.valve, type_.supply) for type_ in self.types)
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
        if "actuators" in info.data:
            problems += _wrong_types(links, info.data["actuators"])
            if "supplies" in info.data:
                names = [_supply_name(link, info.data["actuators"]) for link in links]
                own = [link.supply is not None for link in links]
                problems += wrong_supplies(names, own, info.data["supplies"])
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
        advice = "state the types of actuators by name, or actuator and valve for all links"
        for one in ("actuator", "valve"):
            stated = info.data.get(one, ...)
            if actuators and stated is not None:
                raise ValueError(f"stands beside {one}: {advice}")
            if not actuators and stated is None:
                raise ValueError(f"neither {one} nor actuators are stated: {advice}")
        problems: list[Problem] = []
        for name, actuator in actuators.items():
            found = force_problems(actuator, strongest(info.data, actuator.supply))
            problems += [((name, *location), what) for location, what in found]
        refuse(problems)
        return actuators

    @field_validator("sensors")
    @classmethod
    def _sensors_differ(cls, sensors: SensorSettings, info: ValidationInfo) -> SensorSettings:
        locations = [("accelerometers", index) for index in range(len(sensors.accelerometers))]
        names: list[Named] = [
            ((*location, "name"), sensor.name)
            for location, sensor in zip(locations, sensors.accelerometers, strict=True)
        ]
        serials: list[Named] = [
            ((*location, "serial"), sensor.serial)
            for location, sensor in zip(locations, sensors.accelerometers, strict=True)
        ]
        elsewhere: list[Named] = [
            (location, serial) for location, serial in _serials(info.data.get("links", ()))
        ]
        refuse(_repeated(names, "name") + _repeated(serials, "serial", elsewhere))
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
        known = [one for one in types if one[1] is not None] or types[:1]
        speed, name = max((no_load_speed(actuator, valve, supply), name) for name, actuator, valve in known)
        if limits.velocity is not None and not (limits.velocity <= speed):
            what = (
                f"is {limits.velocity:g} m/s, "
                f"but valve, supply and piston area{name} allow only {speed:.4g} m/s"
            )
            problems.append((("velocity",), what))
        if "links" in info.data and "neutral_position" in info.data:
            place = info.data["neutral_position"], info.data.get("freedoms", ())
            number = condition(_joints(info.data["links"]), *place)
            if not (limits.conditioning >= number):
                what = f"is {limits.conditioning:g}, but at the neutral position the number is {number:.3g}"
                problems.append((("conditioning",), what))
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
            problems += _wrong_gas(supports, known) or _lifting(supports, known)
        refuse(problems)
        return supports


def no_load_speed(
    actuator: ActuatorSettings | None, valve: ValveSettings | None, supply: SupplySettings | None
) -> float:
    """Return the speed in m/s of an unloaded actuator at full opening, infinite if a part is not known.

    Rated flow at the rated drop, scaled by the square root of the drop that the supply offers
    (table-control study, section 5.1).
    """
    if actuator is None or valve is None or supply is None:
        return math.inf
    drop = supply.pressure - supply.return_pressure
    first, second = actuator.piston_areas
    flow = valve.count * valve.rated_flow * math.sqrt(drop / valve.rated_pressure_drop)
    return flow / max(first, second / valve.port_ratio)


def _supply_name(link: LinkSettings, actuators: dict[str, ActuatorTypeSettings]) -> str:
    """Return the name of the supply that a link or its type states, "" for none."""
    type_ = actuators.get(link.actuator or "")
    return link.supply or (type_.supply if type_ is not None else None) or ""


def _wrong_types(
    links: tuple[LinkSettings, ...], actuators: dict[str, ActuatorTypeSettings]
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


def _lowest_heave(known: dict[str, Any]) -> float:
    """Return the heave in m at which a table of validated settings rests, 0 where guides hold heave."""
    if "heave" not in known["freedoms"]:
        return 0.0
    vectors = neutral_vectors(_joints(known["links"]), known["neutral_position"])
    return lowest_heave(vectors, np.array([link.stroke for link in known["links"]]))


def _wrong_gas(supports: tuple[SupportSettings, ...], known: dict[str, Any]) -> list[Problem]:
    """Return the supports whose gas the travel of the table would compress to nothing."""
    pose = {axis: getattr(known["limits"].pose, axis) or 0.0 for axis in known["freedoms"]}
    heave = max(pose.get("heave", 0.0), -_lowest_heave(known))
    problems: list[Problem] = []
    for index, support in enumerate(supports):
        x, y, _ = support.position
        travel = heave + abs(x) * pose.get("pitch", 0.0) + abs(y) * pose.get("roll", 0.0)
        if support.gas is not None and not (travel * support.gas.slope < 1.0 - MIN_VOLUME):
            what = (
                f"is {support.gas.volume * 1e3:g} L, but {travel * 1e3:.4g} mm of travel displace "
                f"{travel * support.gas.area * 1e3:.4g} L: state the volume of piston and vessels at neutral"
            )
            problems.append(((index, "gas", "volume"), what))
    return problems


def _lifting(supports: tuple[SupportSettings, ...], known: dict[str, Any]) -> list[Problem]:
    """Return as a problem that supports lift the bare table off its rest, from where it could not sink."""
    lowest = _lowest_heave(known)
    lifted = sum(support.standing(lowest) for support in supports)
    weight = known["body"].mass * known["gravity"]
    if not supports or lowest == 0.0 or lifted < weight:
        return []
    what = (
        f"lift {lifted / 1e3:.4g} kN where the table rests, at heave {1e3 * lowest:.4g} mm, and the bare "
        f"table weighs {weight / 1e3:.4g} kN: it would not sink by itself; lower their forces or stiffness"
    )
    return [((), what)]


def _serials(links: tuple[LinkSettings, ...]) -> list[Named]:
    found: list[Named] = []
    for index, link in enumerate(links):
        found.append(((index, "transducer", "serial"), link.transducer.serial))
        for chamber, transducer in enumerate(link.pressure_transducers):
            found.append(((index, "pressure_transducers", chamber, "serial"), transducer.serial))
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
        at_neutral = tuple(c + p for c, p in zip(neutral_position, link.table_joint, strict=True))
        distance = math.dist(at_neutral, link.base_joint)
        if not (abs(distance - link.neutral_length) <= NEUTRAL_LENGTH_TOLERANCE):
            what = (
                f"is {link.neutral_length * 1e3:g} mm, but the joints of {link.name} are "
                f"{distance * 1e3:.3f} mm apart when the table is at its neutral position: "
            )
            rounded = abs(distance - link.neutral_length) <= ROUNDING
            what += "state that length" if rounded else "check table_joint and base_joint"
            problems.append(((index, "neutral_length"), what))
    return problems
