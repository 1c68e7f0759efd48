"""Tables with electric drives and any feedback, as texts of their files: variants of the starters."""

from __future__ import annotations

import re

from mastd.settings.core.strict_yaml import read_text
from tests.support.lab import ROOT

_TABLES = ROOT / "config" / "tables"
ELECTRIC = read_text(_TABLES / "uniaxial_electric" / "table.yaml")
HYDRAULIC = read_text(_TABLES / "uniaxial" / "table.yaml")
CELLS = "  force: {resolution: 0.1 N, noise: 0.3 N, delay: 0 ms, range: [-200 kN, 200 kN]}\n"
_CHAMBERS = re.compile(r"    pressure_transducers: .*\n")


def replaced(text: str, *pairs: tuple[str, str]) -> str:
    """Return ``text`` with each of the pairs replaced, all of which it must have once."""
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def linear_motor() -> str:
    """Return the electric starter with a linear motor and a load cell."""
    return replaced(
        ELECTRIC,
        ("kind: ball_screw", "kind: linear_motor"),
        ("stiffness: 20 MN/m ", "stiffness: 1 MN/m "),
        ("damping: 1.2 kN s/m", "damping: 3 kN s/m"),
        ("moving_mass: 8 kg", "moving_mass: 0 kg"),
        ("feedback: none ", "feedback: load_cell "),
        ("serial: L-0001}", "serial: L-0001}\n    load_cell: {offset: 0 N, serial: F-0001}"),
        ("  spool:", CELLS + "  spool:"),
    )


def hydraulic(feedback: str) -> str:
    """Return the uniaxial starter with this feedback of its actuator."""
    transducer = {
        "pressure_difference": "    pressure_difference_transducer: {offset: 0 bar, serial: D-0001}\n",
        "load_cell": "    load_cell: {offset: 0 N, serial: F-0001}\n",
        "none": "",
    }[feedback]
    text = replaced(
        HYDRAULIC,
        ("  maximum_force: 100 kN\n", f"  maximum_force: 100 kN\n  feedback: {feedback}\n"),
        ("range: [-5 bar,", "range: [-450 bar,"),
        ("  spool:", CELLS + "  spool:"),
    )
    return _CHAMBERS.sub(transducer, text)


def mixed() -> str:
    """Return a table with a hydraulic actuator along surge and a ball screw along sway, on load cells."""
    (drive,) = re.findall(r"^electric:\n(.*?)^drive:", ELECTRIC, re.M | re.S)
    drive = replaced(
        drive,
        ("maximum_force: 708.7 N", "maximum_force: 20 kN"),
        ("maximum_power: 471 W", "maximum_power: 13 kW"),
        ("stiffness: 20 MN/m", "stiffness: 200 MN/m"),
        ("damping: 1.2 kN s/m", "damping: 60 kN s/m"),
        ("feedback: none ", "feedback: load_cell "),
    )
    text = hydraulic("load_cell")
    (cylinder,) = re.findall(r"^actuator:\n(.*?)^valve:", text, re.M | re.S)
    (valve,) = re.findall(r"^valve:\n(.*?)^drive:", text, re.M | re.S)
    types = "".join(
        f"{head}\n{re.sub('^', indent, body.strip(chr(10)), flags=re.M)}\n"
        for head, indent, body in (
            ("actuators:\n  oil:", "  ", cylinder),
            ("    valve:", "    ", valve),
            ("electric_actuators:\n  screw:", "  ", drive),
        )
    )
    text = re.sub(r"^actuator:\n.*?^drive:", types + "\ndrive:", text, flags=re.M | re.S)
    screw = """  - name: lateral
    actuator: screw
    table_joint: [0 m, -0.75 m, 0 m]
    base_joint: [0 m, -1.75 m, 1 m]
    neutral_length: 1000 mm
    stroke: 100 mm
    transducer: {offset: 0 mm, serial: L-0002}
    load_cell: {offset: 0 N, serial: F-0002}

supply:"""
    sideways = (
        "    - {name: lateral, position: [0 m, 0 m, 0 m], direction: [0, 1, 0], offset: 0 g, serial: A-4}\n"
    )
    return replaced(
        text,
        ("freedoms: [surge] ", "freedoms: [surge, sway] "),
        ("  - name: longitudinal\n", "  - name: longitudinal\n    actuator: oil\n"),
        ("supply:", screw),
        ("pose: {surge: 123 mm}", "pose: {surge: 98 mm, sway: 98 mm}"),
        ("\nlimits:", f"{sideways}\nlimits:"),
        ("velocity: 1 m/s ", "velocity: 0.6 m/s "),
    )
