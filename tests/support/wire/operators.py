"""What the gateway's tests share: a loop that only answers requests, and the job that names its states."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import zmq

from mastd.loop.measurement.frame import frame_channels, frame_layout
from mastd.loop.process.description import description
from mastd.loop.process.installation import Installation
from mastd.loop.process.operator_requests import RequestPort
from mastd.safety.faults import ROWS
from mastd.safety.states import Conditions, Event, State, next_state
from mastd.settings.core.starter import find
from mastd.settings.daemon.gateway import GatewaySettings
from mastd.wire.access.verbs import Verb
from mastd.wire.common import vehicle_block
from mastd.wire.common.blocks import DRIVER, REQUEST, NewestValueBlock, status_layout
from mastd.wire.operators.client import OperatorClient
from mastd.wire.operators.config import GatewayConfig
from mastd.wire.operators.gateway import GatewayHandle
from mastd.wire.operators.terms import FaultTexts
from tests.support.lab import PATIENCE

ACTUATORS = 7
FLAT_MEMORY_KB = 4096
"""By how much a gateway's memory may grow while it is abused."""
STATES = tuple(state.name for state in State)
FAULTS = {
    int(code): FaultTexts(code.name, row.title, row.action.name.lower(), row.clear, row.hint)
    for code, row in ROWS.items()
}
CONDITIONS = Conditions(
    raised=True, supply_on=True, profile_loaded=True, at_start=True, feedback_valid=True, drive_idle=True
)
_EVENTS = {verb: Event(verb.name.lower()) for verb in Verb if verb not in (Verb.NONE, Verb.LEVEL)}


def settings(**changes: object) -> GatewaySettings:
    """Return quick settings of a gateway."""
    values = {
        "lease": 60.0,
        "command_rate": 1000.0,
        "burst": 1000,
        "answer": 0.5,
        "status_rate": 50.0,
        "address": None,
    }
    return GatewaySettings.model_validate({**values, **changes})


def job(directory: Path, limits: GatewaySettings | None = None, **changes: Any) -> GatewayConfig:
    """Return a job whose sockets lie in ``directory``."""
    entries = {
        "actuators": ACTUATORS,
        "states": STATES,
        "faults": FAULTS,
        "loop_stuck_s": 0.3,
        "address": f"ipc://{directory}/mastd.operators",
        **changes,
    }
    return GatewayConfig.of(limits or settings(), **entries)


def about() -> dict[str, Any]:
    """Return what a daemon with the starter table tells of itself."""
    installation = Installation.read(find("table", "table"), find("daemon", "simulated"))
    return description(installation, frame_channels(frame_layout(installation.table)))


class StandInLoop:
    """Reads the request block by the loop's own reader, answers by the real state machine, moves nothing."""

    def __init__(self, state: State = State.READY) -> None:
        self.request = NewestValueBlock(REQUEST)
        self.status = NewestValueBlock(status_layout(ACTUATORS))
        self.driver = NewestValueBlock(DRIVER)
        self.state = state
        self.taken: list[tuple[Verb, tuple[float, ...]]] = []
        self.fault = 0
        self.cause = ""
        self.holds = False
        """Whether a fault holds a profile as soon as it is played."""
        self._view = NewestValueBlock(REQUEST, self.request.descriptor)
        self._port = RequestPort(NewestValueBlock(REQUEST, self.request.descriptor))
        self._cycle = 0
        self._end = threading.Event()
        self._thread: threading.Thread | None = None

    def cycle(self) -> None:
        """Take what was asked for, and show the status."""
        verb = self._port.take()
        refusal = ""
        if verb is not Verb.NONE:
            arguments = self._port.arguments
            if verb in _EVENTS:
                outcome = next_state(self.state, _EVENTS[verb], CONDITIONS)
                refusal = outcome.refusal
                self.state = outcome.state
                if self.holds and self.state is State.RUNNING:
                    self.state = State.HOLD
            self._port.answer(refusal)
            if not refusal:
                self.taken.append((verb, arguments))
            if verb is Verb.LOAD and not refusal:
                self.status.field("loaded")[:] = arguments[1]
        self.show()

    def show(self, ended: bool = False) -> None:
        """Publish the status."""
        self._cycle += 1
        status, port = self.status, self._port
        for name, value in (
            ("time", self._cycle * 1e-3),
            ("cycle", self._cycle),
            ("state", self.state),
            ("fault", self.fault),
            ("active", [1 << self.fault if self.fault else 0, 0]),
            ("answered", port.answered),
            ("refused", bool(port.refusal)),
            ("stops_answered", port.stops),
            ("estops_answered", port.estops),
            ("profile_duration", 10.0),
            ("profile_time", float("nan")),
            ("level", 1.0),
            ("level_target", 1.0),
            ("level_limit", 1.0),
            ("ended", ended),
        ):
            status.field(name)[:] = value
        status.set_text("refusal", port.refusal)
        status.set_text("cause", self.cause)
        status.set_text("profile", "stand-in")
        status.set_text("vehicle", "stand-in car|oils by hand|fl|fr|rl|rr")
        numbers = status.field("vehicle_numbers")
        numbers[[vehicle_block.SPEED, vehicle_block.DRIVER + 4]] = 12.5, 2.0
        status.publish()

    def run(self) -> None:
        """Cycle a thousand times a second in a thread until ``pause``."""
        self._end.clear()
        self._thread = threading.Thread(target=self._cycles)
        self._thread.start()

    def reset(self) -> None:
        """Begin again in READY, as if nothing had been asked for."""
        self.pause()
        self.state, self.fault, self.cause, self.holds = State.READY, 0, "", False
        self.taken.clear()
        self.cycle()
        self.taken.clear()
        self.run()

    def pause(self) -> None:
        """Stand still, as a stuck loop does."""
        self._end.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _cycles(self) -> None:
        while not self._end.wait(0.001):
            self.cycle()

    def counters(self) -> tuple[float, ...]:
        """Return the request block's counters: stops, estops, number."""
        self._view.read()
        return tuple(self._view.scalar(name) for name in ("stops", "estops", "number"))


class Daemon:
    """A gateway's process and the loop behind it, which only answers."""

    def __init__(self, directory: Path, **changes: Any) -> None:
        self.directory = directory
        self.loop = StandInLoop()
        self.loop.show()
        terms = job(directory, **changes)
        self.handle = GatewayHandle.start(terms, self.loop.request, self.loop.status, self.loop.driver)
        self.loop.run()

    def client(self, operator: str = "anna", **more: Any) -> OperatorClient:
        """Return a client's session."""
        return OperatorClient(self.handle.address, operator, **more)

    def close(self) -> None:
        """End both."""
        self.loop.pause()
        self.handle.close()

    @property
    def resident_kb(self) -> int:
        """Memory of the gateway's process that is resident."""
        text = Path(f"/proc/{self.handle.process_id}/status").read_text(encoding="ascii")
        return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("VmRSS"))


def free_port(count: int = 2) -> int:
    """Return a port that is free, as are the next ones, ``count`` in all."""
    with zmq.Context() as context:
        while True:
            with contextlib.ExitStack() as stack:
                first, *others = (stack.enter_context(context.socket(zmq.REP)) for _ in range(count))
                port = first.bind_to_random_port("tcp://127.0.0.1")
                with contextlib.suppress(zmq.ZMQError):
                    for place, other in enumerate(others, start=1):
                        other.bind(f"tcp://127.0.0.1:{port + place}")
                    return port


def wait_for(condition: Callable[[], bool], what: str, limit: float = PATIENCE) -> None:
    """Wait until another process has done something that only looking can tell."""
    deadline = time.monotonic() + limit
    while not condition():
        assert time.monotonic() < deadline, what
        threading.Event().wait(0.005)
