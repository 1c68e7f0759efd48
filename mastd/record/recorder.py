"""The recorder: a process of its own that takes frames from the ring and writes the record.

Life. ``RecorderHandle.start`` creates ring and socket, starts ``python -m mastd.record.recorder`` and waits
until the file exists. The job (path, channels, metadata) goes in through standard input. Events, the end
and the result cross a pair of SOCK_SEQPACKET sockets. The end is the end of file on that socket, after
``close`` or after the death of the loop's process, which the parent's process id also shows; the recorder
then writes what the ring still holds, finishes the file and leaves. It ignores SIGINT, SIGTERM and SIGHUP,
since it has to outlive the loop.

Loss policy. Frames: as the ring says. Events: a full socket refuses the event, the handle counts it. A file
system that refuses (disk full) ends the recorder; what is on disk stays readable, the loop goes on and
counts.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mastd.errors import UsageError
from mastd.record.channels import NANOSECONDS, Channel, ChannelSet
from mastd.record.ring import RingConsumer, RingProducer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from mastd.record.writer import RunWriter

RING_SECONDS = 8
LOCKSTEP_WAIT_S = 2.0
START_TIMEOUT_S = 20.0
_MINIMUM_CAPACITY, _MAXIMUM_CAPACITY = 1024, 32768
_BATCH = 1024
_LOOK_S = 0.01
_MOST_EVENTS = 4096
_MESSAGE_BYTES = 1 << 17


@dataclass(frozen=True)
class RecorderResult:
    """What became of a record: frames in the file, frames and events dropped, gaps, the error or None."""

    frames: int
    dropped: int
    dropped_events: int
    gaps: int
    error: str | None


class RecorderHandle:
    """The loop's side of the recorder; ``start`` makes one.

    Nothing here waits in free-run. ``push`` costs about a microsecond and has no lock, no system call and no
    allocation; it belongs to one thread.
    """

    def __init__(
        self, process: subprocess.Popen[bytes], ring: RingProducer, control: socket.socket, path: Path
    ) -> None:
        self.path = path
        self.push: Callable[[NDArray[np.float64]], bool] = ring.push
        self.dropped_events = 0
        self._process = process
        self._ring = ring
        self._control = control

    @classmethod
    def start(
        cls, path: Path, metadata: Mapping[str, object], channels: ChannelSet, lockstep: bool = False
    ) -> RecorderHandle:
        """Start the recorder on a new file; its directory is made if need be.

        ``metadata`` values must be plain data (they are stored as JSON). Start it before the loop takes its
        real-time rights and its processor. Raises UsageError with one line if the file cannot be written.
        """
        path = path.resolve()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"{path}: cannot record here: {error.strerror}") from error
        capacity = min(
            max(RING_SECONDS * NANOSECONDS // channels.period_ns, _MINIMUM_CAPACITY), _MAXIMUM_CAPACITY
        )
        job = json.dumps(
            {
                "path": str(path),
                "period_ns": channels.period_ns,
                "capacity": capacity,
                "channels": [[c.name, c.unit, c.rate_hz, c.meaning] for c in channels],
                "metadata": plain(metadata),
            }
        ).encode()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ring = RingProducer(len(channels), capacity, LOCKSTEP_WAIT_S if lockstep else 0.0)
        arguments = ("--ring", str(ring.fd), "--control", str(theirs.fileno()), "--parent", str(os.getpid()))
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "mastd.record.recorder", *arguments],
            stdin=subprocess.PIPE,
            pass_fds=(ring.fd, theirs.fileno()),
            start_new_session=True,
        )
        ring.consumer_alive = lambda: process.poll() is None
        theirs.close()
        handle = cls(process, ring, ours, path)
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError), process.stdin:
            process.stdin.write(job)
        answer = handle._answer(START_TIMEOUT_S)
        if "ready" not in answer:
            handle._end_process(0.0)
            raise UsageError(
                f"{path}: cannot record here: {answer.get('error', 'the recorder did not start')}"
            )
        ours.setblocking(False)
        return handle

    @property
    def dropped(self) -> int:
        """Frames that found no room so far."""
        return self._ring.dropped

    @property
    def backlog(self) -> int:
        """Frames that wait for the recorder."""
        return self._ring.backlog

    @property
    def process_id(self) -> int:
        """Process id of the recorder."""
        return self._process.pid

    def alive(self) -> bool:
        """Return whether the recorder's process still runs."""
        return self._process.poll() is None

    def event(self, event: Mapping[str, object]) -> bool:
        """Record one event, ``{"event": kind, …}``, between two frames; return False if it was dropped."""
        try:
            self._control.send(json.dumps(plain({**event, "frame": self._ring.offered})).encode())
        except OSError:
            self.dropped_events += 1
            return False
        return True

    def close(self, timeout: float = 10.0) -> RecorderResult:
        """End the record and return what is in it; a recorder silent for ``timeout`` seconds is killed."""
        self._ring.close()
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_WR)
        answer = self._answer(timeout)
        self._end_process(1.0 if "frames" in answer else 0.0)
        frames, gaps = answer.get("frames", 0), answer.get("gaps", 0)
        error = answer.get("error")
        return RecorderResult(
            frames=frames if isinstance(frames, int) else 0,
            dropped=self._ring.dropped,
            dropped_events=self.dropped_events,
            gaps=gaps if isinstance(gaps, int) else 0,
            error=error if error is None or isinstance(error, str) else str(error),
        )

    def _answer(self, timeout: float) -> dict[str, object]:
        """Return the recorder's next message, or what its silence means."""
        self._control.settimeout(timeout)
        try:
            data = self._control.recv(_MESSAGE_BYTES)
        except TimeoutError:
            return {"error": f"the recorder did not answer within {timeout:g} s"}
        except OSError:
            data = b""
        if not data:
            return {"error": "the recorder's process has died"}
        answer: dict[str, object] = json.loads(data)
        return answer

    def _end_process(self, patience: float) -> None:
        """Leave no process and no descriptor behind."""
        try:
            self._process.wait(patience)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._control.close()
        self._ring.release()


def plain(value: object) -> object:
    """Return ``value`` as data that JSON can hold: numbers that are not finite become None, others text."""
    if value is None or isinstance(value, bool | str | int):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):  # numpy scalars and arrays
        return plain(value.tolist())
    return str(value)


def record(writer: RunWriter, ring: RingConsumer, control: socket.socket, parent: int) -> bool:
    """Write frames and events until the producer has closed or is gone; return whether it closed.

    Events wait for the frames that were offered before them, so that the file is in order. The recorder looks
    every 10 ms and is never woken: waking a process may cost the loop its processor.
    """
    control.setblocking(False)
    events: deque[dict[str, object]] = deque()
    busy = ended = False
    while True:
        if not busy and not ended:
            time.sleep(_LOOK_S)
        ended = _take_events(events, control) or os.getppid() != parent or ended
        frames = ring.take(_BATCH, last=ended)
        for number, data in frames:
            while events and _frame_number(events[0]) <= number:
                writer.event(events.popleft())
            writer.frame(number, data)
        ring.release(len(frames))
        while len(events) >= _MOST_EVENTS:  # no frames come, so the order must wait no longer
            writer.event(events.popleft())
        writer.synchronise_if_due()
        busy = len(frames) == _BATCH
        if ended and not frames:
            break
    writer.skip_to(ring.offered)
    for event in events:
        writer.event(event)
    if not ring.closed:
        writer.event({"event": "producer_gone"})
    return ring.closed


def _take_events(events: deque[dict[str, object]], control: socket.socket) -> bool:
    """Take the events that have come; return True at the end of the producer's messages."""
    while len(events) < _MOST_EVENTS:
        try:
            data = control.recv(_MESSAGE_BYTES)
        except BlockingIOError:
            return False
        except OSError:
            return True
        if not data:
            return True
        with contextlib.suppress(ValueError):
            events.append(json.loads(data))
    return False


def _frame_number(event: Mapping[str, object]) -> int:
    number = event.get("frame")
    return number if isinstance(number, int) else 0


def main() -> int:
    """Run the recorder's process; the arguments come from ``RecorderHandle.start``."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    parser = argparse.ArgumentParser(prog="mastd.record.recorder")
    for name in ("--ring", "--control", "--parent"):
        parser.add_argument(name, type=int, required=True)
    arguments = parser.parse_args()
    if os.sched_getscheduler(0) != os.SCHED_OTHER:  # inherited from a loop that already has its rights
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    control = socket.socket(fileno=arguments.control)
    job = json.load(sys.stdin.buffer)

    from mastd.record.writer import RunWriter

    channels = ChannelSet((Channel(*parts) for parts in job["channels"]), job["period_ns"])
    try:
        ring = RingConsumer(arguments.ring, len(channels), job["capacity"])
        writer = RunWriter(Path(job["path"]), channels, job["metadata"])
        control.send(b'{"ready": true}')
        closed = record(writer, ring, control, arguments.parent)
        writer.finish({"closed": closed, "ended_unix": time.time()})
    except OSError as error:
        text = f"{error.strerror or error}"
        with contextlib.suppress(OSError):
            control.setblocking(True)
            control.send(json.dumps({"error": text}).encode())
        sys.stderr.write(f"mastd recorder: {job['path']}: {text}\n")
        return 3
    with contextlib.suppress(OSError):
        control.setblocking(True)
        control.send(json.dumps({"frames": writer.frames, "gaps": writer.gaps, "lost": writer.lost}).encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
