"""Notches of the acceleration feedback, by what they leave of a sine."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import signal

from mastd.control.table.command import notch_row
from mastd.control.table.parts import notched
from mastd.settings.daemon.control import NotchSettings

PERIOD = 1e-3


def left_of(notch: NotchSettings, frequency: float, axis: int) -> float:
    """Return what is left of a sine of ``frequency`` on ``axis`` once the notch has settled."""
    row, memory = notch_row(notch, PERIOD)[None], np.zeros((1, 2))
    out = []
    for k in range(6000):
        missing = np.zeros(6)
        missing[axis] = np.sin(2.0 * np.pi * frequency * k * PERIOD)
        notched(row, memory, missing)
        out.append(missing[axis])
    return float(np.max(np.abs(out[4000:])))


@pytest.mark.parametrize("depth", [1.0, 0.6])
def test_a_notch_takes_its_frequency_out_of_its_axis_and_nothing_else(depth: float) -> None:
    notch = NotchSettings(axis="heave", frequency=31.0, width=4.0, depth=depth)
    assert left_of(notch, 31.0, axis=2) == pytest.approx(1.0 - depth, abs=0.01)
    assert left_of(notch, 5.0, axis=2) == pytest.approx(1.0, abs=0.03)
    assert left_of(notch, 31.0, axis=1) == pytest.approx(1.0)


def test_the_weights_are_those_of_a_second_order_notch() -> None:
    notch = NotchSettings(axis="heave", frequency=31.0, width=4.0)
    numerator, denominator = signal.iirnotch(31.0, 31.0 / 4.0, 1.0 / PERIOD)
    expected = [2.0, *numerator, *denominator[1:]]
    assert notch_row(notch, PERIOD) == pytest.approx(expected, rel=1e-13, abs=1e-15)


def test_the_width_is_where_half_of_the_power_is_left() -> None:
    notch = NotchSettings(axis="roll", frequency=31.0, width=4.0)
    for side in (29.06, 33.06):
        assert left_of(notch, side, axis=3) == pytest.approx(np.sqrt(0.5), abs=0.03)
