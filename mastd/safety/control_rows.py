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

TRUST_ROWS: tuple[Row, ...] = (
    Row(
        Code.LINE_DELAY,
        "plant link late",
        "least round trip, from a command to the sample that answers it, within a window: indicate above the "
        "first threshold, stop above the second; also the share of samples over a second that are late for a "
        "moment (jitter: indicate)",
        Action.STOP,
        "the round trip is below the threshold of the indication",
        "Commands or samples wait on their way: look for a switch, bridge or buffer between both machines, "
        "and for load on either. The clocks have no part in this figure.",
        threshold="round_trip.stop",
        also=("round_trip.indicate", "round_trip.jitter_share"),
        delay="round_trip.window",
    ),
    Row(
        Code.FEEDBACK_OFF,
        "acceleration feedback off",
        "round trip above its threshold for the time of fading, or motion that nobody asked for (code 54)",
        Action.INDICATE,
        "the round trip is short again; after motion that nobody asked for: reset or raise",
        "The table follows less well. See the named cause: a late line, or a gain (`mastd check` shows its "
        "delay margin) that is too high for this payload.",
        threshold="round_trip.fade",
        also=("round_trip.return_time",),
        delay="round_trip.fade_time",
    ),
    Row(
        Code.UNASKED_MOTION,
        "motion not asked for",
        "measured less reference acceleration of each axis, as effective value over a window, still beyond "
        "its limit although the acceleration feedback was switched off for it",
        Action.STOP,
        "the motion is as it was asked for",
        "The table oscillates or is pushed: look at gains, payload and supply, and for somebody or something "
        "at the table.",
        threshold="unasked_motion.limit",
        also=("unasked_motion.own_ratio", "unasked_motion.cross_ratio", "unasked_motion.window"),
        delay="unasked_motion.patience",
    ),
    Row(
        Code.COMMAND_MISSING,
        "commands missing",
        "ratio of commands over one second that are lost or late by more than a period: indicate above "
        "the first threshold, stop above the second",
        Action.STOP,
        "the ratio falls below the first threshold",
        "Commands are lost on the line, or wait and come in bunches: look at the network and at the load of "
        "both machines.",
        threshold="guard.missing_share",
        also=("round_trip.lost_commands",),
    ),
)
