"""The rows of the table of faults that belong to simulated vehicles, who drives them, and rigs."""

from __future__ import annotations

from mastd.safety.codes import Action, Code, Row

VEHICLE_ROWS: tuple[Row, ...] = (
    Row(
        Code.VEHICLE_FAILED,
        "vehicle not simulated",
        "a simulated vehicle whose solver misses its tolerances for 20 ms, whose motion is not finite, or "
        "that has rolled over",
        Action.STOP,
        "the vehicle is put on anew: in OFF",
        "On the table it is a dead weight until OFF; driven, it stands still and the table comes home. Shake "
        "it less, or look at its file with `mastd vehicle`.",
    ),
    Row(
        Code.VEHICLE_LOST,
        "vehicle lost",
        "a wheel beside the table (stop); a driven vehicle beside its road (hold), or spun (indicate: it "
        "coasts, and the table comes home)",
        Action.HOLD,
        "the vehicle is back, or put on anew",
        "Beside the table: tie the vehicle down, or shake it less. Beside the road: stop, and start again.",
    ),
    Row(
        Code.DRIVER_LOST,
        "driver lost",
        "no message of the driver for the time-out of the profile: the inputs stay until then, afterwards "
        "the vehicle coasts and brakes gently",
        Action.INDICATE,
        "messages come again",
        "Is `mastd drive`, or the rig that drives, still there and connected? Start it again.",
    ),
)

RIG_ROWS: tuple[Row, ...] = (
    Row(
        Code.RIG_LOST,
        "rig lost",
        "a rig that the profile uses gives nothing new for its time-out (lockstep: for 2 s); what happens is "
        "its `on_loss`: indicate (hold, ramp), stop (stop) or power off (fault)",
        Action.STOP,
        "it gives values again, or in OFF",
        "Look at the rig's own messages, and at `rigs` in `mastd ctl status`; start it again: it comes back "
        "by itself.",
    ),
)
