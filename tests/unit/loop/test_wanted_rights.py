"""Which real-time rights a loop asks for."""

from __future__ import annotations

from pathlib import Path

import pytest

from mastd.loop.process.host import Connection, wanted_rights
from mastd.loop.process.installation import Installation
from mastd.settings.core.starter import find
from mastd.wire.plant.hello import Mode
from mastd.wire.plant.provider import PlantRequest


@pytest.fixture(scope="module")
def installation() -> Installation:
    return Installation.read(find("table", "table"), find("daemon", "simulated"))


@pytest.mark.parametrize("link", ["direct", "socket"])
@pytest.mark.parametrize(
    ("address", "mode", "priority"),
    [(None, "lockstep", None), (None, "free-run", 60), ("ipc://@plant", "lockstep", 60)],
)
def test_a_simulation_that_makes_its_own_time_takes_none(
    address: str | None, mode: Mode, priority: int | None, link: str, installation: Installation
) -> None:
    connection = Connection(address, link, mode, PlantRequest(Path("table.yaml")))
    wanted = wanted_rights(installation, connection)
    assert wanted.priority == priority
    assert wanted.lock_memory == (priority is not None)
