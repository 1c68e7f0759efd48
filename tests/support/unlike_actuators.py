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


EAST = {"pressure": "280 bar", "pump_flow": "3000 L/min", "minimum_pressure": "190 bar"}


def two_supplies() -> str:
    """Return the text of the table: ``south`` of 210 bar feeds 1 and 2, ``east`` of 280 bar 3 and 4."""
    text = (ROOT / "config" / "tables" / "biaxial" / "table.yaml").read_text(encoding="utf-8")
    start, end = text.index("supply:\n"), text.index("actuator:\n")
    block = re.sub(r"^", "  ", text[start + len("supply:\n") : end].rstrip(), flags=re.MULTILINE)
    own = block
    for key, value in EAST.items():
        own = re.sub(rf"(^ +{key}:) [\d.]+ \S+", rf"\1 {value}", own, count=1, flags=re.MULTILINE)
    text = f"{text[:start]}supplies:\n  south:\n{block}\n  east:\n{own}\n\n{text[end:]}"
    for side, name in (("longitudinal", "south"), ("lateral", "east")):
        text = re.sub(rf"(- name: {side} \w+\n)(    table_joint)", rf"\1    supply: {name}\n\2", text)
    return text
