"""Tables of other laboratories with the gains that mastd computes instead of those that their files state."""

from __future__ import annotations

import re
from pathlib import Path

_STATED = re.compile(r"^  (length_gain|valve_lead|pressure_damping): .*\n", re.M)
_GUIDED = {"uniaxial1": "[surge]", "biaxial4": "[surge, sway, yaw]"}
"""Freedoms of the tables that guides hold in the other axes; their files say so in a comment only."""


def with_computed_gains(table: Path, to: Path) -> None:
    """Write a table's file to ``to`` with its freedoms, and without the gains of its drive."""
    text = _STATED.sub("", table.read_text(encoding="utf-8"))
    if table.stem in _GUIDED:
        text = text.replace("\ngravity:", f"\nfreedoms: {_GUIDED[table.stem]}\ngravity:", 1)
    to.write_text(re.sub(r"schema=\S+", "", text), encoding="utf-8")
