"""The key ring: roles by folder, and changes that a file system's clock does not tell apart."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from mastd.errors import UsageError
from mastd.wire.access.keys import CHECK_INTERVAL_S, KeyRing, read_key
from mastd.wire.access.roles import ROLES
from mastd.wire.access.sessions import PeerIdentity


@pytest.fixture
def ring(tmp_path: Path) -> KeyRing:
    return KeyRing(tmp_path / "keys")


def test_a_key_has_the_role_it_was_made_for(ring: KeyRing) -> None:
    for role in ROLES:
        public, secret = read_key(ring.new(f"a-{role}", role), secret=True)
        assert ring.identities()[public] == PeerIdentity(f"a-{role}", role)
        assert len(secret) == 40
    assert [(entry.name, entry.role) for entry in ring.entries()] == sorted(
        (f"a-{role}", role) for role in ROLES
    )
    for path in ring.directory.rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_a_revoked_key_is_known_as_such_however_often(ring: KeyRing) -> None:
    public = [read_key(ring.new("anna"), secret=False)[0]]
    ring.revoke("anna")
    public.append(read_key(ring.new("anna", "rig"), secret=False)[0])
    ring.revoke("anna")
    assert ring.identities() == {}
    assert ring.revoked() == dict.fromkeys(public, "anna")
    assert not list((ring.directory / "private").iterdir()), "no secret stays behind"
    with pytest.raises(UsageError, match="'anna' has no key"):
        ring.revoke("anna")


def test_changes_within_one_tick_of_the_clock_are_seen(tmp_path: Path) -> None:
    """The folders' times are the same before and after, as in a file system whose clock ticks slowly."""
    now = [0.0]
    ring = KeyRing(tmp_path / "keys", lambda: now[0])
    ring.new("anna", "operator")
    assert [identity.role for identity in ring.identities().values()] == ["operator"]
    times = {path: path.stat().st_mtime_ns for path in ring.directory.rglob("*")}

    def tick() -> None:
        for path, changed in times.items():
            if path.exists():
                os.utime(path, ns=(changed, changed))
        now[0] += 2.0 * CHECK_INTERVAL_S

    ring.revoke("anna")
    tick()
    assert ring.identities() == {}
    ring.new("anna", "operator")
    tick()
    (before,) = ring.identities()
    ring.revoke("anna")
    ring.new("anna", "operator")
    tick()
    (after,) = ring.identities()
    assert after != before, "the same name with another key"


def test_the_lesser_role_counts_for_a_key_in_two_folders(ring: KeyRing) -> None:
    public, _ = read_key(ring.new("anna", "engineer"), secret=False)
    text = (ring.directory / "engineers" / "anna.key").read_text()
    (ring.directory / "rigs" / "anna.key").write_text(text)
    assert ring.identities()[public].role == "rig"


def test_a_directory_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text("not a directory")
    with pytest.raises(UsageError, match="cannot keep keys here: "):
        KeyRing(tmp_path / "keys").new("anna")
