"""Who is at the other end of a local socket, and under which name they act."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest
import zmq

from mastd.wire.access.peer_credentials import PeerUsers, acting_as, user_id
from mastd.wire.access.sessions import LOCAL, OBSERVERS, PeerIdentity


class Frame:
    """A message of a peer with this address."""

    def __init__(self, address: str) -> None:
        self._address = address

    def get(self, option: str) -> str:
        assert option == "Peer-Address"
        return self._address


def test_zeromq_tells_the_user_of_a_local_peer(tmp_path: Path) -> None:
    with zmq.Context() as context, context.socket(zmq.ROUTER) as router, context.socket(zmq.DEALER) as dealer:
        address = f"ipc://{tmp_path}/socket"
        router.bind(address)
        dealer.connect(address)
        dealer.send(b"")
        assert user_id(router.recv_multipart(copy=False)[-1]) == os.getuid()


@pytest.mark.parametrize("address", ["", "127.0.0.1", "::1", ":a:b:c", "a:-1:0:0"])
def test_an_address_without_credentials_tells_nobody(address: str) -> None:
    assert user_id(Frame(address)) is None


def test_the_own_user_and_root_may_be_anybody_others_are_themselves() -> None:
    users = PeerUsers()
    other = next(entry for entry in pwd.getpwall() if entry.pw_uid not in (0, os.getuid()))
    mine, root, theirs = (Frame(f"host:{number}:5:77") for number in (os.getuid(), 0, other.pw_uid))
    assert users.identity(mine, LOCAL) is users.identity(root, LOCAL) is None
    assert users.identity(theirs, LOCAL) == PeerIdentity(other.pw_name, "engineer", local=True)
    for frame in (mine, root, theirs):
        watching = users.identity(frame, OBSERVERS)
        assert watching is not None
        assert watching.role == "observer"
    unknown = users.identity(Frame(":4000000000:5:77"), LOCAL)
    assert unknown is not None
    assert unknown.name == "4000000000"


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("anna", "anna"),
        ("anna@rig/pts/1", "anna@rig/pts/1"),
        ("anna/console", "anna/console"),
        ("bert@rig/pts/1", "anna/bert@rig/pts/1"),
        ("annabert", "anna/annabert"),
    ],
)
def test_everybody_acts_under_a_name_that_begins_with_their_own(said: str, name: str) -> None:
    assert acting_as(said, "anna") == name
