"""Settings of rigs: what is read, and each mistake refused in one line at its place."""

from __future__ import annotations

import math

import pytest

from mastd.errors import SettingsError
from mastd.settings.core.loader import load, load_text
from mastd.settings.core.starter import find
from mastd.settings.rigs.channels import FELT, KINDS, MAX_RIGS, POSE_ACCELERATIONS, POSE_RATES, POSES, WRENCH
from mastd.settings.rigs.rigs import RigChannel, RigSettings, RigsSettings

RIGS = """\
rigs:
  - name: pedals
    kind: signals
    channels:
      - {channel: steering, range: [-0.5, 0.5], rate_limit: 2 1/s, on_loss: hold}
      - {channel: auxiliary.load, unit: N, range: [-5 kN, 5 kN], neutral: 200 N}
"""


def read(text: str) -> tuple[RigSettings, ...]:
    return load_text(text, "rigs.yaml", RigsSettings).rigs


def channels(text: str) -> dict[str, RigChannel]:
    (rig,) = read(text)
    return {channel.name: channel for channel in rig.all_channels()}


def test_everything_arrives_in_si_in_the_order_of_the_file() -> None:
    (rig,) = read(RIGS + "    timeout: 20 ms\n    predict: 5 ms\n    motion_rate: 0.5 1/ms\n")
    steering, load_cell = rig.all_channels()
    assert (rig.timeout, rig.predict, rig.motion_rate) == (0.02, 0.005, 500.0)
    assert steering == RigChannel(
        name="steering",
        unit="1",
        lowest=-0.5,
        highest=0.5,
        rate_limit=2.0,
        neutral=0.0,
        on_loss="hold",
    )
    assert (load_cell.unit, load_cell.lowest, load_cell.highest, load_cell.neutral) == ("N", -5e3, 5e3, 200.0)
    assert (load_cell.rate_limit, load_cell.on_loss) == (None, "ramp")


@pytest.mark.parametrize(
    ("kind", "more", "names"),
    [
        ("vehicle", "", WRENCH),
        ("pose", "", POSES),
        ("pose", "derivatives: true", (*POSES, *POSE_RATES, *POSE_ACCELERATIONS)),
        ("seat", "", FELT),
    ],
)
def test_a_kind_has_its_channels_whatever_the_file_names(
    kind: str, more: str, names: tuple[str, ...]
) -> None:
    text = f"rigs:\n  - name: other\n    kind: {kind}\n" + (f"    {more}\n" if more else "")
    found = channels(text)
    assert tuple(found) == names
    changed = channels(f"{text}    channels: [{{channel: {names[2]}, on_loss: fault}}]\n")
    assert tuple(changed) == names
    for name in names:
        expected = found[name]
        if name == names[2]:
            expected = expected.model_copy(update={"on_loss": "fault"})
        assert changed[name] == expected, "what is not named stays as usual"


def test_the_usual_neutral_values_say_of_nothing_happening() -> None:
    found = channels("rigs: [{name: cabin, kind: seat}]\n")
    assert {name: channel.neutral for name, channel in found.items() if channel.neutral} == {
        "seat.specific_force.z": 9.80665
    }


def test_a_channel_without_an_end_is_finite() -> None:
    found = channels("rigs: [{name: cell, kind: signals, channels: [{channel: auxiliary.x, unit: '1'}]}]\n")[
        "auxiliary.x"
    ]
    assert -math.inf < found.lowest < 0.0 < found.highest < math.inf


def test_the_starter_has_every_kind() -> None:
    rigs = load(find("rigs", "rigs"), RigsSettings)
    assert {rig.kind for rig in rigs.rigs} == set(KINDS)
    assert rigs.rig("nobody") is None
    assert rigs.rig(rigs.rigs[0].name) is rigs.rigs[0]


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("name: pedals", "name: Pedals", "2:11: rigs[0].name: 'Pedals': expected lower-case letters, "
                                         "digits and _"),
        ("name: pedals", "name: 1st", "2:11: rigs[0].name: '1st': expected lower-case letters"),
        ("signals", "signal", "3:11: rigs[0].kind: 'signal': expected one of signals, vehicle, pose, seat"),
        ("steering", "stering", "5:19: rigs[0].channels[0].channel: a rig of kind signals has no 'stering':"),
        ("auxiliary.load", "auxiliary.", "6:19: rigs[0].channels[1].channel: a rig of kind signals has no"),
        ("auxiliary.load", "wrench.fz", "6:19: rigs[0].channels[1].channel: a rig of kind signals has no"),
        ("auxiliary.load, unit: N, range: [-5 kN, 5 kN], neutral: 200 N", "steering",
         "6:19: rigs[0].channels[1].channel: steering is listed twice"),
        ("[-0.5, 0.5]", "[0.5, -0.5]", "5:29: rigs[0].channels[0].range: the lower end must come first"),
        ("[-0.5, 0.5]", "[0.5]", "5:29: rigs[0].channels[0].range: expected [lowest, highest]"),
        ("[-0.5, 0.5]", "[0.5, x]", "5:29: rigs[0].channels[0].range: 'x' is not a ratio"),
        ("[-5 kN, 5 kN]", "[-5, 5 kN]", "6:44: rigs[0].channels[1].range: -5 has no unit, the channel's"),
        ("2 1/s", "0 1/s", "5:61: rigs[0].channels[0].rate_limit: is 0, it must be above 0"),
        ("2 1/s", "-1", "5:61: rigs[0].channels[0].rate_limit: -1 has no unit, the channel's is 1/s"),
        ("2 1/s", "2 m", "5:61: rigs[0].channels[0].rate_limit: 'm' is a unit of length"),
        ("hold", "drop", "5:77: rigs[0].channels[0].on_loss: 'drop': expected one of hold, ramp, stop, "
                         "fault"),
        ("on_loss: hold", "neutral: 0.7", "5:77: rigs[0].channels[0].neutral: neutral, 0.7, is outside"),
        ("unit: N, range: [-5 kN, 5 kN], neutral: 200 N", "on_loss: stop",
         "6:9: rigs[0].channels[1]: unit is missing: an auxiliary channel must state one"),
        ("range: [-0.5, 0.5], rate_limit: 2 1/s, on_loss: hold", "unit: rad",
         "5:35: rigs[0].channels[0].unit: steering has the fixed unit 1: remove it"),
        ("unit: N,", "unit: '',", "6:41: rigs[0].channels[1].unit: a unit has 1 to 20 printable characters"),
    ],
)  # fmt: skip
def test_a_mistake_is_refused_in_one_line_at_its_place(old: str, new: str, line: str) -> None:
    assert old in RIGS
    with pytest.raises(SettingsError) as found:
        read(RIGS.replace(old, new))
    lines = str(found.value).splitlines()
    assert lines[0].startswith(f"rigs.yaml:{line}")
    assert len(lines) == 1


@pytest.mark.parametrize(
    ("more", "line"),
    [
        ("timeout: 1 ms", "7:14: rigs[0].timeout: 1 ms is out of range: must be at least 2 ms"),
        ("timeout: 1", "7:14: rigs[0].timeout: 1 has no unit, a time needs one"),
        ("message_rate: 0.5 1/s", "7:19: rigs[0].message_rate: 0.5 1/s is out of range: must be at least"),
        ("motion_rate: 100 1/ms", "7:18: rigs[0].motion_rate: 100 1/ms is out of range: must be at most"),
        ("predict: 30 ms", "7:14: rigs[0].predict: 30 ms is out of range: must be at most 20 ms"),
        ("ramp: -1 s", "7:11: rigs[0].ramp: -1 s is out of range: must be at least 0 s"),
        ("colour: red", "7:5: rigs[0].colour: unknown key 'colour', known: name, kind"),
        ("derivatives: true", "7:18: rigs[0].derivatives: a rig of kind signals has none: remove it"),
    ],
)
def test_a_mistake_of_the_rig_is_refused_at_its_place(more: str, line: str) -> None:
    with pytest.raises(SettingsError) as found:
        read(f"{RIGS}    {more}\n")
    assert str(found.value).startswith(f"rigs.yaml:{line}")
    assert "\n" not in str(found.value)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "rigs: [{name: a, kind: signals}]",
            "1:8: rigs[0]: no channel given: expected one or more of steering",
        ),
        ("rigs: [{name: a}]", "1:8: rigs[0].kind: key 'kind' is missing"),
        ("rigs: [{kind: seat}]", "1:8: rigs[0].name: key 'name' is missing"),
        ("rigs: 7", "1:7: rigs: expected a list"),
        ("rigs: [{name: a, kind: seat}, {name: a, kind: seat}]", "1:38: rigs[1].name: a is listed twice"),
        (
            "rigs: [" + "{name: a, kind: seat}, " * (MAX_RIGS + 1) + "]",
            "1:1: rigs: 9 items, there must be at most 8",
        ),
        (
            "rigs: [{name: a, kind: pose, channels: [{channel: rate.heave}]}]",
            "1:51: rigs[0].channels[0].channel: rate.heave is available with `derivatives: true` only",
        ),
        (
            "rigs: [{name: a, kind: seat, channels: [{channel: seat.specific_force.z, range: [0 g, .9 g]}]}]",
            "1:41: rigs[0].channels[0]: neutral, 9.80665, is outside the range",
        ),
    ],
)
def test_a_mistake_of_the_file_is_refused_at_its_place(text: str, line: str) -> None:
    with pytest.raises(SettingsError) as found:
        read(text + "\n")
    assert str(found.value).startswith(f"rigs.yaml:{line}")
    assert "\n" not in str(found.value)
