"""How far the true motion of a play misses what was asked for."""

from __future__ import annotations

from mastd.bench.control.plays import Played
from mastd.signals.acceleration_figures import acceleration_figures


def missed(played: Played, axis: str) -> float:
    """Return the error of the true acceleration along ``axis`` at the lag that fits best."""
    assert played.completed, played.cause
    figures = acceleration_figures(
        played.achieved, played.asked, played.rate, played.band or (0.5, 20.0), frozenset({axis})
    )
    value = figures[axis]["best_lag_nrmse"]
    assert value is not None
    return float(value)
