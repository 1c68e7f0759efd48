"""The service's log as pure functions: the journal's wire format, throttling, words, statistics."""

from __future__ import annotations

import itertools
import os
import re
import threading
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mastd.log.journald import MAX_ENTRY_BYTES, MAX_VALUE_BYTES, entry
from mastd.log.sinks import ERROR, NOTICE, WARNING, Line, PlainLines
from mastd.record.channels import Channel, ChannelSet
from mastd.record.service_log.lines import and_more, line_of
from mastd.record.service_log.statistics import SecondOfFrames
from mastd.record.service_log.throttle import MAX_KEYS, Throttle
from mastd.ring.times import spread
from mastd.wire.common.cycle_times import CycleTimes
from tests.support.journal import fields_of
from tests.support.recording import wait_for

PERIOD_NS = 1_000_000
STATES = ("OFF", "READY", "RUNNING")


@given(st.lists(st.text(), min_size=1, max_size=6))
def test_any_text_survives_on_its_way_into_the_journal(texts: list[str]) -> None:
    sent = {f"FIELD_{number}": text for number, text in enumerate(texts)}
    assert fields_of(entry(sent.items())) == sent


@given(st.binary(max_size=200).map(lambda data: data.decode("utf-8", "surrogateescape")))
def test_text_that_is_not_unicode_is_told_readably(text: str) -> None:
    (told,) = fields_of(entry([("MESSAGE", text)])).values()
    assert told == text.encode("utf-8", "backslashreplace").decode()


def test_what_the_journal_would_refuse_never_leaves() -> None:
    for key in ("", "lower", "_TRUSTED", "1ST", "WITH=", "LINE\n", "A" * 65):
        with pytest.raises(ValueError, match="cannot be the key"):
            entry([(key, "value")])


def test_long_texts_are_cut_between_two_letters_and_an_entry_stays_a_datagram() -> None:
    long = "é\n" * MAX_VALUE_BYTES
    sent = {f"FIELD_{number}": long for number in range(20)}
    data = entry({"MESSAGE": "short", **sent}.items())
    assert len(data) <= MAX_ENTRY_BYTES
    told = fields_of(data)
    assert told["MESSAGE"] == "short"
    assert told["FIELD_0"].endswith("(cut)")
    assert len(told["FIELD_0"].encode()) <= MAX_VALUE_BYTES
    assert len(told) < len(sent)


def test_one_kind_is_held_back_while_another_is_told_and_the_rest_is_counted() -> None:
    throttle: Throttle[str] = Throttle(maximum=3, window_s=60.0)
    told = [throttle.admits("noisy", f"noise {number}", 100.0 + 0.1 * number) for number in range(217)]
    assert told == [True] * 3 + [False] * 214
    assert throttle.admits("rare", "once", 130.0)
    assert throttle.over(159.9) == []
    assert throttle.over(160.0) == [("noise 216", 214, 60.0)]
    assert throttle.over(1000.0) == [], "told once; what was not held back is not told again"
    assert throttle.admits("noisy", "again", 1000.0), "a window begins with the first that comes after"
    assert not [number for number in range(2) if not throttle.admits("noisy", "again", 1059.0)]
    assert not throttle.admits("noisy", "last", 1059.0)
    assert throttle.over(1059.5, end=True) == [("last", 1, 59.5)], "the end tells what no window will"


def test_a_flood_of_kinds_is_bounded_too() -> None:
    throttle: Throttle[int] = Throttle(maximum=1)
    told = sum(throttle.admits(number, number, 0.0) for number in range(10 * MAX_KEYS))
    assert told == MAX_KEYS + 1
    assert throttle.over(60.0) == [(10 * MAX_KEYS - 1, 9 * MAX_KEYS - 1, 60.0)]


FAULT = {
    "event": "fault", "code": 7, "name": "STROKE", "cause": "stroke limit: actuator 3", "action": "STOP",
    "hint": "Lower the table", "first": True, "cycle": 8123, "frame": 8122,
}  # fmt: skip


def test_a_fault_says_what_happened_and_what_to_do() -> None:
    line = line_of(FAULT)
    assert line is not None
    assert line.message == "fault STROKE (stop): stroke limit: actuator 3. What to do: Lower the table"
    assert line.priority == ERROR
    expected = {
        "MASTD_FAULT": "STROKE",
        "MASTD_FAULT_CODE": "7",
        "MASTD_ACTION": "stop",
        "MASTD_CYCLE": "8123",
    }
    assert expected.items() <= line.fields.items()
    indicated = line_of({**FAULT, "action": "INDICATE"})
    assert indicated is not None
    assert indicated.priority == WARNING
    more = and_more(line, 214, 60.0)
    assert more.message == "fault STROKE … and 214 more in 60 s"
    assert (more.fields["MASTD_MORE"], more.fields["MASTD_FAULT"]) == ("214", "STROKE")


@pytest.mark.parametrize(
    ("event", "message", "priority"),
    [
        ({"event": "last_ending", "text": "killed"}, "last ending: killed", NOTICE),
        ({"event": "plant", "name": "valves", "boot_id": 3}, "plant: name valves, boot_id 3", NOTICE),
        ({"event": "odd", "priority": 3}, "odd", 3),
        ({"event": "odd", "priority": 99}, "odd", NOTICE),
        ({}, "", NOTICE),
    ],
)
def test_an_event_without_words_of_its_own_is_told_as_it_is(
    event: Mapping[str, object], message: str, priority: int
) -> None:
    line = line_of(event)
    assert line is not None
    assert (line.message, line.priority) == (message, priority)


def test_rights_are_told_when_they_are_missing_only() -> None:
    rights = [
        {"name": "memory lock", "obtained": False, "found": "ENOMEM", "advice": "raise the limit"},
        {"name": "timer slack", "obtained": True, "found": "1000 ns", "advice": ""},
    ]
    line = line_of({"event": "rights", "degraded": True, "rights": rights})
    assert line is not None
    assert line.message.endswith("are missing: memory lock: ENOMEM (raise the limit)")
    assert line_of({"event": "rights", "degraded": False, "rights": rights}) is None


def test_a_pipe_that_nobody_reads_costs_lines_and_no_time() -> None:
    ours, theirs = os.pipe()
    lines: list[bytes] = []

    def read() -> None:
        with open(ours, "rb") as file:
            lines.extend(file)

    sink = PlainLines(theirs)
    offered = 20_000
    for number in range(offered):
        sink.write(Line("line", f"line {number}", NOTICE), 0.0)
    reader = threading.Thread(target=read)
    reader.start()
    tries = itertools.count(1)

    def heard_again() -> bool:
        sink.write(Line("line", f"again {next(tries)}", NOTICE), 0.0)
        return any(b"  again " in line for line in list(lines))

    wait_for(heard_again, "a line gets through once the reader reads")
    sink.close()
    os.close(theirs)
    reader.join()
    assert b"  again " in lines[-1]
    missing = [int(number) for number in re.findall(rb"  (\d+) lines are missing", b"".join(lines))]
    assert missing
    assert len(lines) - len(missing) + sum(missing) == offered + next(tries) - 1, (
        "every line is told or counted"
    )


def frames(first: int, rows: list[list[float]]) -> list[tuple[int, memoryview]]:
    return [(first + k, memoryview(np.array(row).tobytes())) for k, row in enumerate(rows)]


def test_a_second_of_frames_by_the_names_of_its_channels() -> None:
    names = ("missed", "late", "profile_time", "compute", "state", "cycle", "fault")
    second = SecondOfFrames(ChannelSet([Channel(name, "1") for name in names], PERIOD_NS), STATES)
    late = [1e-6 * k for k in range(1, 998)] + [600e-6, 501e-6, 499e-6]
    second.take(frames(0, [[3, value, k * 1e-3, 40e-6, 2, k, 0] for k, value in enumerate(late)]))
    second.counters.faults = 2
    line = second.line(1.0, {})
    counted = sum(value > 500e-6 for value in late)
    assert line.priority == 6
    assert line.message.startswith(
        "RUNNING; profile at 0.999 s; 1000 cycles; compute 40.0/40.0/40.0 µs; late "
    )
    expected = {
        "MASTD_LATE_MEDIAN_US": "499.0", "MASTD_LATE_P99_US": "987.0", "MASTD_LATE_MAX_US": "997.0",
        "MASTD_LATE_CYCLES": str(counted), "MASTD_MISSED": "0", "MASTD_MISSED_TOTAL": "3",
        "MASTD_DROPPED_TOTAL": "0", "MASTD_FAULTS_TOTAL": "2", "MASTD_CYCLE": "999", "MASTD_STATE": "RUNNING",
    }  # fmt: skip
    assert expected.items() <= line.fields.items()
    second.take(frames(1010, [[8, 1e-6, np.nan, np.nan, 1, 1010, 7]] * 90))
    line = second.line(1.0, {7: "STROKE"})
    expected = {
        "MASTD_MISSED": "5", "MASTD_MISSED_TOTAL": "8", "MASTD_DROPPED_TOTAL": "10", "MASTD_CYCLES": "90",
        "MASTD_LATE_CYCLES_TOTAL": str(counted + 1), "MASTD_FAULT": "STROKE", "MASTD_STATE": "READY",
    }  # fmt: skip
    assert expected.items() <= line.fields.items()
    assert "MASTD_PROFILE_TIME_S" not in line.fields
    assert "MASTD_COMPUTE_MAX_US" not in line.fields, "what is not a number is left out"
    still = second.line(1.0, {})
    assert still.priority == WARNING
    assert "no cycle for 1.0 s" in still.message


def test_the_log_and_the_status_say_the_same_of_a_second() -> None:
    random = np.random.default_rng(7)
    missed = np.cumsum(random.integers(0, 4, 1000) == 3) + 5.0
    rows = np.column_stack((random.uniform(0.0, 700e-6, 1000), missed, random.uniform(1e-5, 3e-4, 1000)))
    names = ("late", "missed", "compute")
    second = SecondOfFrames(ChannelSet([Channel(name, "1") for name in names], PERIOD_NS), ())
    status = CycleTimes(names, 1e9 / PERIOD_NS)
    for part in np.split(rows, 10):
        second.take(frames(0, part.tolist()))
        status.take(part)
    told, shown = second.line(1.0, {}).fields, status.summary()
    assert shown is not None
    assert told["MASTD_LATE_CYCLES"] == str(shown["late"]) != "0"
    for name in ("late", "compute"):
        for key, figure in zip(("MEDIAN", "P99", "MAX"), shown[f"{name}_s"].values(), strict=True):
            assert told[f"MASTD_{name.upper()}_{key}_US"] == f"{1e6 * figure:.1f}"


def test_a_frame_without_these_channels_has_statistics_too() -> None:
    second = SecondOfFrames(ChannelSet([Channel("step", "1")], PERIOD_NS), ())
    second.take(frames(0, [[1.0], [2.0]]))
    assert second.line(1.0, {}).fields["MASTD_CYCLES"] == "2"


@given(st.lists(st.floats(0, 1), min_size=1, max_size=300))
def test_spread_is_that_of_the_nearest_rank(values: list[float]) -> None:
    median, p99, highest = spread(sorted(values))
    expected = np.quantile(values, [0.5, 0.99], method="inverted_cdf")
    assert (p99, highest) == (expected[1], max(values))
    assert median == expected[0]
