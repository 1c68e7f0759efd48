"""The loader: a process that checks and compiles one profile into a slot, watched without waiting for it.

The check of the settings before a reload is watched in the same way; it heeds nothing of the line.

It gets one JSON line, ``{"profile": …, "slot": k, "remote": bool}``, on standard input, and prints one JSON
document, ``{"ok": bool, "text": …, "slot": k, "name": …, "scale": …}``, on standard output. A loader that
takes longer than ``TIMEOUT_NS``, dies, or prints anything else is a refused profile, with the reason.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from typing import IO

TIMEOUT_NS = 120_000_000_000
MAX_DOCUMENT_LENGTH = 1 << 20


@dataclass(frozen=True)
class Loading:
    """How a loading ended."""

    ok: bool
    text: str


class ProfileLoader:
    """Starts the loader's process, at most one at a time."""

    def __init__(
        self, command: tuple[str, ...], descriptors: tuple[int, ...], slots: int, name: str = "loader"
    ) -> None:
        self.slots = slots
        self._name = name
        self._command = command
        self._descriptors = descriptors
        self._process: subprocess.Popen[bytes] | None = None
        self._output: IO[bytes] | None = None
        self._messages: IO[bytes] | None = None
        self._end_ns = 0
        self.profile = ""

    @property
    def busy(self) -> bool:
        """Whether a profile is being loaded."""
        return self._process is not None

    def start(self, profile: str, slot: int, now_ns: int, remote: bool = False) -> str:
        """Begin to load ``profile`` into ``slot``; return why that is not possible, empty if it is.

        ``remote``: somebody on the network wants it.
        """
        line = json.dumps({"profile": profile, "slot": slot, "remote": remote}).encode() + b"\n"
        ends: tuple[int, ...] = ()
        try:
            self._output = tempfile.TemporaryFile()  # noqa: SIM115  closed by end()
            self._messages = tempfile.TemporaryFile()  # noqa: SIM115  closed by end()
            ends = source, target = os.pipe()
            self._process = subprocess.Popen(
                self._command,
                stdin=source,
                stdout=self._output,
                stderr=self._messages,
                pass_fds=self._descriptors,
                start_new_session=True,
            )
            os.write(target, line)  # at most some 5 kB: a pipe holds 64 kB and this never waits
        except OSError as error:
            self.end()
            return f"the {self._name} cannot be started: {error.strerror}"
        finally:
            for descriptor in ends:
                os.close(descriptor)
        self._end_ns = now_ns + TIMEOUT_NS
        self.profile = profile
        return ""

    def poll(self, now_ns: int) -> Loading | None:
        """Return how the loading has ended, None while it continues (or there is none)."""
        if self._process is None:
            return None
        code = self._process.poll()
        if code is None:
            if now_ns < self._end_ns:
                return None
            self.end()
            return Loading(False, f"the {self._name} took longer than {TIMEOUT_NS // 1_000_000_000} s")
        loading = self._result(code)
        self.end()
        return loading

    def _result(self, code: int) -> Loading:
        assert self._output is not None
        assert self._messages is not None
        self._output.seek(0)
        try:
            document = json.loads(self._output.read(MAX_DOCUMENT_LENGTH))
            ok, text = document["ok"], document["text"]
        except (ValueError, LookupError, TypeError):
            self._messages.seek(0)
            message = self._messages.read(4096).decode(errors="replace").strip() or "no message"
            return Loading(False, f"the {self._name} ended with code {code}: {message}")
        return Loading(ok is True and code == 0, str(text))

    def end(self) -> None:
        """Leave no process behind, whatever it does now."""
        process, self._process = self._process, None
        if process is not None and process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        for file in (self._output, self._messages):
            if file is not None:
                file.close()
        self._output = self._messages = None
        self.profile = ""
