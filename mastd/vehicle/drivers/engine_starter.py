"""Whoever drives turns the key when the engine has gone out, as where a wheel locks with the clutch closed.

The model's engine stays out below its stall speed. Where it has been out for ``CRANKING`` with the clutch
pressed (an automatic one opens by itself) it is put to its idle speed: what turns then is free of the wheels.
"""

from __future__ import annotations

from typing import Final

from mastd.arrays import FloatArray
from mastd.vehicle.drivers.powertrain import Train
from mastd.vehicle.model.definition import Model
from mastd.vehicle.powertrain.fields import STATE

CRANKING: Final = 0.8
"""s from the clutch pressed until a warm engine runs."""
_PRESSED: Final = 0.95
"""Of the clutch pedal: further than where the clutch is open."""


class EngineStarter:
    """Starts the engine of one vehicle again; of one whose engine does not go out it does nothing."""

    def __init__(self, model: Model) -> None:
        """Begin with a running engine."""
        self._train = None if model.powertrain is None else Train.of(model, model.powertrain)
        self._stall = 0.0 if model.powertrain is None else model.powertrain.engine.stall_speed
        self._cranked = 0.0

    def inspect(self, state: FloatArray, clutch: float, span: float) -> None:
        """Look at the powertrain's state after ``span`` s more; write the engine's speed where it starts.

        ``clutch``: where its pedal is, 0…1.
        """
        if self._train is None or not state[STATE.engine_speed] < self._stall:
            self._cranked = 0.0
            return
        free = clutch >= _PRESSED or not self._train.pedal
        self._cranked = self._cranked + span if free else 0.0
        if self._cranked >= CRANKING:
            state[STATE.engine_speed], state[STATE.idle_integral] = self._train.idle, 0.0
            self._cranked = 0.0
