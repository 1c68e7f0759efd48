"""Channels of a play on its profile's own time: what is commanded and what is measured meet."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from mastd.arrays import FloatArray
from mastd.errors import FormatError
from mastd.record.play_columns import on_profile_time

PERIOD = 1e-3
COUNT = 2000
"""Knots of the profile."""
BEFORE = 3
ON_TIME: FloatArray = np.arange(COUNT, dtype=np.float64) * PERIOD
NAMES = ("pose.heave", "reference.heave")


def motion(time: FloatArray) -> FloatArray:
    """Return where a table that follows without delay is asked to be, and is."""
    inside = np.clip(time, 0.0, (COUNT - 1) * PERIOD)
    return np.asarray(np.sin(2.0 * np.pi * 7.0 * inside))


def frames(first_step: int = 500) -> tuple[dict[str, FloatArray], FloatArray]:
    """Return the frames of a play as the loop records them, and their times.

    The frame of step k holds what was measured at k, and the reference that is meant for k + 1.
    """
    k = np.arange(-BEFORE, COUNT + BEFORE, dtype=np.float64)
    answered = (k + 1.0) * PERIOD
    playing = (answered >= 0.0) & (answered <= (COUNT - 1) * PERIOD + 1e-9)
    columns = {
        "step": k + first_step,
        "profile_time": np.where(playing, answered, np.nan),
        "pose.heave": motion(k * PERIOD),
        "reference.heave": motion(answered),
    }
    return columns, (k + 77.0) * PERIOD


def on_time(columns: dict[str, FloatArray], times: FloatArray) -> dict[str, FloatArray]:
    return on_profile_time("play", columns, times, PERIOD, NAMES, PERIOD, COUNT)


def test_reference_and_answer_stand_at_the_same_time() -> None:
    found = on_time(*frames())
    asked = motion(ON_TIME)
    assert np.allclose(found["pose.heave"], asked, atol=1e-12)
    assert np.allclose(found["reference.heave"], asked, atol=1e-12)


def lose(columns: dict[str, FloatArray], times: FloatArray) -> tuple[dict[str, FloatArray], FloatArray]:
    kept = np.ones(len(times), dtype=bool)
    kept[700:705] = False
    return {name: values[kept] for name, values in columns.items()}, times[kept]


def repeat(columns: dict[str, FloatArray], times: FloatArray) -> tuple[dict[str, FloatArray], FloatArray]:
    for name in ("step", "pose.heave"):
        columns[name][901] = columns[name][900]
    return columns, times


def blind(columns: dict[str, FloatArray], times: FloatArray) -> tuple[dict[str, FloatArray], FloatArray]:
    columns["pose.heave"][300:303] = np.nan
    return columns, times


@pytest.mark.parametrize("damage", [lose, repeat, blind])
def test_what_is_missing_is_bridged(damage: Callable[..., tuple[dict[str, FloatArray], FloatArray]]) -> None:
    found = on_time(*damage(*frames()))
    asked = motion(ON_TIME)
    assert np.max(np.abs(found["pose.heave"] - asked)) < 1e-4
    assert np.max(np.abs(found["reference.heave"] - asked)) < 1e-4


def test_a_play_that_was_held_or_not_finished_is_refused() -> None:
    columns, times = frames()
    columns["profile_time"][800:] -= 50 * PERIOD
    with pytest.raises(FormatError, match="held or slowed down"):
        on_time(columns, times)
    columns, times = frames()
    with pytest.raises(FormatError, match="did not run to its end"):
        on_time({name: values[:1500] for name, values in columns.items()}, times[:1500])
