"""What crosses into the loop as a pickle: classes of ours, and nothing that would run."""

from __future__ import annotations

import pytest

from mastd.loop.payload.pickling import pack, unpack
from mastd.motion.profile.timeline import Timeline, at_rest


def test_an_object_of_ours_comes_out_as_it_went_in() -> None:
    found = unpack(pack(at_rest()))
    assert isinstance(found, Timeline)
    assert found.duration == at_rest().duration


@pytest.mark.parametrize(
    "name", ["mastd.__main__ main", "mastd.cli main", "mastd.commands.run run", "os system"]
)
def test_a_name_that_would_run_a_program_is_refused_unread(name: str) -> None:
    module, function = name.split()
    with pytest.raises(ValueError, match="is not allowed"):
        unpack(f"c{module}\n{function}\n.".encode())
