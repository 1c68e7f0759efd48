"""The rows of the table of faults that belong to simulated vehicles, who drives them, and rigs."""

from __future__ import annotations

from mastd.safety.codes import Action, Code, Row

VEHICLE_ROWS: tuple[Row, ...] = (
    Row(
        Code.VEHICLE_FAILED,
        "vehicle simulation failed",
        "a simulated vehicle whose solver misses its tolerances for 20 ms, whose motion is not finite, or "
        "that has rolled over",
        Action.STOP,
        "the vehicle is loaded again in OFF",
        "On the table it is a dead weight until OFF; driven, it stops and the table returns to neutral. "
        "Reduce the excitation, or check its file with `mastd vehicle`.",
    ),
    Row(
        Code.VEHICLE_LOST,
        "vehicle lost",
        "a wheel off the table (stop); a driven vehicle off its road (hold), or spun (indicate: it "
        "coasts, and the table returns to neutral)",
        Action.HOLD,
        "the vehicle is back, or loaded again",
        "Off the table: tie the vehicle down, or reduce the excitation. Off the road: stop, and start again.",
    ),
    Row(
        Code.DRIVER_LOST,
        "driver lost",
        "no message from the driver for the time-out of the profile; the inputs stay until then, "
        "afterwards the vehicle coasts and brakes gently",
        Action.INDICATE,
        "messages arrive again",
        "Check that `mastd drive`, or the rig that drives, is running and connected. Start it again.",
    ),
)

RIG_ROWS: tuple[Row, ...] = (
    Row(
        Code.RIG_LOST,
        "rig lost",
        "a rig that the profile uses sends no new values for its time-out, or values that answer a "
        "motion older than that (lockstep: no answer for 2 s); the action is its `on_loss`: indicate (hold, "
        "ramp), stop (stop) or power off (fault)",
        Action.STOP,
        "it sends values again, or in OFF",
        "See the rig's own messages, and `rigs` in `mastd ctl status`; start it again: it rejoins by itself.",
    ),
)
