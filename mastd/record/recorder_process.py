"""The recorder's process: takes frames from the ring and events from the socket, and writes files and log.

``RecorderHandle`` starts it as ``python -m mastd.record.recorder_process``; the job comes through standard
input. It ignores SIGINT, SIGTERM, SIGHUP and a watchdog's SIGABRT, since it has to outlive the loop, and ends
when the socket does.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import socket
import sys
import time
from collections import deque
from pathlib import Path

from mastd import program
from mastd.record.channels import Channel, ChannelSet
from mastd.record.history import Arrived
from mastd.record.run_files import RunFiles
from mastd.record.service_log.log import Log, open_log, say
from mastd.ring.ends import RingConsumer

MESSAGE_BYTES = 1 << 17
_BATCH = 1024
_CHECK_INTERVAL_S = 0.01
_MAX_EVENTS = 4096
_PATIENCE_S = 5.0


class StatusLine:
    """Sends the newest status to the loop whenever it has changed, as soon as the socket takes it."""

    def __init__(self, control: socket.socket, files: RunFiles, log: Log) -> None:
        self._control = control
        self._files = files
        self._log = log
        self._sent = files.status()
        self._reported = self._sent["trouble"]

    def update(self) -> None:
        """Send and log changes."""
        status = self._files.status()
        if status == self._sent:
            return
        if status["trouble"] != self._reported:
            self._reported = status["trouble"]
            if self._reported:
                self._log.trouble(str(self._reported))
        with contextlib.suppress(OSError):
            self._control.send(json.dumps({"status": status}).encode())
            self._sent = status


def record(files: RunFiles, ring: RingConsumer, control: socket.socket, parent: int, log: Log) -> None:
    """Take frames and events until the producer has closed or is gone, and finish the files.

    Events wait for the frames that were offered before them, so that all is in order. The recorder looks
    every 10 ms and is never woken: waking a process may cost the loop its processor.
    """
    control.setblocking(False)
    status = StatusLine(control, files, log)
    events: deque[Arrived] = deque()
    busy = ended = False
    quiet = 0

    def happened(arrived: Arrived) -> None:
        files.event(arrived)
        log.event(arrived)

    while True:
        if not busy and not ended:
            time.sleep(_CHECK_INTERVAL_S)
        ended = _take_events(events, control) or os.getppid() != parent or ended
        frames = ring.take(_BATCH, last=ended)
        for number, data in frames:
            while events and events[0].number <= number:
                happened(events.popleft())
            files.frame(number, data)
        if frames:
            log.frames(frames)
        ring.release(len(frames))
        if frames:
            following = frames[-1][0] + 1
            while events and events[0].number <= following:
                happened(events.popleft())
        quiet = 0 if frames else quiet + 1
        while len(events) >= _MAX_EVENTS and quiet > 1:  # no frames come: the order must wait no longer
            happened(events.popleft())
        files.synchronise_if_due()
        status.update()
        log.poll()
        busy = len(frames) == _BATCH
        if ended and not frames:
            break
    for event in events:
        happened(event)
    files.finish(ring.offered, ring.closed)
    log.close(ring.closed)


def _take_events(events: deque[Arrived], control: socket.socket) -> bool:
    """Take the events that have come; return True at the end of the producer's messages."""
    while len(events) < _MAX_EVENTS:
        try:
            data = control.recv(MESSAGE_BYTES)
        except BlockingIOError:
            return False
        except OSError:
            return True
        if not data:
            return True
        with contextlib.suppress(ValueError):
            event = json.loads(data)
            events.append(Arrived(event, int(event["frame"]), len(data), time.time()))
    return False


def main() -> int:
    """Run the recorder's process; the arguments come from ``RecorderHandle``."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGABRT):
        signal.signal(number, signal.SIG_IGN)
    parser = argparse.ArgumentParser(prog="mastd.record.recorder_process")
    for name in ("--ring", "--control", "--parent"):
        parser.add_argument(name, type=int, required=True)
    arguments = parser.parse_args()
    if os.sched_getscheduler(0) != os.SCHED_OTHER:  # inherited from a loop that already has its rights
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    control = socket.socket(fileno=arguments.control)
    job = json.load(sys.stdin.buffer)
    channels = ChannelSet((Channel(*parts) for parts in job["channels"]), job["period_ns"])
    single = None if job["path"] is None else Path(job["path"])
    files = None
    try:
        ring = RingConsumer(arguments.ring, job["width"], job["capacity"])
        files = RunFiles(channels, Path(job["directory"]), job["metadata"], single)
        log = open_log(job["log"], channels, job["metadata"].get("states", ()))
        control.send(b'{"ready": true}')
        record(files, ring, control, arguments.parent, log)
    except OSError as error:
        if files is not None:
            files.give_up()
        text = f"{error.strerror or error}"
        _answer(control, {"error": text})
        say(f"{job['path']}: {text}")
        return 3
    _answer(control, files.totals())
    return 0


def _answer(control: socket.socket, answer: dict[str, object]) -> None:
    """Send the last word; it waits for a loop that has not read, but not for ever."""
    with contextlib.suppress(OSError):
        control.settimeout(_PATIENCE_S)
        control.send(json.dumps(answer).encode())


if __name__ == "__main__":
    sys.exit(program.run(main))
