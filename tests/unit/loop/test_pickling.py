"""What the loop reads from the memory of loaded vehicles runs nothing, whoever has written it."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from mastd.loop.payload.pickling import pack, unpack
from mastd.roads.ground import Ground

FOREIGN = (
    ("os", "system"),
    ("builtins", "eval"),
    ("mastd.__main__", "main"),
    ("mastd.cli", "main"),
    ("mastd.wire.operators.client", "OperatorClient"),
    ("mastd.vehicle.state.trace", "Path"),
    ("mastd.vehicle.fmu.export", "export"),
    ("mastd.motion.profile.compiler", "compile_profile"),
    ("mastd.roads.ground", "Ground.__init__"),
    ("numpy", "load"),
)


def naming(module: str, name: str) -> bytes:
    """Return a pickle that calls what is named with nothing."""
    words = [b"\x80\x04"]
    for text in (module, name):
        words.append(b"\x8c" + bytes([len(text)]) + text.encode())
    return b"".join([*words, b"\x93", b")R."])


@pytest.mark.parametrize(("module", "name"), FOREIGN)
def test_nothing_foreign_is_looked_up(module: str, name: str) -> None:
    with pytest.raises(ValueError, match=f"{module}.{name} is not allowed in a loaded vehicle"):
        unpack(naming(module, name))


def test_nothing_foreign_is_even_imported() -> None:
    program = (
        "import sys\nfrom mastd.loop.payload.pickling import unpack\n"
        f"try:\n    unpack({naming('mastd.__main__', 'main')!r})\nexcept ValueError:\n"
        "    print('mastd.__main__' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_ours_comes_back_whole() -> None:
    array = np.arange(5.0)
    again = unpack(pack([array, array, (Ground, 1.5)]))
    assert isinstance(again, list)
    assert np.array_equal(again[0], array)
    assert again[0] is again[1], "shared arrays stay shared"
    assert again[2] == (Ground, 1.5)


def test_what_a_constructor_raises_is_told() -> None:
    with pytest.raises(ValueError, match="not a pickle of mastd"):
        unpack(naming("mastd.roads.ground", "Ground"))
