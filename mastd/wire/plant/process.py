"""A plant as a process of its own: started, connected to, and never left behind."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import IO

from mastd.errors import ProtocolError
from mastd.wire.common.address import private_directory
from mastd.wire.plant.hello import LinkTerms
from mastd.wire.plant.provider import PlantProvider, PlantRequest
from mastd.wire.plant.socket_link import NoPlantError, SocketLink, connect

_MAX_WAITS = 60
_BUSY_SHARE = 0.02
"""Share of a processor above which a plant that does not answer yet is at work; an idle one needs less."""
_END_S = 3.0  # a plant ends within its period; the rest is for a loaded machine


class PlantProcess:
    """A running plant process at ``address``; a context manager that ends it."""

    def __init__(self, provider: PlantProvider, request: PlantRequest) -> None:
        """Start the plant that ``provider`` has for ``request``, on a socket only this user can reach."""
        self._directory: Path | None = private_directory()
        self.address = f"ipc://{self._directory}/plant"
        self._messages: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  lives as long as this object
        if request.table_text is not None:
            table = self._directory / "table.yaml"
            table.write_text(request.table_text, encoding="utf-8")
            request = replace(request, table_path=table)
        command = [*provider.arguments(request, self.address), "--parent-pid", str(os.getpid())]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._messages,
            start_new_session=True,  # Ctrl-C is for the daemon, which still needs the plant to stop softly
        )

    def connect(
        self,
        terms: LinkTerms,
        timeout_ns: int = 30_000_000_000,
        name: str = "mastd",
        waiting: Callable[[], None] | None = None,
    ) -> SocketLink:
        """Open a session with the plant once it is up; raise ProtocolError if it ends before that.

        As long as it works it is waited for, since it may compile its kernels, which takes minutes:
        NoPlantError comes after a ``timeout_ns`` in which it hardly did, or after ``_MAX_WAITS`` of them.
        ``waiting`` as for ``mastd.wire.plant.socket_link.connect``.
        """

        def check() -> None:
            self._check()
            if waiting is not None:
                waiting()

        worked_s = self._worked_s()
        for _ in range(_MAX_WAITS):
            try:
                return connect(self.address, terms, timeout_ns, name, waiting=check)
            except NoPlantError:
                before_s, worked_s = worked_s, self._worked_s()
                if worked_s - before_s < _BUSY_SHARE * timeout_ns * 1e-9:
                    raise
        raise NoPlantError(f"the plant process does not answer within {_MAX_WAITS * timeout_ns * 1e-9:g} s")

    def messages(self) -> str:
        """Return what the plant has written to its standard error so far (the last 4 kB)."""
        # The child shares the file's position, so it must not be moved: read at an offset instead.
        descriptor = self._messages.fileno()
        size = os.fstat(descriptor).st_size
        return os.pread(descriptor, 4096, max(0, size - 4096)).decode(errors="replace").strip()

    def stop(self) -> int:
        """End the plant, by force if it does not end by itself, and return its exit code."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            code = self.process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)
            self._directory = None
        return code

    def __enter__(self) -> PlantProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        self._messages.close()

    def _worked_s(self) -> float:
        """Return the processor time that the plant has had so far, 0 once it has ended (proc(5), stat)."""
        try:
            stat = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="ascii", errors="replace")
        except OSError:
            return 0.0
        user, system = stat.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def _check(self) -> None:
        code = self.process.poll()
        if code is not None:
            raise ProtocolError(
                f"the plant process ended with code {code}: {self.messages() or 'no message'}"
            )
