"""Settings of the supply: what does not fit together is refused, what is left out is computed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mastd.control.table.computed import with_computed_settings
from mastd.control.table.gains import with_drive_gains
from mastd.errors import SettingsError
from mastd.settings.core.loader import load, load_text
from mastd.settings.core.starter import find, starter_directory
from mastd.settings.core.strict_yaml import read_text
from mastd.settings.daemon.daemon import DaemonSettings
from mastd.settings.table.table import TableSettings
from tests.support.present import present
from tests.support.unlike_actuators import two_supplies

TEXT = read_text(find("table", "table"))
UNIAXIAL = read_text(starter_directory() / "tables" / "uniaxial" / "table.yaml")


def replaced(text: str, pattern: str, new: str) -> str:
    changed, count = re.subn(pattern, new, text, flags=re.MULTILINE)
    assert count >= 1, pattern
    return changed


def test_a_rise_time_shorter_than_the_pump_takes_is_told_and_waited_for() -> None:
    """60 L of gas from 116 to 210 bar take 60 (1 − (116/210)^(1/1.6)) = 18.6 L, at 1 L/s 18.6 s."""
    text = replaced(UNIAXIAL, r"pump_flow: \S+ L/min", "pump_flow: 60 L/min")
    told, waited = {}, {}
    for stated in ("2 s", "20 s"):
        table = load_text(replaced(text, r"rise_time: \S+ s", f"rise_time: {stated}"), "t", TableSettings)
        daemon = load(find("daemon", "simulated"), DaemonSettings)
        timeouts = with_computed_settings(with_drive_gains(table), daemon).timeouts
        told[stated] = present(table.supply).text().partition("charged in ")[2]
        waited[stated] = timeouts.supply_stage
    assert told == {"2 s": "18.6 s, longer than its rise_time, 2 s", "20 s": "18.6 s"}
    assert waited == pytest.approx({"2 s": 5 * 18.58, "20 s": 5 * 20.0}, rel=0.01)


def test_every_starter_gives_its_pump_the_time() -> None:
    for path in (find("table", "table"), *sorted(starter_directory().glob("tables/*/table.yaml"))):
        for supply in load(path, TableSettings).packs.values():
            assert supply.rise >= 0.95 * supply.charge_time, path


@pytest.mark.parametrize(
    ("volume", "pump", "waited"),
    # 31.4 L in a hundred: at 60 L/min half a minute, at 6 L/min five.
    [(100, 900, 12.5), (100, 60, 37.6 + 120.0), (100, 6, 376.4 + 120.0)],
)
def test_a_bank_that_a_small_pump_charges_gets_the_time_that_it_takes(
    volume: int, pump: int, waited: float
) -> None:
    text = replaced(TEXT, r"^  rise_time:.*\n", "")
    text = replaced(text, r"pump_flow: 900 L/min", f"pump_flow: {pump} L/min")
    table = with_drive_gains(load_text(text, "table.yaml", TableSettings))
    daemon = with_computed_settings(table, load(find("daemon", "simulated"), DaemonSettings))
    assert daemon.timeouts.supply_stage == pytest.approx(waited, rel=0.01)


def test_lines_and_filter_of_a_small_pump_are_made_for_the_flow_of_the_valves() -> None:
    small = load_text(
        replaced(replaced(TEXT, "pump_flow: 900", "pump_flow: 60"), r"^  rise_time:.*\n", ""),
        "table.yaml",
        TableSettings,
    )
    assert small.supply is not None
    assert 6e4 * small.supply.line_flow == pytest.approx(2400 / 4)


def test_links_of_several_supplies_are_fed_by_their_own() -> None:
    table = load_text(two_supplies(), "table.yaml", TableSettings)
    assert table.fed_by == (0, 0, 1, 1)
    assert [type_.supply.pressure for type_ in table.types] == [210e5, 210e5, 280e5, 280e5]


@pytest.mark.parametrize(
    ("pattern", "new", "told"),
    [
        (
            r"^    supply: east\n",
            "",
            r"links\[2\]: supply is missing, here or in its type; known",
        ),
        (r"supply: east", "supply: west", r"links\[2\].supply: 'west' is no supply of supplies: south, east"),
        (
            r"^supplies:",
            "supply: {}\nsupplies:",
            r"supply stands beside supplies: state them by name",
        ),
        (r"^supplies:(\n .*)+", "", r"supply is missing, and there are hydraulic"),
    ],
)
def test_a_supply_that_cannot_be_told_is_refused_at_its_place(pattern: str, new: str, told: str) -> None:
    if "{}" in new:
        block = re.search(r"^supply:\n((?:  .*\n)+)", UNIAXIAL, flags=re.MULTILINE)
        assert block is not None
        new = f"{block.group()}supplies:"
    with pytest.raises(SettingsError, match=told):
        load_text(replaced(two_supplies(), pattern, new), "table.yaml", TableSettings)


def test_a_starter_says_in_a_line_how_long_charging_takes(tmp_path: Path) -> None:
    table = load_text(two_supplies(), "table.yaml", TableSettings)
    lines = [supply.text(name) for name, supply in table.packs.items()]
    assert lines[0] == (
        "supply south: 210 bar, pump 1500 L/min; accumulators 186 L, of which 119 L down to 140 bar, "
        "charged in 7.44 s"
    )
    assert lines[1].startswith("supply east: 280 bar, pump 3000 L/min; accumulators 254 L")
