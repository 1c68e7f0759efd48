"""The biaxial starter with a supply for its longitudinal actuators and another one for its lateral ones."""

from __future__ import annotations

import re

from mastd.settings.core.starter import starter_directory
from mastd.settings.core.strict_yaml import read_text

EAST = {"pressure": "280 bar", "pump_flow": "3000 L/min", "minimum_pressure": "190 bar"}


def two_supplies() -> str:
    """Return the text of the table: ``south`` of 210 bar feeds 1 and 2, ``east`` of 280 bar 3 and 4."""
    text = read_text(starter_directory() / "tables" / "biaxial" / "table.yaml")
    start, end = text.index("supply:\n"), text.index("actuator:\n")
    block = re.sub(r"^", "  ", text[start + len("supply:\n") : end].rstrip(), flags=re.MULTILINE)
    own = block
    for key, value in EAST.items():
        own = re.sub(rf"(^ +{key}:) [\d.]+ \S+", rf"\1 {value}", own, count=1, flags=re.MULTILINE)
    text = f"{text[:start]}supplies:\n  south:\n{block}\n  east:\n{own}\n\n{text[end:]}"
    for side, name in (("longitudinal", "south"), ("lateral", "east")):
        text = re.sub(rf"(- name: {side} \w+\n)(    table_joint)", rf"\1    supply: {name}\n\2", text)
    return text
