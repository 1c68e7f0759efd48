"""Hello, welcome, refusal; addresses; finding a plant."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from mastd.errors import ProtocolError, UsageError
from mastd.wire.common.address import check_address, private_directory
from mastd.wire.plant import hello
from mastd.wire.plant.hello import DaemonHello, LinkTerms, PlantHello, mismatches
from mastd.wire.plant.provider import find_provider

TERMS = LinkTerms.of(7, 3, "lockstep", 1_000_000)
PLANT = PlantHello.of(TERMS, 99, "plant", simulated=True)
DAEMON = DaemonHello.of(TERMS, "mastd")


def test_hello_and_welcome_come_back_as_sent() -> None:
    assert hello.read_hello(hello.unpack_map(hello.pack_hello(DAEMON))) == DAEMON
    assert hello.read_welcome(hello.unpack_map(hello.pack_welcome(PLANT))) == PLANT
    assert DAEMON.pid == os.getpid()


def test_equal_terms_do_not_differ() -> None:
    assert mismatches(PLANT, DAEMON) == ()


def test_every_difference_is_told_with_both_values() -> None:
    other = DaemonHello.of(LinkTerms.of(6, 3, "free-run", 2_000_000), "mastd")
    mode, period, sample, command = mismatches(PLANT, other)
    assert "plant lockstep" in mode
    assert "daemon free-run" in mode
    assert "plant 1000000 ns" in period
    assert "daemon 2000000 ns" in period
    assert PLANT.sample_sha256[:16] in sample
    assert other.sample_sha256[:16] in sample
    assert other.command_sha256[:16] in command


def test_of_another_version_only_the_version_is_compared() -> None:
    packed = hello.pack_map("hello", {"protocol_version": 7, "shape_of_things": "to come"})
    other = hello.read_hello(hello.unpack_map(packed))
    assert mismatches(PLANT, other) == ("protocol version: plant 3, daemon 7",)


@pytest.mark.parametrize(
    "wrong",
    [
        {"mode": 3},
        {"period_ns": "1 ms"},
        {"period_ns": True},
        {"period_ns": 1 << 63},
        {"pid": None},
        {"name": "x" * 201},
        {"protocol_version": "2"},
        {"actuators": 7.0},
        {"table": "text"},
    ],
)
def test_a_hello_with_a_wrong_entry_is_refused_by_its_name(wrong: dict[str, object]) -> None:
    message = {**hello.unpack_map(hello.pack_hello(DAEMON)), **wrong}
    with pytest.raises(ProtocolError, match=next(iter(wrong))):
        hello.read_hello(message)


def test_unknown_entries_are_ignored() -> None:
    message = {**hello.unpack_map(hello.pack_welcome(PLANT)), "colour": "green"}
    assert hello.read_welcome(message) == PLANT


def test_the_layout_hash_changes_with_the_table() -> None:
    hashes = {LinkTerms.of(n, m, "lockstep", 1).sample_layout.sha256 for n in (6, 7) for m in (3, 4)}
    assert len(hashes) == 4
    assert replace(PLANT, sample_sha256="") != PLANT


@pytest.mark.parametrize(
    "address",
    [
        "ipc:///run/mastd/plant",
        "ipc://@mastd",
        "tcp://127.0.0.1:5570",
        "tcp://[::1]:5570",
        "tcp://127.0.0.1:*",
    ],
)
def test_local_addresses_are_allowed(address: str) -> None:
    assert check_address(address) == address


def test_localhost_means_the_loopback_address() -> None:
    assert check_address("tcp://localhost:5570") == "tcp://127.0.0.1:5570"


@pytest.mark.parametrize(
    "address", ["tcp://192.168.0.7:5570", "tcp://0.0.0.0:5570", "tcp://[2001:db8::1]:5570"]
)
def test_an_address_others_can_reach_needs_permission(address: str) -> None:
    with pytest.raises(UsageError, match="other machines"):
        check_address(address)
    assert check_address(address, allow_remote=True) == address


@pytest.mark.parametrize(
    "address",
    [
        "",
        "plant",
        "ipc://",
        "ipc://@",
        "ipc://relative/path",
        "tcp://*:5570",
        "tcp://127.0.0.1",
        "tcp://127.0.0.1:0",
        "tcp://127.0.0.1:70000",
        "tcp://example.invalid:5570",
        "inproc://plant",
        "ipc:///" + "x" * 107,
    ],
)
def test_other_addresses_are_refused_with_the_address(address: str) -> None:
    with pytest.raises(UsageError) as refused:
        check_address(address)
    assert repr(address) in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A runtime directory whose path leaves sockets their 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="run-", dir="/tmp") as directory:
        monkeypatch.setenv("RUNTIME_DIRECTORY", directory)
        yield Path(directory)


def test_the_private_directory_is_for_this_user_alone(runtime: Path) -> None:
    directory = private_directory()
    assert directory.parent == runtime
    assert directory.name.startswith(f"mastd-{os.getpid()}-")
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700


def test_private_directories_of_the_dead_are_removed(runtime: Path) -> None:
    killed = subprocess.run(
        [
            sys.executable,
            "-c",
            "import os; from mastd.wire.common.address import private_directory as make; "
            "print(make(), flush=True); os.kill(os.getpid(), 9)",
        ],
        check=False,
        stdout=subprocess.PIPE,
        text=True,
    )
    left = Path(killed.stdout.strip())
    (left / "plant").touch()
    kept = [runtime / name for name in (f"mastd-{os.getppid()}-abcd", "mastd-1000", "mastd-x-1", "other-1-a")]
    for path in kept:
        path.mkdir()
    mine = private_directory()
    assert not left.exists()
    assert sorted(runtime.iterdir()) == sorted([*kept, mine])


def test_a_plant_that_is_not_installed_is_named_beside_those_that_are() -> None:
    with pytest.raises(UsageError, match=r"'imaginary'.*simulated"):
        find_provider("imaginary")
