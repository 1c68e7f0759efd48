"""The one typed wrapper around numba's decorator.

Kernels are the compiled functions of the control cycle and of the simulated plant: plain loops over
preallocated float64 arrays, no allocation, no Python objects, no exceptions.

numba's on-disk cache does not notice a change in a *called* function of another file, nor in a constant that
comes from there. The cache directory therefore carries a digest of every source file that holds kernels, and
of those that these import from: a changed source starts a fresh cache, an unchanged one is found warm by
every later process.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar, cast

_PACKAGES = ("mastd", "hil_sim")
_MARK = b"mastd.kernel import"
_IMPORT = re.compile(rb"^from ((?:mastd|hil_sim)[\w.]*) import (.*)$", re.MULTILINE)


def _cache_root() -> Path:
    """Directory for compiled kernels: the service's cache directory, the user's, or a temporary one."""
    for variable, suffix in (("MASTD_CACHE", ""), ("CACHE_DIRECTORY", ""), ("XDG_CACHE_HOME", "mastd")):
        value = os.environ.get(variable)
        if value:
            return Path(value.split(":")[0]) / suffix
    return Path.home() / ".cache" / "mastd"


def cache_directory() -> Path:
    """Return the cache directory that belongs to the present sources."""
    here = Path(__file__).resolve().parent.parent
    digest = hashlib.sha256()
    for source in _sources(here):
        digest.update(source.relative_to(here).as_posix().encode())
        digest.update(source.read_bytes())
    return _cache_root() / f"kernels-{digest.hexdigest()[:16]}"


def _sources(here: Path) -> list[Path]:
    """Return the files that hold kernels and those that they import names from, in order."""
    found: set[Path] = set()
    for package in _PACKAGES:
        for source in (here / package).rglob("*.py"):
            text = source.read_bytes()
            if _MARK not in text:
                continue
            found.add(source)
            for module, names in _IMPORT.findall(text):
                path = here.joinpath(*module.decode().split("."))
                inner = [path / f"{name}.py" for name in re.findall(r"\w+", names.decode())]
                found.update(file for file in (path.with_suffix(".py"), *inner) if file.is_file())
    return sorted(found)


if "NUMBA_CACHE_DIR" not in os.environ:
    os.environ["NUMBA_CACHE_DIR"] = str(cache_directory())

# The cache directory must be known before numba reads its configuration.
import numba  # noqa: E402
from numba.core.caching import IndexDataCacheFile  # noqa: E402
from numba.core.options import DefaultOptions  # noqa: E402

_settings: Any = numba.config
COMPILED: Final = not _settings.DISABLE_JIT
"""Whether kernels are compiled; with NUMBA_DISABLE_JIT=1 in the environment each is the plain function."""

_Function = TypeVar("_Function", bound=Callable[..., object])
_index_file: Any = IndexDataCacheFile
_save = _index_file.save


def _save_in_turn(index: Any, key: object, data: object) -> None:
    """Save a compiled kernel as numba does, but one process at a time.

    numba reads the function's index, adds a line and writes it again. Two processes that do so at once, each
    with a signature of its own, may lose a line, or name one file for both and so run what was made for the
    other.
    """
    with Path(index._cache_path, "lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _save(index, key, data)


_index_file.save = _save_in_turn


def kernel(function: _Function) -> _Function:
    """Compile ``function`` on its first call with the argument types it meets, and cache it on disk.

    Division by zero gives inf or NaN as in numpy instead of an exception, floating-point operations keep
    their written order (so that lockstep runs repeat bit for bit), and the interpreter lock stays held.
    """
    return cast(_Function, numba.njit(cache=True, error_model="numpy")(function))


def entry_kernel(function: _Function) -> _Function:
    """Compile like ``kernel``, for what Python calls with many arrays, by its ``entry``.

    Arrays are not reference-counted, so nothing may be allocated. From the eighth array of a call on,
    counting one costs some 150 ns, handing it over uncounted some 20. Rounding is that of ``kernel``.
    """
    return cast(_Function, numba.njit(cache=True, error_model="numpy", **_uncounted())(function))


def fused_kernel(function: _Function) -> _Function:
    """Compile like ``kernel``, for short functions that are called in compiled loops.

    Three things differ. A product and the sum it goes into are rounded once (fused multiply-add); the order
    of operations stays as written, so a program repeats bit for bit on one machine, but the last bit may
    differ on a processor without the instruction. The function becomes part of its compiled callers. And
    arrays are not reference-counted: that costs as much as the kinematics themselves, and is not needed
    where nothing is allocated (with this option numba refuses to compile an allocation).
    """
    return cast(_Function, numba.njit(**_fused_options(), forceinline=True)(function))


def merged_kernel(function: _Function) -> _Function:
    """Compile like ``fused_kernel``, but only as a part of its callers, never by itself.

    For the levels between small functions and the whole: each level that is compiled by itself is optimised
    again with all that it calls, so a deep tree of calls would take minutes.
    """
    return cast(_Function, numba.njit(**_fused_options(), inline="always")(function))


def separate_kernel(function: _Function) -> _Function:
    """Compile like ``fused_kernel``, but as a function of its own, compiled once for all its callers.

    For what is large and seldom called: a named tuple of arrays is handed over word by word, some hundred
    nanoseconds a call.
    """
    return cast(_Function, numba.njit(**_fused_options())(function))


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
    return {"cache": True, "error_model": "numpy", "fastmath": {"contract"}, **_uncounted()}


def _uncounted() -> dict[str, Any]:
    """Return the option that arrays are not reference-counted, where this version of numba has it."""
    return {"_nrt": False} if hasattr(DefaultOptions, "_nrt") else {}
