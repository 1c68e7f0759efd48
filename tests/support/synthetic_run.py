"""Synthetic runs with known gain, lag and cross-talk, written through the real recorder."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mastd.arrays import FloatArray
from mastd.record.channels import Channel, ChannelSet
from mastd.record.recorder import RecorderHandle
from mastd.settings.core.axes import AXES

COMMAND_FIELDS = ("length", "rate", "acceleration", "force", "trim")

STATES = ["OFF", "LOW", "HIGH", "RAISING", "READY", "ARMED", "RUNNING", "HOLD", "STOPPING", "LOWERING"]
STATES += ["FAULT", "ESTOP"]
RATE, PERIOD_NS = 500.0, 2_000_000
LAG, GAIN, SIDEWAYS = 0.0083, 0.97, 0.05
FREQUENCIES = {"heave": (0.83, 1.7, 2.9), "roll": (0.7, 2.1, 3.0), "pitch": (1.1, 1.9, 4.1)}
SIZES = {"heave": 4e-3, "roll": 2e-3, "pitch": 1e-3}
NAMES = [
    *("cycle", "step", "missed", "state", "fault", "late", "compute", "internal_force", "profile_time"),
    *(f"{quantity}.{axis}" for quantity in ("reference", "pose") for axis in AXES),
    *(
        f"{quantity}.{actuator}"
        for quantity in ("force", "length", *(f"command.{field}" for field in COMMAND_FIELDS))
        for actuator in range(1, 8)
    ),
]
TABLE = {
    "links": [
        {"neutral_length": 1.2, "stroke": 0.05, "transducer": {"serial": f"L-{n}"}} for n in range(1, 8)
    ],
    "actuator": {"maximum_force": 196e3, "piston_areas": (95e-4, 95e-4)},
}
CRITERIA: dict[str, object] = {
    "axes": {
        "heave": {"best_lag_nrmse": 0.1, "lag": 0.02, "peak_ratio": (0.9, 1.1), "nrmse": None},
        "yaw": None,
    },
    "missed_share": 0.01,
    "internal_force": 8000.0,
}


COMPLETED: dict[str, object] = {"event": "end", "outcome": "completed", "state": "READY", "cause": None}


@dataclass(frozen=True)
class Synthetic:
    """Frames (k, channels) of one run and the frames in which its profile plays."""

    channels: ChannelSet
    frames: FloatArray
    first: int
    last: int

    def column(self, name: str) -> FloatArray:
        column: FloatArray = self.frames[:, self.channels.column(name)]
        return column


def motion(axis: str, times: FloatArray, duration: float) -> FloatArray:
    """Return the reference of one axis at any time, within the band, at rest at both ends."""
    fade = np.clip(np.minimum(times, duration - times), 0.0, 1.0)
    waves = sum(np.sin(2 * np.pi * frequency * times + frequency) for frequency in FREQUENCIES.get(axis, ()))
    pose: FloatArray = SIZES.get(axis, 0.0) * waves * fade**3 * (10.0 - 15.0 * fade + 6.0 * fade**2)
    return pose


def synthetic(duration: float = 8.0) -> Synthetic:
    """Return a run that follows with GAIN and LAG and moves sideways by SIDEWAYS of its heave."""
    channels = ChannelSet([Channel(name, "?") for name in NAMES], PERIOD_NS)
    first = 200
    last = first + round(duration * RATE) - 1
    count = last + 101
    run = Synthetic(channels, np.zeros((count, len(channels))), first, last)
    random = np.random.default_rng(7)
    steps = np.arange(count)
    run.column("cycle")[:] = steps + 1
    run.column("step")[:] = steps + 77_000
    time = (steps - first) / RATE
    state = np.full(count, STATES.index("READY"))
    state[first : last + 1] = STATES.index("RUNNING")
    state[last + 2 :] = STATES.index("LOWERING")
    run.column("state")[:] = state
    run.column("profile_time")[:] = np.where(state == STATES.index("RUNNING"), time + 1.0 / RATE, np.nan)
    run.column("late")[:] = random.gamma(2.0, 20e-6, count)
    run.column("compute")[:] = random.gamma(9.0, 6e-6, count)
    for axis in AXES:
        run.column(f"reference.{axis}")[:] = motion(axis, time + 1.0 / RATE, duration)
        run.column(f"pose.{axis}")[:] = GAIN * motion(axis, time - LAG, duration)
    heave = run.column("pose.heave").copy()
    run.column("pose.sway")[:] = SIDEWAYS * heave
    for actuator in range(1, 8):
        run.column(f"command.length.{actuator}")[:] = 1.2 + run.column("reference.heave") + 1e-3 * actuator
        run.column(f"command.force.{actuator}")[:] = 1e3 * actuator
        run.column(f"length.{actuator}")[:] = 1.2 + heave * (1.0 + 0.05 * actuator)
        run.column(f"force.{actuator}")[:] = 4e6 * heave
    run.column("internal_force")[first : last + 1] = np.where(steps[first : last + 1] % 2, 3000.0, -5000.0)
    return run


def with_accelerations(run: Synthetic) -> Synthetic:
    """Return a run that also holds what it asked for and measured in acceleration, without noise."""
    names = [f"{kind}_acceleration.{axis}" for kind in ("reference", "pose") for axis in AXES]
    channels = ChannelSet([Channel(name, "?") for name in (*NAMES, *names)], PERIOD_NS)
    frames = np.hstack([run.frames, np.zeros((len(run.frames), len(names)))])
    whole = Synthetic(channels, frames, run.first, run.last)
    time = (np.arange(len(frames)) - run.first) / RATE
    duration = (run.last - run.first + 1) / RATE
    for axis in AXES:
        whole.column(f"reference_acceleration.{axis}")[:] = bend(axis, time + 1.0 / RATE, duration)
        whole.column(f"pose_acceleration.{axis}")[:] = GAIN * bend(axis, time - LAG, duration)
    whole.column("pose_acceleration.sway")[:] = SIDEWAYS * whole.column("pose_acceleration.heave")
    return whole


def bend(axis: str, times: FloatArray, duration: float) -> FloatArray:
    """Return the second derivative of ``motion``."""
    step = 1e-4
    before, at, after = (motion(axis, times + shift, duration) for shift in (-step, 0.0, step))
    second: FloatArray = (before - 2.0 * at + after) / step**2
    return second


def metadata(criteria: dict[str, object] | None = None, duration: float = 8.0) -> dict[str, object]:
    return {
        "started_unix": 1.8e9,
        "table": TABLE,
        "profile": {"name": "synthetic road", "verdict": criteria if criteria is not None else CRITERIA},
        "band": (0.5, 5.0),
        "duration": duration,
        "states": STATES,
        "faults": {"12": "following error"},
    }


def record(
    run: Synthetic,
    directory: Path,
    *,
    criteria: dict[str, object] | None = None,
    events: tuple[dict[str, object], ...] = (),
    duration: float = 8.0,
    kill: bool = False,
    ended: bool = True,
) -> Path:
    """Write a run through the real recorder and return its file, cut off without an end if ``kill``.

    ``ended``: its last event says that it was completed, unless one of ``events`` says how it ended.
    """
    handle = RecorderHandle.start(
        directory / "run.mcap", metadata(criteria, duration), run.channels, lockstep=True
    )
    for event in events:
        assert handle.event(event)
    for frame in run.frames:
        assert handle.push(frame)
    if ended and not any(event["event"] == "end" for event in events):
        assert handle.event(COMPLETED)
    assert handle.close().frames == len(run.frames)
    if kill:
        data = handle.path.read_bytes()
        handle.path.write_bytes(data[: len(data) * 6 // 10])
    return handle.path


def record_in_service(run: Synthetic, directory: Path, event: dict[str, object], at: int) -> Path:
    """Write a run as a service does, with one event before frame ``at``, and return its directory."""
    handle = RecorderHandle.start_service(directory, {"states": STATES}, run.channels, lockstep=True)
    for frame in run.frames[:300]:
        assert handle.push(frame)
    (directory / "metadata.json").write_text(json.dumps(metadata()))
    assert handle.event({"event": "record_begin", "directory": "run", "metadata_file": "metadata.json"})
    for number, frame in enumerate(run.frames):
        if number == at:
            assert handle.event(event)
        assert handle.push(frame)
    assert handle.event(COMPLETED)
    assert handle.event({"event": "record_end"})
    for frame in run.frames[:300]:
        assert handle.push(frame)
    assert handle.close().error is None
    return directory / "run"


FAULT: dict[str, object] = {
    "event": "fault",
    "code": 12,
    "name": "FOLLOWING_ERROR",
    "cause": "following error: actuator 3 is 41 mm off",
    "action": "STOP",
    "hint": "An actuator does not follow: check oil pressure, valve and drive gains.",
    "first": True,
    "cycle": 3000,
}
