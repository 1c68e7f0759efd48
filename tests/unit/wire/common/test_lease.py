"""The operators' lease, with a clock that the test moves."""

from __future__ import annotations

from mastd.wire.common.lease import Lease

SECOND = 1_000_000_000


def test_the_first_one_has_it_until_it_expires() -> None:
    lease = Lease(10 * SECOND)
    assert lease.holder(0) == ""
    assert lease.take("anna", 0)
    assert not lease.take("bert", 9 * SECOND)
    assert lease.holder(10 * SECOND - 1) == "anna"
    assert lease.left_ns(4 * SECOND) == 6 * SECOND
    assert lease.holder(10 * SECOND) == ""
    assert lease.left_ns(11 * SECOND) == 0
    assert lease.take("bert", 10 * SECOND)
    assert lease.holder(10 * SECOND) == "bert"


def test_each_command_renews_it() -> None:
    lease = Lease(10 * SECOND)
    for second in range(0, 60, 9):
        assert lease.take("anna", second * SECOND)
    assert lease.holder(60 * SECOND) == "anna"


def test_another_ones_refused_attempt_does_not_renew_it() -> None:
    lease = Lease(10 * SECOND)
    lease.take("anna", 0)
    assert not lease.take("bert", 5 * SECOND)
    assert lease.holder(10 * SECOND) == ""


def test_only_its_holder_gives_it_back() -> None:
    lease = Lease(10 * SECOND)
    lease.take("anna", 0)
    assert not lease.release("bert", SECOND)
    assert lease.holder(SECOND) == "anna"
    assert lease.release("anna", SECOND)
    assert lease.holder(SECOND) == ""
    assert lease.take("bert", SECOND)


def test_nobodys_lease_is_given_back_already() -> None:
    lease = Lease(10 * SECOND)
    assert lease.release("anna", 0)
    lease.take("bert", 0)
    assert lease.release("anna", 11 * SECOND)
