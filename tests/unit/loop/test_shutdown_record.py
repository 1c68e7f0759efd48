"""How a daemon has ended: noted by the service manager's last command, told by the next start."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from mastd.errors import UsageError
from mastd.loop.service.shutdown_record import (
    ENDING_FILE,
    RUNNING_FILE,
    ShutdownRecord,
    note_shutdown,
    wait_for_helpers,
)
from tests.support.lab import PATIENCE

pytestmark = pytest.mark.real_time


def noted(directory: Path, result: str, code: str, status: str, cause: str = "") -> str:
    """Let a daemon live and end so; return what the next one is told of it, empty for nothing."""
    shutdown_record = ShutdownRecord(directory)
    if cause:
        shutdown_record.end(cause)
    environment = {"SERVICE_RESULT": result, "EXIT_CODE": code, "EXIT_STATUS": status}
    note_shutdown(directory, environment)
    assert not (directory / RUNNING_FILE).exists()
    last = ShutdownRecord(directory).last
    assert not (directory / ENDING_FILE).exists(), "it is told once"
    return last.text if last is not None else ""


@pytest.mark.parametrize(
    ("result", "code", "status", "words"),
    [
        ("watchdog", "dumped", "ABRT", "watchdog: the loop was stuck, and the drive lowered the table"),
        ("signal", "killed", "KILL", "killed by signal KILL"),
        ("core-dump", "dumped", "SEGV", "crashed by signal SEGV"),
        ("timeout", "killed", "KILL", "start or stop timed out"),
        ("oom-kill", "killed", "KILL", "out of memory"),
        ("exit-code", "exited", "1", "unexpected error (exit code 1)"),
        ("exit-code", "exited", "3", "with a fault: drive connection lost: no sample for 2.00 s"),
        ("a-new-kind", "exited", "9", "a-new-kind"),
    ],
)
def test_a_bad_ending_is_told_at_the_next_start(
    tmp_path: Path, result: str, code: str, status: str, words: str
) -> None:
    cause = "drive connection lost: no sample for 2.00 s" if status == "3" else ""
    assert words in noted(tmp_path, result, code, status, cause)


@pytest.mark.parametrize(("result", "status"), [("success", "0"), ("exit-code", "2"), ("exit-code", "4")])
def test_a_good_ending_is_forgotten(tmp_path: Path, result: str, status: str) -> None:
    assert noted(tmp_path, result, "exited", status) == ""


def test_without_a_service_manager_what_was_left_behind_tells(tmp_path: Path) -> None:
    shutdown_record = ShutdownRecord(tmp_path)
    assert shutdown_record.last is None
    left = json.loads((tmp_path / RUNNING_FILE).read_text())
    second = ShutdownRecord(tmp_path).last
    assert second is not None
    assert second.text.endswith("without notice: it was killed")
    (tmp_path / RUNNING_FILE).write_text(json.dumps({**left, "boot_id": "another"}))
    third = ShutdownRecord(tmp_path)
    assert third.last is not None
    assert "restarted or lost power" in third.last.text
    third.end("")
    assert ShutdownRecord(tmp_path).last is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"ended_unix": "x"}', '{"pid": "x", "helpers": 1}'])
def test_files_that_cannot_be_read_keep_nothing_down(tmp_path: Path, text: str) -> None:
    for name in (RUNNING_FILE, ENDING_FILE):
        (tmp_path / name).write_text(text)
    ShutdownRecord(tmp_path)
    (tmp_path / RUNNING_FILE).write_text(text)
    note_shutdown(tmp_path, {"SERVICE_RESULT": "watchdog"})
    last = ShutdownRecord(tmp_path).last
    assert last is not None
    assert last.kind == "watchdog"


def test_what_cannot_be_kept_is_told_by_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="SERVICE_RESULT is not set"):
        note_shutdown(tmp_path, {})
    place = tmp_path / "file"
    place.write_text("")
    ShutdownRecord(place / "below").end("a fault")
    with pytest.raises(UsageError, match="cannot be written"):
        note_shutdown(place / "below", {"SERVICE_RESULT": "watchdog"})


def test_recorder_and_gateway_are_waited_for_but_not_for_ever() -> None:
    command = [sys.executable, "-c", "import sys; sys.stdin.read()", "mastd"]
    helper = subprocess.Popen(command, stdin=subprocess.PIPE)
    wait_for_helpers([helper.pid, None, -1], 0.05)
    assert helper.poll() is None
    waiting = threading.Thread(target=wait_for_helpers, args=([helper.pid], 60.0))
    waiting.start()
    assert helper.stdin is not None
    helper.stdin.close()
    helper.wait()
    waiting.join(PATIENCE)
    assert not waiting.is_alive()
