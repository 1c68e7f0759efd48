"""Limits that a profile sets on recorded channels: read with their units, and watched."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mastd.errors import SettingsError
from mastd.loop.measurement.frame import channel_columns, channel_units
from mastd.safety.faults import Action, Code
from mastd.safety.profile_limits import ProfileLimits, tabulate
from mastd.settings.core.loader import load, load_text
from mastd.settings.profile.channel_limits import ChannelLimitSettings
from mastd.settings.profile.profile import ProfileSettings
from mastd.settings.table.table import TableSettings

ROOT = Path(__file__).resolve().parents[3]
TABLE = load(ROOT / "config" / "table.yaml", TableSettings)
UNITS = channel_units(TABLE)
COLUMNS = {"pose.heave": 0, "force.3": 1}
HEAD = "name: p\nsegments:\n  - {kind: hold, duration: 1 s}\nlimits:\n"


def read(limit: str, channels: dict[str, str] | None = UNITS) -> ChannelLimitSettings:
    context = {} if channels is None else {"channels": channels}
    return load_text(f"{HEAD}  - {{{limit}}}\n", "p.yaml", ProfileSettings, **context).limits[0]


@pytest.mark.parametrize(
    ("limit", "field", "value"),
    [
        ("channel: force.3, value: 20 kN, action: stop", "value", (-2e4, 2e4)),
        ("channel: pose.heave, value: [-5 mm, 1 cm], action: stop", "value", (-0.005, 0.01)),
        ("channel: supply.oil_level, value: [0.5, 1], action: stop", "value", (0.5, 1.0)),
        (
            "channel: supply.oil_temperature, value: [0 degC, 50 degC], action: stop",
            "value",
            (273.15, 323.15),
        ),
        ("channel: pose.heave, rate: 0.1 m/s, action: stop", "rate", 0.1),
        ("channel: pose_rate.roll, rate: 1 rad/s2, action: stop", "rate", 1.0),
        ("channel: accelerometer.2, rate: 1 g/s, action: stop", "rate", 9.80665),
        ("channel: force.3, rate: 5 kN/s, action: stop", "rate", 5000.0),
        ("channel: supply.oil_temperature, rate: 1 degC/s, action: stop", "rate", 1.0),
        ("channel: spool.1, rate: 10 1/s, action: stop", "rate", 10.0),
        ("channel: accelerometer.8, rms: 0.1 g, window: 2 s, action: stop", "rms", 0.980665),
    ],
)
def test_quantities_are_those_of_the_channel(limit: str, field: str, value: object) -> None:
    settings = read(limit)
    assert getattr(settings, field) == pytest.approx(value)
    assert getattr(read(limit, None), field) == pytest.approx(value), "also where the table is not known"
    again = ChannelLimitSettings.model_validate_json(settings.model_dump_json())
    assert again == settings


@pytest.mark.parametrize(
    ("limit", "place", "what"),
    [
        ("channel: pose.heav, value: 1 m, action: stop", "limits[0].channel", "did you mean 'pose.heave'"),
        ("channel: force.8, value: 1 N, action: stop", "limits[0].channel", "no channel 'force.8'"),
        ("channel: force.3, value: 5 mm, action: stop", "limits[0].value", "expected a force"),
        ("channel: force.3, value: [1 N, 5 mm], action: stop", "limits[0].value[1]", "expected a force"),
        ("channel: force.3, value: [2 N, 1 N], action: stop", "limits[0].value", "lower end must come first"),
        ("channel: force.3, value: 5, action: stop", "limits[0].value", "has no unit"),
        ("channel: force.3, value: -5 N, action: stop", "limits[0].value", "above 0"),
        ("channel: force.3, rate: 5 N, action: stop", "limits[0].rate", "N/s"),
        ("channel: force.3, rate: 5 mm/s, action: stop", "limits[0].rate", "expected a force"),
        ("channel: pose.heave, rate: 5 mm, action: stop", "limits[0].rate", "expected a velocity"),
        ("channel: force.3, action: stop", "limits[0].action", "no limit given"),
        ("channel: force.3, value: 5 N", "limits[0]", "'action' is missing"),
        ("channel: force.3, value: 5 N, action: halt", "limits[0].action", "power-off"),
        ("channel: force.3, rms: 5 N, window: 11 s, action: stop", "limits[0].window", "at most 10 s"),
    ],
)
def test_a_mistake_is_told_at_its_place(limit: str, place: str, what: str) -> None:
    with pytest.raises(SettingsError) as error:
        read(limit)
    lines = str(error.value).splitlines()
    assert any(f" {place}" in line and what in line and line.startswith("p.yaml:5:") for line in lines), lines


def test_every_channel_can_be_limited_in_its_unit() -> None:
    columns = channel_columns(TABLE)
    assert list(columns) == list(UNITS)
    for name, unit in UNITS.items():
        amount = "1" if unit == "1" else f"1 {unit}"
        assert read(f"channel: {name}, value: {amount}, action: hold").value == (-1.0, 1.0)


def watched(*limits: str) -> ProfileLimits:
    made = ProfileLimits([(name, "m" if name.startswith("pose") else "N") for name in COLUMNS], 1e-3)
    made.take(tabulate([read(limit) for limit in limits], COLUMNS))
    return made


def played(limits: ProfileLimits, heave: list[float]) -> list[bool]:
    return [bool(limits.inspect(np.array([value, 0.0]))) for value in heave]


def test_a_value_trips_after_its_delay_and_clears_at_once() -> None:
    limits = watched("channel: pose.heave, value: [-1 mm, 2 mm], delay: 3 ms, action: hold")
    assert played(limits, [2e-3] * 5) == [False] * 5
    assert played(limits, [-1.5e-3] * 5) == [False] * 3 + [True] * 2
    assert played(limits, [0.0, 3e-3]) == [False, False]
    assert played(limits, [np.nan] * 4)[-1], "what is not a number is beyond every limit"


def test_what_is_reported() -> None:
    limits = watched(
        "channel: pose.heave, value: 1 mm, action: indicate",
        "channel: force.3, value: [0 N, 1 kN], action: power-off",
    )
    first, second = limits.inspect(np.array([2e-3, -5.0]))
    assert (first.code, first.action) == (Code.PROFILE_LIMIT, Action.INDICATE)
    assert first.detail == "pose.heave at 0.002 m, limit ±0.001 m"
    assert (second.detail, second.action) == ("force.3 at -5 N, limit 0 to 1000 N", Action.POWER_OFF)


def test_a_rate_is_over_the_time_that_has_passed() -> None:
    limits = watched("channel: pose.heave, rate: 1 m/s, action: stop")
    assert played(limits, [5.0, 5.0009, 5.0, 5.0011]) == [False, False, False, True]
    assert not limits.inspect(np.array([5.0099, 0.0]), elapsed=0.01)


@given(st.lists(st.floats(-1.0, 1.0), min_size=1, max_size=60), st.floats(0.05, 0.9))
def test_an_effective_value_is_that_of_the_window(values: list[float], bound: float) -> None:
    limits = watched(f"channel: pose.heave, rms: {bound:.6f} m, window: 7 ms, action: stop")
    for k, tripped in enumerate(played(limits, values)):
        rms = float(np.sqrt(np.sum(np.square(values[max(0, k - 6) : k + 1])) / 7.0))
        if abs(rms - float(f"{bound:.6f}")) > 1e-9:
            assert tripped == (rms > bound)


def test_a_new_profile_starts_afresh_and_none_costs_nothing() -> None:
    limits = watched("channel: pose.heave, rms: 1 mm, window: 3 ms, action: stop")
    assert played(limits, [1.0, 0.0])[-1]
    limits.take(tabulate([read("channel: pose.heave, rms: 1 mm, window: 3 ms, action: stop")], COLUMNS))
    assert played(limits, [0.0]) == [False]
    limits.take(tabulate([], COLUMNS))
    assert limits.inspect(np.array([np.nan, np.nan])) == []


def test_as_many_limits_as_a_profile_may_set() -> None:
    limit = "channel: pose.heave, value: 1 m, rate: 1 m/s, rms: 1 m, window: 10 s, action: indicate"
    limits = watched(*[limit] * 20)
    assert len(limits.inspect(np.array([2.0, 0.0]))) == 20
    assert len(limits.inspect(np.array([1.5, 0.0]))) == 40, "now the rate too"
