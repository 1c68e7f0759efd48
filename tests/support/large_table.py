"""A table of the size of E-Defense as text: 24 actuators of two types, gains left out.

Number, force and stroke of the actuators, size and velocity as NIED publishes them; the rest is assumed.
"""

from __future__ import annotations

import json
from typing import Any

import yaml

from tests.support.lab import ROOT
from tests.support.unlike_actuators import scaled

HORIZONTAL, VERTICAL = 8.0, 5.0
"""Neutral lengths, m."""


def large_table() -> str:
    """Return a table of 20 × 15 m on 5 longitudinal, 5 lateral and 14 vertical actuators of 4.5 MN."""
    table = yaml.safe_load((ROOT / "config" / "table.yaml").read_text(encoding="utf-8"))
    template = table["links"][0]
    links: list[dict[str, Any]] = []

    def add(kind: str, number: int, joint: list[float], base: list[float]) -> None:
        serial = len(links) + 1
        link = {
            **template,
            "name": f"{kind} {number}",
            "actuator": "vertical" if kind == "vertical" else "horizontal",
            "table_joint": [f"{value!r} m" for value in joint],
            "base_joint": [f"{value!r} m" for value in base],
            "neutral_length": f"{VERTICAL if kind == 'vertical' else HORIZONTAL} m",
            "stroke": "0.5 m" if kind == "vertical" else "1 m",
            "transducer": {**template["transducer"], "serial": f"L-{serial}"},
            "pressure_transducers": [
                {**sensor, "serial": f"P-{serial}-{chamber}"}
                for chamber, sensor in enumerate(template["pressure_transducers"])
            ],
        }
        links.append(link)

    for k in range(5):
        y = 3.0 * (k - 2)
        add("longitudinal", k + 1, [-10.0, y, 0.0], [-10.0 - HORIZONTAL, y, VERTICAL + 1.0])
    for k in range(5):
        x = 4.0 * (k - 2)
        add("lateral", k + 1, [x, -7.5, 0.0], [x, -7.5 - HORIZONTAL, VERTICAL + 1.0])
    for k in range(14):
        x, y = 2.5 * (k // 2 - 3), 5.0 * (2 * (k % 2) - 1)
        add("vertical", k + 1, [x, y, -1.0], [x, y, 0.0])
    table["links"] = links
    table["name"] = "large table"
    table["neutral_position"] = ["0 m", "0 m", f"{VERTICAL + 1.0} m"]
    table["body"] = {
        "mass": "800 t",
        "centre_of_mass": ["0 m", "0 m", "0 m"],
        "inertia": ["15.3e6 kg m2", "27e6 kg m2", "41.7e6 kg m2"],
        "size": ["20 m", "15 m", "2 m"],
        "top_height": "1 m",
    }
    table["actuators"] = {"horizontal": _type(table, 2.2), "vertical": _type(table, 0.9)}
    del table["actuator"], table["valve"]
    supply = table["supply"]
    supply["pump_flow"] = "60000 L/min"
    supply["limits"]["maximum_flow"] = "200000 L/min"
    supply["accumulator"]["volume"] = "20000 L"
    table["limits"].update(
        velocity="0.7 m/s",
        stroke_margin="5 mm",
        redundancy_residual="5 mm",
        redundancy_drift="2 mm",
        following_error={"minimum": "50 mm", "at_maximum_velocity": "200 mm"},
        internal_force="10 MN",
        conditioning=20.0,
        pose={
            **dict.fromkeys(("surge", "sway"), "1 m"),
            "heave": "0.5 m",
            **dict.fromkeys(("roll", "pitch", "yaw"), "50 mrad"),
        },
    )
    for gain in ("length_gain", "valve_lead", "pressure_damping"):
        del table["drive"][gain]
    # Without what is the same object twice: the settings take no aliases.
    return yaml.safe_dump(json.loads(json.dumps(table)), sort_keys=False)


def _type(table: dict[str, Any], speed: float) -> dict[str, Any]:
    """Return a type of actuators of 4.5 MN that moves at ``speed`` (m/s) with half of the pressure left."""
    actuator, valve = table["actuator"], table["valve"]
    area = 0.22
    ratio = area / 95e-4
    friction = {
        name: value if name == "stribeck_velocity" else scaled(value, ratio)
        for name, value in actuator["friction"].items()
    }
    return {
        **actuator,
        "maximum_force": "4.5 MN",
        "piston_areas": [f"{area} m2"] * 2,
        "dead_length": "50 mm",
        "leakage": scaled(actuator["leakage"], ratio),
        "friction": friction,
        "end_stop": {name: scaled(value, ratio) for name, value in actuator["end_stop"].items()},
        "valve": {**valve, "natural_frequency": "60 Hz", "rated_flow": f"{60e3 * area * speed:.6g} L/min"},
    }
