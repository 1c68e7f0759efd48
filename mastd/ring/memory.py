"""Shared memory between processes, passed on by its file descriptor."""

from __future__ import annotations

import errno
import fcntl
import os
import resource

from mastd.errors import UsageError


def shared_memory(name: str, size: int) -> int:
    """Return the file descriptor of ``size`` bytes of shared memory, all zero.

    It keeps its size: where another process cut it off, touching what is gone would end this one (SIGBUS).
    Raises UsageError where the system does not give so much.
    """
    descriptor = os.memfd_create(f"mastd-{name}", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        os.ftruncate(descriptor, size)
        seals = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
    except OSError as error:
        os.close(descriptor)
        raise UsageError(f"{size / 1e6:.1f} MB of shared memory ({name}): {_why(error)}") from error
    return descriptor


def _why(error: OSError) -> str:
    if error.errno != errno.EFBIG:
        return f"not available: {error.strerror}"
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    return f"the limit of file sizes is {limit / 1e6:.1f} MB; raise it, for instance by `ulimit -f unlimited`"
