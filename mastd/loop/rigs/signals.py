"""Signals of rigs, brought to where a simulated vehicle takes them: its wheels, and the hands of its driver.

It is asked in every period of the vehicle, and copies numbers from array to array.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.errors import UsageError
from mastd.loop.rigs.bound_rig import BoundRig
from mastd.settings.rigs.channels import DRIVER, SIGNALS, WHEEL_SIGNALS
from mastd.vehicle.equations.prescribed_forces import damper_of_wheel, wheel_index
from mastd.vehicle.model.definition import Model

TORQUE, FORCE = WHEEL_SIGNALS
HANDS_OFF: Final = (0.0, 0.0, 0.0, 0.0, 100.0)
"""What nobody gives, in the order of ``DRIVER``: straight on, no pedal, the car chooses the gear."""


class _Gathered:
    """One row of numbers, some of which come from rigs."""

    def __init__(self, rigs: Sequence[BoundRig], indices: Mapping[str, int], start: Sequence[float]) -> None:
        """``indices``: of the channels in ``values``; ``start``: what stands there where no rig gives one."""
        self.values = np.array(start, dtype=np.float64)
        self._sources = []
        for rig in rigs:
            pairs = [(rig.index_of(name), indices[name]) for name in rig.channels if name in indices]
            if pairs:
                here, there = np.array(pairs, dtype=np.intp).T.copy()
                self._sources.append((rig, here, there, np.zeros(len(pairs))))

    def __bool__(self) -> bool:
        """Return whether any rig gives something."""
        return bool(self._sources)

    @property
    def present(self) -> bool:
        """One of the rigs is there."""
        return any(source[0].present for source in self._sources)

    def read(self) -> None:
        """Copy what the rigs give now."""
        for rig, here, there, spread in self._sources:
            rig.values.take(here, out=spread, mode="clip")
            self.values.put(there, spread)


class WheelSignals:
    """``torques`` (nw, N m) and ``forces`` (nw, N) as ``give`` of a vehicle takes them; ``read`` renews
    them."""

    def __init__(self, model: Model, rigs: Sequence[BoundRig]) -> None:
        """Find the channels of the model's wheels."""
        wheels = [wheel.name for wheel in model.wheels]
        names = [f"{kind}.{wheel}" for kind in (TORQUE, FORCE) for wheel in wheels]
        self._gathered = _Gathered(rigs, {name: k for k, name in enumerate(names)}, [0.0] * len(names))
        self.torques, self.forces = self._gathered.values.reshape(2, len(wheels))

    def __bool__(self) -> bool:
        """Return whether any rig gives something."""
        return bool(self._gathered)

    def read(self) -> None:
        """Copy what the rigs give now; of a lost one what its loss policy says."""
        self._gathered.read()


class HandSignals:
    """What the driver does where rigs give some of it: theirs, and of the rest the operator's."""

    def __init__(self, rigs: Sequence[BoundRig], timeout: float) -> None:
        """Begin with an operator who has not been heard; what one gave stands for ``timeout`` s."""
        self._gathered = _Gathered(rigs, {name: k for k, name in enumerate(DRIVER)}, HANDS_OFF)
        self._operator = np.zeros(len(DRIVER))
        self._timeout = timeout
        self.forget()

    def __bool__(self) -> bool:
        """Return whether any rig gives something."""
        return bool(self._gathered)

    def forget(self) -> None:
        """Begin again with an operator who has not been heard."""
        self._heard = -math.inf

    def receive(self, values: FloatArray, time: float) -> None:
        """Take what the operator drives with (5), at a time of the drive, s."""
        self._operator[:] = values
        self._heard = time

    def now(self, time: float) -> FloatArray | None:
        """Return what is to be driven with (5), None where every rig that has a hand in it is lost."""
        gathered = self._gathered
        if not gathered.present:
            return None
        gathered.values[:] = self._operator if time - self._heard <= self._timeout else HANDS_OFF
        gathered.read()
        gathered.values[-1] = round(gathered.values[-1])
        return gathered.values


def refuse(model: Model, rigs: Sequence[BoundRig], why_no_hands: str | None) -> None:
    """Raise UsageError, one line each, for signals that the vehicle cannot take.

    ``why_no_hands``: the reason why nobody drives it by hand, None where somebody does. Refused are then
    steering, pedals and gear; always a wheel that there is not, one without a damper of its own, and what two
    rigs give.
    """
    problems = []
    givers: dict[str, str] = {}
    for rig in rigs:
        for channel in rig.channels:
            problem = _problem(model, channel, why_no_hands)
            taken = channel in DRIVER or channel.partition(".")[0] in WHEEL_SIGNALS
            if problem is None and taken and channel in givers:
                problem = f"rig {givers[channel]} also drives it; keep only one of them"
            givers.setdefault(channel, rig.name)
            if problem is not None:
                problems.append(f"rig {rig.name}: {channel}: {problem}")
    if problems:
        raise UsageError("\n".join(problems))


def signals_of(rigs: Sequence[BoundRig]) -> list[BoundRig]:
    """Return the rigs that give single signals."""
    return [rig for rig in rigs if rig.kind == SIGNALS]


def _problem(model: Model, channel: str, why_no_hands: str | None) -> str | None:
    if channel in DRIVER:
        return why_no_hands
    kind, _, wheel = channel.partition(".")
    try:
        if kind == FORCE:
            damper_of_wheel(model, wheel)
        elif kind == TORQUE:
            wheel_index(model, wheel)
    except UsageError as error:
        return str(error)
    return None
