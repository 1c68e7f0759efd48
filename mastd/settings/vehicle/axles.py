"""Axles of a vehicle file: what all have, the corner templates, and the free definition.

An axle describes the left side; the right side is its mirror image (y → −y). Every template expands into the
free definition (``expanded``), so that there is one way from a file to a model.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from mastd.settings.core.base import Settings, refuse
from mastd.settings.core.quantity import Point
from mastd.settings.vehicle.axle_checks import axle_problems, group_problems
from mastd.settings.vehicle.equipment import BrakeSettings
from mastd.settings.vehicle.forces import AntiRollBarSettings, SpringSettings
from mastd.settings.vehicle.parts import (
    BodySettings,
    Identifier,
    Joint,
    LinkSettings,
    Name,
    RackSettings,
    TieRodSettings,
    ToeLinkSettings,
    WheelSettings,
)
from mastd.settings.vehicle.templates import Points, TemplateParts, mcpherson, two_arms
from mastd.settings.vehicle.tyres import AnyTyre

Springs = Annotated[dict[Identifier, SpringSettings], Field(max_length=20)]
Bodies = Annotated[dict[Identifier, BodySettings], Field(max_length=20)]
Joints = Annotated[dict[Identifier, Joint], Field(max_length=60)]


class Hardpoints(Settings, extra="allow"):
    """Points of the left side by name; springs, bars and joints may use any further ones."""

    __pydantic_extra__: dict[Identifier, Point]

    wheel_centre: Point

    def all(self) -> Points:
        """Return all points by name, in m."""
        return {**self.__dict__, **(self.__pydantic_extra__ or {})}


class GroupSettings(Settings):
    """Bodies that are joined to the chassis and to each other; nothing is mirrored."""

    hardpoints: dict[Identifier, Point] = Field(default_factory=dict)
    bodies: Bodies
    joints: Joints = Field(default_factory=dict)
    springs: Springs = Field(default_factory=dict)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        refuse(group_problems(self))
        return self


class AxleBase(Settings):
    """What every axle has."""

    name: Name
    side: Literal["left"] | None = None
    """Given where the axle has this side alone, as a quarter car; mirrored if left out."""
    hardpoints: Hardpoints
    right_hardpoints: dict[Identifier, Point] = Field(default_factory=dict)
    """Points of the right side as measured: checked to be the mirror image, not used otherwise."""
    wheel: WheelSettings
    tyre: AnyTyre
    springs: Springs
    """Springs and dampers of the left side."""
    anti_roll_bar: AntiRollBarSettings | None = None
    rack: RackSettings | None = None
    brakes: BrakeSettings | None = None
    subframe: GroupSettings | None = None
    """Bodies between chassis and both sides, which corners may be joined to; not mirrored."""

    def template(self) -> TemplateParts:
        """Return bodies and joints of the left corner."""
        raise NotImplementedError

    def expanded(self) -> CustomAxle:
        """Return the same axle in the free definition."""
        parts = self.template()
        common: dict[str, Any] = {name: getattr(self, name) for name in AxleBase.model_fields}
        common["hardpoints"] = Hardpoints.model_construct(None, **self.hardpoints.all())
        return CustomAxle.model_construct(
            suspension="custom", bodies=parts.bodies, joints=parts.joints, carrier=parts.carrier, **common
        )

    @property
    def sides(self) -> tuple[Literal["left", "right"], ...]:
        """Sides that the axle has."""
        return ("left", "right") if self.side is None else (self.side,)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        refuse(axle_problems(self.expanded()))
        return self


class CustomAxle(AxleBase):
    """An axle of free definition."""

    suspension: Literal["custom"]
    bodies: Bodies
    """Bodies of the left corner."""
    joints: Joints
    """Joints of the left corner."""
    carrier: str
    """Body that carries the wheel."""

    def expanded(self) -> CustomAxle:
        """Return the axle itself."""
        return self


class TwoArmHardpoints(Hardpoints):
    """Points of two arms with two bearings each."""

    lower_arm_front: Point
    """Front bearing of the lower arm on the chassis."""
    lower_arm_rear: Point
    """Rear bearing of the lower arm on the chassis."""
    lower_arm_outer: Point
    """Ball joint between lower arm and knuckle."""
    upper_arm_front: Point
    """Front bearing of the upper arm on the chassis."""
    upper_arm_rear: Point
    """Rear bearing of the upper arm on the chassis."""
    upper_arm_outer: Point
    """Ball joint between upper arm and knuckle."""


class DoubleWishboneHardpoints(TwoArmHardpoints):
    """Points of a double wishbone corner with tie rod."""

    tie_rod_inner: Point
    """Tie rod's ball joint on rack or chassis."""
    tie_rod_outer: Point
    """Tie rod's ball joint on the knuckle."""


class ToeLinkHardpoints(TwoArmHardpoints):
    """Points of a corner with lower arm, upper arm and toe link."""

    toe_link_inner: Point
    """Toe link's ball joint on the chassis."""
    toe_link_outer: Point
    """Toe link's ball joint on the knuckle."""


class McPhersonHardpoints(Hardpoints):
    """Points of a McPherson corner."""

    lower_arm_front: Point
    """Front bearing of the lower arm on the chassis."""
    lower_arm_rear: Point
    """Rear bearing of the lower arm on the chassis."""
    lower_arm_outer: Point
    """Ball joint between lower arm and knuckle."""
    strut_lower: Point
    """Point of the strut's axis on the knuckle."""
    strut_top: Point
    """Ball joint between strut rod and chassis, on the strut's axis."""
    tie_rod_inner: Point
    """Tie rod's ball joint on rack or chassis."""
    tie_rod_outer: Point
    """Tie rod's ball joint on the knuckle."""


class _TieRodAxle(AxleBase):
    tie_rod: TieRodSettings

    @field_validator("tie_rod")
    @classmethod
    def _has_a_rack(cls, tie_rod: TieRodSettings, info: ValidationInfo) -> TieRodSettings:
        if tie_rod.to == "rack" and "rack" in info.data and info.data["rack"] is None:
            refuse([(("to",), "this axle has no rack, give it one or join the tie rod to the chassis")])
        return tie_rod


class DoubleWishboneAxle(_TieRodAxle):
    """Two wishbones and a tie rod on each side; bodies: lower_arm, upper_arm, knuckle, tie_rod."""

    suspension: Literal["double_wishbone"]
    hardpoints: DoubleWishboneHardpoints
    lower_arm: LinkSettings
    upper_arm: LinkSettings
    knuckle: BodySettings

    def template(self) -> TemplateParts:
        """Return bodies and joints of the left corner."""
        arms = {"lower_arm": self.lower_arm, "upper_arm": self.upper_arm}
        points = self.hardpoints.all()
        return two_arms(points, arms, self.knuckle, "tie_rod", self.tie_rod.to, self.tie_rod.body)


class ToeLinkAxle(AxleBase):
    """Lower arm, upper arm and toe link on each side; bodies: lower_arm, upper_arm, knuckle, toe_link."""

    suspension: Literal["lower_upper_arm_toe_link"]
    hardpoints: ToeLinkHardpoints
    lower_arm: LinkSettings
    upper_arm: LinkSettings
    knuckle: BodySettings
    toe_link: ToeLinkSettings = ToeLinkSettings()

    def template(self) -> TemplateParts:
        """Return bodies and joints of the left corner."""
        arms = {"lower_arm": self.lower_arm, "upper_arm": self.upper_arm}
        points = self.hardpoints.all()
        return two_arms(points, arms, self.knuckle, "toe_link", "chassis", self.toe_link.body)


class McPhersonAxle(_TieRodAxle):
    """Lower arm, strut and tie rod on each side; bodies: lower_arm, knuckle, strut_rod, tie_rod."""

    suspension: Literal["mcpherson"]
    hardpoints: McPhersonHardpoints
    lower_arm: LinkSettings
    knuckle: BodySettings
    """Knuckle with the tube of the strut."""
    strut_rod: LinkSettings
    """Piston rod of the strut, on a ball joint at the top."""

    def template(self) -> TemplateParts:
        """Return bodies and joints of the left corner."""
        points = self.hardpoints.all()
        return mcpherson(
            points, self.lower_arm, self.knuckle, self.strut_rod, self.tie_rod.to, self.tie_rod.body
        )


AnyAxle = Annotated[
    DoubleWishboneAxle | McPhersonAxle | ToeLinkAxle | CustomAxle, Field(discriminator="suspension")
]
