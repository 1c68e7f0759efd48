"""How near the responses of one play come to the target, response by response and altogether."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Final

import numpy as np

from mastd.arrays import BoolArray, FloatArray
from mastd.signals.band import band_filter
from mastd.signals.metrics import ROTATION_ARM, best_lag, nrmse, peak_ratio, rms

DRIVEN_RATIO: Final = 0.02
"""A response is a target from this ratio of the largest target of its kind on."""


@dataclass(frozen=True)
class ResponseFigures:
    """Figures of one response, filtered to the judged band.

    ``nrmse``: rms of target − response over ``size``, without shifting in time. ``best_lag_nrmse``, ``lag_s``
    and ``peak_ratio`` as in ``mastd.signals.metrics``, None for a response that is not asked for. ``size`` is
    the target's rms, or what stands for it, see ``sizes_of``.
    """

    name: str
    unit: str
    asked: bool
    size: float
    nrmse: float
    best_lag_nrmse: float | None
    lag_s: float | None
    peak_ratio: float | None

    def document(self) -> dict[str, object]:
        """Return the figures as plain data."""
        return asdict(self)


@dataclass(frozen=True)
class Figures:
    """Figures of all responses, and ``error``: the root of the mean square of nrmse over what is asked for,
    with what moves unasked counted in."""

    responses: tuple[ResponseFigures, ...]
    error: float


def sizes_of(target: FloatArray, units: Sequence[str]) -> tuple[FloatArray, BoolArray]:
    """Return what an error of each response is divided by (r,), and which are asked for.

    That is the rms of its target (k, r); for one that should hardly move the largest rms of its kind, angles
    and lengths being of one kind at 1.4 m.
    """
    own = np.sqrt(np.mean(np.square(target), axis=0))
    arms = np.array([ROTATION_ARM if unit.startswith("rad") else 1.0 for unit in units])
    kinds = [unit.replace("rad", "m") for unit in units]
    largest = np.array([max(own[k] * arms[k] for k in _same(kinds, kind)) for kind in kinds])
    asked = own * arms >= DRIVEN_RATIO * largest
    asked &= own > 0.0
    sizes = np.where(asked, own, np.divide(largest, arms))
    return np.where(sizes > 0.0, sizes, 1.0), asked


def _same(kinds: Sequence[str], kind: str) -> list[int]:
    return [k for k, other in enumerate(kinds) if other == kind]


def figures(
    responses: FloatArray,
    target: FloatArray,
    names: Sequence[str],
    units: Sequence[str],
    rate: float,
    band: tuple[float, float],
) -> Figures:
    """Return the figures of ``responses`` (k, r) against ``target`` (k, r), both at ``rate`` Hz."""
    own, asked = band_filter(responses, rate, band), band_filter(target, rate, band)
    sizes, driven = sizes_of(asked, units)
    parts = []
    for k, (name, unit) in enumerate(zip(names, units, strict=True)):
        size = float(sizes[k])
        if not driven[k]:
            error = rms(own[:, k] - asked[:, k]) / size
            parts.append(ResponseFigures(name, unit, False, size, error, None, None, None))
            continue
        fit = best_lag(own[:, k], asked[:, k], rate)
        parts.append(
            ResponseFigures(
                name,
                unit,
                True,
                size,
                nrmse(own[:, k], asked[:, k]) or 0.0,
                None if fit is None else fit[0],
                None if fit is None else fit[1],
                peak_ratio(own[:, k], asked[:, k]),
            )
        )
    squares = sum(part.nrmse**2 for part in parts)
    return Figures(tuple(parts), float(np.sqrt(squares / max(1, int(np.count_nonzero(driven))))))
