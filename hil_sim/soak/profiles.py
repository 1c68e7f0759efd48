"""Random profiles that ``mastd check`` would pass: every kind of segment, slow and fast, small and large."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from mastd.errors import SettingsError
from mastd.motion.preflight.limits import Examiner, all_windows
from mastd.motion.preflight.preflight import examine
from mastd.motion.profile.compiler import Program, program
from mastd.motion.profile.timeline import Timeline
from mastd.settings.core.axes import AXES
from mastd.settings.profile.profile import ProfileSettings
from mastd.settings.table.payload import NoPayload, VehiclePayload
from mastd.settings.table.payload import RigidPayload as Payload
from mastd.settings.table.table import TableSettings

NEAR_LIMITS = 0.95
"""Ratio of the maximum passing scale at which some profiles are played."""
_TRIALS = 12
_SHRINK = 0.6

Entries = dict[str, object]
Freedoms = tuple[str, ...]


@dataclass(frozen=True)
class Playable:
    """A profile that has been proved: its settings, the motion, and the scale of it that is played."""

    profile: ProfileSettings
    payload: NoPayload | Payload
    timeline: Timeline
    scale: float
    level_limit: float
    """Maximum master gain that the check has proved."""


def random_payload(random: Random) -> Entries:
    """Return the entries of a payload: nothing, or a box of 1 t to 12 t that is on the table's top."""
    if random.random() < 0.4:
        return {"kind": "none"}
    mass = random.uniform(1e3, 12e3)
    length, width, height = random.uniform(1.5, 5.0), random.uniform(1.0, 2.0), random.uniform(0.5, 3.0)
    inertia = (width**2 + height**2, length**2 + height**2, length**2 + width**2)
    centre = (random.uniform(-0.2, 0.2), random.uniform(-0.1, 0.1), 0.5 + 0.5 * height)
    return {
        "kind": "rigid",
        "mass": f"{mass:.0f} kg",
        "centre_of_gravity": tuple(f"{value:.3f} m" for value in centre),
        "inertia": tuple(f"{mass / 12.0 * square:.0f} kg m2" for square in inertia),
    }


def random_playable(
    random: Random, table: TableSettings, payload: Entries, number: int, longest: float = 20.0
) -> Playable:
    """Return a random profile of at most about ``longest`` seconds that passes the check on ``table``."""
    for _ in range(_TRIALS):
        profile = _random_profile(random, table.freedoms, payload, number, longest)
        try:
            motion = program(profile, table)
        except SettingsError:
            continue
        carried = profile.payload
        assert not isinstance(carried, VehiclePayload), "the profiles are made above, none has a vehicle"
        scale, proved = _passing_scale(random, motion, table, carried)
        if scale > 0.0:
            return Playable(profile, carried, motion.timeline(scale), scale, proved / scale)
    raise SettingsError([f"no random profile passes the check of table {table.name!r} with its payload"])


def _passing_scale(
    random: Random, motion: Program, table: TableSettings, payload: NoPayload | Payload
) -> tuple[float, float]:
    """Return a scale to play at, 0 if none passes, and the maximum that was proved."""
    if random.random() < 0.25:
        maximum = examine(motion, table, payload).scale
        return NEAR_LIMITS * maximum, maximum
    examiner = Examiner(table, payload)
    scale = 1.0
    for _ in range(_TRIALS):
        timeline = motion.timeline(scale)
        limits, _ = examiner.limits(timeline, examiner.walk(timeline, all_windows(timeline)))
        if all(limit.margin >= 0.0 for limit in limits):
            return scale, scale
        scale *= _SHRINK
    return 0.0, 0.0


def _random_profile(
    random: Random, freedoms: Freedoms, payload: Entries, number: int, longest: float
) -> ProfileSettings:
    count = random.choice((1, 1, 2, 3))
    makers = [_sine, _sine, _sweep, _random, _ramp, _road, _hold]
    if not {"heave", "roll", "pitch"} <= set(freedoms):
        makers.remove(_road)
    segments = [random.choice(makers)(random, freedoms, longest / count) for _ in range(count)]
    if any(segment["kind"] == "ramp" for segment in segments):
        segments.append(
            {"kind": "ramp", "to": {axis: _size(axis, 0.0) for axis in freedoms}, "duration": "2.5 s"}
        )
    return ProfileSettings.model_validate(
        {
            "name": f"soak {number}",
            "seed": random.randrange(2**31),
            "payload": payload,
            "point": random.choice("CT"),
            "fade": f"{random.uniform(0.3, 1.0):.3f} s",
            "segments": tuple(segments),
        }
    )


def _size(axis: str, value: float) -> str:
    return f"{value:.6f} {'m' if axis in AXES[:3] else 'rad'}"


def _some_axes(random: Random, freedoms: Freedoms) -> list[str]:
    return random.sample(freedoms, min(random.choice((1, 1, 2, 3, 6)), len(freedoms)))


def _duration(random: Random, longest: float) -> str:
    return f"{random.uniform(min(2.5, longest), longest):.3f} s"


def _wave(random: Random, axis: str, frequency: float) -> Entries:
    """Return a size between hardly any and about what the table can do at this frequency."""
    ratio = random.uniform(0.02, 1.0)
    if axis in AXES[:3]:
        amplitude = min(0.035, 3.0 / (6.2832 * frequency) ** 2) * ratio
    else:
        amplitude = min(0.02, 1.5 / (6.2832 * frequency) ** 2) * ratio
    return {"amplitude": _size(axis, amplitude), "phase": f"{random.uniform(-3.1, 3.1):.3f} rad"}


def _sine(random: Random, freedoms: Freedoms, longest: float) -> Entries:
    frequency = 0.3 * 80.0 ** random.random()
    return {
        "kind": "sine",
        "frequency": f"{frequency:.3f} Hz",
        "duration": _duration(random, longest),
        "axes": {axis: _wave(random, axis, frequency) for axis in _some_axes(random, freedoms)},
    }


def _sweep(random: Random, freedoms: Freedoms, longest: float) -> Entries:
    low, octaves = random.uniform(0.5, 4.0), random.uniform(1.0, 3.0)
    high = low * 2.0**octaves
    start, stop = (low, high) if random.random() < 0.5 else (high, low)
    rate = octaves / random.uniform(0.5 * longest, longest)
    return {
        "kind": "sweep",
        "start": f"{start:.3f} Hz",
        "stop": f"{stop:.3f} Hz",
        "rate": f"{rate:.4f} oct/s",
        "axes": {axis: _wave(random, axis, high) for axis in _some_axes(random, freedoms)},
    }


def _random(random: Random, freedoms: Freedoms, longest: float) -> Entries:
    low, high = random.uniform(0.8, 3.0), random.uniform(6.0, 25.0)
    axes: Entries = {}
    for axis in _some_axes(random, freedoms):
        unit = "(m/s2)2/Hz" if axis in AXES[:3] else "(rad/s2)2/Hz"
        density = random.uniform(1e-4, 2e-2)
        axes[axis] = {"density": tuple((f"{end:.3f} Hz", f"{density:.6f} {unit}") for end in (low, high))}
    return {"kind": "random", "duration": _duration(random, longest), "axes": axes}


def _ramp(random: Random, freedoms: Freedoms, longest: float) -> Entries:
    target: Entries = {}
    for axis in _some_axes(random, freedoms):
        reach = 0.02 if axis in AXES[:3] else 0.01
        target[axis] = _size(axis, random.uniform(-reach, reach))
    return {"kind": "ramp", "to": target, "duration": _duration(random, min(longest, 4.0))}


def _road(random: Random, freedoms: Freedoms, longest: float) -> Entries:
    return {
        "kind": "road",
        "road_class": random.choice("AAB"),
        "speed": f"{random.uniform(5.0, 15.0):.2f} m/s",
        "band": (f"{random.uniform(0.5, 1.0):.2f} Hz", f"{random.uniform(4.0, 10.0):.2f} Hz"),
        "duration": _duration(random, longest),
        "wheelbase": "2.8 m",
        "track_width": "1.6 m",
    }


def _hold(random: Random, freedoms: Freedoms, longest: float) -> Entries:
    return {"kind": "hold", "duration": f"{random.uniform(0.2, min(longest, 2.0)):.3f} s"}
