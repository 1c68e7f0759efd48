"""What stands between the joints of a link, hydraulic or electric, and what must fit together in it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from mastd.settings.core.base import Problem, computed
from mastd.settings.table.electric import ElectricSettings, VelocityLoopSettings
from mastd.settings.table.hydraulics import (
    ActuatorSettings,
    DriveGainSettings,
    Feedback,
    ValveSettings,
)
from mastd.settings.table.sensors import (
    LoadCellSettings,
    PressureDifferenceSettings,
    PressureTransducerSettings,
    SensorSettings,
)
from mastd.settings.table.supply import SupplySettings


class ActuatorType(NamedTuple):
    """A cylinder with its valve, or an electric drive with its velocity loop; and the drive's gains."""

    body: ActuatorSettings | ElectricSettings
    lag: ValveSettings | VelocityLoopSettings
    """Natural frequency, damping ratio and delay between what the drive commands and the speed."""
    gains: DriveGainSettings
    fed: SupplySettings | None = None
    """The supply, none of an electric drive."""

    @property
    def supply(self) -> SupplySettings:
        """The supply; raises TypeError where the actuator is electric."""
        if self.fed is None:
            raise TypeError("an electric drive has no supply")
        return self.fed

    @property
    def only_pushes(self) -> bool:
        """It is single-acting."""
        return isinstance(self.body, ActuatorSettings) and self.body.single_acting

    @property
    def electric(self) -> ElectricSettings | None:
        """The electric drive, None where the actuator is hydraulic."""
        return self.body if isinstance(self.body, ElectricSettings) else None

    @property
    def cylinder(self) -> ActuatorSettings:
        """The cylinder; raises TypeError where the actuator is electric."""
        if not isinstance(self.body, ActuatorSettings):
            raise TypeError("an electric drive has no cylinder")
        return self.body

    @property
    def valve(self) -> ValveSettings:
        """The valve; raises TypeError where the actuator is electric."""
        if not isinstance(self.lag, ValveSettings):
            raise TypeError("an electric drive has no valve")
        return self.lag

    @property
    def feedback(self) -> Feedback:
        """What measures the force."""
        return self.body.feedback

    @property
    def valve_lead(self) -> float:
        """Of the drive, s."""
        if self.gains.valve_lead is not None:
            return self.gains.valve_lead
        return self.lag.delay + self.lag.low_frequency_lag

    @property
    def length_gain(self) -> float:
        """Of the drive, 1/s; raises ValueError where it is still to be computed."""
        return computed(self.gains.length_gain)

    @property
    def pressure_damping(self) -> float:
        """Of the drive, 1/s; raises ValueError where it is still to be computed."""
        return computed(self.stated_damping)

    @property
    def stated_damping(self) -> float | None:
        """Pressure damping where it is known: 0 where nothing measures the force."""
        return 0.0 if self.feedback == "none" else self.gains.pressure_damping

    def no_load_speed(self) -> float:
        """Return the speed in m/s without load, its valve fully open or the motor at its maximum."""
        if isinstance(self.body, ElectricSettings):
            return self.body.maximum_speed
        return no_load_speed(self.body, self.valve, self.fed)


class Measured(Protocol):
    """A table as far as the feedback of its forces goes."""

    @property
    def links(self) -> Sequence[MeasuredLink]:
        """Its actuators."""

    @property
    def types(self) -> tuple[ActuatorType, ...]:
        """Of each."""

    @property
    def sensors(self) -> SensorSettings:
        """How they measure."""


class MeasuredLink(Protocol):
    """A link as far as the feedback of its force goes."""

    @property
    def pressure_transducers(self) -> object:
        """Of both chambers."""

    @property
    def pressure_difference_transducer(self) -> object:
        """Of their difference."""

    @property
    def load_cell(self) -> object:
        """Between rod and table."""


TRANSDUCERS: Mapping[Feedback, str] = {
    "chamber_pressures": "pressure_transducers",
    "pressure_difference": "pressure_difference_transducer",
    "load_cell": "load_cell",
}
"""Key of a link for each kind of feedback."""
FORCE_FIELDS: Mapping[Feedback, str] = {
    "chamber_pressures": "pressures",
    "pressure_difference": "pressure_differences",
    "load_cell": "load_cells",
}
"""Field of a sample for each kind of feedback, in the sample's order."""


def transducer_problems(links: Sequence[MeasuredLink], feedback: Sequence[Feedback]) -> list[Problem]:
    """Return the transducers that the feedback of each link's type needs and lacks, or does not have."""
    problems: list[Problem] = []
    for index, (link, kind) in enumerate(zip(links, feedback, strict=True)):
        for name, key in TRANSDUCERS.items():
            stated = getattr(link, key) is not None
            if stated and name != kind:
                what = (
                    f"stands there, but the feedback of the actuator is {kind}: leave it out or state {name}"
                )
                problems.append(((index, key), what))
            elif not stated and name == kind:
                problems.append(((index,), f"{key} is missing: the feedback of the actuator is {kind}"))
    return problems


def feedback_problems(feedback: Sequence[Feedback], freedoms: int) -> list[Problem]:
    """Return what cannot work with actuators whose force nothing measures."""
    unmeasured = [index for index, kind in enumerate(feedback) if kind == "none"]
    if not unmeasured:
        return []
    where = (unmeasured[0],)
    if len(feedback) > freedoms:
        what = (
            f"{len(feedback)} actuators for {freedoms} freedom{'s' * (freedoms != 1)} would work against "
            "each other unseen, as nothing measures the force of this one: load cells, as feedback of all"
        )
        return [(where, what)]
    if len(unmeasured) < len(feedback):
        what = (
            "nothing measures the force of this actuator, but that of others: measure that of all or of none"
        )
        return [(where, what)]
    return []


def sensor_problems(sensors: SensorSettings, feedback: Sequence[Feedback], supply: bool) -> list[Problem]:
    """Return the kinds of sensors that the table has, but which ``sensors`` does not describe."""
    problems: list[Problem] = []
    pressures = supply or bool({"chamber_pressures", "pressure_difference"} & set(feedback))
    if pressures and sensors.pressure is None:
        problems.append(((), "pressure is missing: how the pressure transducers measure"))
    if "load_cell" in feedback and sensors.force is None:
        problems.append(((), "force is missing: how the load cells measure"))
    return problems


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


def force_problems(actuator: ActuatorSettings, supply: SupplySettings | None) -> list[Problem]:
    """Return what the pressures of the supply do not give an actuator."""
    problems: list[Problem] = []
    if supply is None:
        return problems
    reach = actuator.least_area * (supply.pressure - supply.return_pressure)
    if not (actuator.maximum_force <= 1.05 * reach):
        what = (
            f"is {actuator.maximum_force / 1e3:g} kN, "
            f"but piston area and supply pressure give at most {reach / 1e3:.1f} kN"
        )
        problems.append((("maximum_force",), what))
    if not (actuator.relief_pressure >= supply.pressure):
        what = f"must be at least the supply's pressure, {supply.pressure / 1e5:g} bar"
        problems.append((("relief_pressure",), what))
    return problems


class ForceReading(NamedTuple):
    """One reading that belongs to the force of an actuator."""

    actuator: int
    """Counted from 0."""
    transducer: PressureTransducerSettings | PressureDifferenceSettings | LoadCellSettings
    force: float
    """What it counts in the force, N per unit of the calibrated reading."""
    noise: float
    """Of a reading, root mean square."""
    range: tuple[float, float]
    """Lowest and highest calibrated reading that can be."""


def force_readings(table: Measured) -> list[ForceReading]:
    """Return the readings of all forces in the order in which a sample has them.

    First both chambers of each actuator that has transducers there, then pressure differences, then load
    cells.
    """
    found: list[ForceReading] = []
    for kind in FORCE_FIELDS:
        for index, (link, type_) in enumerate(zip(table.links, table.types, strict=True)):
            sensor = table.sensors.force if kind == "load_cell" else table.sensors.pressure
            if type_.feedback != kind or sensor is None:
                continue
            stated = getattr(link, TRANSDUCERS[kind])
            transducers = stated if isinstance(stated, tuple) else (stated,)
            forces = (1.0,) if kind == "load_cell" else type_.cylinder.piston_areas
            for transducer, force, sign in zip(transducers, forces, (1.0, -1.0), strict=False):
                found.append(ForceReading(index, transducer, sign * force, sensor.noise, sensor.range))
    return found
