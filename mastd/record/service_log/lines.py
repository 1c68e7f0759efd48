"""What the service's log says of each event: one line of text, and the same facts as fields.

The fields are those that ``journalctl`` finds by. Every kind of line has a fixed message id, which stays the
same for ever, whatever the words become.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from mastd.log.sinks import CRITICAL, ERROR, INFORMATION, NOTICE, WARNING, Line

STATE_ID = "a1b9ca6e611446328ca0866155e575e8"
FAULT_ID = "67fde3563b2442ce84e2ba7ef259f95f"
REQUEST_ID = "b3be148d78584f33a52d8abb0b4ca5e2"
REFUSED_ID = "337a7ce2fbd044539cd8c38169c5a157"
RECORD_BEGUN_ID = "6e7f8b4214a34aa7a952f22fe58957dd"
RECORD_ENDED_ID = "81d079d5b04a48f7b60289a6c1bc0997"
STATISTICS_ID = "12cc0dba2efd4c8c8172af8c94bb0f07"

Event = Mapping[str, object]
_SEVERE_STATES = frozenset({"FAULT", "ESTOP"})
_MIN_PRIORITY = 7


def line_of(event: Event) -> Line | None:
    """Return the log line of an event, None for an event without news."""
    make = _LINES.get(str(event.get("event")), _other)
    line = make(event)
    if line is None:
        return None
    common = _fields({"MASTD_CYCLE": event.get("cycle"), "MASTD_OPERATOR": event.get("operator")})
    return replace(line, fields={**line.fields, **common})


def and_more(line: Line, count: int, window_s: float) -> Line:
    """Return the summary line of ``count`` suppressed lines like this one."""
    fields = {**line.fields, "MASTD_MORE": str(count)}
    return replace(line, message=f"{line.label} … and {count} more in {window_s:.0f} s", fields=fields)


def _state(event: Event) -> Line:
    before, state, cause = _text(event, "from"), _text(event, "to"), _text(event, "cause")
    message = f"{before} → {state} ({_text(event, 'by')})"
    if cause and state in _SEVERE_STATES | {"STOPPING", "HOLD"}:
        message += f": {cause}"
    fields = {"MESSAGE_ID": STATE_ID, "MASTD_STATE": state, "MASTD_CAUSE": cause}
    return Line(f"state {state}", message, NOTICE, _fields(fields))


def _fault(event: Event) -> Line:
    name, action, hint = _text(event, "name"), _text(event, "action").lower(), _text(event, "hint")
    message = f"fault {name} ({action.replace('_', ' ')}): {_text(event, 'cause')}"
    if hint:
        message += f". What to do: {hint}"
    fields = {
        "MESSAGE_ID": FAULT_ID,
        "MASTD_FAULT": name,
        "MASTD_FAULT_CODE": event.get("code"),
        "MASTD_CAUSE": _text(event, "cause"),
        "MASTD_ACTION": action,
        "MASTD_HINT": hint,
    }
    return Line(f"fault {name}", message, WARNING if action == "indicate" else ERROR, _fields(fields))


def _request(event: Event) -> Line:
    verb, refused, operator = _text(event, "verb"), _text(event, "refused"), _text(event, "operator")
    if refused:
        fields = {"MESSAGE_ID": REFUSED_ID, "MASTD_VERB": verb, "MASTD_CAUSE": refused}
        return Line(f"refused: {verb}", refused, NOTICE, _fields(fields))
    message = f"requested: {verb}" + (f" (by {operator})" if operator else "")
    return Line(message, message, INFORMATION, _fields({"MESSAGE_ID": REQUEST_ID, "MASTD_VERB": verb}))


def _record_begin(event: Event) -> Line:
    message = f"record begins: {_text(event, 'directory')}"
    return Line("record begins", message, INFORMATION, {"MESSAGE_ID": RECORD_BEGUN_ID})


def _end(event: Event) -> Line:
    cause = _text(event, "cause")
    message = f"record ends: {_text(event, 'outcome')} in {_text(event, 'state')}"
    message += f" after {event.get('cycles')} cycles, {event.get('missed')} missed"
    message += f": {cause}" if cause else ""
    fields = {"MESSAGE_ID": RECORD_ENDED_ID, "MASTD_OUTCOME": event.get("outcome"), "MASTD_CAUSE": cause}
    return Line("record ends", message, INFORMATION, _fields(fields))


def _rights(event: Event) -> Line | None:
    rights = event.get("rights")
    if not event.get("degraded") or not isinstance(rights, list):
        return None
    missing = [item for item in rights if isinstance(item, Mapping) and not item.get("obtained")]
    texts = "; ".join(f"{item.get('name')}: {item.get('found')} ({item.get('advice')})" for item in missing)
    return Line("rights", f"DEGRADED_RT, real-time rights are missing: {texts}", WARNING)


def _exception(event: Event) -> Line:
    trace = _text(event, "trace")
    last = trace.strip().rpartition("\n")[2]
    message = f"internal error of the daemon: {last}. Full traceback in the field MASTD_TRACE of this entry"
    return Line(f"defect {last[:80]}", message, CRITICAL, {"MASTD_TRACE": trace})


def _other(event: Event) -> Line:
    """An event that has no line of its own: its text, or else all that it holds."""
    kind = _text(event, "event").replace("_", " ")
    rest = {
        key: value
        for key, value in event.items()
        if key not in ("event", "frame", "step", "cycle", "priority")
    }
    text = _text(event, "text") or ", ".join(f"{key} {value}" for key, value in rest.items())
    given = event.get("priority")
    priority = given if isinstance(given, int) and 0 <= given <= _MIN_PRIORITY else NOTICE
    return Line(kind, f"{kind}: {text}" if text else kind, priority)


_LINES: dict[str, Callable[[Event], Line | None]] = {
    "state": _state,
    "fault": _fault,
    "request": _request,
    "record_begin": _record_begin,
    "record_end": lambda event: None,  # the run's "end" has said it
    "end": _end,
    "rights": _rights,
    "exception": _exception,
}


def _text(event: Event, key: str) -> str:
    value = event.get(key)
    return "" if value is None else str(value)


def _fields(values: Mapping[str, object]) -> dict[str, str]:
    """Return what is known of some fields as text."""
    return {key: str(value) for key, value in values.items() if value is not None and value != ""}
