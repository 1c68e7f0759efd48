"""The starter's table with named types of actuators, as text: alike, or with stronger vertical ones."""

from __future__ import annotations

import json
import re

import yaml

from tests.support.lab import ROOT

GAINS = ("length_gain", "rate_feedforward", "valve_lead", "force_feedforward", "pressure_damping")


def scaled(quantity: str, ratio: float) -> str:
    """Return a quantity with its number times ``ratio``."""
    number, unit = quantity.split(" ", 1)
    return f"{float(number) * ratio:.12g} {unit}"


def named_types(vertical: float = 1.0, *, gains: bool = False) -> str:
    """Return the table whose vertical actuators have ``vertical`` times the area, force, flow and friction.

    ``gains``: each type states the gains that the drive has for it.
    """
    table = yaml.safe_load((ROOT / "config" / "table.yaml").read_text(encoding="utf-8"))
    actuator, valve = table.pop("actuator"), table.pop("valve")
    stronger = {
        **actuator,
        "maximum_force": scaled(actuator["maximum_force"], vertical),
        "piston_areas": [scaled(area, vertical) for area in actuator["piston_areas"]],
        "leakage": scaled(actuator["leakage"], vertical),
        "friction": {
            name: value if name == "stribeck_velocity" else scaled(value, vertical)
            for name, value in actuator["friction"].items()
        },
        "valve": {**valve, "rated_flow": scaled(valve["rated_flow"], vertical)},
    }
    table["actuators"] = {"vertical": stronger, "horizontal": {**actuator, "valve": valve}}
    if gains:
        for type_ in table["actuators"].values():
            type_["drive"] = {name: table["drive"][name] for name in GAINS}
    for link in table["links"]:
        link["actuator"] = "vertical" if re.match("vertical", link["name"]) else "horizontal"
    # Without what is the same object twice: the settings take no aliases.
    return yaml.safe_dump(json.loads(json.dumps(table)), sort_keys=False)
