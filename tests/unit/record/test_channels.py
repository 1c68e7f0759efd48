"""Channels: order, rates, lookup, extension."""

from __future__ import annotations

import pytest

from mastd.record.channels import Channel, ChannelSet

PERIOD_NS = 1_000_000


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
    channels = ChannelSet([Channel("step", "1"), Channel("pose.yaw", "rad")], PERIOD_NS)
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
