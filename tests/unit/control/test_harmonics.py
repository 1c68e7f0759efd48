"""The correction of a sine: consistent to all orders, foreseen, bounded, and learned from what comes back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from mastd.arrays import FloatArray
from mastd.control.reference.reference import MotionLimits, Reference
from mastd.control.sine.correction import SineCorrection, corrected_sines
from mastd.errors import SettingsError
from mastd.kinematics.geometry import Geometry
from mastd.kinematics.jacobian import euler_jacobian
from mastd.motion.preflight.preflight import check
from mastd.motion.profile.compiler import program
from mastd.motion.profile.timeline import Timeline
from mastd.settings.core.loader import load, load_text
from mastd.settings.core.starter import find
from mastd.settings.profile.profile import ProfileSettings
from mastd.settings.table.table import TableSettings

DT, AHEAD = 1e-3, 12e-3
LIMITS = MotionLimits(
    np.array([[0.02] * 6, [0.5] * 6, [10.0] * 6]),
    np.array([[0.5] * 6, [10.0] * 6]),
    0.05,
    0.4,
    level_time=2.0,
)
OMEGA = 2.0 * np.pi * 5.0
PROFILE = """
name: sines
segments:
  - kind: sine
    frequency: 5 Hz
    axes: {heave: {peak: 3 m/s2}}
    duration: DURATION
    fade: 0.5 s
    repeats: 2
    correction: {harmonics: 3, bound: BOUND, time: 1 s}
"""


@pytest.fixture(scope="module")
def table() -> TableSettings:
    """Return the starter table."""
    return load(find("table", "table"), TableSettings)


def profile(duration: str = "8 s", bound: str = "20 %") -> ProfileSettings:
    text = PROFILE.replace("DURATION", duration).replace("BOUND", bound)
    return load_text(text, "p.yaml", ProfileSettings)


def second(heave: Any) -> Any:
    """Return a second harmonic of 0.1 m/s² of a sine of unit size."""
    return 0.1 * (2.0 * heave**2 - 1.0)


def fifth(heave: Any) -> Any:
    """Return a fifth harmonic of 0.01 m/s² of a sine of unit size."""
    return 0.01 * (16.0 * heave**5 - 20.0 * heave**3 + 5.0 * heave)


class Table:
    """Answers as a table would that follows a little less, ``waited`` s later, and adds what nobody asked."""

    def __init__(self, settings: ProfileSettings, table: TableSettings, waited: float = 0.0) -> None:
        motion = program(settings, table)
        self.timeline: Timeline = motion.timeline()
        self.geometry = Geometry.from_settings(table)
        self.reference = Reference(np.zeros((4, 6)), LIMITS, DT, AHEAD)
        self.measured = np.zeros(6)
        self.correction = SineCorrection(self.reference, self.geometry, self.measured, DT, AHEAD, waited)
        self.correction.take(corrected_sines(settings, motion, self.timeline, self.geometry))
        self.waits = round(waited / DT)
        self.disturb: Callable[[float], float] = second

    def play(
        self, cycles: int, requests: Mapping[int, Callable[[], object]]
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return (k, 4, 6) what the reference asks, what is made of it, and what is to come AHEAD later.

        ``requests``: what is done before a cycle.
        """
        reference, sent, asked, foreseen = self.reference, [], [], []
        reference.play(np.zeros(6))
        broken = reference.broken
        for cycle in range(cycles):
            requests.get(cycle, lambda: None)()
            reference.advance(DT, self.timeline)
            motion, later = self.correction.corrected(True, reference.broken != broken)
            broken = reference.broken
            asked.append(reference.motion.copy())
            sent.append(motion.copy())
            foreseen.append(later[-1].copy())
            felt = sent[-1 - min(self.waits, cycle)][2]
            heave = felt[2] / 3.0
            self.measured[:] = felt
            self.measured[2] = 0.95 * felt[2] + self.disturb(heave)
            self.measured[3] += 0.05 * heave
        return np.array(asked), np.array(sent), np.array(foreseen)


def errors(asked: FloatArray, felt: FloatArray, cycles: slice, omega: float = OMEGA) -> FloatArray:
    """Return amplitudes (5, 6) of what is missing of the acceleration, over whole periods."""
    times = np.arange(len(asked))[cycles] * DT
    turning = np.exp(-1j * omega * np.outer(np.arange(1, 6), times))
    return np.abs(2.0 * turning @ (felt - asked)[cycles] / len(times))


def test_a_correction_is_learned_kept_over_repeats_and_gone_at_the_end(table: TableSettings) -> None:
    plays = Table(profile(), table)
    asked, sent, _ = plays.play(16_050, {})
    felt = sent[:, 2].copy()
    heave = felt[:, 2] / 3.0
    felt[:, 2] = 0.95 * felt[:, 2] + second(heave)
    felt[:, 3] += 0.05 * heave
    before = errors(asked[:, 2], felt, slice(600, 1000))
    after = errors(asked[:, 2], felt, slice(7000, 7400))
    again = errors(asked[:, 2], felt, slice(9000, 9400))
    assert before[0, 2] > 0.1
    assert before[1, 2] > 0.08
    assert before[0, 3] > 0.04
    assert after.max() < 0.02 * before.max()
    assert again.max() < 0.02 * before.max(), "what was learned is there in the next play"
    assert np.array_equal(asked[-40:], sent[-40:])
    assert np.array_equal(asked[7997:8003], sent[7997:8003]), "each play begins and ends as it was asked"


def test_it_is_one_motion_that_was_foreseen_through_hold_resume_and_a_change_of_level(
    table: TableSettings,
) -> None:
    plays = Table(profile("12 s"), table)
    reference = plays.reference
    requests = {
        3000: lambda: reference.slow(0.0),
        5000: lambda: reference.slow(1.0),
        7000: lambda: reference.set_gain(0.6),
    }
    asked, sent, foreseen = plays.play(11_000, requests)
    added = sent - asked
    for order in range(3):
        difference = (added[2:, order] - added[:-2, order]) / (2 * DT)
        scale = np.abs(added[:, order + 1]).max()
        assert scale > 0.0
        assert np.abs(difference - added[1:-1, order + 1]).max() < 0.01 * scale
    at_speed = 5000 + round(LIMITS.stop_time / DT)  # from where it comes in again
    surprises = [range(at - 13, at + 2) for at in (*requests, at_speed)]
    calm = [k for k in range(len(sent) - 12) if not any(k in part for part in surprises)]
    wrong = np.abs(foreseen[calm] - sent[np.array(calm) + 12]).max(axis=(0, 2))
    assert np.all(wrong <= 1e-9 * np.abs(sent).max(axis=(0, 2)))
    assert np.abs(added[4900:5000]).max() < 1e-3 * np.abs(added[2000:3000]).max(), "standing it fades"
    smaller = np.abs(added[10_000:, 2, 2]).max() / np.abs(added[6500:7000, 2, 2]).max()
    assert smaller == pytest.approx(0.6, abs=0.1), "it goes with the level"


def test_no_actuator_is_moved_by_more_than_the_bound(table: TableSettings) -> None:
    plays = Table(profile(bound="4 %"), table)
    asked, sent, _ = plays.play(8000, {})
    assert plays.correction.bounded
    jacobian = np.empty((plays.geometry.actuators, 6))
    euler_jacobian(plays.geometry.legs, np.zeros(6), jacobian)
    for order in range(4):
        added = np.abs((sent - asked)[:, order] @ jacobian.T).max()
        largest = np.abs(asked[600:7400, order] @ jacobian.T).max()
        assert 0.01 * largest < added < 0.04 * largest


def test_a_table_that_answers_later_is_corrected_in_time(table: TableSettings) -> None:
    """4 ms late: the fifth multiple of 16 Hz is answered by more than a quarter of its period later."""
    text = PROFILE.replace("5 Hz", "16 Hz").replace("harmonics: 3", "harmonics: 5")
    text = text.replace("DURATION", "12 s").replace("BOUND", "50 %")
    plays = Table(load_text(text, "p.yaml", ProfileSettings), table, waited=4e-3)
    plays.disturb = fifth
    asked, sent, _ = plays.play(12_000, {})
    felt = np.roll(sent[:, 2], 4, axis=0)
    felt[:, 2] = 0.95 * felt[:, 2] + fifth(felt[:, 2] / 3.0)
    omega = 2.0 * np.pi * 16.0
    before = errors(asked[:, 2], felt, slice(600, 850), omega)[:, 2]
    after = errors(asked[:, 2], felt, slice(11_000, 11_250), omega)[:, 2]
    assert before[4] > 0.008
    assert after[4] < 0.1 * before[4]
    assert after[0] < 0.1 * before[0], "the lag itself is gone"


def test_a_motion_that_is_broken_off_is_corrected_no_more_until_it_plays_again(table: TableSettings) -> None:
    plays = Table(profile(), table)
    requests = {3000: lambda: plays.reference.rejoin(np.full(6, 1e-4), np.zeros(6))}
    asked, sent, _ = plays.play(6000, requests)
    assert np.abs(sent - asked)[2999].max() > 0.01
    assert np.array_equal(sent[3000], asked[3000])
    requests = {3000: plays.reference.stand}
    asked, sent, _ = plays.play(9000, requests)
    added = np.abs(sent - asked)[:, 0].max(axis=1)
    assert 0.0 < added[3050] < 1.5 * added[2000:3000].max()
    assert added[-1] == 0.0
    steps = np.abs(np.diff((sent - asked)[2990:, 0], axis=0)).max()
    assert steps < 1.5 * np.abs(np.diff((sent - asked)[2000:3000, 0], axis=0)).max(), "it goes on, and fades"


def test_check_examines_the_sine_as_large_as_its_correction_may_make_it(table: TableSettings) -> None:
    plain = PROFILE[: PROFILE.index("    correction")].replace("DURATION", "4 s")
    without = check(load_text(plain, "p.yaml", ProfileSettings), table)
    with_it = check(profile("4 s"), table)
    assert with_it.scale == pytest.approx(without.scale / 1.2, rel=0.005)


def test_what_is_too_fast_to_be_corrected_is_refused() -> None:
    with pytest.raises(SettingsError, match="90 Hz is too high: correction is available up to 80 Hz"):
        load_text(
            PROFILE.replace("5 Hz", "90 Hz").replace("DURATION", "4 s").replace("BOUND", "10 %"),
            "p.yaml",
            ProfileSettings,
        )
