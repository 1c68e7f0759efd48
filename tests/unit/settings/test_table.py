"""The table's settings: Jin 2012's table as shipped, and every check across its fields."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
import yaml

from mastd.cli import main
from mastd.errors import SettingsError, UsageError
from mastd.settings.core import starter
from mastd.settings.core.export import as_json, digest
from mastd.settings.core.loader import load, load_text
from mastd.settings.core.strict_yaml import read_text
from mastd.settings.table.actuators import no_load_speed
from mastd.settings.table.table import TableSettings
from tests.support.present import present
from tests.support.unlike_actuators import named_types

TABLE_FILE = Path(__file__).parents[3] / "config" / "table.yaml"
TEXT = read_text(TABLE_FILE)

# Tables 1 and 2 of Jin 2012, in mm
TABLE_JOINTS = [
    (-1400, -800, -900),
    (-1400, 800, -900),
    (1400, 800, -900),
    (1400, -800, -900),
    (1400, -1400, 0),
    (-1400, -1400, 0),
    (-2800, 0, 0),
]
BASE_JOINTS = [
    (-1400, -800, 0),
    (-1400, 800, 0),
    (1400, 800, 0),
    (1400, -800, 0),
    (1400, -2600, 2100),
    (-1400, -2600, 2100),
    (-4000, 0, 2100),
]


@pytest.fixture(scope="module")
def table() -> TableSettings:
    return load(TABLE_FILE, TableSettings)


def test_the_shipped_table_is_that_of_jin_2012(table: TableSettings) -> None:
    assert [tuple(1000 * v for v in link.table_joint) for link in table.links] == TABLE_JOINTS
    assert [tuple(1000 * v for v in link.base_joint) for link in table.links] == BASE_JOINTS
    assert {(link.neutral_length, link.stroke) for link in table.links} == {(1.2, 0.05)}
    assert table.neutral_position == (0.0, 0.0, 2.1)
    assert table.body.mass == 35000.0
    assert table.types[0].cylinder.maximum_force == pytest.approx(20000 * 9.80665, rel=1e-3)


def test_the_inertia_is_that_of_a_homogeneous_box(table: TableSettings) -> None:
    x, y, z = table.body.size
    box = [table.body.mass / 12 * (a * a + b * b) for a, b in ((y, z), (x, z), (x, y))]
    assert list(table.body.inertia) == pytest.approx(box, rel=2e-3)


def test_the_hydraulics_have_the_figures_of_the_control_study(table: TableSettings) -> None:
    assert no_load_speed(table.actuator, table.valve, table.supply) == pytest.approx(0.80, abs=0.005)
    area = table.types[0].cylinder.piston_areas[0]
    column = table.links[0].stroke + table.types[0].cylinder.dead_length
    assert 2 * table.types[0].cylinder.bulk_modulus * area / column == pytest.approx(1.9e8, rel=0.02)


def test_angle_limits_are_the_bounds_of_equation_10(table: TableSettings) -> None:
    stroke = table.links[0].stroke
    assert table.limits.pose.roll == pytest.approx(stroke / 0.8, rel=0.01)
    assert table.limits.pose.pitch == pytest.approx(stroke / 1.4, rel=0.025)


def test_settings_are_frozen(table: TableSettings) -> None:
    with pytest.raises(ValueError, match="frozen"):
        table.body.mass = 1.0  # type: ignore[misc]


def test_plain_json_reads_back_to_an_equal_object(table: TableSettings) -> None:
    plain = as_json(table)
    assert plain["links"][6]["base_joint"] == [-4.0, 0.0, 2.1]
    assert TableSettings.model_validate_json(table.model_dump_json()) == table


def test_the_digest_depends_on_names_and_texts_and_not_on_their_order() -> None:
    first = digest({"a": "1", "b": "2"})
    assert first == digest({"b": "2", "a": "1"})
    others = [digest({"a": "1", "b": "3"}), digest({"a": "12", "b": ""}), digest({"a": "1", "c": "2"})]
    assert len({first, *others}) == 4
    assert digest({"ab": "c"}) != digest({"a": "bc"})


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (
            "neutral_length: 1200 mm",
            "neutral_length: 1201 mm",
            "links[0].neutral_length: is 1201 mm, but the joints of vertical rear right are 1200.000 mm "
            "apart when the table is at its neutral position: state that length",
        ),
        (
            "neutral_length: 1200 mm",
            "neutral_length: 1203 mm",
            "links[0].neutral_length: is 1203 mm, but the joints of vertical rear right are 1200.000 mm "
            "apart when the table is at its neutral position: check table_joint and base_joint",
        ),
        (
            "name: lateral rear\n",
            "name: lateral front\n",
            "links[5].name: name 'lateral front' is used twice",
        ),
        ("serial: L-0007", "serial: L-0001", "links[6].transducer.serial: serial 'L-0001' is used twice"),
        (
            "serial: P-0014",
            "serial: P-0013",
            "links[6].pressure_transducers[1].serial: serial 'P-0013' is used",
        ),
        (
            "serial: A-0008",
            "serial: L-0002",
            "sensors.accelerometers[7].serial: serial 'L-0002' is used twice",
        ),
        ("name: longitudinal left", "name: longitudinal right", "sensors.accelerometers[7].name: name 'long"),
        (
            "stroke: 50 mm",
            "stroke: 1200 mm",
            "links[0].stroke: is 1.2 m, it must be below the neutral",
        ),
        ("stroke: 50 mm", "stroke: 0 mm", "links[0].stroke: 0 mm is out of range: must be above 0 mm"),
        ("mass: 35 t", "mass: -35 t", "body.mass: -35 t is out of range: must be above 0 t"),
        ("inertia: [14600 kg m2", "inertia: [1460 kg m2", "body.inertia: physically impossible inertia"),
        ("inertia: [14600 kg m2", "inertia: [-1 kg m2", "body.inertia[0]: -1 kg m2 is out of range"),
        (
            "size: [5 m, 2 m, 1 m]",
            "size: [500 m, 2 m, 1 m]",
            "body.size: has a longest side of 500 m, but 35000 kg with 14600 kg m2 about x have a radius of "
            "gyration of 0.646 m, expected 5 to 500 m: correct mass, inertia or size",
        ),
        ("scale: 1.0, offset: 0 mm", "scale: 0, offset: 0 mm", "links[0].transducer.scale: is 0"),
        (
            "gravity: 9.80665 m/s2",
            "gravity: 9.80665 g",
            "gravity: 9.80665 g is out of range: must be at most 2.03943 g",
        ),
        ("breakaway: 3.6 kN", "breakaway: 2 kN", "actuator.friction.breakaway: is 2000 N"),
        (
            "maximum_force: 196 kN",
            "maximum_force: 296 kN",
            "actuator.maximum_force: is 296 kN, but piston area and supply pressure",
        ),
        (
            "relief_pressure: 420 bar",
            "relief_pressure: 200 bar",
            "actuator.relief_pressure: must be at least the supply's",
        ),
        (
            "low_pressure: 70 bar",
            "low_pressure: 3 bar",
            "supply.low_pressure: is 3 bar, it must be above return_pressure, 4 bar",
        ),
        (
            "  pressure: 210 bar",
            "  pressure: 60 bar",
            "supply.pressure: is 60 bar, it must be above low_pressure, 70 bar",
        ),
        (
            "precharge: 115 bar",
            "precharge: 215 bar",
            "supply.accumulator.precharge: is 215 bar, it must be below the supply's pressure, 210 bar",
        ),
        (
            "minimum_pressure: 140 bar",
            "minimum_pressure: 240 bar",
            "supply.limits.minimum_pressure: is 240 bar, it must be below the supply's pressure, 210 bar",
        ),
        (
            "  velocity: 0.6 m/s",
            "  velocity: 0.9 m/s",
            "limits.velocity: is 0.9 m/s, but valve, supply and piston area allow only 0.7975 m/s",
        ),
        (
            "stroke_margin: 2 mm",
            "stroke_margin: 50 mm",
            "limits.stroke_margin: leaves no usable travel of the shortest stroke, 50 mm",
        ),
        (
            "at_maximum_velocity: 25 mm",
            "at_maximum_velocity: 1 mm",
            "limits.following_error.at_maximum_velocity: is 0.001 m",
        ),
        (
            "direction: [1, 0, 0]",
            "direction: [1, 1, 0]",
            "sensors.accelerometers[6].direction: expected a direction vector",
        ),
        ("overlap: 0.1 %", "overlap: 0.1", ""),
        (
            "damping_ratio: 0.7",
            "damping_ratio: 0",
            "valve.damping_ratio: 0 is out of range: must be above 0",
        ),
        (
            "temperature: 45 degC",
            "temperature: -400 degC",
            "supply.oil.temperature: '-400 degC' does not exist",
        ),
    ],
)
def test_a_wrong_value_is_refused_in_its_line(old: str, new: str, problem: str) -> None:
    text = TEXT.replace(old, new, 1)
    assert text != TEXT
    if not problem:
        load_text(text, "table.yaml", TableSettings)
        return
    with pytest.raises(SettingsError) as caught:
        load_text(text, "table.yaml", TableSettings)
    assert len(caught.value.problems) == 1, caught.value.problems
    place, _, what = caught.value.problems[0].partition(": ")
    assert what.startswith(problem)
    assert int(place.split(":")[1]) == TEXT[: TEXT.index(old)].count("\n") + 1


def test_six_links_serve_and_five_do_not() -> None:
    links = re.split(r"(?=  - name: )", TEXT[TEXT.index("links:") : TEXT.index("supply:")])
    six = TEXT.replace(links[1], "")
    assert len(load_text(six, "table.yaml", TableSettings).links) == 6
    five = six.replace(links[2], "")
    with pytest.raises(SettingsError, match=r"table.yaml:19:1: links: 5 actuators cannot hold 6 freedoms"):
        load_text(five, "table.yaml", TableSettings)


def test_guides_hold_the_axes_in_which_the_table_is_not_free() -> None:
    links = re.split(r"(?=  - name: )", TEXT[TEXT.index("links:") : TEXT.index("supply:")])
    five = TEXT.replace(links[-1], "\n").replace(links[1], "")
    guided = "freedoms: [yaw, sway, heave]\n" + re.sub(r"\n    (surge|roll|pitch):[^\n]*", "", five)
    table = load_text(guided, "table.yaml", TableSettings)
    assert table.freedoms == ("sway", "heave", "yaw")
    assert table.pose_limits[2] == table.limits.pose.heave
    assert table.pose_limits[0] < 1e-8
    for wrong, problem in (
        ("freedoms: [yaw, yaw]", r"freedoms\[1\]: freedom 'yaw' is used twice"),
        ("freedoms: [surge]", r"limits.pose: surge is missing, and the table is free to move there"),
        ("freedoms: []", r"freedoms"),
        ("freedoms: [up]", r"freedoms\[0\]"),
    ):
        with pytest.raises(SettingsError, match=problem):
            load_text(guided.replace("freedoms: [yaw, sway, heave]", wrong), "table.yaml", TableSettings)
    with pytest.raises(SettingsError, match="with all six freedoms nothing is guided"):
        load_text(TEXT + "guides: {friction: 50 N}\n", "table.yaml", TableSettings)


SUPPORT = "{{name: {name}, position: [0 m, 0 m, -0.9 m], force: {force}{more}}}"


@pytest.mark.parametrize(
    ("supports", "problem"),
    [
        (
            # 35 t weigh 343.2 kN; at its rest, 50 mm below neutral, the spring adds 100 kN.
            [("one", "150 kN", ""), ("two", "100 kN", ", stiffness: 2 MN/m")],
            "supports: lift 350 kN where the table rests, at heave -50 mm, and the bare table weighs",
        ),
        (
            # Isothermal gas at 1.25 times its pressure, since a fifth of its volume is displaced.
            [("one", "280 kN", ", gas: {volume: 25 L, area: 1000 cm2, exponent: 1}")],
            "supports: lift 350 kN where the table rests",
        ),
        ([("one", "1 kN", ""), ("one", "1 kN", "")], "supports[1].name: name 'one' is used twice"),
        (
            [("one", "1 kN", ", stiffness: 1 kN/m, gas: {volume: 25 L, area: 1000 cm2}")],
            "supports[0].gas: stands beside stiffness: state one of the two",
        ),
        (
            [("one", "1 kN", ", gas: {volume: 5 L, area: 1000 cm2}")],
            "supports[0].gas.volume: is 5 L, but 50 mm of travel displace 5 L: state the volume",
        ),
        ([("one", "1 kN", ", stiffness: -1 kN/m")], "supports[0].stiffness: -1 kN/m is out of range"),
        ([("one", "270 kN", ", gas: {volume: 25 L, area: 1000 cm2, exponent: 1}")], ""),
        ([("down", "-900 kN", ", gas: {volume: 25 L, area: 1000 cm2}"), ("up", "400 kN", "")], ""),
    ],
)
def test_supports_that_cannot_be_are_refused(supports: list[tuple[str, str, str]], problem: str) -> None:
    lines = [SUPPORT.format(name=name, force=force, more=more) for name, force, more in supports]
    text = f"{TEXT}supports: [{', '.join(lines)}]\n"
    if not problem:
        assert len(load_text(text, "table.yaml", TableSettings).supports) == len(supports)
        return
    with pytest.raises(SettingsError) as caught:
        load_text(text, "table.yaml", TableSettings)
    (found,) = caught.value.problems
    place, _, what = found.partition(": ")
    assert what.startswith(problem)
    assert place.startswith(f"table.yaml:{text.count(chr(10))}:")


def test_a_mass_that_does_not_fit_the_inertia_is_refused() -> None:
    """√(14600 kg m² / 35 kg) is four times the longest side of 5 m."""
    message = r"body\.size: .* 35 kg .* about x .* of 20\.4 m, expected 0\.05 to 5 m"
    with pytest.raises(SettingsError, match=message):
        load_text(TEXT.replace("mass: 35 t", "mass: 35 kg", 1), "table.yaml", TableSettings)


def test_the_supports_of_the_page_fit_its_example() -> None:
    page = (TABLE_FILE.parents[1] / "docs" / "table.md").read_text(encoding="utf-8")
    example, supports = (
        re.search(rf"```yaml\n({begin}.*?)```", page, flags=re.DOTALL) for begin in ("# yaml", "supports:")
    )
    assert example is not None
    assert supports is not None
    table = load_text(f"{example[1]}\n{supports[1]}", "table.yaml", TableSettings)
    assert [support.force for support in table.supports] == [20e3, -8e3]


def test_mistakes_in_different_groups_do_not_hide_each_other() -> None:
    text = (
        TEXT.replace("neutral_length: 1200 mm", "neutral_length: 1201 mm", 1)
        .replace("mass: 35 t", "mass: 35", 1)
        .replace("orifice_law: true", "orifice_law: on")
        .replace("force_share: 90 %", "force_share: 120 %")
    )
    with pytest.raises(SettingsError) as caught:
        load_text(text, "table.yaml", TableSettings)
    assert len(caught.value.problems) == 4


def test_starter_files_are_found_by_name_and_by_path(tmp_path: Path) -> None:
    assert starter.find("table", "table").samefile(TABLE_FILE)
    assert starter.find("table", str(TABLE_FILE)) == TABLE_FILE
    assert "table" in starter.names("table")
    with pytest.raises(UsageError, match="no such table, did you mean table"):
        starter.find("table", "tabel")
    with pytest.raises(UsageError, match="no such table file"):
        starter.find("table", str(tmp_path / "table.yaml"))


def test_every_line_of_the_shipped_table_has_a_finite_value(table: TableSettings) -> None:
    def numbers(part: object) -> list[float]:
        if isinstance(part, dict):
            return [number for value in part.values() for number in numbers(value)]
        if isinstance(part, list):
            return [number for value in part for number in numbers(value)]
        return [part] if isinstance(part, float) else []

    found = numbers(as_json(table))
    assert all(math.isfinite(number) for number in found)
    assert table.limits.velocity in found


def test_gains_that_depend_on_the_table_may_be_left_out() -> None:
    text = re.sub(
        r"^  (length_gain|rate_feedforward|valve_lead|force_feedforward|pressure_\w+|orifice_law): .*\n",
        "",
        TEXT,
        flags=re.M,
    )
    table = load_text(text, "table.yaml", TableSettings)
    drive = table.drive
    assert (drive.rate_feedforward, drive.force_feedforward, drive.pressure_high_pass) == (1.0, 1.0, 1.0)
    assert drive.orifice_law
    # Delay of the valve and 2 ζ/ω, as the starter table states it.
    assert table.types[0].valve_lead == pytest.approx(3.2e-3, abs=0.05e-3)
    for gain in ("length_gain", "pressure_damping"):
        with pytest.raises(ValueError, match="has not been computed"):
            getattr(table.types[0], gain)


def test_the_tank_has_room_for_what_the_accumulators_take() -> None:
    table = load_text(TEXT, "table.yaml", TableSettings)
    taken = present(table.supply).accumulator.oil(present(table.supply).pressure)
    assert present(table.supply).tank_volume == 2.0
    larger = load_text(
        TEXT.replace("volume: 100 L", "volume: 10 m3", 1).replace("  rise_time: 2 s ", "# "),
        "table.yaml",
        TableSettings,
    )
    assert present(larger.supply).tank_volume == pytest.approx(8 * 100 * taken)
    small = TEXT.replace("    level: 1.0", f"    level: 1.0\n    tank_volume: {2e3 * taken:.3f} L")
    with pytest.raises(
        SettingsError, match=r"minimum_oil_level: is \d+%, but the accumulators take \d+ L of"
    ):
        load_text(small, "table.yaml", TableSettings)


TYPES = named_types(1.5)


def test_each_link_has_the_type_that_it_names(table: TableSettings) -> None:
    named = load_text(TYPES, "table.yaml", TableSettings)
    forces = [type_.cylinder.maximum_force for type_ in named.types]
    assert forces == pytest.approx([294e3] * 4 + [196e3] * 3)
    assert {type_.length_gain for type_ in named.types} == {15.0}
    assert len(set(table.types)) == 1, "one type for all is what it was"
    before, types = named_types(gains=True).split("actuators:\n")
    own = f"{before}actuators:\n" + types.replace("pressure_damping: 60 1/s", "pressure_damping: 40 1/s", 1)
    assert [type_.pressure_damping for type_ in load_text(own, "t.yaml", TableSettings).types] == (
        [40.0] * 4 + [60.0] * 3
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "actuator: horizontal",
            "actuator: horizontl",
            "links[4].actuator: 'horizontl' is no type of actuators: vertical, horizontal",
        ),
        (
            "  actuator: horizontal\n",
            "",
            "links[4]: actuator is missing, known types are vertical, horizontal",
        ),
        (
            "maximum_force: 196 kN",
            "maximum_force: 296 kN",
            "actuators.horizontal.maximum_force: is 296 kN, but piston area and supply pressure",
        ),
        (
            "relief_pressure: 420 bar",
            "relief_pressure: 200 bar",
            "actuators.vertical.relief_pressure: must be at least the supply's pressure, 210 bar",
        ),
        (
            "velocity: 0.6 m/s",
            "velocity: 0.9 m/s",
            "is 0.9 m/s, but valve, supply and piston area of horizontal allow only 0.7975 m/s",
        ),
        ("drive:\n", "valve: {}\ndrive:\n", "actuators: stands beside valve: state the types"),
        ("actuators:\n", "others:\n", "(file): neither actuator nor actuators are stated: state the types"),
    ],
)
def test_a_wrong_type_is_told_at_its_place(old: str, new: str, message: str) -> None:
    assert old in TYPES
    with pytest.raises(SettingsError) as refused:
        load_text(TYPES.replace(old, new, 1), "table.yaml", TableSettings)
    assert message in str(refused.value)


def test_each_type_has_the_velocity_that_it_reaches_as_its_limit() -> None:
    """Speed without load: rated flow times the root of 206 over 70 bar, over the area."""
    slower = TYPES.replace("rated_flow: 265 L/min", "rated_flow: 165 L/min", 1)
    vertical, horizontal = 0.7975, 0.7975 * 165 / 265
    stated = load_text(slower, "table.yaml", TableSettings)
    assert stated.velocities == pytest.approx([0.6] * 4 + [horizontal] * 3, rel=1e-3)
    left_out = load_text(slower.replace("  velocity: 0.6 m/s\n", ""), "table.yaml", TableSettings)
    assert left_out.velocities == pytest.approx([0.75 * vertical] * 4 + [0.75 * horizontal] * 3, rel=1e-3)


@pytest.mark.parametrize(
    ("removed", "told"),
    [
        (("longitudinal",), "links: the 6 actuators leave the table free in surge at its neutral position"),
        ((), "limits.conditioning: is 1.2, but at the neutral position the number is 1.22"),
    ],
)
def test_what_the_actuators_do_not_hold_is_told_when_the_file_is_read(
    removed: tuple[str, ...], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = yaml.safe_load(TEXT)
    content["links"] = [link for link in content["links"] if link["name"] not in removed]
    content["limits"]["conditioning"] = 1.2 if not removed else 3
    path = tmp_path / "table.yaml"
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    assert main(["check", "sine", "--table", str(path)]) == 2
    line = capsys.readouterr().err.strip()
    assert re.fullmatch(rf"{path}:\d+:\d+: {re.escape(told)}.*", line)


def test_types_beside_one_type_for_all_are_refused() -> None:
    both = TEXT.replace("actuator:\n", "actuators: {}\nactuator:\n", 1)
    load_text(both, "table.yaml", TableSettings)
    one = TYPES.split("actuators:\n")[1].split("  horizontal:\n")[0]
    both = TEXT.replace("\nactuator:\n", f"\nactuators:\n{one}\nactuator:\n", 1)
    with pytest.raises(SettingsError, match="actuators: stands beside actuator: state the types"):
        load_text(both, "table.yaml", TableSettings)


def test_a_link_of_a_table_with_one_type_names_none() -> None:
    text = TEXT.replace("  - name: longitudinal\n", "  - name: longitudinal\n    actuator: strong\n", 1)
    with pytest.raises(SettingsError, match="actuator: 'strong' is no type of actuators: none"):
        load_text(text, "table.yaml", TableSettings)
