"""Who has asked for something reaches the loop: an operator's name beside the request, and a signal's."""

from __future__ import annotations

import os
import signal

import pytest

from mastd.commands.plant_options import stop_on_signals
from mastd.loop.process.operator_requests import RequestPort
from mastd.wire.access.verbs import Verb
from mastd.wire.common.blocks import REQUEST, NewestValueBlock, status_layout
from mastd.wire.operators.loop_port import LoopPort


def test_each_verb_comes_with_who_has_asked_for_it() -> None:
    block = NewestValueBlock(REQUEST)
    port = LoopPort(NewestValueBlock(REQUEST, block.descriptor), NewestValueBlock(status_layout(7)), 1, 0)
    requests = RequestPort(block)
    port.ask(Verb.RAISE, (), "anna@console")
    assert (requests.take(), requests.by) == (Verb.RAISE, "operator anna@console")
    requests.answer("")
    port.ask(Verb.LOWER, (), "bert")
    port.stop("zoë")
    assert (requests.take(), requests.by) == (Verb.STOP, "operator zoë")
    port.ask(Verb.LOWER, (), "b" * 100)
    assert (requests.take(), requests.by) == (Verb.LOWER, "operator " + "b" * 64)
    port.estop("\n")
    assert (requests.take(), requests.by) == (Verb.ESTOP, "an operator"), "only what can be shown in a line"
    port.estop()
    assert (requests.take(), requests.by) == (Verb.ESTOP, "an operator")


@pytest.mark.usefixtures("own_signals")
def test_a_signal_says_which_one_it_was() -> None:
    with stop_on_signals() as stop:
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGINT)
        assert (stop.requested, stop.by) == (True, "SIGTERM"), "the first one counts"
    with stop_on_signals() as stop:
        os.kill(os.getpid(), signal.SIGINT)
        assert stop.by == "SIGINT"
