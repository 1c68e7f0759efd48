"""The rows of the table of faults that belong to the table's control: its payload, and what it may trim."""

from __future__ import annotations

from mastd.safety.codes import Action, Code, Row

CONTROL_ROWS: tuple[Row, ...] = (
    Row(
        Code.PAYLOAD_MISMATCH,
        "payload mismatch",
        "mass and horizontal centre of gravity carried by the actuators while the table rises and at "
        "rest, from the pressures, against the payload of the loaded profile",
        Action.STOP,
        "reset; the table is weighed again at the next raise",
        "Is the right specimen complete on the table, and does the profile state it? Lower, correct it, "
        "reset, raise. Else a pressure transducer is off; a simulated plant carries what `--payload` or "
        "its truth states.",
        threshold="control.payload_check.mass",
        also=("control.payload_check.centre", "control.payload_check.enabled"),
    ),
    Row(
        Code.BALANCE_SATURATED,
        "force balance saturated",
        "trim of the lengths that minimises internal (force-fight) force",
        Action.STOP,
        "reset",
        "A transducer offset exceeds the allowed trim: `mastd calibrate offsets` reports by how much.",
        threshold="control.balance.limit",
        also=("control.balance.gain",),
    ),
    Row(
        Code.CONTROL_SATURATED,
        "control saturated",
        "feedback added to the valve speed, at its limit for a quarter of a second; or the correction of "
        "a sine, at the bound that its profile sets",
        Action.INDICATE,
        "it is within its limit",
        "The motion is not followed as well as possible: reduce the level, or run `mastd identify`. A "
        "sine may have a larger `bound` in its `correction`.",
        threshold="control.trim_limit",
    ),
)
