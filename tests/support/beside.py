"""The starter table of eight actuators with displacement transducers beside them."""

from __future__ import annotations

from mastd.settings.core.strict_yaml import read_text
from tests.support.lab import ROOT

WIRES = """  displacement:
    - {name: wire heave, table_point: [0.2 m, 0.1 m, -0.3 m], base_point: [0.2 m, 0.1 m, 0.6 m], \
neutral_length: 1.1 m, range: 200 mm, offset: 0 mm, serial: D-1}
    - {name: wire sway, table_point: [0.5 m, 1.2 m, 0 m], base_point: [0.5 m, 3.2 m, 2 m], \
neutral_length: 2 m, range: 200 mm, offset: 0 mm, serial: D-2}
"""


def table_with_wires(wires: str = WIRES) -> str:
    """Return the table's text, C at neutral 2 m above the ground."""
    text = read_text(ROOT / "config" / "tables" / "eight_actuators" / "table.yaml")
    head, limits, rest = text.partition("\nlimits:")
    return head.rstrip("\n") + "\n" + wires + limits + rest
