"""Real-time rights of the loop's thread and process: each one tried, read back and reported.

Missing rights are a state everybody sees (DEGRADED_RT), never only a log line. Applied once before the
first cycle; nothing here runs inside the loop.

Sources: sched(7), mlockall(2), prctl(2), cpuset(7); thread counts of the linear-algebra libraries are set by
the environment variables that they read when they are loaded.
"""

from __future__ import annotations

import ctypes
import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass

from mastd.settings.daemon.daemon import RealtimeSettings

MCL_CURRENT_AND_FUTURE = 3
PR_SET_TIMERSLACK = 29
PR_GET_TIMERSLACK = 30
HELPERS_NICE = -15
BLAS_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")

NONE_OF_THEM = {"priority": None, "lock_memory": False, "timer_slack": None, "cpu": None}
"""Of ``RealtimeSettings``: the loop asks for no right."""


@dataclass(frozen=True)
class Right:
    """One right: whether it was obtained, as read back, and what to do if not."""

    name: str
    obtained: bool
    found: str
    advice: str = ""


@dataclass(frozen=True)
class Rights:
    """All rights of this process; ``degraded`` when one that the settings ask for is missing."""

    items: tuple[Right, ...]

    @property
    def degraded(self) -> bool:
        """At least one right is missing."""
        return not all(item.obtained for item in self.items)

    @property
    def missing(self) -> str:
        """One line: what is missing and what to do."""
        return "; ".join(
            f"{item.name}: {item.found} ({item.advice})" for item in self.items if not item.obtained
        )

    def as_dict(self) -> list[dict[str, object]]:
        """Return plain data for status and record."""
        return [asdict(item) for item in self.items]


def single_threaded_algebra() -> None:
    """Keep linear-algebra libraries from starting threads; call before numpy is imported."""
    for variable in BLAS_VARIABLES:
        os.environ.setdefault(variable, "1")


def freeze_garbage() -> None:
    """Collect once, move all survivors out of the collector's sight and switch it off."""
    gc.collect()
    gc.freeze()
    gc.disable()


def release_garbage() -> None:
    """Switch the collector on again when the loop has ended."""
    gc.enable()
    gc.unfreeze()


def acquire(settings: RealtimeSettings) -> Rights:
    """Ask for every right that the settings name, for the calling thread (scheduling) or the process."""
    freeze_garbage()
    items = [
        Right("garbage collector", not gc.isenabled(), "frozen" if not gc.isenabled() else "running"),
        _algebra(),
    ]
    if settings.lock_memory:
        items.append(_lock_memory())
    if settings.timer_slack is not None:
        items.append(_timer_slack(round(settings.timer_slack * 1e9)))
    if settings.cpu is not None:
        items.append(_affinity(settings.cpu))
    if settings.priority is not None:
        items.append(_fifo(settings.priority))
        items.append(_favour_helpers())
    return Rights(tuple(items))


def relax() -> None:
    """Give scheduling, timer slack and memory lock back, so that what follows the loop disturbs nobody."""
    release_garbage()
    library = ctypes.CDLL(None)
    library.prctl(PR_SET_TIMERSLACK, ctypes.c_ulong(0), 0, 0, 0)  # back to the value it was started with
    try:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    except OSError:
        return
    library.munlockall()


@contextmanager
def one_processor() -> Iterator[None]:
    """Keep this thread, and what it starts meanwhile, on one processor.

    In lockstep loop and plant take turns: on one processor a turn costs no wake-up of a sleeping one, which
    halves the round trip.
    """
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _algebra() -> Right:
    values = {os.environ.get(variable, "") for variable in BLAS_VARIABLES}
    return Right(
        "single-threaded linear algebra",
        values == {"1"},
        "one thread" if values == {"1"} else "several threads",
        f"set {', '.join(BLAS_VARIABLES)} to 1",
    )


def _lock_memory() -> Right:
    library = ctypes.CDLL(None, use_errno=True)
    if library.mlockall(MCL_CURRENT_AND_FUTURE) == 0:
        return Right("memory lock", True, f"{_locked_kilobytes()} kB locked")
    reason = os.strerror(ctypes.get_errno())
    return Right("memory lock", False, reason, "LimitMEMLOCK=infinity in the unit, or ulimit -l unlimited")


def _locked_kilobytes() -> int:
    with open("/proc/self/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("VmLck:"):
                return int(line.split()[1])
    return 0


def _timer_slack(nanoseconds: int) -> Right:
    library = ctypes.CDLL(None, use_errno=True)
    library.prctl(PR_SET_TIMERSLACK, ctypes.c_ulong(nanoseconds), 0, 0, 0)
    found = int(library.prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0))
    return Right("timer slack", found <= nanoseconds, f"{found} ns", f"requested {nanoseconds} ns")


def _affinity(cpu: int) -> Right:
    try:
        os.sched_setaffinity(0, {cpu})
    except OSError as error:
        return Right("processor", False, str(error.strerror), f"does processor {cpu} exist?")
    found = os.sched_getaffinity(0)
    return Right("processor", found == {cpu}, f"runs on {sorted(found)}", f"requested {cpu}")


def favour_helpers() -> bool:
    """Put every other thread of this process before all ordinary ones; return whether that was allowed.

    They carry the messages of the plant link. On a busy machine they would wait their turn, and the loop's
    samples would grow old however real-time the loop itself is. Real-time scheduling would make each message
    slower, a nice value does not.
    """
    own = threading.get_native_id()
    try:
        others = [thread for thread in map(int, os.listdir("/proc/self/task")) if thread != own]
        for thread in others:
            os.setpriority(os.PRIO_PROCESS, thread, HELPERS_NICE)
        if not others:  # nobody to favour: whether it would be allowed is seen on this thread
            before = os.getpriority(os.PRIO_PROCESS, own)
            os.setpriority(os.PRIO_PROCESS, own, HELPERS_NICE)
            os.setpriority(os.PRIO_PROCESS, own, before)
    except OSError:
        return False
    return True


def _favour_helpers() -> Right:
    obtained = favour_helpers()
    found = f"nice {HELPERS_NICE}" if obtained else "as ordinary threads"
    return Right("sockets' threads", obtained, found, "LimitNICE=-15 in the unit or CAP_SYS_NICE")


def _fifo(priority: int) -> Right:
    advice = "LimitRTPRIO= in the unit or CAP_SYS_NICE; CONFIG_RT_GROUP_SCHED kernels need the root cgroup"
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
    except OSError as error:
        return Right("SCHED_FIFO", False, str(error.strerror), advice)
    policy, found = os.sched_getscheduler(0), os.sched_getparam(0).sched_priority
    obtained = policy == os.SCHED_FIFO and found == priority
    return Right("SCHED_FIFO", obtained, f"policy {policy}, priority {found}", advice)
