"""The inverse of the valves, judged by the valve's own response."""

from __future__ import annotations

import numpy as np
import pytest

from mastd.control.table.valve_inverse import Horizon, valve_inverse
from mastd.settings.core.loader import load
from mastd.settings.core.starter import find
from mastd.settings.table.hydraulics import ValveSettings
from mastd.settings.table.table import TableSettings

PERIOD = 1e-3
VALVE: ValveSettings = load(find("table", "table"), TableSettings).types[0].valve
STEPS = 100
"""Steps of a period in which the valve is integrated."""


def spool_error(horizon: Horizon, frequency: float, delay: float) -> float:
    """Return the share of a sine wanted of the spool that it misses; second-order lag step by step."""
    weights = valve_inverse(VALVE, delay, 70.0, PERIOD, horizon)
    count = 600
    step = PERIOD / STEPS
    time = np.arange((count + horizon.taps + 1) * STEPS) * step
    wanted = np.sin(2.0 * np.pi * frequency * time)
    means = np.add.reduceat(wanted, np.arange(0, len(wanted), STEPS)) / STEPS  # of the period after each
    omega, damping = 2.0 * np.pi * VALVE.natural_frequency, VALVE.damping_ratio
    late = round(delay / step)
    commands = np.zeros(count * STEPS)
    for k in range(count):
        # Held over period k; the newest mean is that of the period that ends `ahead` after its end.
        first = k + horizon.ahead - horizon.taps + 1
        row = [means[max(first + j, 0)] for j in range(horizon.taps)]
        commands[k * STEPS : (k + 1) * STEPS] = float(weights @ np.array(row))
    spool, rate = 0.0, 0.0
    reached = np.zeros_like(commands)
    for k in range(len(commands)):
        command = commands[max(k - late, 0)]
        rate += step * (omega**2 * (command - spool) - 2.0 * damping * omega * rate)
        spool += step * rate
        reached[k] = spool
    asked = np.sin(2.0 * np.pi * frequency * (time[: len(reached)] - horizon.delay))
    settled = slice(len(reached) // 2, None)
    return float(np.sqrt(np.mean((reached - asked)[settled] ** 2) / np.mean(asked[settled] ** 2)))


@pytest.mark.parametrize("frequency", [2.0, 10.0, 20.0])
@pytest.mark.parametrize("delay", [0.75e-3, 1.25e-3])
def test_the_spool_does_what_is_wanted_of_it_where_it_is_known_ahead(frequency: float, delay: float) -> None:
    assert spool_error(Horizon(12, 12, 0.0), frequency, delay) < 0.02


@pytest.mark.parametrize("frequency", [2.0, 10.0, 20.0])
def test_without_preview_it_comes_as_late_as_is_allowed(frequency: float) -> None:
    assert spool_error(Horizon(0, 24, 3e-3), frequency, VALVE.delay) < 0.03


def test_what_the_valves_cannot_do_is_not_asked_of_them() -> None:
    weights = valve_inverse(VALVE, VALVE.delay, 70.0, PERIOD, Horizon(12, 12, 0.0))
    fast = np.exp(2j * np.pi * np.linspace(0.2, 0.5, 50)[:, None] * np.arange(25))
    assert np.sum(weights) == pytest.approx(1.0)
    assert np.max(np.abs(fast @ weights)) < 0.1
