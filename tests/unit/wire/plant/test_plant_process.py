"""A plant's process is waited for as long as it works: it may compile, which takes minutes."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from mastd.errors import ProtocolError
from mastd.wire.plant.direct_link import DirectPlant
from mastd.wire.plant.hello import LinkTerms
from mastd.wire.plant.process import PlantProcess
from mastd.wire.plant.provider import PlantRequest
from mastd.wire.plant.socket_link import NoPlantError

pytestmark = pytest.mark.real_time

TERMS = LinkTerms.of(7, 4, "lockstep", 1_000_000)
TURN_NS = 500_000_000
WORKS = "import time\nwhile time.process_time() < 2.0: pass\nraise SystemExit('ended by itself')"
SLEEPS = "import sys; sys.stdin.read(); import threading; threading.Event().wait()"


@dataclass(frozen=True)
class Program:
    """A plant that is a few lines of Python, and never listens."""

    text: str

    def open(self, request: PlantRequest) -> DirectPlant:
        """Not in process."""
        raise NotImplementedError

    def arguments(self, request: PlantRequest, address: str) -> list[str]:
        """Return the command line."""
        return [sys.executable, "-c", self.text]


def test_one_that_works_is_waited_for_until_it_has_ended(tmp_path: Path) -> None:
    with (
        PlantProcess(Program(WORKS), PlantRequest(tmp_path / "table.yaml")) as plant,
        pytest.raises(ProtocolError, match="ended with code 1: ended by itself"),
    ):
        plant.connect(TERMS, TURN_NS)


def test_one_that_does_nothing_is_not(tmp_path: Path) -> None:
    with (
        PlantProcess(Program(SLEEPS), PlantRequest(tmp_path / "table.yaml")) as plant,
        pytest.raises(NoPlantError, match=r"within 0\.5 s"),
    ):
        plant.connect(TERMS, TURN_NS)
