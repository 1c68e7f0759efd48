"""The log of a real service: in a journal, on standard error, and with nobody who reads it."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest

from mastd.errors import UsageError
from mastd.record.reader import open_run
from mastd.record.recorder import RecorderHandle
from mastd.record.service_log.log import destination
from mastd.record.service_log.throttle import MAX_IN_A_WINDOW
from mastd.wire.operators.client import OperatorClient
from tests.support.journal import Journal, fields_of, journal
from tests.support.lab import PATIENCE, SHAKING, Lab
from tests.support.recording import Stream, stream_channels, wait_for

pytestmark = pytest.mark.real_time

CHANNELS = stream_channels(1_000_000)
START_S = 90.0
"""The first start compiles the kernels."""


def start_under_journal(lab: Lab, found: Journal, stderr: int) -> subprocess.Popen[bytes]:
    """Start a service as a service manager does, its standard error connected to the journal."""
    status = os.fstat(stderr)
    environment = {
        **lab.environment,
        "JOURNAL_STREAM": f"{status.st_dev}:{status.st_ino}",
        "MASTD_JOURNAL": str(found.path),
    }
    command = lab.command("serve", "--table", lab.table, "--config", lab.config)
    return subprocess.Popen(command, env=environment, cwd=lab.directory, stderr=stderr)


def join(lab: Lab, process: subprocess.Popen[bytes]) -> OperatorClient:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            return OperatorClient(f"ipc://{lab.runtime}/mastd.operators", "night shift")
        except UsageError:
            threading.Event().wait(0.1)  # another process's socket can only be looked for
    raise AssertionError("the service did not come up")


def waiting_entries(deaf: socket.socket) -> list[dict[str, str]]:
    """Take what has come to a socket that nobody has read."""
    entries = []
    with contextlib.suppress(BlockingIOError):
        while True:
            entries.append(fields_of(deaf.recv(1 << 18)))
    return entries


@pytest.mark.evidence
def test_the_journal_tells_a_night_at_the_table(lab: Lab) -> None:
    assert lab.runtime is not None
    said = (lab.directory / "stderr").open("w+b")
    with journal(lab.runtime / "journal") as found, said:
        process = start_under_journal(lab, found, said.fileno())
        try:
            with join(lab, process) as client:
                found.until(lambda entry: "MASTD_CYCLES" in entry, "a second of the loop")
                refused = client.command("arm")
                entry = found.until(lambda entry: entry.get("MASTD_VERB") == "arm", "the refusal")
                assert entry["MESSAGE"] == entry["MASTD_CAUSE"] == f"{refused.reason}: {refused.needed}"
                assert entry["MESSAGE_ID"] == "337a7ce2fbd044539cd8c38169c5a157"
                profile = lab.profile(SHAKING)
                assert client.command("load", {"profile": str(profile)}).accepted
                assert client.command("raise").accepted
                found.until(lambda entry: entry["MESSAGE"].startswith("RAISING → READY"), "READY")
                assert client.command("arm").accepted
                assert client.command("start").accepted
                found.until(lambda entry: entry["MESSAGE"] == "asked for: start", "the request")
                second = found.until(
                    lambda entry: float(entry.get("MASTD_PROFILE_TIME_S", 0)) > 0.5, "statistics of the run"
                )
                assert client.command("estop").accepted
                fault = found.until(lambda entry: entry.get("MASTD_FAULT") == "ESTOP", "the fault")
                ended = found.until(lambda entry: entry["MESSAGE"].startswith("record ends"), "the end")
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait(PATIENCE)
        gone = found.until(lambda entry: entry["PRIORITY"] == "2", "the death of the loop")
        assert "starts in OFF" in gone["MESSAGE"]
        said.seek(0)
        assert b"READY" not in said.read(), "what goes to the journal does not go to standard error as well"
    (record,) = lab.directory.glob("runs/shaking-*")
    begun = next(entry for entry in found.entries if entry["MESSAGE"].startswith("record begins"))
    for entry in (begun, second, fault, ended):
        assert entry["MASTD_RUN"] == record.name
        assert entry["SYSLOG_IDENTIFIER"] == "mastd"
    assert "MASTD_RUN" not in gone
    assert (second["MASTD_STATE"], second["PRIORITY"]) == ("RUNNING", "6")
    assert int(second["MASTD_CYCLES"]) > 100
    assert float(second["MASTD_COMPUTE_MEDIAN_US"]) > 0.0
    assert (second["MASTD_REQUESTS_TOTAL"], second["MASTD_REFUSED_TOTAL"]) == ("5", "1")
    assert (fault["PRIORITY"], fault["MASTD_ACTION"], fault["MASTD_FAULT_CODE"]) == ("3", "power_off", "19")
    assert fault["MASTD_HINT"] in fault["MESSAGE"]
    states = [entry for entry in found.entries if entry["MESSAGE"].endswith(")") and "→" in entry["MESSAGE"]]
    assert [entry["MASTD_STATE"] for entry in states] == [
        "LOW", "HIGH", "RAISING", "READY", "ARMED", "RUNNING",
    ]  # fmt: skip
    assert {entry["PRIORITY"] for entry in states} == {"5"}


def test_on_a_terminal_or_pipe_every_event_is_one_plain_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    handle = RecorderHandle.start_service(tmp_path, {}, CHANNELS, lockstep=True, log={"to": "stderr"})
    stream = Stream(handle)
    stream.push(1200)
    stream.event({"event": "state", "from": "OFF", "to": "LOW", "by": "raise", "cause": ""})
    for number in range(217):
        stream.push(1)
        stream.fault("SAMPLE_MISSING", "INDICATE", first=number == 0)
    (tmp_path / "blocked").touch()
    stream.event({"event": "record_begin", "directory": "blocked", "metadata_file": None})
    stream.event({"event": "strange", "text": "two\nlines and \x1b[2J"})
    stream.push(1)
    assert handle.close().error is not None
    lines = capfd.readouterr().err.splitlines()
    assert all(re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d  \S", line) for line in lines)
    texts = [line[21:] for line in lines]
    assert texts[0] == "OFF → LOW (raise)"
    assert texts.count("fault SAMPLE_MISSING (indicate): actuator 3 does not follow") == MAX_IN_A_WINDOW
    rest = texts[1 + MAX_IN_A_WINDOW :]
    assert rest[:2] == ["record begins: blocked", "strange: two lines and \\x1b[2J"]
    assert re.fullmatch(r"not recorded: .*/blocked/run.mcap: cannot record here: File exists", rest[2])
    held_back = 217 - MAX_IN_A_WINDOW
    assert rest[3].startswith(f"fault SAMPLE_MISSING … and {held_back} more in ")
    assert rest[4:] == ["the loop has ended"]


def test_a_journal_that_takes_nothing_costs_lines_and_never_frames(tmp_path: Path, runtime: Path) -> None:
    deaf = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    with deaf:
        deaf.bind(str(runtime / "journal"))
        where = {"to": "journal", "socket": str(runtime / "journal")}
        handle = RecorderHandle.start_service(tmp_path, {}, CHANNELS, lockstep=True, log=where)
        stream = Stream(handle)
        stream.event({"event": "record_begin", "directory": "run", "metadata_file": None})
        offered = 2000
        for number in range(offered):
            stream.push(1)
            stream.event({"event": f"kind {number % 250}", "number": number})
            if number % 100 == 99:
                wait_for(lambda: handle.backlog == 0, "the recorder goes on")
        deaf.setblocking(False)
        wait_for(lambda: handle.backlog == 0, "the recorder goes on")
        entries = waiting_entries(deaf)
        stream.event({"event": "heard again"})
        stream.event({"event": "record_end"})
        assert handle.close().frames == offered
        entries += waiting_entries(deaf)
    assert open_run(tmp_path / "run").damage is None
    messages = [entry["MESSAGE"] for entry in entries]
    assert messages[-2:] == ["heard again", "the loop has ended"], messages
    lost = [re.match(r"(\d+) entries of this log are missing", message) for message in messages]
    missing = [int(match[1]) for match in lost if match]
    assert missing, "the socket held all of it: nothing was tried"
    known = len(messages) - len(missing) + sum(missing)
    statistics = known - (offered + 3)  # beside the record, "heard again" and the end
    assert 0 <= statistics < 100, "every entry is told or counted, and once"


def test_only_a_standard_error_that_is_the_journals_makes_entries(runtime: Path) -> None:
    with journal(runtime / "journal") as found, (runtime / "file").open("wb") as stream:
        status = os.fstat(stream.fileno())
        named = f"{status.st_dev}:{status.st_ino}"
        environment = {"JOURNAL_STREAM": named, "MASTD_JOURNAL": str(found.path)}
        at = stream.fileno()
        assert destination(environment, at) == {"to": "journal", "socket": str(found.path)}
        for other in (
            {"MASTD_JOURNAL": str(found.path)},
            {**environment, "JOURNAL_STREAM": "8:1"},
            {**environment, "MASTD_JOURNAL": str(runtime / "file")},
            {**environment, "MASTD_JOURNAL": str(runtime / "nowhere")},
        ):
            assert destination(other, at) == {"to": "stderr"}
