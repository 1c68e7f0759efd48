"""What the recorder does with frames and events, in the order in which they were offered.

Every frame feeds the history and the run's file that is open, if any. Two ways of life:

- *one run* (``mastd run``): the file is open from beginning to end. What the file system refuses it raises,
  and the recorder ends.
- *service* (``mastd serve``): ``{"event": "record_begin", "directory": D, "metadata_file": F}`` begins
  ``D/run.mcap`` (``D-2/run.mcap`` where there is one) with the frame offered next, ``{"event": "record_end",
  …}`` finishes it with the frame offered last; further keys of it go to ``mastd.end``. The metadata
  are the service's with the JSON object of F over them, begun when the event came. A begin while a file is
  open finishes the old one first (its end says ``superseded``); an end without a file does nothing. What the
  file system refuses costs that file: ``trouble`` says why, until the next begin, and the recorder goes on. A
  metadata file that cannot be read is trouble too, but the run is recorded. D and F may be relative to the
  service's directory.

A file that is moved while it is written is written on, where it is; ``trouble`` says where, or that it was
deleted.

Events between begin and end go to the run's file, all events to the history. Fault files stand beside the
run's file, else in the service's directory.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from mastd.record.channels import Channel, ChannelSet
from mastd.record.history import Arrived, FaultFiles, History, Origin, is_first_cause
from mastd.record.plain import plain
from mastd.record.space import space
from mastd.record.writer import RUN_FILE, RunWriter

BEGIN, END = "record_begin", "record_end"
MORE_CHANNELS = "more_channels"
"""Key of a run's metadata: name, unit and meaning of channels that stand in its frames after all others."""
MAX_METADATA_BYTES = 16 * 1024 * 1024
_MAX_NAMESAKES = 1000
SPACE_INTERVAL_S = 2.0
"""Between two looks at the space that is left."""


class RunFiles:
    """The run's file that is open, the history and the fault files.

    ``directory`` is where fault files go between runs; ``metadata`` are plain data for the head of every
    file; ``single`` is the file of the only run, None in a service.
    """

    def __init__(
        self, channels: ChannelSet, directory: Path, metadata: Mapping[str, object], single: Path | None
    ) -> None:
        self._channels = channels
        self._directory = directory
        self._service_metadata = metadata
        self._metadata = metadata
        self._service = single is None
        self._run_trouble: str | None = None
        self._run = None if single is None else RunWriter(single, channels, metadata)
        self._left_s: float | None = None
        self._look_again = 0.0
        self._runs = 0
        self._frames = self._gaps = self._lost = 0
        self._history = History(channels)
        self._faults = FaultFiles(channels, self._history)

    @property
    def trouble(self) -> str | None:
        """What is not being recorded, and why; None if all is well."""
        astray = self._run.astray if self._run is not None else None
        return self._run_trouble or astray or self._faults.trouble

    def status(self) -> dict[str, object]:
        """Return the status of recording for the loop."""
        return {
            "trouble": self.trouble,
            "recording": None if self._run is None else str(self._run.path),
            "runs": self._runs,
            "fault_files": self._faults.written,
            "fault_files_skipped": self._faults.skipped,
            "left_s": self._left_s,
        }

    def totals(self) -> dict[str, object]:
        """Return the totals of all runs' files, and the results of the fault files."""
        return {
            "frames": self._frames,
            "gaps": self._gaps,
            "lost": self._lost,
            "error": self.trouble if self._service else self._run_trouble,
            "fault_files": self._faults.written,
            "fault_files_skipped": self._faults.skipped,
        }

    def frame(self, number: int, data: memoryview) -> None:
        """Take one frame; ``number`` frames were offered before it."""
        self._on_run(lambda run: run.frame(number, data))
        period = self._history.frame(number, data)
        self._faults.frame(number, data, period)

    def event(self, arrived: Arrived) -> None:
        """Take one event, after all frames that were offered before it."""
        event = arrived.event
        self._history.event(arrived)
        kind = event.get("event")
        if self._service and kind == BEGIN:
            self._begin(arrived)
        elif self._service and kind == END:
            extra = {key: value for key, value in event.items() if key not in ("event", "frame")}
            self._end(arrived.number, {"closed": True, **extra})
        else:
            self._on_run(lambda run: run.event(event))
            self._faults.event(event)
            if is_first_cause(event):
                self._faults.begin(arrived, self._origins())

    def synchronise_if_due(self) -> None:
        """Synchronise data older than 0.25 s with the disk, and look now and then at the space left."""
        if (now := time.monotonic()) >= self._look_again:
            self._look_again = now + SPACE_INTERVAL_S
            directory = self._directory if self._run is None else self._run.path.parent
            found = space(directory, self._channels)
            self._left_s = None if found is None else float(f"{found.seconds:.2g}")
        self._on_run(RunWriter.synchronise_if_due)
        self._faults.synchronise_if_due()

    def finish(self, offered: int, closed: bool) -> None:
        """Finish all files; ``offered`` counts the frames up to the last one dropped.

        ``closed`` is False if the producer died without notice, which is then recorded.
        """
        self._faults.finish(offered)
        if not closed:
            self._on_run(lambda run: run.skip_to(offered))
            self._on_run(lambda run: run.event({"event": "producer_gone"}))
        self._end(offered, {"closed": closed})

    def give_up(self) -> None:
        """Finish the fault files after the only run's file was refused."""
        self._faults.finish(0)

    def _begin(self, arrived: Arrived) -> None:
        self._end(arrived.number, {"closed": True, "superseded": True})
        event, number = arrived.event, arrived.number
        path = self._directory / str(event.get("directory")) / RUN_FILE
        self._metadata = dict(self._service_metadata)
        file = event.get("metadata_file")
        unread = None
        if file is not None:
            try:
                self._metadata |= read_metadata(self._directory / str(file))
            except (OSError, ValueError, RecursionError) as error:
                unread = f"{file}: the run's metadata cannot be read: {_error_text(error)}"
        self._metadata["started_unix"] = arrived.unix  # that of the file is the loading's
        try:
            channels = self._channels.extended(more_channels(self._metadata))
            self._run = self._writer(path, channels, number)
        except (OSError, ValueError) as error:
            self._run_trouble = f"{path}: cannot record here: {_error_text(error)}"
            return
        self._run_trouble = unread

    def _writer(self, path: Path, channels: ChannelSet, number: int) -> RunWriter:
        """Return the writer of a run's file; a directory that holds one already gets a namesake."""
        directory = path.parent
        for count in range(2, _MAX_NAMESAKES):
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists():
                break
            path = directory.with_name(f"{directory.name}-{count}") / path.name
        return RunWriter(path, channels, self._metadata, number)

    def _end(self, offered: int, end: Mapping[str, object]) -> None:
        """Finish the run's file, if one is open."""

        def finish(run: RunWriter) -> None:
            run.skip_to(offered)
            run.finish({**end, "ended_unix": time.time()})
            self._run_trouble = self._run_trouble or run.astray

        run = self._run
        self._on_run(finish)
        if run is not None and self._run is run:
            self._runs += 1
            self._forget_run(run)

    def _on_run(self, action: Callable[[RunWriter], None]) -> None:
        """Do one thing with the run's file; a service gives the file up if the file system refuses."""
        run = self._run
        if run is None:
            return
        try:
            action(run)
        except OSError as error:
            if not self._service:
                raise
            self._run_trouble = f"{run.path}: the record is truncated: {_error_text(error)}"
            run.abandon()
            self._forget_run(run)

    def _forget_run(self, run: RunWriter) -> None:
        self._frames += run.frames
        self._gaps += run.gaps
        self._lost += run.lost
        self._run = None
        self._metadata = self._service_metadata

    def _origins(self) -> list[Origin]:
        """Return where a fault file may go, the best place first."""
        if self._run is None:
            return [Origin(self._directory, self._metadata, None)]
        directories = dict.fromkeys((self._run.path.parent, self._directory))
        return [Origin(directory, self._metadata, self._run) for directory in directories]


def read_metadata(path: Path) -> dict[str, object]:
    """Return the JSON object of a file as plain data; raises OSError and ValueError."""
    if path.exists() and not path.is_file():
        raise ValueError("not a file")
    with path.open("rb") as file:
        text = file.read(MAX_METADATA_BYTES + 1)
    if len(text) > MAX_METADATA_BYTES:
        raise ValueError(f"more than {MAX_METADATA_BYTES} bytes")
    data = plain(json.loads(text))
    if not isinstance(data, dict):
        raise ValueError("not a JSON object")
    return data


def more_channels(metadata: Mapping[str, object]) -> list[Channel]:
    """Return the channels named in a run's metadata; raise ValueError for unknown ones."""
    named = metadata.get(MORE_CHANNELS, [])
    if not isinstance(named, list):
        raise ValueError(f"{MORE_CHANNELS}: not a list")
    try:
        return [Channel(str(name), str(unit), None, str(meaning)) for name, unit, meaning in named]
    except (TypeError, ValueError) as error:
        raise ValueError(f"{MORE_CHANNELS}: {error}") from error


def _error_text(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
