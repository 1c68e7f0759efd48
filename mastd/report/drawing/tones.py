"""Colours of what pictures show, on light and on dark ground."""

from __future__ import annotations

from typing import Final

ACTUATORS: Final = ("link1", "link2", "link3", "link4", "link5", "link6", "link7", "link8")
RUNS: Final = ("run1", "run2", "run3", "run4", "run5", "run6")

TONES: Final[dict[str, tuple[str, str]]] = {
    "reference": ("#20262e", "#e8eaed"),
    "achieved": ("#d9581c", "#ff9a5c"),
    "limit": ("#b3261e", "#ff7b72"),
    "event": ("#3949ab", "#9fa8ff"),
    "gap": ("#b3261e", "#ff7b72"),
    "late": ("#3949ab", "#9fa8ff"),
    "compute": ("#1b7f3b", "#6fcf8a"),
    "frame": ("#8a929c", "#6b737d"),
    "grid": ("#e3e6ea", "#30363d"),
    "shade": ("#eef2fb", "#1c2636"),
    "words": ("#20262e", "#e8eaed"),
    "quiet": ("#5b6570", "#9aa4af"),
    "link1": ("#1f77b4", "#5fb0ea"),
    "link2": ("#d97706", "#ffb04d"),
    "link3": ("#2c8a2c", "#6fcf6f"),
    "link4": ("#c62828", "#ff7b72"),
    "link5": ("#7e57c2", "#b79cf0"),
    "link6": ("#8c564b", "#d09a8c"),
    "link7": ("#0e8ea3", "#4fd3e6"),
    "link8": ("#6b6b6b", "#b0b0b0"),
    "run1": ("#d9581c", "#ff9a5c"),
    "run2": ("#1f5fbf", "#77aaff"),
    "run3": ("#1b7f3b", "#6fcf8a"),
    "run4": ("#7e57c2", "#b79cf0"),
    "run5": ("#0e8ea3", "#4fd3e6"),
    "run6": ("#8c564b", "#d09a8c"),
}
"""Tone → colour on light, on dark ground."""

VERDICTS: Final[dict[str, tuple[str, str]]] = {
    "good": ("#1b7f3b", "#6fcf8a"),
    "bad": ("#b3261e", "#ff7b72"),
    "warn": ("#8a6d00", "#e3b341"),
}
"""Colours of what is well, is not, and must not be overlooked."""


def tone_of(tones: tuple[str, ...], index: int) -> str:
    """Return the tone with this index; after the last one the first one follows."""
    return tones[index % len(tones)]
