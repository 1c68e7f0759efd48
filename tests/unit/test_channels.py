"""Channels: order, rates, lookup, extension."""

from __future__ import annotations

import pytest

from mastd.record.channels import AXES, Channel, ChannelSet, loop_channels

PERIOD_NS = 1_000_000
SUPPLY = (("supply_pressure", "Pa", "at the valves"), ("oil_level", "1", "tank"))


def test_the_loop_has_every_channel_the_plan_names_with_its_unit() -> None:
    channels = loop_channels(7, 3, SUPPLY, PERIOD_NS)
    names = set(channels.columns)
    single = (
        "cycle step plant_time profile_time state fault flags late compute missed "
        "residual updates redundancy_residual internal_force supply.supply_pressure supply.oil_level"
    )
    assert set(single.split()) <= names
    quantities = ("reference", "reference_rate", "reference_acceleration", "pose", "pose_rate")
    assert {f"{quantity}.{axis}" for quantity in quantities for axis in AXES} <= names
    numbered = "command.length command.rate command.acceleration command.force command.trim length pressure_1"
    for quantity in (*numbered.split(), "pressure_2", "spool"):
        assert {f"{quantity}.{link}" for link in range(1, 8)} <= names
        assert f"{quantity}.8" not in names
    assert "accelerometer.3" in names
    units = {channel.name: channel.unit for channel in channels}
    assert units["reference.heave"] == "m"
    assert units["pose_rate.yaw"] == "rad/s"
    assert units["reference_acceleration.surge"] == "m/s2"
    assert units["command.force.4"] == "N"
    assert len(channels) == 10 + 5 * 6 + 3 + 9 * 7 + 2 + 3 + 1


def test_numbered_channels_are_neighbours() -> None:
    channels = loop_channels(7, 3, SUPPLY, PERIOD_NS)
    span = channels.slice("command.rate.1", 7)
    assert [channel.name for channel in channels.channels[span]] == [f"command.rate.{n}" for n in range(1, 8)]


def test_slower_channels_follow_in_groups_that_cover_the_frame() -> None:
    channels = ChannelSet(
        [Channel("slow", "K", 10.0), Channel("a", "m"), Channel("middle", "N", 100.0), Channel("b", "m")],
        PERIOD_NS,
    )
    assert [channel.name for channel in channels] == ["a", "b", "middle", "slow"]
    assert [(group.topic, group.every, group.start, group.stop) for group in channels.groups] == [
        ("frame", 1, 0, 2),
        ("frame/100hz", 10, 2, 3),
        ("frame/10hz", 100, 3, 4),
    ]


def test_extension_keeps_what_is_there() -> None:
    channels = loop_channels(7, 0, SUPPLY, PERIOD_NS)
    longer = channels.extended([Channel("payload.wheel_load.fl", "N"), Channel("rig.soc", "1", 1.0)])
    assert longer.column("payload.wheel_load.fl") == len(channels)
    assert longer.column("rig.soc") == len(channels) + 1
    assert longer.column("pose.yaw") == channels.column("pose.yaw")


@pytest.mark.parametrize(
    ("channel", "words"),
    [
        (Channel("a", "m"), "unique"),
        (Channel("", "m"), "not empty"),
        (Channel("b", "m", 300.0), "divided by an integer"),
        (Channel("b", "m", 2000.0), "divided by an integer"),
        (Channel("b", "m", 0.0), "must be positive"),
        (Channel("b", "m", float("nan")), "must be positive"),
    ],
)
def test_what_cannot_be_recorded_is_refused(channel: Channel, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        ChannelSet([Channel("a", "m"), channel], PERIOD_NS)
