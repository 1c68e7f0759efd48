"""JSON schemas of the settings files, made from the classes that read them.

Editors complete and check a file by the schema that its first line names. ``python -m mastd.settings.schema``
writes all of them to ``config/schemas``; a test holds the written ones up to date. A schema judges a value's
form; ranges and checks across fields are the loader's and stand in the descriptions.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from mastd.settings.core.base import Settings, field_docstrings
from mastd.settings.core.quantity import SI_UNIT
from mastd.settings.core.starter import starter_directory
from mastd.settings.daemon.daemon import DaemonSettings
from mastd.settings.profile.profile import ProfileSettings
from mastd.settings.rigs.rigs import RigsSettings
from mastd.settings.table.table import TableSettings
from mastd.settings.vehicle.vehicle import VehicleSettings

MODELS: Final[dict[str, type[Settings]]] = {
    "daemon": DaemonSettings,
    "profile": ProfileSettings,
    "rigs": RigsSettings,
    "table": TableSettings,
    "vehicle": VehicleSettings,
}
"""File name of each schema, without its ending, and the class of the file."""

_RANGES: Final = {
    "exclusiveMinimum": "above",
    "minimum": "at least",
    "exclusiveMaximum": "below",
    "maximum": "at most",
}


class _Documented(GenerateJsonSchema):
    """Describes each field by its docstring."""

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        """Return the schema of a class, with descriptions of its fields."""
        made = super().model_schema(schema)
        for name, text in field_docstrings(schema["cls"]).items():
            if name in made.get("properties", {}):
                made["properties"][name]["description"] = text
        return made


def json_schema(model: type[Settings]) -> dict[str, Any]:
    """Return the schema (draft 2020-12) of a settings class."""
    schema = model.model_json_schema(mode="validation", schema_generator=_Documented)
    schema["$schema"] = GenerateJsonSchema.schema_dialect
    tidied: dict[str, Any] = _tidy(schema)
    return tidied


def text(model: type[Settings]) -> str:
    """Return the schema file's text."""
    return json.dumps(json_schema(model), indent=1, ensure_ascii=False) + "\n"


def write(directory: Path) -> None:
    """Write the schemas of all settings files into a directory."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, model in MODELS.items():
        (directory / f"{name}.schema.json").write_text(text(model), encoding="utf-8")


def _tidy(part: Any) -> Any:
    """Rewrite what editors do not understand: like items of a fixed list, ranges of text."""
    if isinstance(part, list):
        return [_tidy(item) for item in part]
    if not isinstance(part, dict):
        return part
    tidied = {key: _tidy(value) for key, value in part.items()}
    items = tidied.get("prefixItems")
    if items and all(item == items[0] for item in items):
        del tidied["prefixItems"]
        tidied["items"] = items[0]
    unit = tidied.pop(SI_UNIT, None)
    if unit is not None:
        bounds = [
            f"{text} {tidied.pop(key):g} {unit}".rstrip() for key, text in _RANGES.items() if key in tidied
        ]
        if bounds:
            range_text = f"Range: {' and '.join(bounds)}."
            tidied["description"] = (
                f"{tidied['description']} {range_text}" if "description" in tidied else range_text
            )
        if isinstance(tidied.get("default"), float):
            tidied["default"] = f"{tidied['default']:g} {unit}"
    return tidied


if __name__ == "__main__":
    write(starter_directory() / "schemas")
