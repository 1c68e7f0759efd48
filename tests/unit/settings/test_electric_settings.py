"""Electric drives and the feedback of the force: what a table's file may say, and what is refused where."""

from __future__ import annotations

import json
import re

import pytest

from mastd.errors import SettingsError
from mastd.settings.core.export import as_json
from mastd.settings.core.loader import load_text
from mastd.settings.table.actuators import force_readings
from mastd.settings.table.table import TableSettings
from tests.support.electric_tables import CELLS, ELECTRIC, HYDRAULIC, hydraulic, linear_motor, mixed, replaced

MAXIMUM = "  maximum_force: 100 kN\n"


def read(text: str) -> TableSettings:
    return load_text(text, "table.yaml", TableSettings)


@pytest.mark.parametrize(
    "text",
    [ELECTRIC, linear_motor(), hydraulic("pressure_difference"), hydraulic("none"), mixed()],
    ids=["ball screw", "linear motor", "pressure difference", "none", "mixed"],
)
def test_a_table_of_every_kind_reads_back_as_the_same_from_a_record(text: str) -> None:
    table = read(text)
    assert TableSettings.model_validate_json(json.dumps(as_json(table))) == table


def test_a_table_with_electric_drives_alone_has_no_oil() -> None:
    table = read(ELECTRIC)
    assert (table.supply, table.feedback, table.measures_forces) == (None, ("none",), False)
    assert table.types[0].no_load_speed() == 0.665
    assert table.types[0].pressure_damping == 0.0


def test_forces_follow_from_the_readings_of_each_kind_of_feedback() -> None:
    area = 50e-4
    found = {
        kind: [one.force for one in force_readings(read(text))]
        for kind, text in (
            ("chambers", HYDRAULIC),
            ("difference", hydraulic("pressure_difference")),
            ("cell", hydraulic("load_cell")),
            ("none", ELECTRIC),
        )
    }
    assert found == {"chambers": [area, -area], "difference": [area], "cell": [1.0], "none": []}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            replaced(hydraulic("pressure_difference"), ("[50 cm2, 50 cm2]", "[52 cm2, 50 cm2]")),
            r"actuator.feedback: is pressure_difference, which gives the force of equal piston areas only, "
            r"and these are 52 and 50 cm2: chamber_pressures or load_cell",
        ),
        (
            replaced(
                HYDRAULIC, ("  maximum_force: 100 kN\n", "  maximum_force: 100 kN\n  feedback: load_cell\n")
            ),
            r"links\[0\].pressure_transducers: stands there, but the feedback of the actuator is load_cell: "
            r"leave it out or state chamber_pressures",
        ),
        (
            replaced(ELECTRIC, ("feedback: none ", "feedback: load_cell ")),
            r"links\[0\]: load_cell is missing: the feedback of the actuator is load_cell",
        ),
        (
            hydraulic("load_cell").replace(CELLS, ""),
            r"sensors: force is missing: how the load cells measure",
        ),
        (
            re.sub(r"\nsupply:\n(.*?)\nactuator:", "\nactuator:", HYDRAULIC, flags=re.S),
            r"\(file\): supply is missing, and there are hydraulic actuators",
        ),
        (
            replaced(ELECTRIC, ("velocity: 0.6 m/s", "velocity: 0.7 m/s")),
            r"limits.velocity: is 0.7 m/s, but the maximum speed of the electric drive allows only 0.665 m/s",
        ),
        (
            replaced(ELECTRIC, ("kind: ball_screw", "kind: rack")),
            r"electric.kind: .*ball_screw.*linear_motor",
        ),
        (
            replaced(
                ELECTRIC,
                (
                    "\nelectric:",
                    "  - {name: other, table_joint: [0.1 m, 0 m, 0 m], base_joint: [-0.2 m, 0 m, 0.15 m], "
                    "neutral_length: 300 mm, stroke: 76.2 mm, transducer: {offset: 0 mm, serial: L-2}}\n"
                    "\nelectric:",
                ),
            ),
            r"links\[0\]: 2 actuators for 1 freedom would work against each other unseen, as nothing "
            r"measures the force of this one: load cells, as feedback of all",
        ),
        (
            replaced(ELECTRIC, ("\ndrive:", "\nvalve: {}\n\ndrive:")),
            r"valve",
        ),
    ],
)
def test_what_does_not_fit_is_refused_in_its_line(text: str, problem: str) -> None:
    with pytest.raises(SettingsError) as refusal:
        read(text)
    assert re.search(rf"table.yaml:\d+:\d+: {problem}", str(refusal.value)), str(refusal.value)


def test_drives_whose_force_is_measured_stand_not_beside_others() -> None:
    text = replaced(
        mixed(),
        ("feedback: load_cell                                 # nothing", "feedback: none  # nothing"),
        ("    load_cell: {offset: 0 N, serial: F-0002}\n", ""),
    )
    with pytest.raises(SettingsError, match=r"links\[1\]: nothing measures the force of this actuator"):
        read(text)
