"""Sessions, rates, order and the handler: who wins, what is carried out once, and stops always get in."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mastd.safety.states import State
from mastd.wire.access.roles import ROLES, Role, called
from mastd.wire.access.sessions import (
    CACHED_ANSWERS,
    LOCAL,
    NETWORK,
    OBSERVERS,
    GatewayCounters,
    Order,
    Peer,
    PeerIdentity,
    Session,
    Sessions,
    TokenBucket,
)
from mastd.wire.access.verbs import COMMANDING, VERBS, Verb
from mastd.wire.common.blocks import REQUEST, NewestValueBlock, status_layout
from mastd.wire.common.cycle_times import CycleTimes
from mastd.wire.common.strict_messages import pack
from mastd.wire.operators.driver_forwarder import DriverForwarder
from mastd.wire.operators.handler import MAX_STOPS_WAITING, MAX_WAITING, OperatorHandler
from mastd.wire.operators.load_process import ProfileLoader
from mastd.wire.operators.loop_port import LoopPort
from mastd.wire.operators.messages import (
    Answer,
    Close,
    Command,
    Error,
    FromGateway,
    Hello,
    Welcome,
    read_from_gateway,
)
from mastd.wire.operators.ports import HandlerPorts
from mastd.wire.operators.requests import SlotBook, split_refusal
from mastd.wire.operators.terms import HandlerTerms, StatusTexts
from tests.support.wire.operators import ACTUATORS, FAULTS, STATES, StandInLoop, wait_for

MS = 1_000_000
SECOND = 1000 * MS
ANNA, BERT = (0, b"anna's connection"), (0, b"bert's connection")
TERMS = HandlerTerms(
    name="mastd",
    pid=4711,
    actuators=ACTUATORS,
    texts=StatusTexts(STATES, FAULTS),
    lease_ns=60 * SECOND,
    answer_ns=500 * MS,
    command_rate=1000.0,
    burst=1000,
)
ARGUMENTS: dict[str, dict[str, object]] = {
    "level": {"share": 0.5},
    "jog": {"axis": "heave", "amount": 0.005},
    "load": {"profile": "sine"},
}


def test_a_bucket_allows_the_burst_then_the_rate() -> None:
    bucket = TokenBucket(10.0, 5, 0)
    assert [bucket.take(0) for _ in range(6)] == [True] * 5 + [False]
    assert sum(bucket.take(k * MS) for k in range(1000)) == 9  # 10 a second, the first after 100 ms
    assert [bucket.take(1100 * MS) for _ in range(3)] == [True, True, False]
    assert not bucket.take(0)  # a clock that steps back gives nothing


def test_a_session_answers_again_what_it_remembers_and_refuses_what_is_older() -> None:
    session = Session(1, ANNA, "anna", "operator", TokenBucket(1.0, 1, 0))
    for sequence in range(2 * CACHED_ANSWERS):
        assert session.order(sequence) is Order.NEW
        session.begin(sequence)
        session.keep(sequence, b"%d" % sequence)
    assert session.order(2 * CACHED_ANSWERS - 1) is Order.REPEATED
    assert session.order(CACHED_ANSWERS) is Order.REPEATED
    assert session.answer(CACHED_ANSWERS) == b"%d" % CACHED_ANSWERS
    assert session.order(CACHED_ANSWERS - 1) is Order.OLD
    session.begin(1000)
    assert session.order(999) is Order.OLD  # a gap is never filled afterwards


def test_a_crowd_at_one_socket_takes_no_session_of_another() -> None:
    sessions = Sessions(1.0, 1, capacity=3)
    own, _ = sessions.open((LOCAL, b"anna"), "anna", "engineer", 0)
    for door in (NETWORK, OBSERVERS):
        for number in range(9):
            sessions.open((door, b"%d" % number), "guest", "observer", 0)
    assert sessions.find((LOCAL, b"anna"), own.number) is own
    assert len(sessions) == 1 + 2 * 3


def test_the_session_that_is_silent_longest_gives_its_place() -> None:
    numbers = itertools.count(1)
    sessions = Sessions(1.0, 1, capacity=3, new_number=lambda: next(numbers))
    peers: list[Peer] = [(0, b"%d" % k) for k in range(4)]
    first, second, third = (sessions.open(peer, "x", "operator", 0)[0] for peer in peers[:3])
    assert sessions.find(peers[0], first.number) is first
    _, dropped = sessions.open(peers[3], "x", "operator", 0)
    assert dropped == 1
    assert len(sessions) == 3
    assert sessions.find(peers[1], second.number) is None
    assert sessions.find(peers[0], first.number) is first
    assert sessions.find(peers[2], third.number) is third
    assert sessions.find(peers[3], third.number) is None  # another one's number is not enough
    assert not sessions.close(peers[3], third.number)
    assert sessions.close(peers[2], third.number)
    assert sessions.find(peers[2], third.number) is None


class Noted:
    """What the handler wants written down."""

    def __init__(self) -> None:
        self.beyond: list[tuple[str, Role, str]] = []
        self.taken: list[tuple[str, str, str]] = []

    def beyond_role(self, operator: str, role: Role, verb: str) -> None:
        self.beyond.append((operator, role, verb))

    def accepted(self, operator: str, verb: str, holder: str) -> None:
        self.taken.append((operator, verb, holder))


class Counter:
    """A handler with a loop that cycles when told, and a clock that the test moves."""

    def __init__(
        self,
        state: State = State.READY,
        terms: HandlerTerms = TERMS,
        loader: ProfileLoader | None = None,
        times: CycleTimes | None = None,
        checker: ProfileLoader | None = None,
        log: Noted | None = None,
    ) -> None:
        self.loop = StandInLoop(state)
        self.now = SECOND
        self.port = LoopPort(self.loop.request, self.loop.status, 300 * MS, self.now)
        counters = GatewayCounters()
        forwarder = DriverForwarder(self.loop.driver, counters)
        ports = HandlerPorts(self.port, forwarder, loader, checker, times)
        self.handler = OperatorHandler(terms, ports, counters, log or Noted())
        self.numbers: dict[Peer, int] = {}
        self.loop.show()
        self.handler.poll(self.now)

    def hello(
        self, peer: Peer, operator: str, role: Role = "engineer", identity: PeerIdentity | None = None
    ) -> Welcome:
        """Open a session."""
        self.handler.on_message(peer, [pack(Hello(1, "test", operator, role))], self.now, identity=identity)
        ((_, welcome),) = self.heard()
        assert isinstance(welcome, Welcome)
        self.numbers[peer] = welcome.session
        return welcome

    def say(self, peer: Peer, sequence: int, verb: str, identity: PeerIdentity | None = None) -> None:
        """Send a command."""
        packed = pack(Command(self.numbers[peer], sequence, verb, ARGUMENTS.get(verb, {})))
        self.handler.on_message(peer, [packed], self.now, identity=identity)

    def heard(self) -> list[tuple[Peer, FromGateway]]:
        """Return what the handler has replied since."""
        replies = [(peer, read_from_gateway(data)) for peer, data in self.handler.replies]
        self.handler.replies.clear()
        return replies

    def poll(self, cycles: int = 1) -> None:
        """Let the loop cycle and the handler look at it."""
        for _ in range(cycles):
            self.now += MS
            self.loop.cycle()
            self.handler.poll(self.now)

    def answers(self) -> list[Answer]:
        """Return the answers since, complaints must be none."""
        answers = []
        for _, message in self.heard():
            assert isinstance(message, Answer), message
            answers.append(message)
        return answers


@pytest.fixture
def counter() -> Counter:
    """A handler at which Anna and Bert have sessions."""
    handler = Counter()
    handler.hello(ANNA, "anna")
    handler.hello(BERT, "bert")
    return handler


def test_a_command_is_answered_when_the_loop_has_answered(counter: Counter) -> None:
    counter.say(ANNA, 1, "arm")
    assert counter.heard() == []
    counter.poll()
    (answer,) = counter.answers()
    assert (answer.accepted, answer.state, answer.lease) == (True, "ARMED", "anna")
    assert counter.loop.taken == [(Verb.ARM, (0.0,) * 4)]


def test_a_refusal_says_why_and_what_is_needed(counter: Counter) -> None:
    counter.say(ANNA, 1, "start")
    counter.poll()
    (answer,) = counter.answers()
    assert (answer.accepted, answer.reason, answer.needed) == (
        False,
        "start is refused in READY",
        "arm first",
    )


def test_arguments_reach_the_block_as_it_wants_them(counter: Counter) -> None:
    counter.say(ANNA, 1, "jog")
    counter.say(ANNA, 2, "level")
    packed = pack(Command(counter.numbers[ANNA], 3, "jog", {"link": 5, "amount": -0.01}))
    counter.handler.on_message(ANNA, [packed], counter.now)
    counter.poll(3)
    assert counter.loop.taken == [
        (Verb.JOG, (0.0, 2.0, 0.005, 0.0)),
        (Verb.LEVEL, (0.5, 0.0, 0.0, 0.0)),
        (Verb.JOG, (1.0, 4.0, -0.01, 0.0)),
    ]
    counter.heard()
    for sequence, actuator in enumerate((8, 0, -1, 1001), 4):
        beyond = pack(Command(counter.numbers[ANNA], sequence, "jog", {"link": actuator, "amount": 0.0}))
        counter.handler.on_message(ANNA, [beyond], counter.now)
        (answer,) = counter.answers()
        assert answer.reason == f"jog is refused: there is no actuator {actuator}, actuators are 1 to 7"


def test_a_repeated_command_is_answered_again_and_carried_out_once(counter: Counter) -> None:
    counter.say(ANNA, 1, "jog")
    counter.say(ANNA, 1, "jog")  # still on its way
    counter.poll()
    counter.say(ANNA, 1, "jog")
    first, again = counter.answers()
    assert first == again
    counter.poll(3)
    assert len(counter.loop.taken) == 1
    assert counter.handler.counters.replayed == 2


def test_the_loser_of_a_race_is_told_who_won_and_for_how_long(counter: Counter) -> None:
    counter.say(ANNA, 1, "arm")
    counter.say(BERT, 1, "raise")
    ((peer, refused),) = counter.heard()
    assert peer == BERT
    assert isinstance(refused, Answer)
    assert refused.reason == "raise is refused: anna has control for another 60 s"
    assert "release" in refused.needed
    counter.poll()
    counter.say(ANNA, 2, "release")
    counter.say(BERT, 2, "raise")
    counter.poll()
    assert [answer.lease for answer in counter.answers()] == ["anna", "", "bert"]


def test_the_lease_is_an_operators_not_a_connections(counter: Counter) -> None:
    counter.say(ANNA, 1, "arm")
    other: Peer = (0, b"anna's second terminal window")
    counter.hello(other, "anna")
    counter.say(other, 1, "start")
    counter.poll(2)
    assert [answer.accepted for answer in counter.answers()] == [True, True]


def test_a_lease_runs_out_when_nothing_more_is_heard(counter: Counter) -> None:
    counter.say(ANNA, 1, "arm")
    counter.poll()
    counter.now += 60 * SECOND
    counter.loop.show()
    counter.handler.poll(counter.now)
    counter.say(BERT, 1, "start")
    counter.poll()
    assert counter.answers()[-1].lease == "bert"


def test_no_second_request_flies_before_the_first_is_answered(counter: Counter) -> None:
    for sequence in range(MAX_WAITING + 3):
        counter.say(ANNA, sequence, "level")
    answers = counter.answers()
    assert [answer.sequence for answer in answers] == [MAX_WAITING + 1, MAX_WAITING + 2]
    assert all(f"{MAX_WAITING} requests are waiting already" in answer.reason for answer in answers)
    assert counter.loop.counters()[2] == 1
    counter.poll(MAX_WAITING + 2)
    assert [answer.sequence for answer in counter.answers()] == list(range(MAX_WAITING + 1))


def test_a_stop_refuses_what_waits_and_goes_in_at_once(counter: Counter) -> None:
    counter.say(ANNA, 1, "arm")
    counter.say(ANNA, 2, "start")
    counter.say(BERT, 1, "stop")
    assert counter.loop.counters()[0] == 1
    (refused,) = counter.answers()
    assert (refused.verb, refused.accepted) == ("start", False)
    assert "bert has requested stop" in refused.reason
    counter.poll(3)
    answers = {answer.verb: answer for answer in counter.answers()}
    assert answers["stop"].accepted
    assert not answers["arm"].accepted  # it came to the loop in the same cycle
    assert [verb for verb, _ in counter.loop.taken] == [Verb.STOP]


def test_what_a_stuck_loop_does_not_answer_is_withdrawn_and_said(counter: Counter) -> None:
    counter.say(ANNA, 1, "arm")
    counter.now += 500 * MS
    counter.handler.poll(counter.now)
    (answer,) = counter.answers()
    assert not answer.accepted
    assert "has not moved for 0.5 s" in answer.reason
    assert "restart the daemon" in answer.reason
    counter.say(ANNA, 2, "arm")
    counter.say(BERT, 1, "stop")
    (refused,) = counter.answers()
    assert "the drive lowers the table by itself" in refused.reason
    counter.now += 500 * MS
    counter.handler.poll(counter.now)
    (stop,) = counter.answers()
    assert "it stays in the loop's block" in stop.reason
    counter.poll(2)  # the loop wakes up
    assert [verb for verb, _ in counter.loop.taken] == [Verb.STOP]
    assert counter.handler.counters.unanswered == 2
    counter.say(ANNA, 3, "arm")
    counter.poll()
    assert counter.answers()[-1].accepted


def test_a_loop_that_has_not_begun_takes_no_commands() -> None:
    handler = Counter()
    handler.port = LoopPort(handler.loop.request, StandInLoop().status, 300 * MS, handler.now)
    counters = GatewayCounters()
    forwarder = DriverForwarder(handler.loop.driver, counters)
    handler.handler = OperatorHandler(TERMS, HandlerPorts(handler.port, forwarder), counters)
    handler.hello(ANNA, "anna")
    handler.say(ANNA, 1, "raise")
    (answer,) = handler.answers()
    assert "controller initialising" in answer.reason
    assert handler.handler.status_view.snapshot(handler.now)["loop"] == "preparing"


RIGHTS = {
    "observer": {"status", "describe", "stop", "estop"},
    "rig": {"status", "describe", "stop", "estop"},
    "operator": VERBS - {"reload"},
    "engineer": VERBS,
}


@pytest.mark.parametrize("role", ROLES)
def test_every_role_may_what_it_may_and_nothing_else(role: Role) -> None:
    for verb in sorted(VERBS):
        log = Noted()
        handler = Counter(log=log)
        comers: list[tuple[Peer, PeerIdentity | None, Role]] = [
            (ANNA, PeerIdentity("anna", role), "engineer"),
            (BERT, None, role),
        ]
        for peer, identity, asked in comers:
            assert handler.hello(peer, "bert", asked, identity).role == role
            handler.say(peer, 1, verb, identity)
            handler.poll(2)
            (answer,) = handler.answers()
            role_words = f"is refused: {'anna' if identity else 'bert'} is {called(role)}"
            assert (role_words in answer.reason) == (verb not in RIGHTS[role]), (verb, answer.reason)
            if role_words in answer.reason:
                assert not answer.accepted
                least = "an engineer" if verb == "reload" else "an operator"
                assert answer.needed == f"use the key, or the role, of {least}"
            handler.handler.lease.release("anna", handler.now)
        beyond = [] if verb in RIGHTS[role] else [("anna", role, verb), ("bert", role, verb)]
        assert log.beyond == beyond
        assert handler.handler.counters.not_allowed == len(beyond)
        if beyond:
            assert handler.loop.taken == []


def test_a_key_grants_no_more_than_its_role_and_a_hello_may_ask_for_less() -> None:
    handler = Counter()
    for k, granted in enumerate(ROLES):
        for asked in ROLES:
            expected = min(granted, asked, key=ROLES.index)
            assert (
                handler.hello((1, b"%d" % k), "anna", asked, PeerIdentity("anna", granted)).role == expected
            )


def test_a_key_that_becomes_a_lesser_one_counts_from_the_next_message() -> None:
    handler = Counter()
    handler.hello(ANNA, "anna", "operator", PeerIdentity("anna", "operator"))
    handler.say(ANNA, 1, "arm", PeerIdentity("anna", "observer"))
    (answer,) = handler.answers()
    assert answer.reason == "arm is refused: anna is an observer"


def test_what_was_accepted_is_noted_with_operator_and_lease() -> None:
    log = Noted()
    handler = Counter(log=log)
    handler.hello(ANNA, "anna")
    handler.hello(BERT, "bert")
    for sequence, (peer, verb) in enumerate(
        [(ANNA, "arm"), (ANNA, "hold"), (BERT, "raise"), (BERT, "status"), (BERT, "stop"), (ANNA, "release")]
    ):
        handler.say(peer, sequence, verb)
        handler.poll(2)
    handler.say(ANNA, 5, "release")  # the same again is no second one
    assert log.taken == [("anna", "arm", "anna"), ("bert", "stop", "anna"), ("anna", "release", "")]
    assert log.beyond == []


def test_a_key_says_who_it_is_whatever_its_client_says() -> None:
    handler = Counter()
    assert handler.hello(ANNA, "bert", identity=PeerIdentity("anna", "operator")).operator == "anna"


def test_too_fast_is_told_and_takes_nothing_but_a_stop_is_never_too_fast() -> None:
    handler = Counter(terms=replace(TERMS, command_rate=10.0, burst=2))
    handler.hello(ANNA, "anna")
    for sequence in range(3):
        handler.say(ANNA, sequence, "status")
    *_, (_, complaint) = handler.heard()
    assert isinstance(complaint, Error)
    assert (complaint.error, complaint.sequence) == ("too_many", 2)
    handler.hello(ANNA, "anna")  # a new session is no new burst
    handler.say(ANNA, 0, "status")
    assert isinstance(handler.heard()[0][1], Error)
    for sequence in range(1, 50):
        handler.say(ANNA, sequence, "stop")
    assert handler.loop.counters()[0] == 49
    handler.now += SECOND
    handler.say(ANNA, 50, "status")
    assert handler.handler.counters.too_many == 2
    assert all(isinstance(message, Answer) for _, message in handler.heard())


def test_what_is_refused_as_a_message_changes_nothing(counter: Counter) -> None:
    session = counter.numbers[ANNA]
    counter.say(ANNA, 5, "status")
    counter.heard()
    for data, error in (
        (b"\xc1", "malformed"),
        (b"x" * 20_000, "oversize"),
        (pack(Command(session + 1, 6, "stop", {})), "unknown_session"),
        (pack(Command(session, 4, "stop", {})), "out_of_order"),
    ):
        counter.handler.on_message(ANNA, [data], counter.now)
        ((_, complaint),) = counter.heard()
        assert isinstance(complaint, Error)
        assert complaint.error == error
        assert getattr(counter.handler.counters, error) == 1
    counter.handler.on_message(
        BERT, [pack(Command(session, 6, "stop", {}))], counter.now
    )  # another one's session
    counter.handler.on_message(ANNA, [pack(Close(session))], counter.now)
    counter.say(ANNA, 6, "stop")  # it has said goodbye
    assert counter.handler.counters.unknown_session == 3
    counter.poll(2)
    assert counter.loop.counters() == (0, 0, 0)
    assert counter.loop.taken == []


def test_load_without_a_loader_says_what_would_be_needed(counter: Counter) -> None:
    counter.say(ANNA, 1, "load")
    (answer,) = counter.answers()
    assert answer.reason == "load is refused: this daemon runs one profile"
    assert answer.needed == "start `mastd serve`"


@pytest.fixture
def loading() -> Iterator[Counter]:
    """A handler whose loader never ends by itself; Anna has asked it for a profile."""
    handler = Counter(loader=ProfileLoader(("sleep", "1000"), (), 2))
    handler.hello(ANNA, "anna")
    handler.hello(BERT, "bert")
    handler.say(ANNA, 1, "load")
    assert handler.heard() == []
    yield handler
    handler.handler.close()


def test_the_lease_does_not_run_out_while_its_holder_waits_for_the_loader(loading: Counter) -> None:
    for _ in range(3):
        loading.now += 39 * SECOND
        loading.poll()
    assert loading.handler.lease.holder(loading.now) == "anna"
    assert loading.handler.status_view.snapshot(loading.now)["loading"] == "sine"
    loading.now += 39 * SECOND
    loading.poll()
    (answer,) = loading.answers()
    assert answer.reason == "load is refused: the loader took longer than 120 s"
    assert loading.handler.status_view.snapshot(loading.now)["loading"] == ""
    loading.say(ANNA, 2, "load")  # it can be tried again
    assert loading.handler.status_view.snapshot(loading.now)["loading"] == "sine"


def test_a_profile_is_not_loaded_for_one_who_gave_the_lease_back() -> None:
    handler = Counter(loader=ProfileLoader(("echo", '{"ok": true, "text": "passes"}'), (), 2))
    handler.hello(ANNA, "anna")
    handler.say(ANNA, 1, "load")
    handler.say(ANNA, 2, "release")

    def answered() -> bool:
        handler.poll()
        return len(handler.handler.replies) == 2

    wait_for(answered, "the loader has ended")
    released, refused = handler.answers()
    assert released.accepted
    assert "control has passed to" in refused.reason
    assert handler.loop.taken == []


def checked(state: State, document: str) -> Answer:
    """Return the answer to a reload whose check ends with ``document``."""
    handler = Counter(state, checker=ProfileLoader(("echo", document), (), 1, "check of the settings"))
    handler.hello(ANNA, "anna")
    handler.say(ANNA, 1, "reload")

    def answered() -> bool:
        handler.poll()
        return bool(handler.handler.replies)

    wait_for(answered, "the check has ended")
    (answer,) = handler.answers()
    assert (Verb.RELOAD in [verb for verb, _ in handler.loop.taken]) is answer.accepted
    handler.handler.close()
    return answer


def test_settings_are_taken_anew_in_off_and_only_when_they_are_right() -> None:
    assert checked(State.OFF, '{"ok": true, "text": "right"}').accepted
    wrong = checked(State.OFF, '{"ok": false, "text": "the old ones stay:\\na.yaml:1:1: x\\nb.yaml:2:2: y"}')
    assert wrong.reason == "reload is refused: the old ones stay:\na.yaml:1:1: x\nb.yaml:2:2: y"
    broken = checked(State.OFF, "")
    assert "the check of the settings ended with code 0: no message" in broken.reason
    raised = checked(State.READY, '{"ok": true, "text": "right"}')
    assert (raised.reason, raised.needed) == ("reload is refused in READY", "reload in OFF")
    handler = Counter(State.OFF)
    handler.hello(ANNA, "anna")
    handler.say(ANNA, 1, "reload")
    (answer,) = handler.answers()
    assert answer.reason == "reload is refused: this daemon runs one profile"


def test_nothing_is_loaded_while_the_settings_are_taken_anew() -> None:
    loader, checker = (ProfileLoader(("sleep", "60"), (), slots) for slots in (2, 1))
    handler = Counter(State.OFF, loader=loader, checker=checker)
    handler.hello(ANNA, "anna")
    handler.say(ANNA, 1, "reload")
    handler.say(ANNA, 2, "load")
    handler.say(ANNA, 3, "reload")
    for answer in handler.answers():
        assert answer.reason.endswith("refused: the settings are being reloaded")
    handler.handler.close()


def test_before_its_loop_a_daemon_says_what_it_waits_for() -> None:
    handler = Counter(State.OFF)
    handler.port = LoopPort(
        handler.loop.request, NewestValueBlock(status_layout(ACTUATORS)), 300 * MS, handler.now
    )
    counters = GatewayCounters()
    ports = HandlerPorts(handler.port, DriverForwarder(handler.loop.driver, counters))
    handler.handler = OperatorHandler(TERMS, ports, counters)
    handler.port.status.set_text("waiting", "waiting for the plant: nobody answers; start it")
    handler.port.status.publish()
    handler.hello(ANNA, "anna")
    handler.say(ANNA, 1, "raise")
    (answer,) = handler.answers()
    assert answer.reason == "raise is refused: waiting for the plant: nobody answers; start it"
    assert answer.state == "", "there is none yet"
    handler.say(ANNA, 2, "status")
    (status,) = handler.answers()
    assert status.snapshot is not None
    assert (status.snapshot["loop"], status.snapshot["state"]) == ("preparing", "OFF")
    assert status.snapshot["waiting"].startswith("waiting for the plant")


def test_stops_beyond_all_reason_are_in_the_block_all_the_same(counter: Counter) -> None:
    for sequence in range(MAX_STOPS_WAITING + 3):
        counter.say(ANNA, sequence, "stop")
    assert counter.loop.counters()[0] == MAX_STOPS_WAITING + 3
    answers = counter.answers()
    assert [answer.reason for answer in answers] == ["it is in the loop's block, not confirmed yet"] * 3
    counter.poll()
    assert len(counter.answers()) == MAX_STOPS_WAITING


def test_a_second_gateway_goes_on_where_the_first_one_ended(counter: Counter) -> None:
    counter.say(ANNA, 1, "arm")
    counter.say(ANNA, 2, "stop")
    counter.poll()
    block = NewestValueBlock(REQUEST, counter.loop.request.descriptor)
    second = LoopPort(block, counter.loop.status, SECOND, counter.now)
    stops, estops, number = counter.loop.counters()
    assert second.stop() == stops + 1
    assert second.estop() == estops + 1
    assert second.ask(Verb.ARM) == number + 1


def test_a_slot_in_use_is_never_offered() -> None:
    book = SlotBook(2, 0)
    assert book.offer(1) == (1, 2)
    assert book.offer(1) == (1, 3)  # the first loading was refused
    assert book.offer(3) == (0, 4)  # the second one was taken
    assert SlotBook(2, -1).offer(0) == (0, 1)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("arm is refused in OFF: raise first", ("arm is refused in OFF", "raise first")),
        ("reset is refused: pressed; release it", ("reset is refused: pressed", "release it")),
        ("jog is refused", ("jog is refused", "")),
    ],
)
def test_the_loops_text_becomes_reason_and_need(text: str, parts: tuple[str, str]) -> None:
    assert split_refusal(text) == parts


STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from([ANNA, BERT]), st.sampled_from(sorted(VERBS - {"status", "load"}))),
        st.tuples(st.just("again"), st.sampled_from([ANNA, BERT])),
        st.tuples(st.just("cycle"), st.just(1)),
        st.tuples(st.just("pass"), st.sampled_from([1, 400, 61_000])),
    ),
    max_size=40,
)


@given(STEPS, st.sampled_from(list(State)))
def test_two_racing_clients_have_one_lease_a_defined_winner_and_stops_that_always_win(
    steps: list[tuple[object, object]], state: State
) -> None:
    """Model: the lease belongs to whose command was read first; each command is carried out at most once."""
    handler = Counter(state)
    names = {ANNA: "anna", BERT: "bert"}
    peer: Peer
    for peer, name in names.items():
        handler.hello(peer, name)
    sequences = dict.fromkeys(names, 0)
    said: dict[tuple[Peer, int], str] = {}
    holder, until = "", 0
    stops = estops = 0
    for what, which in steps:
        if what == "cycle":
            handler.poll()
        elif what == "pass":
            assert isinstance(which, int)
            handler.now += which * MS
            handler.loop.show()  # the loop has gone on meanwhile
            handler.handler.poll(handler.now)
        elif what == "again":
            assert isinstance(which, tuple)
            if sequences[which]:
                handler.say(which, sequences[which], said[which, sequences[which]])
        else:
            assert isinstance(what, tuple)
            assert isinstance(which, str)
            peer, verb = what, which
            sequences[peer] += 1
            said[peer, sequences[peer]] = verb
            free = handler.now >= until or not holder
            if verb in COMMANDING and (free or holder == names[peer]):
                holder, until = names[peer], handler.now + TERMS.lease_ns
            elif verb == "release" and (free or holder == names[peer]):
                holder, until = "", 0
            stops, estops = stops + (verb == "stop"), estops + (verb == "estop")
            handler.say(peer, sequences[peer], verb)
            # A stop is in the loop's block before anything else happens.
            assert handler.loop.counters()[:2] == (stops, estops)
        assert handler.handler.lease.holder(handler.now) == (holder if handler.now < until else "")
    before = len(handler.loop.taken)
    handler.say(BERT, sequences[BERT] + 1, "stop")
    handler.poll()
    # The next cycle takes the stop and nothing else, whatever was on its way.
    assert [verb for verb, _ in handler.loop.taken[before:]] in ([Verb.STOP], [Verb.ESTOP])
    handler.poll(MAX_WAITING)
    assert len(handler.loop.taken) == before + 1
    # Every command has one answer, however often it was repeated; nothing was carried out twice.
    answers: dict[tuple[Peer, int], set[bytes]] = {}
    for peer, data in handler.handler.replies:
        message = read_from_gateway(data)
        assert isinstance(message, Answer)
        answers.setdefault((peer, message.sequence), set()).add(data)
    assert set(answers) == {*said, (BERT, sequences[BERT] + 1)}
    assert all(len(packed) == 1 for packed in answers.values())
    accepted = sum(
        message.accepted
        for (packed,) in answers.values()
        for message in [read_from_gateway(packed)]
        if isinstance(message, Answer) and message.verb in COMMANDING
    )
    carried_out = [verb for verb, _ in handler.loop.taken if verb not in (Verb.STOP, Verb.ESTOP)]
    assert len(carried_out) == accepted
