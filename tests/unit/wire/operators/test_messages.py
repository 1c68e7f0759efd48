"""The operators' messages: what is read, what is refused, and that nothing else can happen."""

from __future__ import annotations

import math

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET
from msgspec.structs import asdict, replace

from mastd.settings.core.axes import AXES
from mastd.wire.access.verbs import BY_NAME, VERBS
from mastd.wire.common.strict_messages import MAX_NUMBER, MalformedError, pack
from mastd.wire.operators import messages
from mastd.wire.operators.messages import (
    Answer,
    Close,
    Command,
    Error,
    Hello,
    Jog,
    Level,
    NoArguments,
    Welcome,
    read_from_client,
    read_from_gateway,
    read_status,
)
from mastd.wire.operators.requests import numbers

HELLO = Hello(1, "mastd ctl", "anna@rig/tty1", "operator")
VALID = (
    pack(HELLO),
    pack(Close(7)),
    pack(Command(7, 1, "start", {})),
    pack(Command(7, 2, "level", {"share": 0.3})),
    pack(Command(7, 3, "jog", {"link": 5, "amount": -0.01})),
    pack(Command(7, 4, "load", {"profile": "/profiles/sine.yaml"})),
)


def command(verb: object = "start", **entries: object) -> bytes:
    packed: bytes = msgpack.packb(
        {"kind": "command", "session": 7, "sequence": 1, "verb": verb, "arguments": {}, **entries}
    )
    return packed


def test_what_a_client_says_comes_back_as_said() -> None:
    assert read_from_client(VALID[0]) == HELLO
    assert read_from_client(VALID[1]) == Close(7)
    jog = read_from_client(VALID[4])
    assert isinstance(jog, Command)
    assert (jog.session, jog.sequence, jog.verb) == (7, 3, "jog")
    assert jog.arguments == Jog(-0.01, link=5)
    assert numbers(jog) == (1.0, 4.0, -0.01)
    level = read_from_client(VALID[3])
    assert isinstance(level, Command)
    assert level.arguments == Level(0.3)


@pytest.mark.parametrize("axis", AXES)
def test_an_axis_is_known_by_its_name(axis: str) -> None:
    message = read_from_client(command("jog", arguments={"axis": axis, "amount": 1}))
    assert isinstance(message, Command)
    assert numbers(message) == (0.0, AXES.index(axis), 1.0)


def test_what_the_gateway_says_comes_back_as_said() -> None:
    welcome = Welcome(1, 9, "mastd", 4711, "operator", "anna", "ipc:///x", 60.0, 1.0)
    answer = Answer(9, 3, "arm", False, "arm is refused in OFF", "raise first", "OFF", "", "anna", {"a": [1]})
    complaint = Error("malformed", "what is this", -1)
    assert read_from_gateway(pack(welcome)) == welcome
    assert read_from_gateway(pack(answer)) == answer
    assert read_from_gateway(pack(complaint)) == complaint
    assert read_status(messages.pack_status({"number": 3})) == {"number": 3}


@pytest.mark.parametrize("verb", sorted(VERBS - {"load", "level", "jog", "stop", "estop"}))
def test_a_verb_without_arguments_takes_none(verb: str) -> None:
    assert isinstance(read_from_client(command(verb)), Command)
    with pytest.raises(MalformedError, match=f"{verb}: unknown entry speed; its arguments are: none"):
        read_from_client(command(verb, arguments={"speed": 1}))


@pytest.mark.parametrize("arguments", [{"speed": 1}, None, [], 3])
@pytest.mark.parametrize("verb", ["stop", "estop"])
def test_a_stop_is_taken_whatever_comes_with_it(verb: str, arguments: object) -> None:
    message = read_from_client(command(verb, arguments=arguments))
    assert isinstance(message, Command)
    assert message.verb == verb


@pytest.mark.parametrize("entry", ["operator", "name"])
@pytest.mark.parametrize("text", ["an\nna", "\x1b[2Janna", "anna\x7f", "anna\u202e", "\x85anna"])
def test_a_name_that_cannot_be_printed_is_refused(entry: str, text: str) -> None:
    with pytest.raises(MalformedError, match=f"hello: {entry} must be printable") as refused:
        read_from_client(msgpack.packb({"kind": "hello", **asdict(HELLO), entry: text}))
    assert str(refused.value).isprintable()


def test_a_name_in_any_script_is_taken() -> None:
    hello = replace(HELLO, operator="Ångström 山田@rig/tty1")
    assert read_from_client(pack(hello)) == hello


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (b"", "not a MessagePack"),
        (msgpack.packb([1]), "expected map, got array"),
        (msgpack.packb({"kind": 3}), "kind: expected str"),
        (msgpack.packb({"kind": "order"}), "kind: invalid value 'order'"),
        (command(verb="explode"), "'explode' is not known"),
        (command(verb=3), "verb: expected str"),
        (command(session=True), "command: session: expected int"),
        (command(session=1.0), "command: session: expected int"),
        (command(session=-1), "command: session: expected int"),
        (command(sequence=1 << 63), "sequence: expected int <= 9223372036854775807"),
        (command(arguments=None), "start: expected map"),
        (command(arguments=[]), "start: expected map"),
        (command("level", arguments={}), "level: missing entry share"),
        (command("level", arguments={"share": True}), "level: share: expected float"),
        (command("level", arguments={"share": "30%"}), "level: share: expected float"),
        (command("level", arguments={"share": math.nan}), "level: share: expected float"),
        (command("level", arguments={"share": math.inf}), "level: share: expected float"),
        (command("level", arguments={"share": -0.1}), "level: share: expected float >= 0.0, where 1 is 100%"),
        (command("level", arguments={"share": 100.1}), "level: share: expected float <= 100.0"),
        (command("jog", arguments={"amount": 0.1}), "either axis or link"),
        (command("jog", arguments={"amount": 0.1, "axis": "heave", "link": 1}), "either axis or link"),
        (command("jog", arguments={"amount": 0.1, "axis": "up"}), "axis 'up' is not known"),
        (command("jog", arguments={"amount": 0.1, "axis": None, "link": 1}), "jog: axis: expected str"),
        (command("jog", arguments={"amount": 0.1, "link": 1.0}), "jog: link: expected int"),
        (command("jog", arguments={"amount": math.nan, "link": 1}), "jog: amount: expected float"),
        (command("load", arguments={"profile": ""}), "profile must be a path"),
        (command("load", arguments={"profile": "a\0b"}), "profile must be a path"),
        (command("load", arguments={"profile": "x" * 4097}), "profile: expected str of length <= 4096"),
        (
            msgpack.packb({"kind": "hello", **asdict(HELLO), "role": "king"}),
            "invalid enum value 'king'",
        ),
        (msgpack.packb({"kind": "hello", **asdict(HELLO), "operator": " "}), "operator must name who acts"),
        (
            msgpack.packb({"kind": "hello", **asdict(HELLO), "name": "x" * 201}),
            "name: expected str of length <= 200",
        ),
        (msgpack.packb({"kind": "bye"}), "bye: missing entry session"),
    ],
)
def test_what_is_wrong_is_refused_by_its_name(data: bytes, match: str) -> None:
    with pytest.raises(MalformedError, match=match) as refused:
        read_from_client(data)
    assert "\n" not in str(refused.value)


def test_a_malformed_command_is_known_by_its_sequence() -> None:
    with pytest.raises(MalformedError) as refused:
        read_from_client(command("explode", sequence=12))
    assert refused.value.sequence == 12


def test_a_message_that_is_too_long_is_not_even_decoded() -> None:
    with pytest.raises(MalformedError, match="at most") as refused:
        read_from_client(command(padding=b"x" * messages.MAX_OPERATOR_MESSAGE))
    assert refused.value.oversize


def test_of_another_version_only_the_version_is_read() -> None:
    assert read_from_client(msgpack.packb({"kind": "hello", "protocol_version": 2})) == Hello(
        2, "", "", "operator"
    )


def test_unknown_entries_of_a_message_are_ignored() -> None:
    assert read_from_client(command(colour="green")) == read_from_client(command())


def test_the_arguments_are_those_of_the_table_of_verbs() -> None:
    for verb in VERBS:
        fields = messages.ARGUMENTS.get(verb, NoArguments).__struct_fields__
        assert set(fields) == set(BY_NAME[verb].arguments)


def check(data: bytes) -> None:
    """Reading gives a message whose values are within their ranges, or MalformedError, and nothing else."""
    try:
        message = read_from_client(data)
    except MalformedError:
        return
    if isinstance(message, Command):
        arguments = message.arguments
        assert message.verb in VERBS
        assert 0 <= message.sequence <= MAX_NUMBER
        assert type(arguments) is messages.ARGUMENTS.get(message.verb, NoArguments)
        if isinstance(arguments, Level):
            assert 0.0 <= arguments.share <= messages.MAX_RATIO
        if isinstance(arguments, Jog):
            assert abs(arguments.amount) <= messages.MAX_JOG
            assert arguments.axis is UNSET or arguments.axis in AXES


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    check(data)


@given(
    st.sampled_from(VALID), st.integers(0, 200), st.integers(0, 255), st.integers(0, 3), st.binary(max_size=4)
)
def test_a_mutated_message_is_read_or_refused(
    data: bytes, place: int, byte: int, how: int, more: bytes
) -> None:
    place %= len(data)
    check(
        (
            data[:place] + bytes([byte]) + data[place + 1 :],
            data[:place],
            data[:place] + more + data[place:],
            data + more,
        )[how]
    )


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(1 << 63), (1 << 64) - 1),
    st.floats(),
    st.text(max_size=5),
    st.lists(st.integers(0, 3), max_size=2),
    st.dictionaries(
        st.sampled_from(["axis", "link", "amount", "share", "profile"]),
        st.one_of(st.integers(-2, 9), st.floats(), st.sampled_from(["heave", "", "up"])),
        max_size=3,
    ),
)


@given(
    st.dictionaries(st.sampled_from(["session", "sequence", "arguments", "colour"]), VALUES),
    st.sampled_from(sorted(VERBS)) | st.text(),
)
def test_a_command_with_any_values_is_read_or_refused(entries: dict[str, object], verb: str) -> None:
    check(command(verb, **entries))
