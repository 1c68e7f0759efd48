"""`mastd ctl VERB`: operate the daemon of this machine, or one on the network."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mastd.commands.quantities import quantity
from mastd.errors import REFUSED, UsageError, printable
from mastd.panel.status_text import answer_text, line, page
from mastd.program import CommandParser
from mastd.wire.access.verbs import BY_NAME, STOPPING

if TYPE_CHECKING:
    from mastd.commands import Subparsers
    from mastd.wire.access.roles import Role
    from mastd.wire.operators.client import ClientKeys, OperatorClient
    from mastd.wire.operators.messages import Answer

PLAYING = frozenset({"start", "resume"})
FAULTED = frozenset({"FAULT", "ESTOP"})
DOWN = "the table is down; the fault stays latched until `mastd ctl reset`"
STILL_SNAPSHOTS = 3
LINE_S = 0.5
# argparse takes what looks like a negative number for a value, not for an option; here it may have a unit.
_NEGATIVE_QUANTITY = re.compile(r"-\.?[0-9]")


class _VerbParser(CommandParser):
    """The parser of a verb; one that is not to be refused ignores what it does not know."""

    refuses = True

    def reject(self, unknown: list[str]) -> None:
        if self.refuses:
            super().reject(unknown)
        else:
            print(f"{self.prog}: ignored: {printable(' '.join(unknown), keep='')}", file=sys.stderr)


def add_parsers(subparsers: Subparsers) -> None:
    """Add ``ctl`` and its verbs."""
    parser = subparsers.add_parser(
        "ctl",
        help="operate the daemon: status, watch, load, raise, arm, start, hold, resume, stop, …",
        description="Operate the running daemon. Exit code 0 accepted, 6 refused, 2 no daemon, "
        "3 ended by a fault (with --wait).",
    )
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB", parser_class=_VerbParser)
    for verb, row in BY_NAME.items():
        if not row.help:
            continue
        child = verbs.add_parser(verb, help=row.help, description=row.help)
        child._negative_number_matcher = _NEGATIVE_QUANTITY
        child.refuses = verb not in STOPPING
        if verb == "load":
            child.add_argument("profile", metavar="PROFILE", help="file, or the name of a starter profile")
        elif verb == "level":
            child.add_argument(
                "share", metavar="SHARE", help="span, such as 30%%; 100%% is the profile as written"
            )
        elif verb == "jog":
            child.add_argument(
                "--link", type=int, metavar="K", help="move this actuator only, counted from 1"
            )
            child.add_argument(
                "quantities", nargs="+", metavar="AXIS AMOUNT", help="such as `heave 5mm`, `roll -0.2deg`"
            )
        child.add_argument("--address", help="address of the daemon (default: this user's on this machine)")
        child.add_argument(
            "--as", dest="operator", metavar="NAME", help="name of the operator (default: user@host/terminal)"
        )
        child.add_argument("--observer", action="store_true", help="connect as observer (view and stop only)")
        child.add_argument("--key", type=Path, metavar="FILE", help="own secret key, for a network address")
        child.add_argument("--server-key", type=Path, metavar="FILE", help="the daemon's public key")
        child.add_argument("--json", action="store_true", help="print only JSON on standard output")
        if verb == "watch":
            child.add_argument("--lines", action="store_true", help="print lines, on a terminal as well")
        if verb == "status":
            child.add_argument("--wait", action="store_true", help="wait until the daemon is up")
            child.add_argument(
                "--timeout", default="10 min", metavar="TIME", help="time-out of the wait (10 min)"
            )
        if row.targets or verb in ("jog", "level"):
            child.add_argument("--wait", action="store_true", help="wait until done, or until a fault")
            child.add_argument(
                "--timeout", default="10 min", metavar="TIME", help="time-out of the wait (10 min)"
            )
        if verb == "reload":
            child.add_argument(
                "--timeout", default="2 min", metavar="TIME", help="time-out of the wait (2 min)"
            )
        child.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Carry out one verb; return 0 accepted, 6 refused, 3 when a fault ended the wait."""
    from mastd.commands.ctl.reload import reload
    from mastd.wire.operators.client import ClientKeys

    numbers = wire_arguments(arguments)
    # What comes with a stop is looked at when the stop is on its way.
    longest_s = 0.0 if arguments.verb in STOPPING or "timeout" not in arguments else _time(arguments.timeout)
    if (arguments.key is None) != (arguments.server_key is None):
        raise UsageError("--key and --server-key go together")
    keys = ClientKeys(arguments.key, arguments.server_key) if arguments.key else None
    role: Role = "observer" if arguments.observer else "engineer"
    if arguments.verb == "watch" and not (arguments.json or arguments.lines):
        from mastd.panel.terminal import can_show

        if can_show(os.environ):
            return _panel(arguments, role, keys)
    patience_s = longest_s if arguments.verb == "status" and arguments.wait else None
    who = arguments.operator, role
    with joined(arguments.address, *who, keys, patience_s) as client:
        if arguments.verb == "status":
            if patience_s is not None:
                _until_up(client, longest_s)
            return _status(client, arguments.json)
        if arguments.verb == "watch":
            return _watch(client, arguments.json)
        if arguments.verb == "reload":
            answer, done = reload(client, lambda: joined(client.address, *who, keys, None), longest_s)
            _report(answer, 0, arguments.json)
            return 0 if done else REFUSED
        answer = client.command(arguments.verb, numbers)
        code = 0 if answer.accepted else REFUSED
        if answer.accepted and "wait" in arguments and arguments.wait:
            answer, code = _wait(client, answer, longest_s or _time(arguments.timeout))
    _report(answer, code, arguments.json)
    return code


def joined(
    address: str | None, operator: str | None, role: Role, keys: ClientKeys | None, patience_s: float | None
) -> OperatorClient:
    """Return a session with the daemon; ``patience_s`` is how long one that is not there is waited for."""
    from mastd.wire.operators.client import OperatorClient

    end = time.monotonic() + (patience_s or 0.0)
    while True:
        try:
            return OperatorClient(address, operator, role, keys=keys)
        except UsageError:
            if time.monotonic() > end:
                raise
            time.sleep(LINE_S)


def _until_up(client: OperatorClient, longest_s: float) -> None:
    """Wait until the daemon's loop runs; raise UsageError with what it waits for when that takes too long."""
    end = time.monotonic() + longest_s
    for snapshot in client.watch():
        if snapshot["loop"] != "preparing":
            return
        if time.monotonic() > end:
            raise UsageError(f"the daemon has not started within {longest_s:g} s: {snapshot['advice']}")


def wire_arguments(arguments: argparse.Namespace) -> dict[str, object]:
    """Return the arguments of the verb in the message's form."""
    from mastd import units
    from mastd.settings.core.axes import AXES
    from mastd.settings.core.starter import names

    if arguments.verb == "load":
        path = Path(arguments.profile)
        named = not path.is_file() and len(path.parts) == 1 and path.suffix not in {".yaml", ".yml"}
        if path.is_dir() and not (named and arguments.profile in names("profile")):
            raise UsageError(f"load: {arguments.profile} is a directory, a profile is a file")
        # The daemon has a working directory of its own, so that a path must be absolute.
        return {"profile": arguments.profile if named else str(path.absolute())}
    if arguments.verb == "level":
        return {"share": _ratio(arguments.share)}
    if arguments.verb != "jog":
        return {}
    if arguments.link is not None:
        if len(arguments.quantities) != 1:
            raise UsageError("jog: expected one amount, such as `mastd ctl jog --link 5 +10mm`")
        amount = quantity("jog", arguments.quantities[0], units.LENGTH)
        return {"link": arguments.link, "amount": amount}
    if len(arguments.quantities) != 2:
        raise UsageError("jog: expected an axis and an amount, such as `mastd ctl jog heave 5mm`")
    axis, text = arguments.quantities
    if axis not in AXES:
        raise UsageError(f"jog: axis {axis!r} is unknown; axes: {', '.join(AXES)}")
    dimension = units.LENGTH if AXES.index(axis) < 3 else units.ANGLE
    return {"axis": axis, "amount": quantity("jog", text, dimension)}


def _ratio(text: str) -> float:
    """Return a master gain; a bare number is refused, because 30 may mean 30% and 0.3, too."""
    from mastd import units

    ratio = quantity("level", text, units.RATIO)
    if ratio < 0.0:
        raise UsageError(f"level: {text} is below 0%; 100% is the profile as written")
    if "%" not in text:
        meant = f"{100.0 * ratio:g}% or {text}%" if 0.0 < ratio <= 1.0 else f"{text}%"
        raise UsageError(f"level: {text} has no unit, a ratio needs one: {meant}")
    return ratio


def _time(text: str) -> float:
    from mastd import units

    return quantity("--timeout", text, units.TIME)


def _status(client: OperatorClient, as_json: bool) -> int:
    status = client.status()
    print(json.dumps(status, allow_nan=False) if as_json else page(status, _freedoms(client)))
    return 0


def _freedoms(client: OperatorClient) -> Sequence[str]:
    from mastd.settings.core.axes import AXES

    stated: Sequence[str] = client.describe().get("freedoms", AXES)
    return stated


def _panel(arguments: argparse.Namespace, role: Role, keys: ClientKeys | None) -> int:
    """Show the panel until somebody leaves it."""
    from mastd.panel.session import watch_panel

    code, text = watch_panel(os.environ, arguments.address, arguments.operator, role, keys)
    with contextlib.suppress(OSError):  # the terminal is gone
        print("\n".join(text), flush=True)
    return code


def _watch(client: OperatorClient, as_json: bool) -> int:
    """Print a changed line twice a second, at once where it matters (``--json``: every snapshot)."""
    last, shown, matter = "", 0.0, None
    freedoms = () if as_json else _freedoms(client)
    try:
        for snapshot in client.watch():
            if as_json:
                print(json.dumps(snapshot, allow_nan=False), flush=True)
                continue
            text, now = line(snapshot, freedoms), time.monotonic()
            important = (snapshot["state"], snapshot["cause"], snapshot["loop"])
            if text != last and (now - shown >= LINE_S or important != matter):
                print(text, flush=True)
                last, shown, matter = text, now, important
    except KeyboardInterrupt:
        pass
    return 0


def _wait(client: OperatorClient, answer: Answer, longest_s: float) -> tuple[Answer, int]:
    """Return the answer with the state and cause at the end, and 0, or 3 for a fault.

    Lowering with a fault that was latched before ends in FAULT, too, and is a success.
    Raises UsageError after ``longest_s``.
    """
    from msgspec.structs import replace

    targets = BY_NAME[answer.verb].targets
    if answer.state in targets:
        return answer, 0
    end = time.monotonic() + longest_s
    still, last = 0, None
    lowering = False
    for snapshot in client.watch():
        state = str(snapshot["state"])
        cause = snapshot["cause"]["text"] if snapshot["cause"] else ""
        now = replace(answer, state=state, cause=cause)
        if state in targets or (answer.verb == "level" and _level_reached(snapshot)):
            return now, 0
        lowering = lowering or "LOWERING" in (state, answer.state)
        if (
            answer.verb == "lower"
            and state == "FAULT"
            and lowering
            and answer.cause
            and cause == answer.cause
        ):
            return replace(now, reason=DOWN), 0
        if answer.verb in PLAYING and state == "HOLD" and cause:
            return now, 3
        if state in FAULTED or snapshot["loop"] in ("stuck", "ended"):
            return now, 3
        if answer.verb == "jog":
            still = still + 1 if snapshot["reference"] == last else 0
            last = snapshot["reference"]
            if still >= STILL_SNAPSHOTS:
                return now, 0
        if time.monotonic() > end:
            raise UsageError(
                f"{answer.verb} was accepted but not completed within {longest_s:g} s; the state is {state}"
            )
    return answer, 3


def _level_reached(snapshot: dict[str, Any]) -> bool:
    return bool(snapshot["level"]["now"] == snapshot["level"]["target"])


def _report(answer: Answer, code: int, as_json: bool) -> None:
    if as_json:
        document = {
            "verb": answer.verb,
            "accepted": answer.accepted,
            "reason": answer.reason,
            "needed": answer.needed,
            "state": answer.state,
            "cause": answer.cause,
            "lease": answer.lease,
        }
        print(json.dumps(document, allow_nan=False))
    elif not answer.accepted:
        print(printable(answer_text(answer)), file=sys.stderr)
    else:
        print(printable(answer_text(answer, "ended by a fault" if code else "accepted")))
