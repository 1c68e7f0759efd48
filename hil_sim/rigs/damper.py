"""``hil-sim rig damper``: the ECU of semi-active dampers, by the skyhook law.

It reads the travel of the wheels and the vertical acceleration of the chassis, as the sensors of an ECU tell
them, and gives a force in each damper that it has a channel for. A damper between the chassis and a hook in
the sky would give −c_sky v, v the chassis' own speed upwards. A real one can only take energy out: with the
speed ẋ at which it becomes longer, its force F (pushing apart positive) must have F ẋ ≤ 0, and its valve
closes so far and no further, |F| ≤ c_max |ẋ| (D. Karnopp, M. J. Crosby, R. A. Harwood, Vibration control
using semi-active force generators, 1974):

    F = −sign(v) min(c_sky |v|, c_max |ẋ|) where v ẋ > 0, else 0
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from hil_sim.rigs.program import add_options, channels_of, serve

if TYPE_CHECKING:
    from mastd.wire.rigs.client import RigClient
    from mastd.wire.rigs.client_session import MotionSeen

CHANNEL: Final = "damper_force."
WHEELS: Final = tuple(f"{axle}{side}" for axle in ("f", "r", "3", "4", "5", "6", "7", "8") for side in "lr")
"""All that there may be; which ones it has a channel for is known once it has joined."""
READS: Final = ("vehicle.acceleration.z", *(f"vehicle.travel.{wheel}" for wheel in WHEELS))
HIGH_PASS: Final = 2.0 * math.pi * 0.2
"""rad/s: what is slower is an offset of the sensor."""
TRAVEL_FILTER: Final = 2.0 * math.pi * 60.0
"""rad/s: up to which the travel's rate is taken from its differences."""


class Skyhook:
    """The law, for wheels in the order of the rig's channels."""

    def __init__(self, wheels: int, sky: float, valve: float) -> None:
        """``sky``: damping to the sky, ``valve``: of a closed valve; N s/m."""
        self.forces = [0.0] * wheels
        self.speed = 0.0
        """Of the chassis upwards, m/s."""
        self._sky, self._valve = sky, valve
        self._offset = 0.0
        self._rates = [0.0] * wheels
        self._last: tuple[float, Sequence[float]] | None = None

    def step(self, time: float, acceleration: float, travels: Sequence[float]) -> list[float]:
        """Return the forces (N) at a time (s), from the chassis' acceleration upwards (m/s²) and the wheels'
        travel (m, bump positive)."""
        if not all(map(math.isfinite, (acceleration, *travels))):
            self._last, self.speed, self._offset = None, 0.0, 0.0  # no vehicle is there
            self.forces = [0.0] * len(travels)
            return self.forces
        last, self._last = self._last, (time, travels)
        if last is None or time <= last[0]:
            return self.forces
        step = time - last[0]
        kept = math.exp(-HIGH_PASS * step)
        self._offset = kept * self._offset + (1.0 - kept) * acceleration
        self.speed = kept * self.speed + step * (acceleration - self._offset)
        weight = 1.0 - math.exp(-TRAVEL_FILTER * step)
        for k, (now, before) in enumerate(zip(travels, last[1], strict=True)):
            self._rates[k] += weight * ((before - now) / step - self._rates[k])
            self.forces[k] = self._force(self.speed, self._rates[k])
        return self.forces

    def _force(self, speed: float, extension: float) -> float:
        if speed * extension <= 0.0:
            return 0.0
        return -math.copysign(min(self._sky * abs(speed), self._valve * abs(extension)), speed)


class DamperEcu:
    """The law on the table; ``reads`` the acceleration and the travels of ``wheels``, by their names."""

    def __init__(self, wheels: Sequence[str], law: Skyhook, reads: Sequence[str] = READS) -> None:
        self._wheels = wheels
        self._law = law
        self._columns = [reads.index(name) for name in (READS[0], *(f"vehicle.travel.{w}" for w in wheels))]

    def answer(self, motion: MotionSeen) -> list[float]:
        """Return the forces."""
        acceleration, *travels = motion.values[self._columns].tolist()
        return self._law.step(motion.time, acceleration, travels)

    def line(self) -> str:
        """Return the chassis' speed and the forces."""
        forces = "  ".join(
            f"{wheel} {force:+6.0f} N" for wheel, force in zip(self._wheels, self._law.forces, strict=True)
        )
        return f"chassis {1e3 * self._law.speed:+5.0f} mm/s  {forces}"


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the parser of ``damper``."""
    parser = subparsers.add_parser(
        "damper",
        help="ECU of semi-active dampers (skyhook)",
        description="ECU of semi-active dampers, by the skyhook law: a force for each damper_force.WHEEL "
        "among its channels.",
    )
    parser.add_argument("--sky", metavar="DAMPING", default="2500 N s/m", help="to the sky (2500 N s/m)")
    parser.add_argument(
        "--most", metavar="DAMPING", default="4000 N s/m", help="of a closed valve (4000 N s/m)"
    )
    add_options(parser, "damper_ecu")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Control the dampers until told to end; return the exit code."""
    from mastd.commands.quantities import quantity
    from mastd.settings.rigs.channels import SIGNALS
    from mastd.units import DAMPING

    sky = quantity("--sky", arguments.sky, DAMPING)
    valve = quantity("--most", arguments.most, DAMPING)

    def law(rig: RigClient) -> DamperEcu:
        names = channels_of(rig, lambda name: name.removeprefix(CHANNEL) in WHEELS, f"{CHANNEL}WHEEL")
        return DamperEcu([name.removeprefix(CHANNEL) for name in names], Skyhook(len(names), sky, valve))

    return serve(arguments, SIGNALS, READS, law)
