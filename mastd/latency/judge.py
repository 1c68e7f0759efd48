"""What the figures mean: a pure judgement of what was measured, in plain sentences.

The measure is half a period: a cycle that begins later than that has lost the time in which its command
should have been on its way. A rate is *good for a real table* when no wake-up was later than that, and no
stall that the machine itself makes is longer. It is *tolerated* when some were, but no more than the preset
for a real table lets pass (``overrun``); else the preset for the simulated plant may still let it pass.

Sources. LinuxCNC, docs/src/install/latency-test.adoc: jitter below 20 µs is very good, 20 to 50 µs usable, 50
to 500 µs needs hardware that bridges it, above 500 µs is not acceptable in any configuration (its servo
thread has 1 ms, so this is half a period, too); test for minutes while abusing the machine. OSADL, QA farm:
100 million cycles in 5.5 h under load, only the maximum counts. Franka, libfranka issue 163: a 1 ms cycle may
use some 500 µs.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from mastd.latency.figures import Measurement

WORST_S = 500e-6
VERY_GOOD_S = 20e-6
USABLE_S = 50e-6
RATES_HZ = (100.0, 200.0, 250.0, 500.0, 1000.0, 2000.0, 5000.0, 10_000.0)
LONG_ENOUGH_S = 300.0
"""Shorter measurements say little of the worst case."""
BUSY = 0.5
"""Fraction of the processors' time above which others were at work."""


class Verdict(enum.Enum):
    """What a rate is good for."""

    REAL = "real table"
    TOLERATED = "real table, with late cycles"
    SIMULATED = "simulated plant"
    NONE = "nothing"


@dataclass(frozen=True)
class Tolerance:
    """What a preset lets pass: most periods missed in a row, share of all periods missed."""

    missed_in_a_row: int
    missed_ratio: float


@dataclass(frozen=True)
class Tolerances:
    """Those of the two presets."""

    real: Tolerance
    simulated: Tolerance


def verdict(measurement: Measurement, rate_hz: float, tolerances: Tolerances) -> Verdict:
    """Return what a rate is good for; for another rate than the measured one, with the same delays."""
    if worst_s(measurement) <= 0.5 / rate_hz:
        return Verdict.REAL
    in_a_row, ratio = measurement.best.missed(rate_hz)
    in_a_row = max(in_a_row, int(measurement.stalls.longest_machine_s * rate_hz))
    for tolerance, found in (
        (tolerances.real, Verdict.TOLERATED),
        (tolerances.simulated, Verdict.SIMULATED),
    ):
        if in_a_row <= tolerance.missed_in_a_row and ratio <= tolerance.missed_ratio:
            return found
    return Verdict.NONE


def worst_s(measurement: Measurement) -> float:
    """Return the longest delay seen: of a wake-up, or a stall that could as well have met one."""
    return max(measurement.best.latest_s, measurement.stalls.longest_machine_s)


def highest_rate(measurement: Measurement, tolerances: Tolerances, *wanted: Verdict) -> float | None:
    """Return the highest of ``RATES_HZ`` that is good for one of these, None if there is none."""
    good = [rate for rate in RATES_HZ if verdict(measurement, rate, tolerances) in wanted]
    return max(good, default=None)


def sentences(measurement: Measurement, tolerances: Tolerances) -> list[str]:
    """Return the judgement, the most important first."""
    rate, stall = measurement.rate_hz, measurement.stalls.longest_machine_s
    sentences = [_hold(measurement, tolerances)]
    if verdict(measurement, rate, tolerances) is not Verdict.REAL:
        sentences.append(_other_rates(measurement, tolerances))
    sentences += [_quality(worst_s(measurement)), _scheduling(measurement)]
    if stall > 0.25 / rate:
        sentences.append(
            f"A busy-waiting thread was stopped for up to {milliseconds(stall)} without another program"
            " running: the cause is the hypervisor, the firmware or an interrupt, and no right inside this"
            " system prevents it."
        )
    return sentences + _reservations(measurement)


def milliseconds(seconds: float) -> str:
    """Return a time for people."""
    return f"{1e6 * seconds:.0f} µs" if seconds < 1e-3 else f"{1e3 * seconds:.3g} ms"


def hertz(rate_hz: float) -> str:
    """Return a rate for people."""
    return f"{rate_hz:g} Hz" if rate_hz < 1000.0 else f"{rate_hz / 1000.0:g} kHz"


def _hold(measurement: Measurement, tolerances: Tolerances) -> str:
    best, rate, real = measurement.best, measurement.rate_hz, tolerances.real
    half = 0.5 / rate
    in_a_row, ratio = best.missed(rate)
    seen = f"of {best.count} wake-ups the latest was {milliseconds(best.latest_s)} after its deadline"
    lost = f"{best.later_than(half)} were later than half a period ({milliseconds(half)})"
    lost += f", {100 * ratio:.2g} % of the periods were missed, up to {in_a_row} in a row"
    passes = f"{real.missed_in_a_row} missed in a row and {100 * real.missed_ratio:g} % in all"
    stall = milliseconds(measurement.stalls.longest_machine_s)
    match verdict(measurement, rate, tolerances):
        case Verdict.REAL:
            allowed = f"half a period, {milliseconds(half)}, is allowed"
            return f"This machine held {hertz(rate)} for a real table: {seen}; {allowed}."
        case Verdict.TOLERATED:
            return (
                f"This machine held {hertz(rate)} only with late cycles: {seen}; {lost}; the longest stall"
                f" was {stall}. For the simulated plant that is good enough. The preset for a real table"
                f" would let it pass ({passes}), but whatever a late cycle commands comes late."
            )
        case Verdict.SIMULATED:
            return (
                f"This machine held {hertz(rate)} for the simulated plant, not for a real table: {seen};"
                f" {lost}. The preset for a real table lets {passes} pass."
            )
    return f"This machine did not hold {hertz(rate)}, not even for the simulated plant: {seen}; {lost}."


def _other_rates(measurement: Measurement, tolerances: Tolerances) -> str:
    real = highest_rate(measurement, tolerances, Verdict.REAL)
    if real is not None:
        return f"The same delays would leave {hertz(real)} good for a real table."
    tolerated = highest_rate(measurement, tolerances, Verdict.TOLERATED)
    if tolerated is not None:
        return f"The same delays would be tolerated, with late cycles, up to {hertz(tolerated)}."
    return f"With these delays no rate from {hertz(RATES_HZ[0])} on is good for a real table."


def _quality(worst: float) -> str:
    sentences = f"LinuxCNC, whose loop runs at 1 kHz, calls a worst case of {milliseconds(worst)} "
    if worst < VERY_GOOD_S:
        return sentences + "very good."
    if worst < USABLE_S:
        return sentences + "usable."
    if worst <= WORST_S:
        return (
            sentences
            + "usable only with hardware that bridges it: here the drive does, which closes the valve loops"
            " itself and continues with the last rate."
        )
    return sentences + "not acceptable in any configuration."


def _scheduling(measurement: Measurement) -> str:
    ordinary, real_time = measurement.ordinary, measurement.real_time
    if real_time is None:
        return "Real-time scheduling was refused, so this is what an ordinary program gets."
    return (
        f"Real-time scheduling was granted: p99.9 {milliseconds(real_time.quantile(0.999))} instead of"
        f" {milliseconds(ordinary.quantile(0.999))} as an ordinary program, latest"
        f" {milliseconds(real_time.latest_s)} instead of {milliseconds(ordinary.latest_s)}."
    )


def _reservations(measurement: Measurement) -> list[str]:
    """Return what makes the figures worth less."""
    sentences = []
    busy = measurement.busy.busy
    if busy is not None and busy > BUSY and not measurement.own_load:
        sentences.append(
            f"Other programs used {100 * busy:.0f} % of the processors meanwhile (load average"
            f" {measurement.busy.load_average or 0.0:.1f}): this is the latency of the loop under that"
            " load, not of the idle machine."
        )
    if measurement.duration_s < LONG_ENOUGH_S or not measurement.own_load:
        how = "under load" if measurement.own_load else "without generated load"
        sentences.append(
            f"{measurement.duration_s:g} s {how} are too short to be conclusive: the worst case is rare. "
            "Before a real table is"
            " trusted to this machine, measure for longer: mastd latency --load --duration 10min"
        )
    return sentences
