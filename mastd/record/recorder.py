"""The loop's side of the recorder, which is a process of its own that takes frames and writes the records.

Life. ``RecorderHandle.start`` (one run) or ``start_service`` (runs one after the other) creates ring and
socket, starts ``python -m mastd.record.recorder_process`` and waits until it is ready: for one run, until the
file exists. The job (paths, channels, metadata) goes in through standard input. Events, status and the result
cross a pair of SOCK_SEQPACKET sockets. The end is the end of file on that socket, after ``close`` or after
the death of the loop's process, which the parent's process id also shows; the recorder then writes what the
ring still holds, finishes its files and leaves.

Runs of a service are begun and ended by events (``mastd.record.run_files``), and in either life a first cause
makes a file of the seconds around it (``mastd.record.history``).

Loss policy. Frames: as the ring says. Events: a full socket refuses the event, the handle counts it. A file
system that refuses (disk full) ends the recorder of one run; a service goes on with the next run. What is on
disk stays readable; the loop continues, counts, and asks ``trouble``.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mastd.errors import UsageError
from mastd.record.channels import NANOSECONDS, ChannelSet
from mastd.record.plain import plain
from mastd.ring.ends import RingLocation, RingProducer

if TYPE_CHECKING:
    from mastd.arrays import FloatArray

RING_SECONDS = 8
LOCKSTEP_WAIT_S = 2.0
START_TIMEOUT_S = 20.0
_MINIMUM_CAPACITY, _MAXIMUM_CAPACITY = 1024, 32768
_MESSAGE_BYTES = 1 << 17
_READS_PER_CHECK = 8


def recorder_ring(channels: ChannelSet, lockstep: bool = False, spare: int = 0) -> RingProducer:
    """Return a ring for a recorder of ``channels``, some seconds deep; it can be made before the recorder.

    ``spare`` numbers of each frame, after the channels', are for channels that a run's metadata name
    (``MORE_CHANNELS``). In lockstep a push waits for room (``LOCKSTEP_WAIT_S``).
    """
    capacity = min(
        max(RING_SECONDS * NANOSECONDS // channels.period_ns, _MINIMUM_CAPACITY), _MAXIMUM_CAPACITY
    )
    return RingProducer(len(channels) + spare, capacity, LOCKSTEP_WAIT_S if lockstep else 0.0)


@dataclass(frozen=True)
class RecorderResult:
    """What became of a record: frames in the file, frames and events dropped, gaps, the error or None.

    In a service frames and gaps are those of all runs' files together. ``fault_files`` were written,
    ``fault_files_skipped`` first causes have none.
    """

    frames: int
    dropped: int
    dropped_events: int
    gaps: int
    error: str | None
    fault_files: int = 0
    fault_files_skipped: int = 0


@dataclass(frozen=True)
class RecorderStatus:
    """The newest word of the recorder: ``trouble`` or None, the run's file that is open or None, runs' files
    finished so far, fault files finished, first causes without one, and for how many seconds of recording the
    disk has room, None where that is unknown."""

    trouble: str | None = None
    recording: str | None = None
    runs: int = 0
    fault_files: int = 0
    fault_files_skipped: int = 0
    left_s: float | None = None


class RecorderHandle:
    """The loop's side of the recorder; ``start`` and ``start_service`` make one.

    Nothing here waits in free-run. ``push`` costs about a microsecond and has no lock, no system call and no
    allocation; it belongs to one thread.
    """

    def __init__(
        self, process: subprocess.Popen[bytes], ring: RingProducer, control: socket.socket, path: Path
    ) -> None:
        self.path = path
        self.width = ring.width
        """Numbers of a frame that are taken."""
        self.status = RecorderStatus()
        self.push: Callable[[FloatArray], bool] = ring.push
        self.dropped_events = 0
        self._process = process
        self._ring = ring
        self._control = control
        self._last_answer: dict[str, object] | None = None
        self._dropped_before = 0

    @classmethod
    def start(
        cls, path: Path, metadata: Mapping[str, object], channels: ChannelSet, lockstep: bool = False
    ) -> RecorderHandle:
        """Start the recorder on a new file; its directory is made if need be.

        ``metadata`` values must be plain data (they are stored as JSON). Start it before the loop takes its
        real-time rights and its processor. Raises UsageError with one line if the file cannot be written.
        """
        path = path.resolve()
        ring = recorder_ring(channels, lockstep)
        return cls._start(path, path.parent, path, metadata, channels, ring)

    @classmethod
    def start_service(
        cls,
        directory: Path,
        metadata: Mapping[str, object],
        channels: ChannelSet,
        lockstep: bool = False,
        log: Mapping[str, str] | None = None,
        ring: RingProducer | None = None,
    ) -> RecorderHandle:
        """Start a recorder of runs that begin and end by events; the directory is made if need be.

        ``metadata`` (plain data) stand in the head of every file; those of a run come on top, from the file
        that its ``record_begin`` names. ``ring`` was made before (``recorder_ring``) and belongs to the
        handle from now on; without it one is made. Fault files between runs go to ``directory``. ``log`` is
        where the service's log goes (``service_log.destination``), None for nowhere. Raises UsageError with
        one line if the directory cannot be written.
        """
        directory = directory.resolve()
        ring = ring or recorder_ring(channels, lockstep)
        return cls._start(directory, directory, None, metadata, channels, ring, log)

    @classmethod
    def _start(
        cls,
        path: Path,
        directory: Path,
        single: Path | None,
        metadata: Mapping[str, object],
        channels: ChannelSet,
        ring: RingProducer,
        log: Mapping[str, str] | None = None,
    ) -> RecorderHandle:
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"{path}: cannot record here: {error.strerror}") from error
        if not os.access(directory, os.W_OK | os.X_OK):
            raise UsageError(f"{path}: cannot record here: the directory cannot be written")
        job = json.dumps(
            {
                "path": None if single is None else str(single),
                "directory": str(directory),
                "period_ns": channels.period_ns,
                "capacity": ring.capacity,
                "width": ring.width,
                "channels": [[c.name, c.unit, c.rate_hz, c.meaning] for c in channels],
                "metadata": plain(metadata),
                "log": None if log is None else dict(log),
            }
        ).encode()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        arguments = ("--ring", str(ring.fd), "--control", str(theirs.fileno()), "--parent", str(os.getpid()))
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "mastd.record.recorder_process", *arguments],
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
        """Number of frames lost because the ring was full."""
        return self._ring.dropped

    @property
    def backlog(self) -> int:
        """Frames that wait for the recorder."""
        return self._ring.backlog

    @property
    def ring(self) -> RingLocation:
        """The frames' ring, for processes that read it."""
        return self._ring.location

    @property
    def process_id(self) -> int:
        """Process id of the recorder."""
        return self._process.pid

    def alive(self) -> bool:
        """Return whether the recorder's process still runs."""
        return self._process.poll() is None

    def event(self, event: Mapping[str, object]) -> bool:
        """Record one event, ``{"event": kind, …}``, between two frames; return False if it was dropped.

        A ``record_begin`` or ``record_end`` that was dropped must be offered again.
        """
        try:
            self._control.send(json.dumps(plain({**event, "frame": self._ring.offered})).encode())
        except OSError:
            self.dropped_events += 1
            return False
        return True

    def trouble(self) -> str | None:
        """Return in one line what is not being recorded, None for nothing; to be called once a second.

        Never waits. A process that has ended is trouble for good; a run's file that was refused is until the
        next run begins, a fault file until one could be written; frames dropped since the last call are once.
        On the way ``status`` is brought up to date.
        """
        with contextlib.suppress(OSError, ValueError):
            for _ in range(_READS_PER_CHECK):
                data = self._control.recv(_MESSAGE_BYTES)
                if not data:
                    break
                self._note(json.loads(data))
        if not self.alive():
            error = None if self._last_answer is None else self._last_answer.get("error")
            return f"the recorder's process has ended{f': {error}' if error else ''}"
        if self.status.trouble is not None:
            return self.status.trouble
        lost, self._dropped_before = self._ring.dropped - self._dropped_before, self._ring.dropped
        return f"{lost} frames dropped: the recorder does not keep up" if lost > 0 else None

    def close(self, timeout: float = 10.0) -> RecorderResult:
        """Close the record and return its contents; kill a recorder silent for ``timeout`` seconds."""
        self._ring.close()
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_WR)
        answer = self._answer(timeout)
        self._end_process(1.0 if "frames" in answer else 0.0)
        error = answer.get("error")
        return RecorderResult(
            frames=_count(answer, "frames"),
            dropped=self._ring.dropped,
            dropped_events=self.dropped_events,
            gaps=_count(answer, "gaps"),
            error=error if error is None or isinstance(error, str) else str(error),
            fault_files=_count(answer, "fault_files"),
            fault_files_skipped=_count(answer, "fault_files_skipped"),
        )

    def _note(self, message: dict[str, object]) -> None:
        """Keep a message: the newest status, or the recorder's last word."""
        status = message.get("status")
        if isinstance(status, dict):
            self.status = RecorderStatus(**status)
        else:
            self._last_answer = message

    def _answer(self, timeout: float) -> dict[str, object]:
        """Return the recorder's next message that is no status, or what its silence means."""
        deadline = time.monotonic() + timeout
        while self._last_answer is None:
            try:
                self._control.settimeout(max(deadline - time.monotonic(), 1e-3))
                data = self._control.recv(_MESSAGE_BYTES)
            except TimeoutError:
                return {"error": f"the recorder did not answer within {timeout:g} s"}
            except OSError:
                data = b""
            if not data:
                return {"error": "the recorder's process has died"}
            self._note(json.loads(data))
        text, self._last_answer = self._last_answer, None
        return text

    def _end_process(self, patience: float) -> None:
        """Leave no process and no descriptor behind."""
        try:
            self._process.wait(patience)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._control.close()
        self._ring.release()


def _count(answer: Mapping[str, object], name: str) -> int:
    value = answer.get(name)
    return value if isinstance(value, int) else 0
