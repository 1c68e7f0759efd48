"""What must fit together in an axle or a group of bodies: names, places, sides.

Everything here is about a description as it stands in the file; whether the joints let the vehicle move as it
should is for ``mastd/vehicle/mobility.py`` to say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mastd.settings.base import Problem

if TYPE_CHECKING:
    from mastd.settings.vehicle_axles import CustomAxle, GroupSettings


def axle_problems(axle: CustomAxle) -> list[Problem]:
    return []


def group_problems(group: GroupSettings) -> list[Problem]:
    return []
