"""Strict YAML: every kind of bad input is refused with its exact line, all of them at once."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated, Literal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import Field, ValidationError, field_validator

from mastd.errors import SettingsError
from mastd.settings.core import strict_yaml
from mastd.settings.core.base import Problem, Settings, refuse
from mastd.settings.core.loader import MAX_PROBLEMS, load, load_text
from mastd.settings.core.quantity import Angle, Direction, Length, Mass, Point, Ratio, Temperature


class Sine(Settings):
    """A segment."""

    kind: Literal["sine"]
    amplitude: Length
    cycles: int = 1


class Hold(Settings):
    """Another segment."""

    kind: Literal["hold"]
    angle: Angle


class Inner(Settings):
    """A group."""

    mass: Mass = Field(gt=0)
    """Mass of the thing."""
    offset: Length | None = None


class Sample(Settings):
    """A file with every kind of value."""

    name: str = "sample"
    number: float = 1.0
    count: int = 1
    switch: bool = False
    length: Annotated[Length, Field(gt=0, le=2)] = 1.0
    share: Ratio = Field(default=0.5, ge=0, le=1)
    oil: Temperature = Field(default=300.0, le=350)
    colour: Literal["red", "green"] = "red"
    point: Point = (0.0, 0.0, 0.0)
    direction: Direction = (0.0, 0.0, 1.0)
    inner: Inner | None = None
    names: tuple[str, ...] = ()
    segments: tuple[Annotated[Sine | Hold, Field(discriminator="kind")], ...] = ()


def problems(text: str) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        load_text(text, "file.yaml", Sample)
    return caught.value.problems


def test_good_values_are_read_as_si() -> None:
    sample = load_text(
        "---\n"
        "name: 'on'  # quoted words are text\n"
        "number: 1e-3\n"
        "count: -12\n"
        "switch: true\n"
        "length: 1.5e3 mm\n"
        "share: 25 %\n"
        "oil: 45 degC\n"
        "colour: green\n"
        'point: [1 m, -2 mm, "3 cm"]\n'
        "direction: [0, -1, 0]\n"
        "inner: {mass: 2 t, offset: null}\n"
        "names: [a, '1:30', 2 b]\n"
        "segments:\n"
        "  - {kind: sine, amplitude: 5 mm, cycles: 3}\n"
        "  - kind: hold\n"
        "    angle: 90 deg\n"
        "...\n",
        "file.yaml",
        Sample,
    )
    assert sample.name == "on"
    assert sample.number == 0.001
    assert sample.count == -12
    assert sample.switch is True
    assert sample.length == 1.5
    assert sample.share == 0.25
    assert sample.oil == 318.15
    assert sample.point == (1.0, -0.002, 0.03)
    assert sample.direction == (0.0, -1.0, 0.0)
    assert sample.inner == Inner(mass=2000.0)
    assert sample.names == ("a", "1:30", "2 b")
    assert sample.segments == (
        Sine(kind="sine", amplitude=0.005, cycles=3),
        Hold(kind="hold", angle=sample.segments[1].angle),  # type: ignore[union-attr]
    )


@pytest.mark.parametrize("text", ["1e-3", "1e3", "1.5e3", "12e03", "1.0e-3", "+1e+3", ".5e1", "7"])
def test_scientific_notation_is_a_number_with_or_without_a_point(text: str) -> None:
    assert load_text(f"number: {text}", "file.yaml", Sample).number == float(text)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        # what YAML 1.1 and 1.2, or two readers, take differently
        ("switch: on", "1:9: switch: on is ambiguous in YAML (true/false"),
        ("switch: No", "1:9: switch: No is ambiguous in YAML (true/false"),
        ("name: yes", "1:7: name: yes is ambiguous in YAML (true/false"),
        ("switch: True", "1:9: switch: write true instead of True"),
        ("switch: ~", "1:9: switch: write null instead of ~"),
        ("count: 010", "1:8: count: 010 is ambiguous in YAML (octal"),
        ("count: 0x1F", "1:8: count: 0x1F is not a decimal number"),
        ("count: 0o17", "1:8: count: 0o17 is not a decimal number"),
        ("count: 0b11", "1:8: count: 0b11 is not a decimal number"),
        ("count: 1_000", "1:8: count: 1_000 is ambiguous in YAML (number"),
        ("number: 1:30", "1:9: number: 1:30 is ambiguous in YAML (sexagesimal number"),
        ("name: 12:30:45.5", "1:7: name: 12:30:45.5 is ambiguous in YAML (sexagesimal number"),
        ("name: 2026-11-27", "1:7: name: 2026-11-27 is ambiguous in YAML (date"),
        ("name: 2026-13-45", "1:7: name: 2026-13-45 is ambiguous in YAML (date"),
        ("name: 2026-11-27T10:00:00Z", "1:7: name: 2026-11-27T10:00:00Z is ambiguous in YAML (date"),
        ("number: .inf", "1:9: number: .inf is not a finite number"),
        ("number: -.INF", "1:9: number: -.INF is not a finite number"),
        ("number: .nan", "1:9: number: .nan is not a finite number"),
        ("number: 1e999", "1:9: number: 1e999 is too large for a number"),
        ("count: 99999999999999999999", "1:8: count: 99999999999999999999 is too large for an integer"),
        ("number: " + "9" * 5000, "1:9: number: 999999999999999999999999... is too long for a number"),
        ("length: " + "9" * 200_000 + " m", "1:9: length: '9999999999"),
        ("number: " + "9" * 200_000 + " x", "1:9: number: expected a number, 9999999999"),
        ("number: =", "1:9: number: = has a special meaning"),
        ("number:", "1:8: number: has no value"),
        # what a settings file has no use for
        ("name: &a x\nnames: [*a]", "1:7: name: anchor &a is not supported"),
        ("name: &a x\nnames: [*a]", "2:9: names[0]: alias *a is not supported"),
        ("inner:\n  <<: {mass: 1 t}", "2:3: inner: merge key << is not supported"),
        ("name: !!str 5", "1:7: name: tag tag:yaml.org,2002:str is not supported"),
        ("name: !!python/object:os.system x", "1:7: name: tag tag:yaml.org,2002:python/object:os.system"),
        ("%YAML 1.1\n---\nname: a", "YAML directives are not supported"),
        ("name: a\n---\nname: b", "2:1: (file): a second document starts here"),
        ("name: a\nnumber: 1\nname: b", "3:1: name: key 'name' is defined twice, first in line 1"),
        ("inner: {mass: 1 t, mass: 2 t}", "1:20: inner.mass: key 'mass' is defined twice, first in line 1"),
        ("'name': a\nname: b", "2:1: name: key 'name' is defined twice, first in line 1"),
        ("? [a, b]\n: 1", "1:3: (file): a key must be a plain name"),
        ("1: a", "1:1: (file): a key must be a name, not '1'; put it in quotes"),
        ("on: a", "1:1: (file): on is ambiguous in YAML (true/false"),
        ("true: a", "1:1: (file): a key must be a name, not 'true'"),
        ("? \n: a", "1:2: (file): a key must be a name, not ''"),
        ('name: "a\\0b"', "1:7: name: the character U+0000 is not allowed in text"),
        ('name: "\\ud800"', "1:7: name: the character U+D800 is not allowed in text"),
        ("name: a\x01b", "1:8: (file): the character U+0001 is not allowed in a settings file"),
        ("", "1:1: (file): the file is empty"),
        ("# nothing\n", "1:1: (file): the file is empty"),
        ("null", "1:1: (file): the file is empty"),
        ("- a", "1:1: (file): expected a group of keys, this is a list"),
        ("just words", "1:1: (file): expected a group of keys, just words is text"),
        ("names: " + "[" * 2000, "1:28: names[0][0]: nested deeper than 20 levels"),
        ("name: [a", "(while parsing a flow sequence that starts in line 1)"),
        ("name: a\n\tcount: 1", "2:1: (file): invalid YAML: "),
        ("name: 'a", "invalid YAML: "),
        ("name: a: b", "1:8: (file): invalid YAML: mapping values are not allowed here"),
        # keys and types
        ("nmae: a", "1:1: nmae: unknown key 'nmae', did you mean 'name'?"),
        ("inner: {mass: 1 t, ofset: 1 mm}", "1:20: inner.ofset: unknown key 'ofset', did you mean 'offset'?"),
        ("inner: {mass: 1 t, zzz: 1 mm}", "unknown key 'zzz', known: mass, offset"),
        ("inner: {offset: 1 mm}", "1:1: inner.mass: key 'mass' is missing (Mass of the thing)"),
        ("inner:\n  mass: null", "2:9: inner.mass: expected a mass (kg, t; for instance 12 t)"),
        ("inner: 5", "1:8: inner: expected a group of keys, 5 is a number"),
        ("name: 5", "1:7: name: expected text: put 5 in quotes"),
        ("name: [a]", "1:1: name: expected text, this is a list"),
        ("number: abc", "1:9: number: expected a number, abc is text"),
        ("number: '5'", "1:9: number: expected a number: remove the quotes around 5"),
        ("number: true", "1:9: number: expected a number, true is a boolean"),
        ("number: 5 mm", "1:9: number: expected a bare number, 5 mm has a unit"),
        ("count: 1.5", "1:8: count: expected an integer, 1.5 is a number"),
        ("count: true", "1:8: count: expected an integer, true is a boolean"),
        ("switch: 1", "1:9: switch: expected true or false, 1 is a number"),
        ("switch: 'true'", "1:9: switch: expected true or false, true is text"),
        ("names: a", "1:8: names: expected a list, a is text"),
        ("colour: gren", "1:9: colour: 'gren': expected one of red, green, did you mean 'green'?"),
        # quantities
        ("length: 5", "1:9: length: 5 has no unit, a length needs one (m, mm"),
        ("length: 0", "1:9: length: 0 has no unit"),
        ("length: '5'", "1:9: length: 5 has no unit"),
        ("length: 5 kg", "1:9: length: 'kg' is a unit of mass, expected a length"),
        ("length: nan mm", "1:9: length: 'nan mm' is not finite"),
        ("length: true", "1:9: length: expected a length (m, mm"),
        ("length: [5 mm]", "1:1: length: expected a length (m, mm"),
        ("length: 0 mm", "1:9: length: 0 mm is out of range: must be above 0 mm"),
        ("length: 2001 mm", "1:9: length: 2001 mm is out of range: must be at most 2000 mm"),
        ("share: 120 %", "1:8: share: 120 % is out of range: must be at most 100 %"),
        ("share: 1.2", "1:8: share: 1.2 is out of range: must be at most 1"),
        ("oil: 90 degC", "1:6: oil: 90 degC is out of range: must be at most 76.85 degC"),
        ("point: [1 m, 2, 3 m]", "1:14: point[1]: 2 has no unit"),
        ("point: [1 m, 2 m]", "1:1: point[2]: the list has no item 3"),
        ("point: [1 m, 2 m, 3 m, 4 m]", "1:1: point: 4 items, there must be at most 3"),
        (
            "direction: [0, 0, 2]",
            "1:1: direction: expected a direction vector of length 1, this one has length 2",
        ),
        # kinds
        (
            "segments: [{kind: sien, amplitude: 1 mm}]",
            "1:19: segments[0].kind: 'sien': expected one of sine, hold",
        ),
        ("segments:\n- {amplitude: 1 mm}", "2:3: segments[0]: key 'kind' is missing"),
        ("segments:\n- kind: hold\n  agnle: 1 deg\n  angle: 1 deg", "3:3: segments[0].agnle: unknown key"),
        ("segments:\n- kind: hold\n  agnle: 1 deg\n  angle: 1 deg", "did you mean 'angle'?"),
        (
            "segments:\n- kind: sine\n  amplitude: 1 deg",
            "3:14: segments[0].amplitude: 'deg' is a unit of angle",
        ),
        ("segments:\n- kind: sine", "2:3: segments[0].amplitude: key 'amplitude' is missing"),
    ],
)
def test_bad_input_is_refused_with_its_place(text: str, line: str) -> None:
    found = problems(text)
    assert any(line in problem for problem in found), found
    assert all(problem.startswith("file.yaml:") for problem in found)


@pytest.mark.parametrize(
    "text", ["switch: on", "count: 010", "inner: &a {mass: 1 t}", "segments: [{kind: on}]", "name: !x"]
)
def test_a_refused_value_gets_one_complaint(text: str) -> None:
    assert len(problems(text)) == 1


def test_all_problems_are_told_at_once_in_the_order_of_the_file() -> None:
    found = problems(
        "name: 5\n"
        "count: 010\n"
        "lenght: 5 mm\n"
        "point: [1, 2 kg, 3 m]\n"
        "inner:\n"
        "  mass: -5 kg\n"
        "  mass: 5 kg\n"
        "  offset: *x\n"
        "segments:\n"
        "  - {kind: sine}\n"
        "  - {kind: hole, angle: 1 rad}\n"
    )
    assert [problem.split(" ")[0] for problem in found] == [
        "file.yaml:1:7:",
        "file.yaml:2:8:",
        "file.yaml:3:1:",
        "file.yaml:4:9:",
        "file.yaml:4:12:",
        "file.yaml:6:9:",
        "file.yaml:7:3:",
        "file.yaml:8:11:",
        "file.yaml:10:5:",
        "file.yaml:11:12:",
    ]


def test_a_flood_of_problems_is_cut_and_counted() -> None:
    found = problems("\n".join(f"x{index}: 1" for index in range(500)))
    assert len(found) == MAX_PROBLEMS + 1
    assert found[-1] == "file.yaml: and at least 300 more problems"


def test_a_problem_stays_on_one_line() -> None:
    found = problems('"a\\nb": 1\ncolour: "r\\ne"\nnumber: "1\\n2"\n')
    assert len(found) == 3
    assert found[2] == r"file.yaml:3:9: number: expected a number, 1\n2 is text"
    assert not any("\n" in problem for problem in found)


class Positive(Settings):
    """Numbers whose validator finds several problems at once."""

    values: tuple[float, ...]

    @field_validator("values")
    @classmethod
    def _positive(cls, values: tuple[float, ...]) -> tuple[float, ...]:
        found: list[Problem] = [((index,), "is negative") for index, value in enumerate(values) if value < 0]
        refuse(found)
        return values


def test_several_problems_of_one_validator_keep_their_places() -> None:
    with pytest.raises(SettingsError) as caught:
        load_text("values: [1, -2, 3,\n -4]", "f", Positive)
    assert caught.value.problems == ["f:1:13: values[1]: is negative", "f:2:2: values[3]: is negative"]


def test_outside_a_file_the_same_validator_tells_all_in_one_message() -> None:
    with pytest.raises(ValidationError, match=r"\[0\]: is negative; \[1\]: is negative"):
        Positive(values=(-1.0, -2.0))


def test_in_python_a_number_is_si_and_must_be_finite() -> None:
    assert Sample(length=0.5).length == 0.5
    with pytest.raises(ValidationError, match="not finite"):
        Sample(length=float("nan"))
    with pytest.raises(ValidationError, match="greater than 0"):
        Sample(length=-0.5)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"name: a\nnumber: \xff1\n", ":2:9: (file): byte 0xff is not UTF-8"),
        ("name: a".encode("utf-16"), ":1:1: (file): byte 0xff is not UTF-8"),
        (b"#" * (strict_yaml.MAX_FILE + 1), ":1:1: (file): larger than 256 KiB"),
        (b"", ":1:1: (file): the file is empty"),
        ("name: \u00e9\ncount: on".encode(), ":2:8: count: on is ambiguous"),
    ],
)
def test_files_that_are_no_settings_text(tmp_path: Path, data: bytes, problem: str) -> None:
    path = tmp_path / "with space \u00fc.yaml"
    path.write_bytes(data)
    with pytest.raises(SettingsError) as caught:
        load(path, Sample)
    assert len(caught.value.problems) == 1
    assert caught.value.problems[0].startswith(f"{path}{problem}")


def test_a_byte_order_mark_is_skipped_and_a_missing_file_told(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(b"\xef\xbb\xbfcount: 3\r\n")
    assert strict_yaml.read_text(path)[0] == "c"
    assert load(path, Sample).count == 3
    path.write_bytes(b"\xef\xbb\xbfcount: x")
    with pytest.raises(SettingsError, match=":1:8: count: expected an integer"):
        load(path, Sample)
    with pytest.raises(SettingsError, match="cannot be read: No such file"):
        load(tmp_path / "b.yaml", Sample)
    with pytest.raises(SettingsError, match="cannot be read: not a file"):
        load(tmp_path, Sample)


LINES = st.sampled_from(
    [
        "name: x",
        "count: 3",
        "inner:",
        "  mass: 5 kg",
        "- a",
        "[",
        "]",
        "{",
        "}",
        "&a",
        "*a",
        "? ",
        "| ",
        "!!x 1",
        "---",
        "1e3",
        '"',
        ":",
    ]
)


@given(text=st.one_of(st.text(max_size=60), st.lists(LINES, max_size=8).map("\n".join)))
@example(text="name: x\ncount: 3\ninner:\n  mass: 5 kg")
@example(text="")
def test_any_text_is_settings_with_the_values_of_its_lines_or_a_settings_error(text: str) -> None:
    with contextlib.suppress(SettingsError):
        lines = text.splitlines()
        assert load_text(text, "file.yaml", Sample) == Sample(
            name="x" if "name: x" in lines else "sample",
            count=3 if "count: 3" in lines else 1,
            inner=Inner(mass=5.0) if "  mass: 5 kg" in lines else None,
        )


def test_a_missing_key_is_told_without_its_description_where_there_are_no_sources(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing(_: object) -> str:
        raise OSError("could not get source code")

    monkeypatch.setattr("inspect.getsource", missing)
    with pytest.raises(SettingsError, match=r"(?m)inner\.mass: key 'mass' is missing$"):
        load_text("inner: {offset: 1 mm}", "file.yaml", Sample)
