"""The rows of the table of faults that belong to the table's control: its payload, and what it may trim."""

from __future__ import annotations

from mastd.safety.codes import Action, Code, Row

CONTROL_ROWS: tuple[Row, ...] = (
    Row(
        Code.PAYLOAD_MISMATCH,
        "payload is not the profile's",
        "mass and horizontal centre of gravity that the legs carry while the table rises and stands, by the "
        "pressures, against the loaded profile's payload",
        Action.STOP,
        "reset; the table is weighed anew at the next raise",
        "Is all of the right specimen on the table, and does the profile say so? Lower, correct it, reset, "
        "raise. Else a pressure transducer is off; a simulated plant carries what `--payload` or its truth "
        "says.",
        threshold="control.payload_check.mass",
        also=("control.payload_check.centre", "control.payload_check.enabled"),
    ),
    Row(
        Code.BALANCE_SATURATED,
        "force balance at its limit",
        "the trim of the lengths that keeps the legs from fighting each other",
        Action.STOP,
        "reset",
        "A transducer is off by more than may be trimmed: `mastd calibrate offsets` tells by how much.",
        threshold="control.balance.limit",
        also=("control.balance.gain",),
    ),
    Row(
        Code.CONTROL_SATURATED,
        "control at its limit",
        "what the control adds to the speed asked of a valve, at its limit for a quarter of a second; or "
        "what corrects a sine, at the bound that its profile sets",
        Action.INDICATE,
        "it is inside",
        "The motion is not followed as it could be: play it smaller, or run `mastd identify`. A sine may be "
        "given a larger `bound` in its `correction`.",
        threshold="control.trim_limit",
    ),
)
