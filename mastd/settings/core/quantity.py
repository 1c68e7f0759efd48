"""Types of settings that carry a unit in the file and are plain SI floats in the program.

``stroke: Annotated[Length, Field(gt=0)]`` reads ``50 mm`` as 0.05. From a file a bare number is refused where
a unit is due; from Python, and from a dumped record, a float is the SI value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, Final

from pydantic import AfterValidator, Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from mastd import units
from mastd.units import Dimension

SI_UNIT: Final = "x-si-unit"
"""Key of a quantity's raw JSON schema that tells ``mastd.settings.schema`` the unit of default and range."""

_LIMITS = {"gt": "exclusiveMinimum", "ge": "minimum", "lt": "exclusiveMaximum", "le": "maximum"}
_LIMIT_KEYS = (*_LIMITS, *_LIMITS.values())
_REGULAR_EXPRESSION_SIGNS = frozenset("\\.^$*+?()[]{}|")


@dataclass(frozen=True)
class Quantity:
    """Annotation that makes a float a quantity of one dimension."""

    dimension: Dimension

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.with_info_before_validator_function(self._validate, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        dimension = self.dimension
        number_schema = handler(schema)
        limits = {_LIMITS.get(key, key): number_schema[key] for key in _LIMIT_KEYS if key in number_schema}
        symbols = "|".join(_escaped(unit.symbol) for unit in dimension.units if unit.symbol)
        text = {
            "type": "string",
            "pattern": rf"^\s*{units.NUMBER_PATTERN}\s*(?:{symbols})\s*$",
            "examples": [dimension.example],
            SI_UNIT: dimension.si,
            **limits,
        }
        if dimension.bare:
            number = {"type": "number", "examples": [float(dimension.example)], **limits}
            return {"anyOf": [number, {**text, "examples": ["90 %"]}]}
        return text

    def _validate(self, value: object, info: core_schema.ValidationInfo) -> float:
        dimension = self.dimension
        if isinstance(value, str):
            try:
                return units.parse(value, dimension)
            except units.UnitError as error:
                raise PydanticCustomError("quantity", "{message}", {"message": str(error)}) from error
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise PydanticCustomError(
                "quantity",
                "{message}",
                {"message": f"expected {dimension.phrase} ({units.choices(dimension)})"},
            )
        if not dimension.bare and (info.context or {}).get("from_file"):
            raise PydanticCustomError(
                "quantity", "{message}", {"message": units.bare_number(f"{value}", dimension)}
            )
        if not math.isfinite(value):
            raise PydanticCustomError("quantity", "{message}", {"message": f"{value} is not finite"})
        return float(value)


def _escaped(symbol: str) -> str:
    return "".join(f"\\{sign}" if sign in _REGULAR_EXPRESSION_SIGNS else sign for sign in symbol)


Length = Annotated[float, Quantity(units.LENGTH)]
Velocity = Annotated[float, Quantity(units.VELOCITY)]
Acceleration = Annotated[float, Quantity(units.ACCELERATION)]
Jerk = Annotated[float, Quantity(units.JERK)]
Angle = Annotated[float, Quantity(units.ANGLE)]
AngularVelocity = Annotated[float, Quantity(units.ANGULAR_VELOCITY)]
AngularAcceleration = Annotated[float, Quantity(units.ANGULAR_ACCELERATION)]
AngularJerk = Annotated[float, Quantity(units.ANGULAR_JERK)]
Time = Annotated[float, Quantity(units.TIME)]
Frequency = Annotated[float, Quantity(units.FREQUENCY)]
Rate = Annotated[float, Quantity(units.RATE)]
Mass = Annotated[float, Quantity(units.MASS), Field(le=1e7)]
Inertia = Annotated[float, Quantity(units.INERTIA), Field(ge=-1e10, le=1e10)]
Force = Annotated[float, Quantity(units.FORCE)]
Power = Annotated[float, Quantity(units.POWER)]
Moment = Annotated[float, Quantity(units.MOMENT)]
Pressure = Annotated[float, Quantity(units.PRESSURE)]
Volume = Annotated[float, Quantity(units.VOLUME)]
Flow = Annotated[float, Quantity(units.FLOW)]
Area = Annotated[float, Quantity(units.AREA)]
Density = Annotated[float, Quantity(units.DENSITY)]
Temperature = Annotated[float, Quantity(units.TEMPERATURE)]
OilLeakage = Annotated[float, Quantity(units.OIL_LEAKAGE)]
Stiffness = Annotated[float, Quantity(units.STIFFNESS)]
Damping = Annotated[float, Quantity(units.DAMPING)]
TorsionalStiffness = Annotated[float, Quantity(units.TORSIONAL_STIFFNESS)]
TorsionalDamping = Annotated[float, Quantity(units.TORSIONAL_DAMPING)]
SlipAngleGain = Annotated[float, Quantity(units.SLIP_ANGLE_GAIN)]
Ratio = Annotated[float, Quantity(units.RATIO)]
SweepRate = Annotated[float, Quantity(units.SWEEP_RATE)]
AccelerationDensity = Annotated[float, Quantity(units.ACCELERATION_DENSITY)]
AngularAccelerationDensity = Annotated[float, Quantity(units.ANGULAR_ACCELERATION_DENSITY)]

Coordinate = Annotated[Length, Field(ge=-1000.0, le=1000.0)]
Point = tuple[Coordinate, Coordinate, Coordinate]
"""Three coordinates on a body: beyond what any has, squares of them would no longer be numbers."""


def _unit_vector(direction: tuple[float, float, float]) -> tuple[float, float, float]:
    norm = math.hypot(*direction)
    if not (abs(norm - 1.0) <= 1e-6):
        raise ValueError(f"expected a direction vector of length 1, this one has length {norm:g}")
    return direction


Direction = Annotated[tuple[float, float, float], AfterValidator(_unit_vector)]
"""Unit vector, three bare numbers."""
