"""The operators' verbs: the one table from which all that speaks of them derives.

`mastd ctl`, the panel's keys, the console's buttons, the gateway's checks and the loop's requests read their
part here. Which verb is accepted in which state is the state machine's to say (``mastd.safety.states``); a
verb that the loop carries out is the event of the same name there.
"""

from __future__ import annotations

import enum
from typing import Final, NamedTuple

from mastd.safety.states import Event, accepting_states
from mastd.wire.access.roles import ROLES, Role


class Verb(enum.IntEnum):
    """Number of a request to the loop, as the request block holds it."""

    NONE = 0
    RAISE = 1
    ARM = 2
    START = 3
    HOLD = 4
    RESUME = 5
    STOP = 6
    LOWER = 7
    ESTOP = 8
    RESET = 9
    LOAD = 10
    JOG = 11
    LEVEL = 12
    RELOAD = 13


NO_VERB: Final = Verb.NONE
"""For every cycle, in which looking a member of an enumeration up costs 0.1 µs."""

EVENT_OF_VERB: dict[Verb, Event] = {verb: Event[verb.name] for verb in Verb if verb is not Verb.NONE}


class Kind(enum.Enum):
    """Who carries a verb out, and what it takes."""

    STOP = "the loop, at once: needs no lease, no rate is too high, nothing goes before it"
    COMMAND = "the loop: needs the lease"
    PREPARED = "the loop, after a process that the gateway starts: needs the lease"
    QUERY = "the gateway by itself"
    VIEW = "the client by itself; no verb of the wire"


class OperatorVerb(NamedTuple):
    """One verb; see ``TABLE`` for all of them."""

    name: str
    kind: Kind
    help: str = ""
    """What it does, for `mastd ctl` and the panel; empty for one that `mastd ctl` does not have."""
    role: Role = "operator"
    """Role with the fewest rights that may ask for it."""
    arguments: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    """States in which it is done, for `mastd ctl VERB --wait`."""
    key: str = ""
    """Key of the panel."""
    confirm_key: bool = False
    """The panel asks before it sends it: a single key is easily hit."""
    button: str = ""
    """Text of the console's button."""
    confirm_button: bool = False
    """The console asks for a second press."""

    @property
    def request(self) -> Verb:
        """The request to the loop; NONE for what the loop does not carry out."""
        return Verb.__members__.get(self.name.upper(), Verb.NONE)

    @property
    def accepted_in(self) -> tuple[str, ...]:
        """States in which the loop accepts it; empty for what the loop does not carry out."""
        event = EVENT_OF_VERB.get(self.request)
        return tuple(state.name for state in accepting_states(event)) if event is not None else ()


TABLE: tuple[OperatorVerb, ...] = (
    OperatorVerb("status", Kind.QUERY, "show everything that the daemon knows", "observer"),
    OperatorVerb("describe", Kind.QUERY, role="observer"),
    OperatorVerb(
        "watch",
        Kind.VIEW,
        "show the table on the whole terminal; in a pipe a line for every change",
        "observer",
    ),
    OperatorVerb("load", Kind.PREPARED, "check a profile and load it", arguments=("profile",)),
    OperatorVerb(
        "raise",
        Kind.COMMAND,
        "switch the supply on and raise the table",
        targets=("READY",),
        key="u",
        confirm_key=True,
        button="Raise",
        confirm_button=True,
    ),
    OperatorVerb(
        "lower",
        Kind.COMMAND,
        "lower the table and switch the supply off",
        targets=("OFF",),
        key="l",
        confirm_key=True,
        button="Lower",
    ),
    OperatorVerb("arm", Kind.COMMAND, "make ready for start", targets=("ARMED",), key="a", button="Arm"),
    OperatorVerb(
        "start",
        Kind.COMMAND,
        "run the loaded profile",
        targets=("RUNNING",),
        key="t",
        confirm_key=True,
        button="Start",
        confirm_button=True,
    ),
    OperatorVerb(
        "hold", Kind.COMMAND, "pause the running profile", targets=("HOLD",), key="h", button="Hold"
    ),
    OperatorVerb(
        "resume",
        Kind.COMMAND,
        "continue the paused profile",
        targets=("RUNNING",),
        key="r",
        confirm_key=True,
        button="Resume",
    ),
    OperatorVerb(
        "stop",
        Kind.STOP,
        "stop softly, at once; anybody may",
        "observer",
        targets=("READY", "OFF", "FAULT", "ESTOP"),
        key="s",
    ),
    OperatorVerb(
        "estop",
        Kind.STOP,
        "emergency stop: supply off at once; anybody may",
        "observer",
        targets=("ESTOP",),
        key="e",
    ),
    OperatorVerb(
        "reset",
        Kind.COMMAND,
        "reset a latched fault; moves nothing",
        targets=("READY", "OFF"),
        key="x",
        button="Reset",
    ),
    OperatorVerb(
        "jog",
        Kind.COMMAND,
        "move one axis or one actuator by an amount",
        arguments=("axis", "link", "amount"),
    ),
    OperatorVerb("level", Kind.COMMAND, "set the span (master gain)", arguments=("share",)),
    OperatorVerb(
        "release",
        Kind.QUERY,
        "release control, so that others may command",
        key="g",
        button="Release control",
    ),
    OperatorVerb(
        "reload",
        Kind.PREPARED,
        "reload the settings files, in OFF; wait until it is done",
        "engineer",
    ),
)
BY_NAME: dict[str, OperatorVerb] = {verb.name: verb for verb in TABLE}


def _of(*kinds: Kind) -> frozenset[str]:
    return frozenset(verb.name for verb in TABLE if verb.kind in kinds)


STOPPING = _of(Kind.STOP)
PREPARED = _of(Kind.PREPARED)
COMMANDING = _of(Kind.COMMAND, Kind.PREPARED)
"""Verbs that take or need the lease."""
VERBS = frozenset(BY_NAME) - _of(Kind.VIEW)
"""Verbs of the wire."""
_ROLE_TO_DRIVE: Role = "rig"


def console_table() -> dict[str, dict[str, object]]:
    """Return what the console's page has to know of each verb that the loop or a button of it carries out."""
    return {
        verb.name: {"states": verb.accepted_in, "button": verb.button, "confirm": verb.confirm_button}
        for verb in TABLE
        if verb.accepted_in or verb.button
    }


def minimum_role(verb: str) -> Role:
    """Return the role with the fewest rights that may ask for ``verb``, or may ``drive``."""
    return _ROLE_TO_DRIVE if verb == "drive" else BY_NAME[verb].role


def may(role: Role, verb: str) -> bool:
    """Return whether ``role`` may ask for ``verb``."""
    return ROLES.index(role) >= ROLES.index(minimum_role(verb))


def commands(role: Role) -> bool:
    """Return whether ``role`` may move the table."""
    return may(role, "start")
