"""Random tables as text: 1 to 12 actuators, two types of them, 1 to 6 freedoms."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import yaml

from mastd.kinematics.design import neutral_jacobian
from mastd.kinematics.geometry import Geometry
from mastd.settings.core.axes import AXES
from mastd.settings.core.loader import load_text
from mastd.settings.table.table import TableSettings
from tests.support.lab import ROOT
from tests.support.unlike_actuators import scaled

Content = dict[str, object]
GUIDE_HZ = 600.0
"""Of the bare table on its bearings: the proof counts on stiff ones."""
MAX_CONDITION = 20.0
"""Of the actuators that hold a guided table, arms in m."""


def random_table(seed: int) -> str:
    """Return the starter table with random geometry, masses, actuators and valves; its gains left out."""
    random = np.random.default_rng([seed, 23])
    table = yaml.safe_load((ROOT / "config" / "table.yaml").read_text(encoding="utf-8"))
    half = random.uniform(0.6, 3.0, 2)
    height, length = random.uniform(0.2, 1.0), random.uniform(0.9, 2.0)
    mass = float(10.0 ** random.uniform(2.8, 4.7))
    counts = {
        "vertical": int(random.integers(3, 7)),
        "lateral": 2,
        "longitudinal": int(random.integers(1, 3)),
    }
    if random.random() < 0.5:
        counts["lateral"] = int(random.integers(2, 5))
    links = _links(counts, half, length, random)
    stroke = {kind: float(random.uniform(0.05, 0.25)) for kind in ("vertical", "horizontal")}
    for link, kind in links:
        link["stroke"] = f"{min(stroke[kind], 0.3 * length)!r} m"
        link["actuator"] = kind
    weight = 9.80665 * mass
    table["actuators"] = {
        "vertical": _type(table, random.uniform(2.5, 5.0) * weight / counts["vertical"], random),
        "horizontal": _type(table, random.uniform(1.5, 4.0) * weight / counts["lateral"], random),
    }
    del table["actuator"], table["valve"]
    sides = (2.0 * half[0], 2.0 * half[1], height)
    table["body"] = {
        "mass": f"{mass!r} kg",
        "centre_of_mass": ["0 mm", "0 mm", "0 mm"],
        "inertia": [
            f"{mass * float(sides[i] ** 2 + sides[j] ** 2) / 12.0!r} kg m2"
            for i, j in ((1, 2), (0, 2), (0, 1))
        ],
        "size": [f"{float(side)!r} m" for side in sides],
        "top_height": f"{0.5 * height!r} m",
    }
    table["neutral_position"] = ["0 m", "0 m", f"{length!r} m"]
    table["links"] = [link for link, _ in links]
    reach = min(*stroke.values(), 0.3 * length)
    turn = 0.5 * reach / float(np.max(half))
    table["limits"].update(
        stroke_margin="1 mm",
        velocity="0.2 m/s",
        internal_force="100 MN",
        conditioning=20.0,
        pose={
            **dict.fromkeys(("surge", "sway", "heave"), f"{reach!r} m"),
            **dict.fromkeys(("roll", "pitch", "yaw"), f"{turn!r} rad"),
        },
    )
    flow = 60e3 * sum(
        2.0 * float(str(t["valve"]["rated_flow"]).split()[0]) for t in table["actuators"].values()
    )
    supply = table["supply"]
    supply["pump_flow"], supply["limits"]["maximum_flow"] = (
        f"{ratio * 6 * flow!r} L/min" for ratio in (1.0, 2.0)
    )
    supply["accumulator"]["volume"] = f"{max(100.0, flow / 10.0)!r} L"
    supply["rise_time"] = "0.2 s"
    for gain in ("length_gain", "valve_lead", "pressure_damping"):
        del table["drive"][gain]
    return yaml.safe_dump(json.loads(json.dumps(table)), sort_keys=False)


def _links(
    counts: dict[str, int], half: np.ndarray, length: float, random: np.random.Generator
) -> list[tuple[Content, str]]:
    """Return the links with what kind they are: verticals around, laterals and longitudinals along."""
    found: list[tuple[Content, str]] = []

    def add(kind: str, name: str, joint: np.ndarray, base: np.ndarray) -> None:
        number = len(found)
        at_neutral = (*joint[:2], joint[2] + length)
        found.append(
            (
                {
                    "name": f"{name} {number}",
                    "table_joint": [f"{float(value)!r} m" for value in joint],
                    "base_joint": [f"{float(value)!r} m" for value in base],
                    "neutral_length": f"{math.dist(at_neutral, base)!r} m",
                    "transducer": {"scale": 1.0, "offset": "0 mm", "serial": f"L-{number}"},
                    "pressure_transducers": [
                        {"scale": 1.0, "offset": "0 bar", "serial": f"P-{number}-{chamber}"}
                        for chamber in (1, 2)
                    ],
                },
                kind,
            )
        )

    for k in range(counts["vertical"]):
        angle = 2.0 * math.pi * (k + 0.25) / counts["vertical"]
        joint = np.array([half[0] * math.cos(angle), half[1] * math.sin(angle), 0.0])
        lean = random.uniform(-0.1, 0.1, 2)
        add("vertical", "vertical", joint, np.array([joint[0] + lean[0], joint[1] + lean[1], 0.0]))
    for k in range(counts["lateral"]):
        x = half[0] * (2.0 * (k + 0.5) / counts["lateral"] - 1.0)
        joint = np.array([x, -half[1], 0.0])
        add("horizontal", "lateral", joint, np.array([x, -half[1] - length, length]))
    for k in range(counts["longitudinal"]):
        y = half[1] * (k - 0.5 * (counts["longitudinal"] - 1))
        joint = np.array([-half[0], y, 0.0])
        add("horizontal", "longitudinal", joint, np.array([-half[0] - length, y, length]))
    return found


def _type(table: dict[str, Any], force: float, random: np.random.Generator) -> Content:
    """Return a type of actuators of about ``force`` N, with a valve of its own."""
    actuator, valve = table["actuator"], table["valve"]
    area, ratio = force / 206e5, force / 196e3
    friction = {
        name: value if name == "stribeck_velocity" else scaled(value, ratio)
        for name, value in actuator["friction"].items()
    }
    stop = {name: scaled(value, ratio) for name, value in actuator["end_stop"].items()}
    return {
        **actuator,
        "maximum_force": f"{float(force)!r} N",
        "piston_areas": [f"{float(area)!r} m2"] * 2,
        "dead_length": f"{float(random.uniform(10.0, 40.0))!r} mm",
        "bulk_modulus": f"{float(random.uniform(0.6, 1.0))!r} GPa",
        "leakage": scaled(actuator["leakage"], ratio),
        "friction": friction,
        "end_stop": stop,
        "valve": {
            **valve,
            "natural_frequency": f"{float(random.uniform(50.0, 150.0))!r} Hz",
            "rated_flow": f"{float(0.5 * area)!r} m3/s",
        },
    }


def random_guided_table(seed: int) -> str:
    """Return a random table that is free in some axes only, on as many of its actuators or more."""
    random = np.random.default_rng([seed, 24])
    content = yaml.safe_load(random_table(seed))
    whole = load_text(yaml.safe_dump(content), "table.yaml", TableSettings)
    jacobian = neutral_jacobian(Geometry.from_settings(whole))
    while True:
        free = np.sort(random.choice(6, random.integers(1, 6), replace=False))
        able = np.flatnonzero(np.linalg.norm(jacobian[:, free], axis=1) > 0.3)
        if len(able) < len(free):
            continue
        kept = np.sort(random.choice(able, random.integers(len(free), len(able) + 1), replace=False))
        if np.linalg.cond(jacobian[np.ix_(kept, free)]) < MAX_CONDITION:
            break
    content["freedoms"] = [AXES[axis] for axis in free]
    stiffness = whole.body.mass * (2.0 * math.pi * GUIDE_HZ) ** 2
    content["guides"] = {"stiffness": f"{stiffness!r} N/m"}
    content["links"] = [content["links"][k] for k in kept]
    used = {link["actuator"] for link in content["links"]}
    content["actuators"] = {name: type_ for name, type_ in content["actuators"].items() if name in used}
    return yaml.safe_dump(content, sort_keys=False)
