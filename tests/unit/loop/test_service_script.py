"""What a service asks of its loop when nobody else can: without its gateway the table comes down."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest

from mastd.loop.process.script import StopRequest
from mastd.loop.service.service import ServiceScript
from mastd.safety.faults import Code
from mastd.safety.states import State
from mastd.wire.access.verbs import Verb


@dataclass
class Table:
    """A supervisor as far as a script looks at it."""

    state: State = State.FAULT
    raised: bool = True
    enabled: bool = True
    asker: str = ""
    latch: Any = field(default_factory=lambda: SimpleNamespace(active={Code.GATEWAY_LOST: ""}, first=None))

    def conditions(self) -> Any:
        return SimpleNamespace(supply_on=True)

    def down(self, now_ns: int) -> bool:
        return not self.raised


@dataclass
class Gateway:
    """A process of which only its life is known."""

    lives: bool

    def alive(self) -> bool:
        return self.lives


def script(table: Table, lives: bool) -> ServiceScript:
    return ServiceScript(cast("Any", table), StopRequest(), cast("Any", None), Gateway(lives))


@pytest.mark.parametrize("lives", [True, False])
def test_a_table_that_stands_without_a_gateway_is_lowered(lives: bool) -> None:
    table = Table(State.STOPPING)
    asking = script(table, lives)
    assert asking.next(0) is Verb.NONE, "the fault stops it first"
    table.state = State.FAULT
    assert asking.next(1) is Verb.LOWER
    table.state = State.LOWERING
    assert asking.next(2) is Verb.NONE
    assert not asking.finished
    table.state, table.raised = State.FAULT, False
    assert asking.next(3) is Verb.NONE
    assert asking.finished is not lives, "only where nobody comes back is there nothing left to wait for"


def test_as_long_as_the_gateway_is_there_the_operators_decide() -> None:
    table = Table()
    table.latch.active.clear()
    asking = script(table, True)
    assert asking.next(0) is Verb.NONE
    assert not asking.finished
