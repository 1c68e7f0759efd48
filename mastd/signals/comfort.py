"""Ride comfort by ISO 2631-1:1997: frequency weighting, its figures, and the words for them.

**Weighting** (annex A, in the notation of ISO 8041-1; s = 2πif, ωₙ = 2πfₙ): the product of

    high-pass      s² / (s² + √2 ω₁ s + ω₁²)
    low-pass       ω₂² / (s² + √2 ω₂ s + ω₂²)
    transition     (1 + s/ω₃) / (1 + s/(Q₄ω₄) + s²/ω₄²)
    upward step    (1 + s/(Q₅ω₅) + s²/ω₅²) / (1 + s/(Q₆ω₆) + s²/ω₆²) · (ω₅/ω₆)²

Wk is for z of a seated person's seat surface, Wd for x and y; Wd has no step. The factors printed in table 3
agree within 1.5 %, but for Wd at 10 Hz, where it has 0.212 and this formula gives 0.202.

**At the loop's rate** each factor is a section of second order by the bilinear transformation, exact at one
frequency of its own, ``_EXACT_AT``. These frequencies keep the largest deviation over 0.5 … 80 Hz small:
0.5 % at 1 kHz, 2.3 % at 500 Hz. The standard allows 1 dB (+12 %, −11 %), which is kept from ``MIN_RATE``.

**Figures** of a weighted acceleration a_w over a time T (clauses 6.1 and 6.3): rms √(1/T ∫a_w² dt) in m/s²;
vibration dose value VDV (∫a_w⁴ dt)^¼ in m/s^1.75; MTVV, the largest rms over one second; crest factor, the
largest magnitude over the rms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Final, Literal, NamedTuple

import numpy as np

from mastd.arrays import ComplexArray, FloatArray
from mastd.index_table import Entry, index_table, size_of
from mastd.kernel import fused_kernel

Weighting = Literal["k", "d"]
"""Wk or Wd."""
Assessment = Literal["comfort", "health"]

AXIS_WEIGHTINGS: Final[tuple[Weighting, ...]] = ("d", "d", "k")
"""Of x, y and z of a seat."""
AXIS_FACTORS: Final[dict[Assessment, tuple[float, float, float]]] = {
    "comfort": (1.0, 1.0, 1.0),
    "health": (1.4, 1.4, 1.0),
}
"""Factors kx, ky, kz on the seat's surface: comfort by clause 8.2.2.1, health by clause 7.2.3."""
MIN_RATE: Final = 300.0
"""Hz; below it the sampled weighting is off by more than the standard allows."""
_LOW, _HIGH = 0.4, 100.0
_SECTIONS = 4
_PLAIN_SECTIONS = 3
"""Of Wd: the fourth would be 1."""
_COEFFICIENTS = 5
_EXACT_AT = (0.4, 110.0, 40.0, 3.35)
"""Hz at which each section of either weighting is exact."""


class ConstantsIndex(NamedTuple):
    """Constants of ``weigh``."""

    period: Annotated[int, Entry("s", "")]
    sections: Annotated[int, Entry("1", "coefficients by axis and section", 3 * _SECTIONS * _COEFFICIENTS)]


class StateIndex(NamedTuple):
    """State of ``weigh``; zeros are its beginning."""

    filters: Annotated[int, Entry("m/s^2", "two numbers by axis and section", 3 * _SECTIONS * 2)]
    squares: Annotated[int, Entry("m^2/s^4", "sums of the weighted acceleration's squares, x y z", 3)]
    fourths: Annotated[int, Entry("m^4/s^8", "sums of its fourth powers, x y z", 3)]
    samples: Annotated[int, Entry("1", "number of them")]


class FigureColumns(NamedTuple):
    """What ``weigh`` writes."""

    acceleration: Annotated[int, Entry("m/s^2", "weighted, x y z", 3)]
    rms: Annotated[int, Entry("m/s^2", "since the figures were zeroed, x y z", 3)]
    vdv: Annotated[int, Entry("m/s^1.75", "since the figures were zeroed, x y z", 3)]


CONSTANT: Final = index_table(ConstantsIndex)
STATE: Final = index_table(StateIndex)
STATE_SIZE: Final = size_of(STATE)
FIGURE: Final = index_table(FigureColumns)
FIGURE_COLUMNS: Final = size_of(FIGURE)
FIGURES: Final = slice(STATE.squares, STATE_SIZE)
"""What of the state the figures are made of: zeros here begin rms and VDV anew, the filters running on."""


@dataclass(frozen=True)
class _Shape:
    """Transition at ``transition`` Hz, and a step between two frequencies."""

    transition: float
    step: tuple[float, float] | None


_TRANSITION_Q, _STEP_Q = 0.63, 0.91
_SHAPES: Final[dict[Weighting, _Shape]] = {"k": _Shape(12.5, (2.37, 3.35)), "d": _Shape(2.0, None)}

_Polynomial = tuple[float, float, float]
"""Coefficients of 1, s, s²."""


def frequency_weighting(frequency: FloatArray, weighting: Weighting) -> ComplexArray:
    """Return the standard's complex weighting at frequencies (any shape) in Hz."""
    s = 2j * np.pi * np.asarray(frequency, dtype=np.float64)
    weight: ComplexArray = np.ones_like(s)
    for above, below in _sections(weighting):
        weight = weight * (above[0] + s * (above[1] + s * above[2]))
        weight = weight / (below[0] + s * (below[1] + s * below[2]))
    return weight


def sampled_weighting(frequency: FloatArray, rate: float, weighting: Weighting) -> ComplexArray:
    """Return the complex weighting of samples taken at ``rate`` Hz, at frequencies (any shape) in Hz.

    Raises ValueError as ``design`` does.
    """
    later = np.exp(-2j * np.pi * np.asarray(frequency, dtype=np.float64) / rate)
    weight: ComplexArray = np.ones_like(later)
    for b0, b1, b2, a1, a2 in _sampled(rate, weighting):
        weight = weight * (b0 + later * (b1 + later * b2)) / (1.0 + later * (a1 + later * a2))
    return weight


def design(rate: float) -> FloatArray:
    """Return the constants (``ConstantsIndex``) of ``weigh`` for ``rate`` samples per second.

    Raises ValueError below ``MIN_RATE``.
    """
    constants = np.zeros(size_of(CONSTANT))
    for axis, weighting in enumerate(AXIS_WEIGHTINGS):
        own = np.concatenate(_sampled(rate, weighting))
        first = CONSTANT.sections + axis * _SECTIONS * _COEFFICIENTS
        constants[first : first + len(own)] = own
    constants[CONSTANT.period] = 1.0 / rate
    return constants


@fused_kernel
def weigh(constants: FloatArray, state: FloatArray, acceleration: FloatArray, out: FloatArray) -> None:
    """Add a sample of the acceleration (3) at a seat, m/s², at rest 0, in the seat's axes.

    ``constants`` are those of ``design``; ``state`` (STATE_SIZE) begins as zeros. Writes into ``out``
    (FIGURE_COLUMNS), see ``FigureColumns``. A sample that is not finite stays in the state until that is
    zeroed.
    """
    state[STATE.samples] += 1.0
    weight, period = 1.0 / state[STATE.samples], constants[CONSTANT.period]
    for axis in range(3):
        value = acceleration[axis]
        sections = _SECTIONS if axis == 2 else _PLAIN_SECTIONS
        for section in range(sections):
            c = CONSTANT.sections + _COEFFICIENTS * (_SECTIONS * axis + section)
            s = STATE.filters + 2 * (_SECTIONS * axis + section)
            result = constants[c] * value + state[s]
            state[s] = constants[c + 1] * value - constants[c + 3] * result + state[s + 1]
            state[s + 1] = constants[c + 2] * value - constants[c + 4] * result
            value = result
        square = value * value
        state[STATE.squares + axis] += square
        state[STATE.fourths + axis] += square * square
        out[FIGURE.acceleration + axis] = value
        out[FIGURE.rms + axis] = math.sqrt(state[STATE.squares + axis] * weight)
        out[FIGURE.vdv + axis] = math.sqrt(math.sqrt(state[STATE.fourths + axis] * period))


def weighted(series: FloatArray, rate: float, weighting: Weighting) -> FloatArray:
    """Return a series (n) or (n, columns) at ``rate`` Hz, weighted from rest along its first axis.

    The same sections as in ``weigh``. Raises ValueError as ``design`` does.
    """
    from scipy import signal  # slow to import, and the loop does without

    sections = np.array([[*row[:3], 1.0, *row[3:]] for row in _sampled(rate, weighting)])
    result: FloatArray = signal.sosfilt(sections, series, axis=0)
    return result


def vibration_dose(weighted_series: FloatArray, rate: float) -> float:
    """Return the vibration dose value in m/s^1.75 of a weighted series (n) at ``rate`` Hz."""
    return math.sqrt(math.sqrt(float(np.sum(np.square(np.square(weighted_series)))) / rate))


def max_running_rms(weighted_series: FloatArray, rate: float, time: float = 1.0) -> float | None:
    """Return the MTVV: the largest rms over any ``time`` s of a weighted series (n) at ``rate`` Hz.

    None for a series shorter than that.
    """
    count = max(1, round(time * rate))
    if len(weighted_series) < count:
        return None
    energy = np.concatenate(([0.0], np.cumsum(np.square(weighted_series))))
    return math.sqrt(max(0.0, float(np.max(energy[count:] - energy[:-count]))) / count)


def crest_factor(weighted_series: FloatArray) -> float | None:
    """Return the largest magnitude over the rms of a weighted series (n); None for one at rest.

    Above 9 the rms alone understates the vibration (clause 6.2.1).
    """
    if not len(weighted_series):
        return None
    effective = math.sqrt(float(np.mean(np.square(weighted_series))))
    return float(np.max(np.abs(weighted_series))) / effective if effective > 0.0 else None


def vibration_total_value(x: float, y: float, z: float, assessment: Assessment = "comfort") -> float:
    """Return √(kx² x² + ky² y² + kz² z²) of weighted rms values in m/s² (clause 6.5)."""
    factors = AXIS_FACTORS[assessment]
    return math.hypot(*(factor * value for factor, value in zip(factors, (x, y, z), strict=True)))


_REACTIONS: Final[tuple[tuple[float, float, str], ...]] = (
    (0.0, 0.315, "not uncomfortable"),
    (0.315, 0.63, "a little uncomfortable"),
    (0.5, 1.0, "fairly uncomfortable"),
    (0.8, 1.6, "uncomfortable"),
    (1.25, 2.5, "very uncomfortable"),
    (2.0, math.inf, "extremely uncomfortable"),
)


def reaction(total: float) -> str | None:
    """Return how a vibration total value for comfort, in m/s², is likely to be felt in public transport.

    Annex C, C.2.3. Its ranges overlap: where two hold, the milder and the worse one are named. None for a
    value that is not finite or below 0.
    """
    if not (math.isfinite(total) and total >= 0.0):
        return None
    found = [text for low, high, text in _REACTIONS if low <= total < high]
    return " to ".join(found)


def _sections(weighting: Weighting) -> list[tuple[_Polynomial, _Polynomial]]:
    """Return numerator and denominator of each factor, in the order of the module's text."""
    shape = _SHAPES[weighting]
    low, high, transition = (2.0 * math.pi * f for f in (_LOW, _HIGH, shape.transition))
    damping = math.sqrt(2.0)
    sections: list[tuple[_Polynomial, _Polynomial]] = [
        ((0.0, 0.0, 1.0 / low**2), (1.0, damping / low, 1.0 / low**2)),
        ((1.0, 0.0, 0.0), (1.0, damping / high, 1.0 / high**2)),
        ((1.0, 1.0 / transition, 0.0), (1.0, 1.0 / (_TRANSITION_Q * transition), 1.0 / transition**2)),
    ]
    if shape.step is not None:
        lower, upper = (2.0 * math.pi * f for f in shape.step)
        gain = (lower / upper) ** 2
        sections.append(
            (
                (gain, gain / (_STEP_Q * lower), gain / lower**2),
                (1.0, 1.0 / (_STEP_Q * upper), 1.0 / upper**2),
            )
        )
    return sections


def _sampled(rate: float, weighting: Weighting) -> list[FloatArray]:
    """Return b0, b1, b2, a1, a2 of each section for samples at ``rate`` Hz."""
    if not (rate >= MIN_RATE and math.isfinite(rate)):
        raise ValueError(f"vibration is weighted at {MIN_RATE:g} Hz and more, {rate:g} Hz is too low")
    sections: list[FloatArray] = []
    for (above, below), exact in zip(_sections(weighting), _EXACT_AT, strict=False):
        scale = 2.0 * math.pi * exact / math.tan(math.pi * exact / rate)
        top, bottom = (_bilinear(polynomial, scale) for polynomial in (above, below))
        sections.append(np.array([*top, *bottom[1:]]) / bottom[0])
    return sections


def _bilinear(polynomial: _Polynomial, scale: float) -> _Polynomial:
    """Return the coefficients of 1, z⁻¹, z⁻² with s = scale (1 − z⁻¹) / (1 + z⁻¹), times (1 + z⁻¹)²."""
    p0, p1, p2 = polynomial[0], scale * polynomial[1], scale**2 * polynomial[2]
    return p0 + p1 + p2, 2.0 * (p0 - p2), p0 - p1 + p2
