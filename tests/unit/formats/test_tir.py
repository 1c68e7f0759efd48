"""Tyre property files: what they say is read in SI, every broken one is refused with its place."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mastd.errors import FormatError
from mastd.formats.tyre.tir import read_tir
from mastd.vehicle.magic_formula.formula import COUNT, pack
from tests.support.formats.tyre_texts import (
    COMBINED,
    ELLIPSE,
    MF52,
    MF61,
    PAC2002,
    SI,
    TYRES,
    read_text,
    tyre_text,
)

GOOD = tyre_text(PAC2002)


def complaints(folder: Path, text: str | bytes) -> list[str]:
    """Return what the reader says of a text, a line for each problem, without the folder."""
    with pytest.raises(FormatError) as caught:
        read_text(folder, text)
    return [line.rsplit(".tir", 1)[1] for line in str(caught.value).split("\n")]


def complaint(folder: Path, text: str | bytes) -> str:
    """Return the one problem the reader has with a text."""
    lines = complaints(folder, text)
    assert len(lines) == 1, lines
    return lines[0]


def without(*names: str) -> str:
    return tyre_text({name: value for name, value in PAC2002.items() if name not in names})


def line_of(text: str, start: str) -> int:
    return next(k for k, line in enumerate(text.split("\n"), start=1) if line.startswith(start))


SHARED_FILES = {
    # UNLOADED_RADIUS, FNOMIN; PCX1, PDX1, PKX1; PCY1, PDY1, PKY1: the folder's own list
    "chrono_Sedan_Pac02Tire.tir": (0.344, 4850, 1.6411, 1.1739, 22.303, 1.3507, 1.0489, -21.92),
    "chrono_HMMWV_Pac02Tire.tir": (0.4699, 35000, 1.7204, 0.77751, 14.848, 1.5874, 0.73957, -10.289),
    "chrono_CityBus_Pac02Tire.tir": (0.548, 35000, 1.7204, 0.77751, 14.848, 1.5874, 0.73957, -10.289),
}


@pytest.mark.parametrize("name", SHARED_FILES)
def test_files_of_others_give_their_listed_values(shared: Path, name: str) -> None:
    found = read_tir(shared / "data" / "tir" / name)
    keys = ("UNLOADED_RADIUS", "FNOMIN", "PCX1", "PDX1", "PKX1", "PCY1", "PDY1", "PKY1")
    assert tuple(found.get(key) for key in keys) == SHARED_FILES[name]
    assert (found.format, found.side, found.name) == ("PAC2002", "left", Path(name).stem)
    assert np.all(np.isfinite(pack(found)))


@pytest.mark.parametrize(
    ("name", "expected"),
    [("PAC2002", "PAC2002"), ("friction ellipse", "PAC2002"), ("MF 5.2", "MF 5.2"), ("MF 6.1", "MF 6.1")],
)
def test_each_format_is_recognised_and_keeps_every_number(tmp_path: Path, name: str, expected: str) -> None:
    found = read_text(tmp_path, tyre_text(TYRES[name]))
    assert found.format == expected
    assert {key: found.get(key, math.nan) for key in TYRES[name] if key != "PROPERTY_FILE_FORMAT"} == {
        key: value for key, value in TYRES[name].items() if key != "PROPERTY_FILE_FORMAT"
    }


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("PROPERTY_FILE_FORMAT", "'MF52'", "MF 5.2"),
        ("property_file_format", "mf_05", "MF 5.2"),
        ("PROPERTY_FILE_FORMAT", '"pac2002"', "PAC2002"),
        ("FITTYP", "6", "MF 5.2"),
        ("FITTYP", "21", "MF 5.2"),
    ],
)
def test_other_ways_to_name_a_format(tmp_path: Path, key: str, value: str, expected: str) -> None:
    values = {name: number for name, number in PAC2002.items() if name != "PROPERTY_FILE_FORMAT"}
    assert read_text(tmp_path, tyre_text({key: value, **values})).format == expected


def test_units_make_no_difference(tmp_path: Path) -> None:
    """The same tyre in mm, kN, degrees, g, ms and bar is the same tyre."""
    odd = {"LENGTH": "mm", "FORCE": "kN", "ANGLE": "deg", "MASS": "gram", "TIME": "millisecond"}
    odd["PRESSURE"] = "bar"
    factors = {
        **dict.fromkeys(("UNLOADED_RADIUS", "WIDTH", "RIM_RADIUS", "BOTTOM_OFFST"), 1e3),
        **dict.fromkeys(("FNOMIN", "FZMIN", "FZMAX"), 1e-3),
        **dict.fromkeys(
            ("VERTICAL_STIFFNESS", "BOTTOM_STIFF", "LONGITUDINAL_STIFFNESS", "LATERAL_STIFFNESS"), 1e-6
        ),
        **dict.fromkeys(("CAMMIN", "CAMMAX"), 180.0 / math.pi),
        **dict.fromkeys(("INFLPRES", "NOMPRES"), 1e-5),
        "VERTICAL_DAMPING": 1e-3,
        "LONGVL": 1.0,
        "MASS": 1e3,
        "IYY": 1e9,
    }
    values = {**MF61, "MASS": 9.3, "IYY": 0.71}
    scaled = {name: v if isinstance(v, str) else v * factors.get(name, 1.0) for name, v in values.items()}
    here, there = (read_text(tmp_path, tyre_text(*pair)) for pair in ((values, None), (scaled, odd)))
    for name, value in here.coefficients.items():
        assert there.get(name) == pytest.approx(value, rel=1e-12), name


def test_spellings_of_numbers_names_and_lines(tmp_path: Path) -> None:
    """Fortran's exponents, small letters, carriage returns, either comment, old encodings."""
    text = without("PDX1", "PEX4", "PVX1", "FNOMIN").replace("\n", "\r\n")
    text += "! größer\r\n  pdx1=1.12D0!$ twice\r\n\tPex4 = -2.5e-005\r\nPVX1=.5d-3\r\n"
    text += "{x y}\r\n1 2\r\nFnomin = 4200"
    found = read_text(tmp_path, text.encode("latin-1"))
    assert [found.get(name) for name in ("PDX1", "PEX4", "PVX1", "FNOMIN")] == [1.12, -2.5e-5, 0.5e-3, 4200.0]


def test_quotes_hide_the_signs_of_comments(tmp_path: Path) -> None:
    text = GOOD.replace("[MODEL]", "[MDI_HEADER]\nFILE_TYPE = 'a $ and ! inside'\n[MODEL]")
    assert read_text(tmp_path, text).format == "PAC2002"


def test_what_a_file_leaves_out_is_said(tmp_path: Path) -> None:
    def notes(values: dict[str, float | str]) -> str:
        return "\n".join(read_text(tmp_path, tyre_text(values)).warnings)

    assert "friction ellipse" in notes(ELLIPSE)
    assert "assumed 0: PDX2" in notes({k: v for k, v in PAC2002.items() if k != "PDX2"})
    assert "turn slip" in notes({**MF61, "PDXP1": 0.4})
    assert "QV2 is ignored" in notes({**MF61, "QV2": 0.04})
    assert "carcass" in notes({k: v for k, v in MF61.items() if k != "LATERAL_STIFFNESS"})
    assert "MF 6.2" in notes({**MF61, "FITTYP": 62})
    units = {name: unit for name, unit in SI.items() if name != "MASS"}
    assert "MASS: read as SI" in "\n".join(read_text(tmp_path, tyre_text(PAC2002, units)).warnings)


def test_unknown_formats_are_refused_with_those_that_are_known(tmp_path: Path) -> None:
    text = GOOD.replace("'PAC2002'", "'FIALA'")
    line = line_of(text, "PROPERTY")
    assert complaint(tmp_path, text) == (
        f":{line}:28: PROPERTY_FILE_FORMAT: 'FIALA' is not read here; known are 'PAC2002', 'MF-TYRE' or "
        "'MF52' (FITTYP 6, 21 or 52) and 'MF61' (FITTYP 61 or 62)"
    )
    assert ": FITTYP: 60 is not read here" in complaint(tmp_path, tyre_text({**MF61, "FITTYP": 60}))
    assert "neither PROPERTY_FILE_FORMAT nor FITTYP" in complaint(tmp_path, without("PROPERTY_FILE_FORMAT"))


def test_missing_coefficients_are_named_all_at_once(tmp_path: Path) -> None:
    said = complaint(tmp_path, without("PCX1", "PKY1", "QDZ1", "RCY1"))
    assert ": PAC2002 needs PCX1, PKY1, QDZ1, RCY1, missing here; it ends in line" in said
    assert "in [ALL]" in said
    assert "PKY4" in complaint(tmp_path, tyre_text({k: v for k, v in MF61.items() if k != "PKY4"}))
    # Without any coefficient of combined slip there is another law.
    assert not set(COMBINED) & read_text(tmp_path, without(*COMBINED)).coefficients.keys()


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("'newton'", "'stone'", ":4:9: FORCE: 'stone' is an unknown unit, known are newton, kn, lbf, kgf"),
        ("= 1.61 ", "= 1.6l ", ": PCX1: '1.6l' is not a number"),
        ("= 1.61 ", "= 1,61 ", ": PCX1: '1,61' is not a number; the decimal sign is a point"),
        ("= 1.61 ", "= nan ", ": PCX1: 'nan' is not finite"),
        ("= 1.61 ", "= -1e999 ", ": PCX1: '-1e999' is not finite"),
        ("= 1.61 ", "= 1e200 ", ": PCX1: '1e200' is an implausible value"),
        ("= 1.61 ", "= 1e-200 ", ": PCX1: 1e-200 is an implausible value"),
        ("= 1.61 ", "= '1.61' ", ": PCX1: '1.61' is not a number"),
        ("= 1.61 ", "= ", ": PCX1: there is no value"),
        ("= 1.61 ", "= 0.0 ", ": PCX1: 0 is not above zero"),
        ("= 1.61 ", "= 'x ", ": PCX1: a quote is not closed"),
        ("= -18.5", "= 18.5", ": PKY1: 18.5 is not below zero"),
        ("= 300.0", "= -300.0", ": VERTICAL_DAMPING: -300 is below zero"),
        ("RIM_RADIUS               = 0.2", "RIM_RADIUS = 0.32", ": RIM_RADIUS: 0.32 m is not below the free"),
        ("'LEFT'", "'BOTH'", ": TYRESIDE: 'BOTH' is an unknown side, known are LEFT, RIGHT, SYMMETRIC"),
        ("[MODEL]", "[MODEL", ":8:1: a section is written [NAME]"),
        ("[MODEL]", "[MODEL]\nwhat is this", ":9:1: 'what is this' is neither NAME = value nor [SECTION]"),
        ("[MODEL]", "[MODEL]\n1.5 = 3", ":9:1: '1.5' is not a valid name"),
    ],
)
def test_what_is_wrong_is_said_in_one_line_with_its_place(
    tmp_path: Path, before: str, after: str, said: str
) -> None:
    assert before in GOOD
    assert said in complaint(tmp_path, GOOD.replace(before, after, 1))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"UNLOADED_RADIUS": 620}, "UNLOADED_RADIUS: 620 m, expected 0.05 to 3 m: is [UNITS] right?"),
        ({"UNLOADED_RADIUS": 4, "RIM_RADIUS": 3}, "UNLOADED_RADIUS: 4 m, expected 0.05 to 3 m"),
        ({"VERTICAL_STIFFNESS": 210}, "VERTICAL_STIFFNESS: 210 N/m, expected 10000 to 1e+08 N/m: is [UNITS]"),
        ({"FNOMIN": 4.2}, "FNOMIN: 4.2 N, expected 10 to 1e+06 N: is [UNITS] right?"),
        ({"FZMAX": 100}, "FZMAX: 100 N is not above the nominal load, FNOMIN, 4200 N"),
        ({"PDX1": 80}, "PDX1: 80 times LMUX, 0.95, is a friction of 76, expected 0.05 to 3"),
        ({"PDY1": 1e-9}, "PDY1: 1e-09 times LMUY, 1.05, is a friction of 1.05e-09, expected 0.05 to 3"),
        ({"LMUY": 100}, "PDY1: 0.98 times LMUY, 100, is a friction of 98, expected 0.05 to 3"),
        ({"CAMMIN": 0.1}, "CAMMIN: 0.1 rad is not below zero; the range must hold the upright wheel"),
        ({"CAMMAX": 0}, "CAMMAX: 0 rad is not above zero; the range must hold the upright wheel"),
    ],
)
def test_values_that_no_tyre_has_are_refused(tmp_path: Path, changes: dict[str, float], said: str) -> None:
    text = tyre_text({**PAC2002, **changes})
    name = said.partition(":")[0]
    assert complaint(tmp_path, text).startswith(f":{line_of(text, name)}:28: {said}")
    if "UNITS" not in said:
        assert "UNITS" not in complaint(tmp_path, text)


def test_a_wrong_unit_is_told_at_every_value_it_spoils(tmp_path: Path) -> None:
    told = complaints(tmp_path, tyre_text(PAC2002, {**SI, "LENGTH": "mm"}))
    assert [line.split(": ")[1] for line in told] == ["UNLOADED_RADIUS", "VERTICAL_STIFFNESS"]
    assert all(line.endswith(": is [UNITS] right?") for line in told)


def test_tyres_of_motorcycles_karts_and_mining_trucks_are_taken(tmp_path: Path) -> None:
    for changes in (
        {"UNLOADED_RADIUS": 0.13, "RIM_RADIUS": 0.06, "FNOMIN": 400, "VERTICAL_STIFFNESS": 6e4},
        {"UNLOADED_RADIUS": 2.0, "FNOMIN": 8e5, "FZMAX": 1.2e6, "VERTICAL_STIFFNESS": 5e6},
        {"PDX1": 2.4, "PDY1": 2.2, "CAMMIN": -1.0, "CAMMAX": 1.0},
        {"LMUX": 0.1, "LMUY": 0.1},
    ):
        properties = read_text(tmp_path, tyre_text({**PAC2002, **changes}))
        assert {name: properties.get(name) for name in changes} == pytest.approx(changes)


def test_a_vertical_law_that_ends_is_refused(tmp_path: Path) -> None:
    assert "QFZ2: -40 leaves no vertical stiffness" in complaint(tmp_path, tyre_text({**MF61, "QFZ2": -40.0}))
    assert "QFZ2: 1000 leaves no" in complaint(tmp_path, tyre_text({**MF61, "QFZ2": 1e3}))


def test_names_that_stand_twice_are_refused(tmp_path: Path) -> None:
    text = GOOD + "pcx1 = 1.7\n"
    first, last = line_of(text, "PCX1"), line_of(text, "pcx1")
    assert (
        complaint(tmp_path, text) == f":{last}:1: PCX1 is already given in line {first}; remove one of them"
    )


def test_every_problem_is_told_up_to_a_limit(tmp_path: Path) -> None:
    text = GOOD.replace("= 1.61 ", "= x ").replace("'newton'", "'stone'") + "QSX1 = 3\n"
    assert len(complaints(tmp_path, text)) == 3
    many = complaints(tmp_path, GOOD + "?\n" * 50)
    assert (len(many), many[-1]) == (21, ": and 30 more problems")


def test_files_that_are_cut_off_are_refused(tmp_path: Path) -> None:
    """Wherever the last whole assignment of the coefficients is missing or broken."""
    place = GOOD.index("QCZ1")
    assert "needs QCZ1, QDZ1" in complaint(tmp_path, GOOD[:place])
    assert any("cut off here" in line for line in complaints(tmp_path, GOOD[: place + 2]))
    assert any(
        "QCZ1: there is no value; the file is cut off" in x for x in complaints(tmp_path, GOOD[: place + 27])
    )
    assert any("cut off here" in line for line in complaints(tmp_path, GOOD[: GOOD.index("LEFT'") + 2]))


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    assert complaint(tmp_path, b"") == ": is empty"
    assert complaint(tmp_path, b" \r\n \n") == ": is empty"
    assert complaint(tmp_path, b"[UNITS]\n\x00\x01\x02") == ":2: not text (byte 0x00)"
    assert complaint(tmp_path, GOOD.encode("utf-16")).endswith("(byte 0x00)")
    for text in ("$ only a comment\n", "[a]\n", "# b = 2\nvehicle:\n  mass: 1 t\n  axles: [1, 2]\n" * 30):
        said = ": not a tyre property file: it has no format, unit or coefficient of one"
        assert complaint(tmp_path, text) == said
    assert complaint(tmp_path, b"a" * 4_000_001) == ": is larger than 4 MB, which no tyre file is"
    with pytest.raises(FormatError, match="cannot be read: No such file"):
        read_tir(tmp_path / "none.tir")
    with pytest.raises(FormatError, match="cannot be read: Is a directory"):
        read_tir(tmp_path)


_PIECES = st.sampled_from(
    [
        b"=",
        b"$",
        b"!",
        b"'",
        b"[",
        b"]",
        b"{",
        b"\n",
        b"\r",
        b"\x00",
        b"\xff",
        b"1e308",
        b"-",
        b"0",
        b"PKY1 = ",
        b" ",
    ]
)


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from([PAC2002, ELLIPSE, MF52, MF61]),
    st.lists(st.tuples(st.floats(0.0, 1.0), st.integers(0, 30), _PIECES), max_size=4),
)
def test_any_file_is_taken_or_refused(
    tmp_path_factory: pytest.TempPathFactory,
    values: dict[str, float | str],
    changes: list[tuple[float, int, bytes]],
) -> None:
    """Whatever happens to a file's bytes; and what is taken has finite coefficients."""
    data = tyre_text(values).encode()
    for where, length, piece in changes:
        place = int(where * len(data))
        data = data[:place] + piece + data[place + length :]
    path = tmp_path_factory.getbasetemp() / "changed.tir"
    path.write_bytes(data)
    said = ""
    try:
        packed = pack(read_tir(path))
    except FormatError as error:
        said, packed = str(error), np.zeros(COUNT)
    assert all(line.startswith(str(path)) for line in said.split("\n")) or not said
    assert packed.shape == (COUNT,)
    assert np.all(np.isfinite(packed))


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_taken_or_refused(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.tir"
    path.write_bytes(data)
    with pytest.raises(FormatError):
        read_tir(path)
