"""The one typed wrapper around numba's decorator.

Kernels are the compiled functions of the control cycle and of the simulated plant: plain loops over
preallocated float64 arrays, no allocation, no Python objects, no exceptions.

They are kept on disk as ``mastd.kernel_cache`` says: a changed source starts a fresh cache, an unchanged one
is found warm by every later process. Neither numba's own settings nor its places for a cache have a say.
"""

from __future__ import annotations

import fcntl
import inspect
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import numba
from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    IndexDataCacheFile,
    UserProvidedCacheLocator,
)
from numba.core.options import DefaultOptions

from mastd.kernel_cache import ADVICE, VARIABLE, find_place, tell

_place: Final = find_place(os.environ, Path(__file__).resolve().parent.parent)
if _place.note:
    tell(_place.note)
    # Processes started by this one find the same place, and need not say so again.
    os.environ[VARIABLE] = str(_place.directory.parent) if _place.directory else os.devnull

_settings: Any = numba.config
COMPILED: Final = not _settings.DISABLE_JIT
"""Whether kernels are compiled; with NUMBA_DISABLE_JIT=1 in the environment each is the plain function."""

_Function = TypeVar("_Function", bound=Callable[..., object])


def cache_directory() -> Path | None:
    """Return where the kernels of the present sources are kept, None where they are not."""
    return _place.directory


class KernelIndex(IndexDataCacheFile):
    """The compiled versions of one kernel on disk.

    Nothing on disk ends a command: what cannot be read is compiled again, what cannot be written is told.
    """

    def save(self, key: object, data: object) -> None:
        """Save a version as numba does, but one process at a time.

        numba reads the kernel's index, adds a line and writes it again. Two processes that do so at once,
        each with a signature of its own, may lose a line, or name one file for both and so run what was made
        for the other.
        """
        try:
            Path(self._cache_path).mkdir(mode=0o700, exist_ok=True)
            with Path(self._cache_path, "lock").open("ab") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                if self._read(super()._load_index) is None:
                    self.flush()
                super().save(key, data)
        except OSError as error:
            tell(f"compiled kernels are not kept in {_place.directory}: {error.strerror}; {ADVICE}")

    def load(self, key: object) -> object:
        """Return a version, None if there is none."""
        return self._read(lambda: super(KernelIndex, self).load(key))

    @staticmethod
    def _read(what: Callable[[], object]) -> object:
        try:
            return what()
        except Exception:  # cut off by a loss of power: unpickling raises whatever it likes
            return None


class _Locator(UserProvidedCacheLocator):
    """The private directory, wherever numba would look."""

    def __init__(self, function: Callable[..., object], file: str, directory: Path) -> None:
        self._py_file = file
        self._lineno = function.__code__.co_firstlineno
        self._cache_path = str(directory / self.get_suitable_cache_subpath(file))

    def ensure_cache_path(self) -> None:
        """Left to ``KernelIndex.save``."""


class _Kept(CompileResultCacheImpl):
    """Names the files of one kernel, with the one locator there is."""

    def __init__(self, function: Callable[..., object]) -> None:
        file = inspect.getfile(function)
        assert _place.directory is not None
        self._lineno = function.__code__.co_firstlineno
        self._locator = _Locator(function, file, _place.directory)
        name = f"{Path(file).stem}.{function.__qualname__}"
        self._filename_base = self.get_filename_base(name, sys.abiflags)


class _KernelCache(FunctionCache):
    """numba's cache of one kernel, in our place."""

    _impl_class = _Kept

    def __init__(self, function: Callable[..., object]) -> None:
        super().__init__(function)
        stamp = self._impl.locator.get_source_stamp()
        self._cache_file = KernelIndex(self._cache_path, self._impl.filename_base, stamp)


def _compiled(function: _Function, **options: Any) -> _Function:
    """Return the kernel of a function: compiled on its first call, or found on disk."""
    made = numba.njit(error_model="numpy", **options)(function)
    if COMPILED and _place.directory is not None:
        made._cache = _KernelCache(function)
    return cast(_Function, made)


def kernel(function: _Function) -> _Function:
    """Compile ``function`` on its first call with the argument types it meets, and cache it on disk.

    Division by zero gives inf or NaN as in numpy instead of an exception, floating-point operations keep
    their written order (so that lockstep runs repeat bit for bit), and the interpreter lock stays held.
    """
    return _compiled(function)


def entry_kernel(function: _Function) -> _Function:
    """Compile like ``kernel``, for what Python calls with many arrays, by its ``entry``.

    Arrays are not reference-counted, so nothing may be allocated. From the eighth array of a call on,
    counting one costs some 150 ns, handing it over uncounted some 20. Rounding is that of ``kernel``.
    """
    return _compiled(function, **_uncounted())


def fused_kernel(function: _Function) -> _Function:
    """Compile like ``kernel``, for short functions that are called in compiled loops.

    Three things differ. A product and the sum it goes into are rounded once (fused multiply-add); the order
    of operations stays as written, so a program repeats bit for bit on one machine, but the last bit may
    differ on a processor without the instruction. The function becomes part of its compiled callers. And
    arrays are not reference-counted: that costs as much as the kinematics themselves, and is not needed
    where nothing is allocated (with this option numba refuses to compile an allocation).
    """
    return _compiled(function, **_fused_options(), forceinline=True)


def merged_kernel(function: _Function) -> _Function:
    """Compile like ``fused_kernel``, but only as a part of its callers, never by itself.

    For the levels between small functions and the whole: each level that is compiled by itself is optimised
    again with all that it calls, so a deep tree of calls would take minutes.
    """
    return _compiled(function, **_fused_options(), inline="always")


def separate_kernel(function: _Function) -> _Function:
    """Compile like ``fused_kernel``, but as a function of its own, compiled once for all its callers.

    For what is large and seldom called: a named tuple of arrays is handed over word by word, some hundred
    nanoseconds a call.
    """
    return _compiled(function, **_fused_options())


def entry(function: Callable[..., Any], arguments: tuple[object, ...]) -> Callable[..., Any]:
    """Return the compiled entry of a kernel for arguments of these types.

    A kernel that is called looks at the type of each argument first; with some seventy arrays that takes
    7 µs, and 20 µs with cold caches. The entry does not look: whoever has it must keep to the types. Where
    kernels are plain functions, it is the function itself.
    """
    if not COMPILED:
        return function
    kernel: Any = function
    look: Callable[[object], object] = numba.typeof
    types = tuple(look(argument) for argument in arguments)
    if types not in kernel.overloads:
        kernel.compile(types)
    compiled: Callable[..., Any] = kernel.overloads[types].entry_point
    return compiled


def _fused_options() -> dict[str, Any]:
    return {"fastmath": {"contract"}, **_uncounted()}


def _uncounted() -> dict[str, Any]:
    """Return the option that arrays are not reference-counted, where this version of numba has it."""
    return {"_nrt": False} if hasattr(DefaultOptions, "_nrt") else {}
