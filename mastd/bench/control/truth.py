"""What a simulated table is really like in the benches of its control: seeded, and unknown to the daemon.

Every value is uniform within its bounds and each actuator has its own: valve gain, oil stiffness and
friction ± 10 % (of electric drives stiffness, friction and frequency of the velocity loop), delay of the
valve ± 0.25 ms, overlap 0.5 % (the settings say 0.1 %). The payload's mass and the height of its centre of
gravity above C are ± 10 % of what the profile says, its own inertia goes with the mass, and the centre of
gravity stands up to 50 mm beside the middle. Noise of the sensors is that of the table's settings.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import yaml

from mastd.settings.table.payload import Payload, RigidPayload
from mastd.settings.table.table import TableSettings

SPREAD = 0.10
DELAY_SPREAD = 0.25e-3
"""s, either way."""
OVERLAP = 0.005
BESIDE = 0.05
"""m that the centre of gravity may stand beside the middle, along x and along y."""

Truth = dict[str, object]
"""The content of a file of the simulated plant's truth, units with the numbers (``config/plants``)."""


@dataclass(frozen=True)
class ActuatorTruth:
    """One actuator as it is; SI. What it does not have is 0."""

    link: str
    coulomb: float
    breakaway: float
    viscous: float
    delay: float
    rated_flow: float = 0.0
    bulk_modulus: float = 0.0
    overlap: float = 0.0
    stiffness: float = 0.0
    natural_frequency: float = 0.0
    transducer_offset: float = 0.0

    def as_yaml(self) -> Truth:
        """Return its entry of the file."""
        hydraulic = {
            "rated_flow": f"{self.rated_flow!r} m3/s",
            "bulk_modulus": f"{self.bulk_modulus!r} Pa",
            "overlap": f"{100.0 * self.overlap!r} %",
        }
        electric = {
            "stiffness": f"{self.stiffness!r} N/m",
            "natural_frequency": f"{self.natural_frequency!r} Hz",
        }
        return {
            "link": self.link,
            **(electric if self.stiffness > 0.0 else hydraulic),
            "coulomb": f"{self.coulomb!r} N",
            "breakaway": f"{self.breakaway!r} N",
            "viscous": f"{self.viscous!r} N s/m",
            "delay": f"{self.delay!r} s",
            "transducer_offset": f"{self.transducer_offset!r} m",
        }


@dataclass(frozen=True)
class PayloadTruth:
    """The payload as it is; SI, in P."""

    mass: float
    centre_of_gravity: tuple[float, float, float]
    inertia: tuple[float, float, float]
    sprung_ratio: float = 0.0
    sprung_frequency: float = 9.0
    sprung_damping: float = 0.1

    def as_yaml(self) -> Truth:
        """Return its entry of the file."""
        entry: Truth = {
            "mass": f"{self.mass!r} kg",
            "centre_of_gravity": [f"{value!r} m" for value in self.centre_of_gravity],
            "inertia": [f"{value!r} kg m2" for value in self.inertia],
        }
        if self.sprung_ratio > 0.0:
            entry["sprung"] = {
                "share": f"{100.0 * self.sprung_ratio!r} %",
                "frequency": f"{self.sprung_frequency!r} Hz",
                "damping_ratio": self.sprung_damping,
            }
        return entry


@dataclass(frozen=True)
class TableTruth:
    """The whole table as it is."""

    actuators: tuple[ActuatorTruth, ...]
    payload: PayloadTruth | None
    static_supports: tuple[Truth, ...] = field(default=())

    def as_yaml(self) -> Truth:
        """Return the content of the file."""
        content: Truth = {
            "name": "bench",
            "actuators": [actuator.as_yaml() for actuator in self.actuators],
            "static_supports": list(self.static_supports),
        }
        if self.payload is not None:
            content["payload"] = self.payload.as_yaml()
        return content

    def write(self, path: Path) -> Path:
        """Write the file and return its path."""
        path.write_text(yaml.safe_dump(self.as_yaml(), sort_keys=False), encoding="utf-8")
        return path


def hidden_truth(table: TableSettings, payload: Payload, seed: int) -> TableTruth:
    """Return the truth number ``seed`` of ``table`` with what the profile says stands on it."""
    random = np.random.default_rng([seed, 10])

    def factor() -> float:
        return float(1.0 + SPREAD * random.uniform(-1.0, 1.0))

    actuators = []
    for actuator, type_ in zip(table.links, table.types, strict=True):
        friction = type_.body.friction
        flow, stiffness, sliding, viscous = factor(), factor(), factor(), factor()
        own: dict[str, float] = {}
        if type_.electric is not None:
            # Its speed is exact, the velocity loop's lag is not.
            own["stiffness"] = type_.electric.stiffness * stiffness
            own["natural_frequency"] = type_.lag.natural_frequency * flow
        else:
            own["rated_flow"] = type_.valve.rated_flow * flow
            own["bulk_modulus"] = type_.cylinder.bulk_modulus * stiffness
            own["overlap"] = OVERLAP
        actuators.append(
            ActuatorTruth(
                actuator.name,
                coulomb=friction.coulomb * sliding,
                breakaway=friction.breakaway * sliding,
                viscous=friction.viscous * viscous,
                delay=max(type_.lag.delay + DELAY_SPREAD * float(random.uniform(-1.0, 1.0)), 0.0),
                **own,
            )
        )
    true_payload = None
    if isinstance(payload, RigidPayload):
        heavier, higher = factor(), factor()
        x, y, z = payload.centre_of_gravity
        beside = BESIDE * random.uniform(-1.0, 1.0, 2)
        xx, yy, zz = (heavier * moment for moment in payload.inertia)
        true_payload = PayloadTruth(
            payload.mass * heavier, (x + float(beside[0]), y + float(beside[1]), z * higher), (xx, yy, zz)
        )
    return TableTruth(tuple(actuators), true_payload)


def with_offset(truth: TableTruth, actuator: int, offset: float) -> TableTruth:
    """Return the truth with ``offset`` (m) in the transducer of one actuator, counted from 0."""
    actuators = list(truth.actuators)
    actuators[actuator] = replace(actuators[actuator], transducer_offset=offset)
    return replace(truth, actuators=tuple(actuators))
