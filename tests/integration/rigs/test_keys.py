"""Rigs on other machines: whose key may be which rig, and what becomes of everybody else."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from mastd.errors import UsageError
from mastd.wire.access.keys import KeyRing
from mastd.wire.access.roles import ROLES
from mastd.wire.common.blocks import NewestValueBlock, status_layout
from mastd.wire.common.rig_block import RigLink
from mastd.wire.common.rig_status import RIG_STATUS, read_status
from mastd.wire.operators.client import ClientKeys
from mastd.wire.rigs.client import RigClient
from mastd.wire.rigs.client_session import RigRefusedError
from mastd.wire.rigs.gateway import RigGatewayHandle
from tests.support.journal import Journal, journal
from tests.support.rigs.handler import COLUMNS, rigs_job
from tests.support.wire.operators import free_port

pytestmark = pytest.mark.real_time

SHORT_S = 1.0


class Door:
    """The gateway of two rigs, ``pedals`` and ``lever``, on the network, with keys and a journal."""

    def __init__(self, directory: Path, found: Journal) -> None:
        self.journal = found
        self.ring = KeyRing(directory / "keys")
        self.server = self.ring.make_server()
        for name in (*ROLES, "pedals", "lever"):
            self.ring.new(name, name if name in ROLES else "rig")
        self.address = f"tcp://127.0.0.1:{free_port(1)}"
        job = replace(
            rigs_job(address=f"ipc://{directory}/mastd.rigs"),
            network=self.address,
            keys=str(self.ring.directory),
        )
        self.link = RigLink.of(len(COLUMNS))
        self.status = NewestValueBlock(RIG_STATUS)
        self.handle = RigGatewayHandle.start(job, self.link, NewestValueBlock(status_layout(7)), self.status)

    def keys(self, name: str) -> ClientKeys:
        """Return somebody's keys."""
        return ClientKeys(self.ring.directory / "private" / f"{name}.key_secret", self.server)

    def join(self, rig: str, keys: ClientKeys | None) -> RigClient:
        """Join as a rig, with somebody's keys."""
        return RigClient.join(rig, address=self.address, keys=keys, patience=SHORT_S)

    def told(self, cause: str) -> dict[str, str]:
        """Return the journal's first entry of this cause."""
        return self.journal.until(lambda entry: entry.get("MASTD_CAUSE") == cause, cause)

    def counted(self, name: str) -> int:
        """Return a counter of the gateway."""
        return read_status(self.status, [("pedals", "signals"), ("lever", "signals")])[1][name]


@pytest.fixture
def door(tmp_path: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Door]:
    with journal(runtime / "journal") as found:
        status = os.fstat(2)
        monkeypatch.setenv("JOURNAL_STREAM", f"{status.st_dev}:{status.st_ino}")
        monkeypatch.setenv("MASTD_JOURNAL", str(found.path))
        opened = Door(runtime, found)
        yield opened
        opened.handle.close()
        opened.link.close()


def test_a_key_is_one_rigs_and_an_operators_is_any_rigs(door: Door) -> None:
    with door.join("pedals", door.keys("pedals")) as rig:
        assert rig.channels[0].name == "steering"
    with pytest.raises(RigRefusedError, match="the key is lever's, the rig's name is pedals"):
        door.join("pedals", door.keys("lever"))
    with pytest.raises(RigRefusedError, match="observer"):
        door.join("pedals", door.keys("observer"))
    for name in ("operator", "engineer"):
        door.join("pedals", door.keys(name)).leave()
    said = door.journal.until(lambda entry: "refused" in entry.get("MESSAGE", ""), "the refusal")
    assert said["MASTD_RIG"] == "pedals"


def test_who_has_no_key_or_a_revoked_one_is_not_let_in(door: Door) -> None:
    with door.join("pedals", door.keys("pedals")) as rig:
        kept = door.ring.directory / "kept.key_secret"
        kept.write_text(door.keys("pedals").own.read_text())
        door.ring.revoke("pedals")
        rig.stop()
        door.told("revoked_message")
        assert float(door.link.values.field("stops")[0]) == 0.0
    elsewhere = door.ring.directory / "operators" / "operator.key"
    for keys, cause in (
        (None, "no_key"),
        (replace(door.keys("lever"), server=elsewhere), "other_server"),
        (ClientKeys(kept, door.server), "revoked_key"),
    ):
        with pytest.raises(UsageError, match="no daemon serves rigs"):
            door.join("pedals", keys)
        assert door.told(cause)["MESSAGE"].startswith("connection refused")
    assert door.counted("unauthenticated") > 0
    assert door.counted("revoked") > 0
    secret = kept.read_text().partition('secret-key = "')[2].partition('"')[0]
    assert len(secret) == 40
    assert json.dumps(secret)[1:-1] not in json.dumps(door.journal.entries)
