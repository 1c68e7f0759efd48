"""How a loaded vehicle crosses from the loader's process into the loop: a pickle that can run nothing.

A vehicle is a graph of some hundred small objects that share arrays, and must go on to the last bit: a plain
format would be a second pickle. The bytes lie in memory that processes of the daemon's user can write to, so
reading them is closed: it makes numpy's arrays and plain classes of the packages in ``_PACKAGES``, whose
constructors only store, calls no function, and looks nothing else up, so no other module is even imported.
"""

from __future__ import annotations

import io
import pickle
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from mastd.arrays import aligned_zeros

MAX_BYTES: Final = 16 * 1024 * 1024
_FOREIGN: Final = frozenset(
    {
        ("numpy", "dtype"),
        ("numpy", "ndarray"),
        ("numpy._core.multiarray", "_reconstruct"),
        ("numpy._core.multiarray", "scalar"),
        ("numpy.core.multiarray", "_reconstruct"),
        ("numpy.core.multiarray", "scalar"),
    }
)
_BUFFERS: Final = frozenset({("numpy._core.numeric", "_frombuffer"), ("numpy.core.numeric", "_frombuffer")})
"""What numpy makes an array of bytes with; here it is ``_aligned_array``."""
_PACKAGES: Final = (
    "mastd.vehicle.",
    "mastd.formulations.",
    "mastd.roads.",
    "mastd.motion.",
    "mastd.settings.profile.",
)
_MODULES: Final = frozenset(
    {
        "mastd.loop.payload.external_vehicle",
        "mastd.loop.payload.frame_channels",
        "mastd.loop.payload.hils",
        "mastd.loop.payload.oils",
        "mastd.loop.payload.rig_motion",
        "mastd.loop.payload.virtual_drive",
        "mastd.loop.rigs.bound_rig",
    }
)
_PROGRAMS: Final = ("mastd.vehicle.fmu.", "mastd.vehicle.plots.", "mastd.vehicle.analysis.")
"""Of those packages: what writes files, or is called by others."""


def pack(content: object) -> bytes:
    """Return the bytes of ``content``; raise ValueError if there are too many."""
    data = pickle.dumps(content, protocol=pickle.HIGHEST_PROTOCOL)
    if len(data) > MAX_BYTES:
        raise ValueError(f"{len(data)} bytes of a vehicle, maximum {MAX_BYTES}: simplify the vehicle")
    return data


def unpack(data: bytes | memoryview) -> object:
    """Return what ``pack`` was given; raise ValueError for bytes that are none of ours."""
    try:
        return _Reader(io.BytesIO(data)).load()
    except (Exception, SystemExit) as error:
        raise ValueError(f"not a pickle of mastd: {error}") from error


def _aligned_array(
    data: bytearray | bytes, dtype: np.dtype[Any], shape: tuple[int, ...], order: Literal["C", "F"]
) -> NDArray[Any]:
    """Return the array of these bytes, aligned as the vehicle's own arrays are."""
    numbers = np.frombuffer(data, dtype)
    array = aligned_zeros(numbers.shape, dtype)
    array[:] = numbers
    return array.reshape(shape, order=order)


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> object:
        """Return a class of the simulated vehicles or of numpy's arrays; raise for all else."""
        if (module, name) in _BUFFERS:
            return _aligned_array
        if (module, name) in _FOREIGN:
            return super().find_class(module, name)
        ours = module in _MODULES or (module.startswith(_PACKAGES) and not module.startswith(_PROGRAMS))
        if ours and "." not in name:
            found = super().find_class(module, name)
            if isinstance(found, type) and found.__module__ == module:
                return found
        raise pickle.UnpicklingError(f"{module}.{name} is not allowed in a loaded vehicle")
