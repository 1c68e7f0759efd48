"""The numbers of a simulated vehicle: where they stand in the frame, in the status block and in the record.

One block of ``VEHICLE_NUMBERS`` float64, the same for every vehicle, so that another one can be loaded while
frame, recorder and gateway stay as they are. Which numbers of it are in use, and what they are called,
follows from the vehicle's wheels and from whether it is driven. Vectors of the vehicle are in its chassis'
axes: x ahead, y left, z up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

MAX_WHEELS: Final = 16
ON_TABLE: Final = "hils"
DRIVEN_BY_SCRIPT: Final = "oils"
BY_HAND: Final = "oils by hand"
"""What a simulated vehicle is for."""
_AXES: Final = ("x", "y", "z")
_ANGLES: Final = ("roll", "pitch", "yaw")

# places in the block
ACCELERATION, SEAT, WEIGHTED, RMS, DOSE, SPEED, ATTITUDE, YAW_RATE, ITERATIONS, CONVERGED = (
    *range(0, 16, 3),
    16,
    19,
    20,
    21,
)
HEAD: Final = 22
ASKED, GIVEN, DRIVER = HEAD, HEAD + 6, HEAD + 12
DRIVER_NUMBERS: Final = 5
DRIVEN: Final = 12 + DRIVER_NUMBERS
"""Numbers that only a driven vehicle has, after the head."""
PER_WHEEL: Final = ("load", "travel", "tyre_x", "tyre_y", "outside")
"""What stands of each wheel, quantity by quantity, after that."""
VEHICLE_NUMBERS: Final = HEAD + DRIVEN + len(PER_WHEEL) * MAX_WHEELS

_HEAD_FIELDS: Final = (
    *((f"vehicle.acceleration.{axis}", "m/s2", "of the chassis' centre of mass") for axis in _AXES),
    *(
        (f"seat.acceleration.{axis}", "m/s2", "at the seat, specific force less gravity at rest")
        for axis in _AXES
    ),
    *(
        (f"seat.weighted.{axis}", "m/s2", "at the seat, weighted by ISO 2631-1 (Wd, Wd, Wk)")
        for axis in _AXES
    ),
    *((f"seat.rms.{axis}", "m/s2", "effective weighted acceleration since the start") for axis in _AXES),
    *((f"seat.vdv.{axis}", "m/s1.75", "vibration dose since the start, weighted") for axis in _AXES),
    ("vehicle.speed", "m/s", "of the chassis along its own axis"),
    *((f"vehicle.{angle}", "rad", "of the chassis against level ground") for angle in _ANGLES),
    ("vehicle.yaw_rate", "rad/s", "about the chassis' own vertical"),
    ("vehicle.iterations", "1", "of the solver in the last step"),
    ("vehicle.converged", "1", "1 where the solver met its tolerances"),
)
_CUE_UNITS: Final = ("m/s2", "m/s2", "m/s2", "rad/s", "rad/s", "rad/s")
_DRIVEN_FIELDS: Final = (
    *(
        (f"cue.asked.{axis}", unit, "what the seat feels less gravity at rest, and turns, times the gains")
        for axis, unit in zip((*_AXES, *_ANGLES), _CUE_UNITS, strict=True)
    ),
    *(
        (f"cue.given.{axis}", unit, "what the commanded motion makes at the seat on the table")
        for axis, unit in zip((*_AXES, *_ANGLES), _CUE_UNITS, strict=True)
    ),
    ("driver.steering", "1", "fraction of the rack's travel, left positive"),
    ("driver.throttle", "1", "pedal, 1 is down"),
    ("driver.brake", "1", "pedal, 1 is down"),
    ("driver.clutch", "1", "pedal, 1 is down"),
    ("driver.gear", "1", "of the lever; 100: automatic"),
)
_WHEEL_FIELDS: Final = (
    ("N", "vertical force of the ground on the tyre"),
    ("m", "of the wheel's centre from the design position, bump positive"),
    ("N", "force on the tyre along the wheel's direction"),
    ("N", "force on the tyre across it, left positive"),
    ("m", "distance of the wheel off the road or the table"),
)


def vehicle_fields(wheels: Sequence[str], driven: bool) -> tuple[tuple[str, str, str], ...]:
    """Return name, unit and meaning of the numbers in use, in their order.

    Raises ValueError for more than ``MAX_WHEELS`` wheels.
    """
    if len(wheels) > MAX_WHEELS:
        raise ValueError(f"{len(wheels)} wheels, at most {MAX_WHEELS} can be recorded")
    return (
        *_HEAD_FIELDS,
        *(_DRIVEN_FIELDS if driven else ()),
        *(
            (f"vehicle.{quantity}.{wheel}", unit, meaning)
            for quantity, (unit, meaning) in zip(PER_WHEEL, _WHEEL_FIELDS, strict=True)
            for wheel in wheels
        ),
    )


def first_wheel(driven: bool) -> int:
    """Return the place of the first wheel's load."""
    return HEAD + (DRIVEN if driven else 0)
