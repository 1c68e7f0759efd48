"""Deterministic displacement waveforms, unit amplitude, before their fades."""

from __future__ import annotations

import numpy as np

from mastd.arrays import FloatArray


def sine(times: FloatArray, frequency: float, phase: float) -> FloatArray:
    """Return sin(2π·frequency·t + phase) at ``times`` in s, ``frequency`` in Hz, ``phase`` in rad."""
    return np.sin(2.0 * np.pi * frequency * times + phase)


def sweep(
    times: FloatArray, start: float, stop: float, duration: float, phase: float
) -> tuple[FloatArray, FloatArray]:
    """Return a logarithmic sweep sin(φ(t)) and its instantaneous frequency in Hz at ``times`` in s.

    f(t) = start · (stop/start)^(t/duration), φ its integral times 2π plus ``phase``; held at both ends.
    """
    octaves = np.log(stop / start)
    fraction = np.clip(times / duration, 0.0, 1.0)
    frequency = start * np.exp(octaves * fraction)
    swept = duration / octaves * (frequency - start)
    held = start * np.minimum(times, 0.0) + stop * np.maximum(times - duration, 0.0)
    return np.sin(2.0 * np.pi * (swept + held) + phase), frequency
