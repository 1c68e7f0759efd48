"""What becomes of a rig's values: range, rate, fading, each policy of loss, prediction, lockstep, and OFF."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mastd.arrays import FloatArray
from mastd.loop.rigs.conditioning import (
    CHANNEL,
    CHANNEL_WIDTH,
    MEMORY,
    RIG,
    RIG_PARAMETERS,
    condition,
    rig_arrays,
)
from mastd.settings.rigs.channels import MAX_CHANNELS, MAX_RIGS
from mastd.wire.common.rig_block import FIRST_RIG, RIG_ROW, RIG_ROWS, RIG_VALUES, RIG_WIDTH

PERIOD = 0.001
TIGHT = {"lowest": -1.0, "highest": 2.0, "rate": math.inf, "neutral": 0.5, "holds": 0.0}
NO_NUMBERS = (math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, 0.0)
KINDS = ("give", "give", "join", "leave", "quiet", "old", "blind")
SPANS = ((-1.0, 2.0, 0.5), (-1e300, 1e300, 0.0), (0.0, 5e-324, 0.0))


def any_number(random: Random) -> float:
    """Return a number of any size, or what is none."""
    if random.random() < 0.3:
        return random.choice(NO_NUMBERS)
    return random.uniform(-3.0, 3.0) * 10.0 ** random.choice((0, 0, 0, -9, 6, 300))


@dataclass
class Conditioned:
    """One rig with one channel, or several of the same terms, and the loop that conditions it."""

    channels: int = 1
    ramp: float = 0.0
    timeout: float = 0.005
    predict: float = 0.0
    terms: dict[str, float] = field(default_factory=dict)
    step: float = 0.0

    def __post_init__(self) -> None:
        terms = TIGHT | self.terms
        rigs = np.zeros((1, RIG_PARAMETERS))
        rigs[0, RIG.channels], rigs[0, RIG.timeout] = self.channels, self.timeout
        rigs[0, RIG.predict], rigs[0, RIG.ramp] = self.predict, self.ramp
        table = np.zeros((1, MAX_CHANNELS, CHANNEL_WIDTH))
        for name, value in terms.items():
            table[0, :, getattr(CHANNEL, name)] = value
        self.arrays = rig_arrays(rigs, table, np.zeros(self.channels + 2))
        self.memory, self.out = self.arrays.memory, self.arrays.output
        self.found = 0
        self.block = np.zeros(RIG_VALUES.size)
        self.row: FloatArray = self.block[FIRST_RIG : FIRST_RIG + RIG_WIDTH]

    def join(self) -> None:
        """A rig joins, as the gateway tells."""
        self.row[[RIG_ROW.joined, RIG_ROW.given, RIG_ROW.step]] = self.row[RIG_ROW.joined] + 1.0, 0.0, -1.0

    def give(self, *values: float, step: float | None = None) -> None:
        """The rig gives values, as the answer to the newest step unless another is given."""
        self.row[RIG_ROW.given] += 1.0
        self.row[RIG_ROW.step] = self.step if step is None else step
        self.row[RIG_ROW.values : RIG_ROW.values + len(values)] = values

    def cycle(self, *, due: bool = False, resting: bool = False, periods: float = 1.0) -> float:
        """One cycle; return the first channel."""
        self.step += 1.0
        self.found = condition(
            self.block,
            self.arrays,
            self.step,
            PERIOD,
            float(periods),
            1.0 if due else 0.0,
            1.0,
            resting,
        )
        record = self.arrays.record
        assert record[:-2].tolist() == self.out[0, : self.channels].tolist()
        assert record[-2] == self.memory[0, MEMORY.present]
        assert np.array_equal(record[-1], self.memory[0, MEMORY.delay], equal_nan=True)
        return float(self.out[0, 0])

    def cycles(self, count: int, **how: Any) -> list[float]:
        return [self.cycle(**how) for _ in range(count)]

    @property
    def lost(self) -> bool:
        return bool(self.found >> MAX_RIGS & 1)

    @property
    def present(self) -> bool:
        return bool(self.memory[0, MEMORY.present] == 1.0)


def joined(value: float, **terms: Any) -> Conditioned:
    """Return a rig that is there and has given a value for long."""
    rig = Conditioned(**terms)
    rig.join()
    for _ in range(3 + math.ceil(rig.ramp / PERIOD)):
        rig.give(value)
        rig.cycle()
    assert rig.present
    return rig


@given(st.integers(0, 1 << 40))
def test_whatever_is_given_what_comes_out_is_in_range(seed: int) -> None:
    random = Random(seed)
    lowest, highest, neutral = random.choice(SPANS)
    terms = {"lowest": lowest, "highest": highest, "neutral": neutral, "holds": random.choice((0.0, 1.0))}
    ramp, predict = random.choice((0.0, 0.004)), random.choice((0.0, 0.02))
    rig = Conditioned(channels=3, ramp=ramp, predict=predict, terms=terms)
    for _ in range(60):
        kind, age = random.choice(KINDS), random.randrange(13)
        if kind == "join":
            rig.join()
        elif kind == "leave":
            rig.row[RIG_ROW.joined] = 0.0
        elif kind != "quiet":
            answered = {"give": rig.step, "old": rig.step - age, "blind": -1.0}[kind]
            rig.give(*(any_number(random) for _ in range(3)), step=answered)
        due, resting = random.random() < 0.3, random.random() < 0.1
        rig.cycle(due=due, resting=resting, periods=1.0 + (age if kind == "quiet" else 0))
        assert np.isfinite(rig.out[0, :3]).all()
        assert (rig.out[0, :3] >= lowest).all()
        assert (rig.out[0, :3] <= highest).all()


@given(st.integers(0, 1 << 40), st.sampled_from([0.0, 0.01]), st.floats(0.1, 1e4))
def test_no_change_is_faster_than_the_rate(seed: int, ramp: float, rate: float) -> None:
    random = Random(seed)
    rig = Conditioned(ramp=ramp, predict=0.02, terms={"rate": rate})
    rig.join()
    before = rig.out[0, 0]
    for _ in range(40):
        rig.give(any_number(random))
        for passed in (random.randrange(1, 6), *[1] * random.choice((0, 0, 8))):
            after = rig.cycle(periods=passed)
            assert abs(after - before) <= rate * passed * PERIOD * (1 + 1e-9)
            before = after


def test_a_number_that_is_none_leaves_the_last_one() -> None:
    rig = joined(0.75)
    for wrong in (math.nan, math.inf, -math.inf):
        rig.give(wrong)
        assert rig.cycle() == 0.75


def test_a_rig_that_comes_is_faded_in_along_a_line() -> None:
    rig = Conditioned(ramp=0.01, terms={"neutral": 0.5})
    rig.join()
    assert rig.cycle() == 0.5
    found = []
    for _ in range(12):
        rig.give(1.5)
        found.append(rig.cycle())
    assert found == pytest.approx([0.5 + min(k, 10) * 0.1 for k in range(1, 13)])


def test_who_comes_and_gives_in_one_cycle_is_faded_in_too() -> None:
    rig = joined(2.0, ramp=0.01)
    rig.join()
    rig.give(-1.0)
    assert rig.cycle() == pytest.approx(1.7), "another one in the same place does not jump"
    assert rig.present


def test_nothing_is_faded_or_limited_while_the_table_lies() -> None:
    rig = Conditioned(ramp=10.0, terms={"rate": 0.001})
    rig.join()
    for value in (1.5, -0.75, 0.1):
        rig.give(value)
        assert rig.cycle(resting=True) == value
    rig.row[RIG_ROW.joined] = 0.0
    assert rig.cycle(resting=True) == 0.5
    assert not rig.present


def test_a_rig_that_was_there_from_the_beginning_is_followed_exactly() -> None:
    rig = Conditioned(ramp=1.0)
    rig.join()
    rig.give(1.5)
    rig.cycle(resting=True)
    for value in (1.25, 0.3, -0.9):
        rig.give(value)
        assert rig.cycle() == value


@pytest.mark.parametrize("way", ["silent", "left"])
@pytest.mark.parametrize(("holds", "end"), [(1.0, 1.5), (0.0, 0.5)])
def test_on_loss_the_last_value_stays_or_goes_to_neutral(way: str, holds: float, end: float) -> None:
    rig = joined(1.5, ramp=0.01, terms={"holds": holds})
    if way == "silent":
        assert rig.cycles(4) == [1.5] * 4, "not lost yet"
    else:
        rig.row[RIG_ROW.joined] = 0.0
    while rig.present:
        rig.cycle()
    first = rig.out[0, 0]
    assert first == pytest.approx(1.5 if holds else 1.4)
    found = [first, *rig.cycles(20)]
    assert found == pytest.approx([1.5 + (end - 1.5) * min(k / 10, 1.0) for k in range(1, 22)])


@pytest.mark.parametrize(("holds", "end"), [(1.0, 1.5), (0.0, 0.5)])
def test_a_loss_in_the_middle_of_fading_in_goes_on_from_there(holds: float, end: float) -> None:
    rig = Conditioned(ramp=0.01, terms={"holds": holds})
    rig.join()
    for _ in range(5):
        rig.give(1.5)
        middle = rig.cycle()
    assert middle == pytest.approx(1.0)
    rig.row[RIG_ROW.joined] = 0.0
    found = rig.cycles(20)
    assert found[0] == pytest.approx(1.0 if holds else 0.95)
    assert found[-1] == pytest.approx(middle if holds else end)
    assert np.abs(np.diff([middle, *found])).max() <= 0.1


def test_a_rig_that_comes_back_is_faded_in_from_where_the_value_stands() -> None:
    rig = joined(1.5, ramp=0.01)
    rig.cycles(9)
    before = rig.out[0, 0]
    assert not rig.present
    found = []
    for _ in range(11):
        rig.give(-0.5)
        found.append(rig.cycle())
    assert found == pytest.approx([before + (-0.5 - before) * min(k / 10, 1.0) for k in range(1, 12)])


def test_a_rig_is_lost_after_its_time_without_new_values_whatever_passes_in_a_cycle() -> None:
    for periods in (1.0, 5.0):
        rig = joined(1.5, timeout=0.02)
        spent = 0.0
        while rig.present:
            rig.cycle(periods=periods)
            spent += periods * PERIOD
        assert -1e-9 < spent - 0.02 <= periods * PERIOD + 1e-9


def test_values_that_come_all_the_time_and_are_all_old_are_those_of_a_lost_rig() -> None:
    """Time-out 5 ms: what is computed from a motion of 5 periods ago counts, of 6 it does not."""
    rig = Conditioned()
    rig.join()
    present = []
    for delay in [0.0] * 5 + [5.0] * 20 + [6.0] * 20:
        rig.give(1.0, step=max(rig.step + 1.0 - delay, 0.0))
        rig.cycle()
        present.append(rig.memory[0, MEMORY.present] == 1.0)
    assert present == [True] * 25 + [False] * 20


def test_values_that_answer_no_motion_count_as_given() -> None:
    rig = Conditioned()
    rig.join()
    rig.give(1.5, step=-1.0)
    assert rig.cycle() == 1.5
    assert rig.present
    assert math.isnan(rig.memory[0, MEMORY.delay])


@pytest.mark.parametrize("holds", [0.0, 1.0])
def test_before_anything_is_given_the_rig_is_not_there_and_its_values_are_neutral(holds: float) -> None:
    rig = Conditioned(terms={"holds": holds})
    assert rig.cycle(resting=True) == 0.5
    rig.join()
    rig.cycles(3)
    assert not rig.present
    assert rig.out[0, 0] == 0.5


@given(
    st.floats(-0.1, 0.1),
    st.floats(-1.0, 1.0),
    st.integers(1, 4),
    st.integers(0, 10),
)
def test_prediction_is_exact_for_a_line(slope: float, start: float, every: int, delay: int) -> None:
    """A rig that answers every so many steps, so late, with values on a line in time."""
    rig = Conditioned(predict=0.02, timeout=1.0, terms={"lowest": -100.0, "highest": 100.0, "neutral": 0.0})
    rig.join()
    for step in range(1, 60):
        answered = step - delay
        if answered > 0 and answered % every == 0:
            rig.give(start + slope * answered, step=float(answered))
        found = rig.cycle()
        if step > delay + 3 * every:
            assert found == pytest.approx(start + slope * step, abs=1e-12)
            assert rig.memory[0, MEMORY.delay] == delay + answered % every


def test_prediction_goes_no_further_than_its_horizon_and_the_range() -> None:
    rig = joined(0.0, predict=0.003, timeout=1.0)
    rig.give(0.1)  # 0.1 a step
    found = rig.cycles(10)
    assert found == pytest.approx([0.2, 0.3, *[0.4] * 8]), "three periods on"
    rig.give(1.9)
    rig.give(1.9)
    assert max(rig.cycles(5)) <= 2.0


def test_without_a_horizon_nothing_is_predicted() -> None:
    rig = joined(0.0, timeout=1.0)
    rig.give(0.1)
    assert rig.cycles(5) == [0.1] * 5


def test_two_answers_to_one_step_tell_no_slope() -> None:
    rig = joined(0.0, predict=0.02, timeout=1.0)
    rig.give(0.1)
    rig.cycle()
    rig.give(0.4, step=float(rig.row[RIG_ROW.step]))
    assert rig.cycle() == 0.4


def test_nothing_is_predicted_from_values_of_before_a_loss() -> None:
    rig = joined(0.0, predict=0.02, timeout=0.002)
    rig.cycles(20)
    assert not rig.present
    rig.give(1.0)
    assert rig.cycle() == 1.0


def test_who_was_there_and_is_gone_is_lost_until_it_comes_back_or_the_table_lies() -> None:
    rig = Conditioned(timeout=0.002)
    rig.join()
    rig.cycles(3)
    assert not rig.lost, "it has never been there"
    rig.give(1.0)
    rig.cycle()
    assert (rig.found, rig.lost) == (1, False)
    rig.cycles(5)
    assert rig.lost
    rig.give(1.0)
    rig.cycle()
    assert not rig.lost
    rig.cycles(5)
    assert rig.lost
    rig.cycle(resting=True)
    assert not rig.lost
    rig.cycle()
    assert not rig.lost


def test_in_lockstep_only_the_answer_to_this_step_is_in_time() -> None:
    rig = Conditioned(timeout=10.0)
    rig.join()
    for value in (0.1, 0.2):
        rig.give(value, step=rig.step + 1.0)
        assert rig.cycle(due=True) == value
        assert rig.present
        assert rig.memory[0, MEMORY.delay] == 0.0
    rig.cycle(due=True)
    assert not rig.present
    rig.give(0.3, step=rig.step)
    rig.cycle(due=True)
    assert not rig.present, "the answer to the step before"
    rig.give(0.4, step=rig.step + 1.0)
    assert rig.cycle(due=True) == 0.4
    assert rig.present


def test_who_was_lost_in_lockstep_is_not_back_because_nobody_waits_for_it() -> None:
    rig = Conditioned(timeout=0.05)
    rig.join()
    rig.give(0.9, step=1.0)
    rig.cycle(due=True)
    rig.cycle(due=True)
    assert not rig.present
    for _ in range(5):
        rig.cycle()
        assert not rig.present
    rig.give(0.3)
    rig.cycle()
    assert rig.present


def test_several_rigs_do_not_touch_each_other() -> None:
    rigs, block = np.zeros((2, RIG_PARAMETERS)), np.zeros(RIG_VALUES.size)
    table = np.zeros((2, MAX_CHANNELS, CHANNEL_WIDTH))
    rigs[:, RIG.channels], rigs[:, RIG.timeout] = (2, MAX_CHANNELS), 1.0
    table[:, :, CHANNEL.lowest], table[:, :, CHANNEL.highest] = -1e3, 1e3
    table[:, :, CHANNEL.rate] = math.inf
    record = np.zeros(2 + MAX_CHANNELS + 4)
    arrays = rig_arrays(rigs, table, record)
    rows = block[RIG_ROWS].reshape(-1, RIG_WIDTH)
    rows[:2, [RIG_ROW.joined, RIG_ROW.given, RIG_ROW.step]] = 1.0
    rows[0, RIG_ROW.values :], rows[1, RIG_ROW.values :] = 7.0, np.arange(MAX_CHANNELS)
    found = condition(block, arrays, 1.0, PERIOD, 1.0, 0.0, 0.0, False)
    assert found == 0b11
    assert record[:4].tolist() == [7.0, 7.0, 1.0, 0.0]
    assert record[4:].tolist() == [*range(MAX_CHANNELS), 1.0, 0.0]
    assert arrays.output[0].tolist() == [7.0, 7.0, *[0.0] * (MAX_CHANNELS - 2)], "only the channels it has"
    assert arrays.output[1].tolist() == list(range(MAX_CHANNELS))
