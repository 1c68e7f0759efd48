"""Where `mastd ctl` finds a daemon: this user's own first, else the machine's service."""

from __future__ import annotations

import getpass
import multiprocessing
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from mastd.errors import UsageError
from mastd.loop.realtime.lock import held
from mastd.wire.common import address
from mastd.wire.common.address import (
    DAEMON_LOCK,
    OBSERVERS_SOCKET,
    OPERATORS_SOCKET,
    daemon_address,
    observers_address,
    private_directory,
    runtime_directory,
    sockets_umask,
)
from tests.support.lab import ROOT

NOBODY = 65534


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A runtime directory of a service, beside that of a user; both are theirs to enter."""
    with tempfile.TemporaryDirectory(prefix="mastd-test-") as base:
        service, own = Path(base) / "service", Path(base) / "own"
        for directory in (service, own):
            directory.mkdir()
        os.chmod(base, 0o755)
        own.chmod(0o777)
        monkeypatch.setattr(address, "SERVICE_DIRECTORY", service)
        monkeypatch.delenv("RUNTIME_DIRECTORY", raising=False)
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(own))
        yield service


def own_directory() -> Path:
    return Path(os.environ["XDG_RUNTIME_DIR"])


def test_the_own_daemon_goes_before_the_service(service: Path) -> None:
    own = f"ipc://{own_directory()}/{OPERATORS_SOCKET}"
    assert daemon_address() == own, "there is none at all"
    (service / OPERATORS_SOCKET).touch()
    assert daemon_address() == f"ipc://{service}/{OPERATORS_SOCKET}"
    with held(own_directory() / DAEMON_LOCK, f"{os.getpid()} run"):
        assert daemon_address() == own
    with held(own_directory() / f"{OPERATORS_SOCKET}.lock", "4711"):
        assert daemon_address() == own, "a gateway whose daemon nobody knows"
    assert daemon_address() == f"ipc://{service}/{OPERATORS_SOCKET}", "what is left behind is no daemon"


def found_by_a_stranger(answer: Connection) -> None:
    if os.getuid() == 0:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    try:
        answer.send(daemon_address())
    except UsageError as error:
        answer.send(str(error))


@pytest.mark.parametrize("place", ["directory", "socket"])
def test_who_is_not_in_the_group_is_told_so(
    service: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(getpass, "getuser", lambda: "anna")
    (service / OPERATORS_SOCKET).touch(mode=0o600 if os.getuid() == 0 else 0o400)
    service.chmod(0o755 if place == "socket" else 0o700 if os.getuid() == 0 else 0o600)
    ours, theirs = multiprocessing.Pipe()
    stranger = multiprocessing.get_context("fork").Process(target=found_by_a_stranger, args=(theirs,))
    stranger.start()
    said = ours.recv()
    stranger.join()
    service.chmod(0o700)
    assert f"the service of this machine has its sockets in {service}" in said
    assert "you are not in group" in said
    assert "`sudo adduser anna " in said


def test_only_the_sockets_of_a_service_are_for_its_group(
    service: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = f"ipc://{service}/{OPERATORS_SOCKET}"
    service.chmod(0o750)
    assert sockets_umask(own) == 0o177, "not a service's"
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(service))
    assert sockets_umask(own) == 0o117
    assert sockets_umask(f"ipc://{service}/mastd-1-x/{OPERATORS_SOCKET}") == 0o177
    assert sockets_umask("ipc://@mastd") == 0o177
    service.chmod(0o700)
    assert sockets_umask(own) == 0o177, "its group may not enter"


def test_observers_are_served_where_the_installation_has_made_a_directory_of_the_services_own(
    service: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, watching = f"ipc://{service}/{OPERATORS_SOCKET}", service.with_name("service-observers")
    service.chmod(0o750)
    watching.mkdir(mode=0o750)
    assert observers_address(own) is None, "not a service's"
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(service))
    assert observers_address(own) == f"ipc://{watching}/{OBSERVERS_SOCKET}"
    watching.chmod(0o770)
    assert observers_address(own) is None, "others could lay sockets there"
    watching.rmdir()
    assert observers_address(own) is None
    watching.symlink_to(service)
    assert observers_address(own) is None


def test_the_installation_makes_the_observers_directory_and_the_daemon_may_write_there() -> None:
    directory = str(address.OBSERVERS_DIRECTORY)
    lines = (ROOT / "systemd/mastd.tmpfiles").read_text(encoding="utf-8").splitlines()
    assert f"d {directory} 0750 mastd mastd-observers -" in lines
    assert "g mastd-observers -" in (ROOT / "systemd/mastd.sysusers").read_text(encoding="utf-8")
    assert f"ReadWritePaths=-{directory}\n" in (ROOT / "systemd/mastd.service").read_text(encoding="utf-8")


def test_a_directory_that_cannot_hold_sockets_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = Path(tempfile.mkdtemp(prefix="mastd-test-"))
    long = tmp_path / ("d" * 100)
    long.mkdir()
    (tmp_path / "file").touch()
    monkeypatch.setattr("tempfile.tempdir", str(short))
    monkeypatch.delenv("RUNTIME_DIRECTORY", raising=False)
    try:
        for unfit in (long, tmp_path / "missing", tmp_path / "file"):
            monkeypatch.setenv("XDG_RUNTIME_DIR", str(unfit))
            assert runtime_directory() == short / f"mastd-{os.getuid()}"
            assert private_directory().parent == short
        assert stat.S_IMODE(runtime_directory().stat().st_mode) == 0o700
    finally:
        shutil.rmtree(short)


def test_where_no_directory_is_left_the_variable_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = tmp_path / ("d" * 100)
    long.mkdir()
    monkeypatch.delenv("RUNTIME_DIRECTORY", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(long))
    monkeypatch.setattr("mastd.wire.common.address.MAX_PATH_LENGTH", 20)
    with pytest.raises(UsageError, match=rf"XDG_RUNTIME_DIR: {long} is longer than .* Set XDG_RUNTIME_DIR"):
        runtime_directory()
