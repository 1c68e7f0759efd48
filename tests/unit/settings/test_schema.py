"""The JSON schemas are those of the classes, and judge quantities as the loader does."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from mastd import units
from mastd.settings import schema
from mastd.settings.core.base import Settings
from mastd.settings.core.quantity import Length, OilLeakage, Point, Ratio, Temperature

DIRECTORY = Path(__file__).parents[3] / "config" / "schemas"


class Sample(Settings):
    """One of each."""

    length: Length = Field(gt=0, le=2)
    """How long."""
    leakage: OilLeakage
    oil: Temperature
    share: Ratio = Field(ge=0)
    point: Point
    spacing: Annotated[Length, Field(gt=0, le=2)] = 0.5
    gap: Annotated[Length, Field(ge=1)] | None = None


PROPERTIES: dict[str, dict[str, Any]] = schema.json_schema(Sample)["properties"]


@pytest.mark.parametrize("name", schema.MODELS)
def test_the_written_schema_is_up_to_date(name: str) -> None:
    written = (DIRECTORY / f"{name}.schema.json").read_text(encoding="utf-8")
    assert written == schema.text(schema.MODELS[name]), "run: python -m mastd.settings.schema"


def test_write_makes_every_schema(tmp_path: Path) -> None:
    schema.write(tmp_path / "new")
    assert {path.name for path in (tmp_path / "new").iterdir()} == {
        f"{name}.schema.json" for name in schema.MODELS
    }


def test_shipped_settings_files_name_a_schema_that_exists_where_init_puts_them() -> None:
    config = DIRECTORY.parent
    for path in config.rglob("*.yaml"):
        first = path.read_text(encoding="utf-8").splitlines()[0]
        named = re.fullmatch(r"# yaml-language-server: \$schema=(\S+)", first)
        assert named, path
        parts = path.relative_to(config).parts
        put = config.joinpath(*parts[2:] if parts[0] == "tables" else parts)
        assert (put.parent / named[1]).is_file(), path


def test_a_quantity_is_text_with_pattern_example_description_and_range() -> None:
    length = PROPERTIES["length"]
    assert length["type"] == "string"
    assert length["examples"] == ["5 mm"]
    assert length["description"] == "How long. Range: above 0 m and at most 2 m."
    assert PROPERTIES["spacing"]["description"] == "Range: above 0 m and at most 2 m."
    assert PROPERTIES["gap"]["anyOf"][0]["description"] == "Range: at least 1 m."
    assert PROPERTIES["share"]["anyOf"][0] == {"type": "number", "examples": [0.9], "minimum": 0}
    assert schema.json_schema(Sample)["additionalProperties"] is False


def test_a_default_is_written_as_a_file_would_write_it() -> None:
    assert PROPERTIES["spacing"]["default"] == "0.5 m"
    assert re.search(PROPERTIES["spacing"]["pattern"], "0.5 m")


def test_a_point_is_a_list_of_three_alike() -> None:
    point = PROPERTIES["point"]
    assert (point["minItems"], point["maxItems"]) == (3, 3)
    assert point["items"]["examples"] == ["5 mm"]
    assert "prefixItems" not in point


@given(
    number=st.sampled_from(["5", "-1.5", ".5e-3", "+2.", "five", "", "1,5", "1e"]),
    space=st.sampled_from(["", " "]),
    symbol=st.sampled_from(["m", "mm", "m3/(s Pa)", "L/(min bar)", "K", "degC", "", "kg", "m3", "s Pa"]),
    field=st.sampled_from(
        [("length", units.LENGTH), ("leakage", units.OIL_LEAKAGE), ("oil", units.TEMPERATURE)]
    ),
)
def test_the_pattern_accepts_what_the_loader_reads(
    number: str, space: str, symbol: str, field: tuple[str, units.Dimension]
) -> None:
    name, dimension = field
    text = f"{number}{space}{symbol}"
    try:
        units.parse(text, dimension)
        read = True
    except units.UnitError as error:
        read = "does not exist" in str(error)
    assert (re.search(PROPERTIES[name]["pattern"], text) is not None) == read
