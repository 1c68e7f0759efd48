"""One daemon per plant, one place for operators: whoever comes second is told who is there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mastd.errors import UsageError
from mastd.loop.process.endpoints import Kind, operators_endpoint
from mastd.loop.realtime import lock
from mastd.loop.realtime.lock import plant_lock
from mastd.wire.common.address import runtime_directory


@pytest.fixture(autouse=True)
def own_place(runtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RUNTIME_DIRECTORY", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))


def test_a_plant_has_one_daemon_which_a_second_one_is_told_of() -> None:
    with (
        plant_lock("ipc:///plant"),
        plant_lock("ipc:///another"),
        pytest.raises(UsageError, match=f"in use by the daemon with process id {os.getpid()}"),
        plant_lock("ipc:///plant"),
    ):
        pass
    with plant_lock("ipc:///plant"):
        pass


def test_the_plant_of_the_service_is_seen_by_other_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "SERVICE_DIRECTORY", tmp_path)
    with plant_lock("ipc:///plant"):
        (name,) = (path.name for path in runtime_directory().glob("plant-*.lock"))
    with (
        lock.held(tmp_path / name, "4711"),
        pytest.raises(UsageError, match="in use by the service with process id 4711; use `mastd ctl`"),
        plant_lock("ipc:///plant"),
    ):
        pass
    with plant_lock("ipc:///plant"):
        pass


@pytest.mark.parametrize("there", Kind)
@pytest.mark.parametrize("comes", Kind)
def test_only_simulated_runs_stand_side_by_side(there: Kind, comes: Kind) -> None:
    with operators_endpoint(there, None) as first:
        assert first.note == ""
        if there is comes is Kind.SIMULATED_RUN:
            with operators_endpoint(comes, None) as second:
                assert second.address != first.address
                assert second.note == (
                    f"another run (process id {os.getpid()}) is there already: `mastd ctl VERB` reaches "
                    f"that one, `mastd ctl VERB --address {second.address}` reaches this one"
                )
            return
        with (
            pytest.raises(UsageError, match=f"process id {os.getpid()}") as refused,
            operators_endpoint(comes, None),
        ):
            pass
        beside_a_service = there is Kind.SERVICE and comes is not Kind.SERVICE
        assert ("mastd ctl load" in str(refused.value)) is beside_a_service
    assert not first.directory.exists(), "nothing is left behind"
