"""A vehicle on the table, written as a co-simulation FMU of FMI 2.0 or 3.0.

The FMU's library is that of pythonfmu or pythonfmu3, which runs Python inside; the vehicle's settings and its
tyre files travel in ``resources``. The description is written here: those packages know no units (FMI 2) and
no fixed step.
"""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from mastd.errors import UsageError
from mastd.formats.core.packages import package
from mastd.settings.core.export import as_json
from mastd.settings.table.payload import VehiclePayload
from mastd.settings.table.table import TableSettings
from mastd.vehicle.fmu.slave import DATA, Quantity, quantities
from mastd.vehicle.model import library
from mastd.vehicle.payload.load import position_on_table, restrained, vehicle_on_table

STEP: Final = 1e-3
"""s, step of the vehicle in an FMU."""
_PACKAGE: Final = {2: "pythonfmu", 3: "pythonfmu3"}
_BASE_UNITS: Final[dict[str, dict[str, int]]] = {
    "m": {"m": 1},
    "rad": {"rad": 1},
    "N": {"kg": 1, "m": 1, "s": -2},
    "N m": {"kg": 1, "m": 2, "s": -2},
    "m/s": {"m": 1, "s": -1},
    "rad/s": {"rad": 1, "s": -1},
    "m/s2": {"m": 1, "s": -2},
}
_DATE: Final = (1980, 1, 1, 0, 0, 0)
"""Of every member: the same vehicle gives the same file."""


def write_vehicle_fmu(path: Path, payload: VehiclePayload, table: TableSettings, major: int) -> int:
    """Write a payload's vehicle on a table as an FMU of FMI ``major`` (2 or 3); return its variables' number.

    Raises UsageError without pythonfmu or a place to write to, and what ``vehicle_on_table`` raises for a
    vehicle that cannot stand on the table.
    """
    source = Path(package(_PACKAGE[major], "fmi", "an FMU").__file__).parent
    vehicle = vehicle_on_table(payload, table, STEP)
    tyres: dict[str, bytes] = {}
    length, width, _ = table.body.size
    data = {
        "vehicle": _self_contained(as_json(library.settings(payload.vehicle)), tyres),
        "gravity": table.gravity,
        "place": position_on_table(payload, table, vehicle.model),
        "half_size": (0.5 * length, 0.5 * width),
        "restrained": restrained(payload, vehicle.model),
        "step": STEP,
    }
    text = json.dumps(data, sort_keys=True)
    variables = quantities([wheel.name for wheel in vehicle.model.wheels])
    identifier = "mastd_" + re.sub(r"\W", "_", vehicle.model.name, flags=re.ASCII)
    token = hashlib.sha256(f"{major} {version('mastd')} {text}".encode()).hexdigest()[:32]
    module = f"mastd_vehicle_fmi{major}"
    members: dict[str, bytes] = {
        "modelDescription.xml": _description(major, identifier, token, vehicle.model.name, table, variables),
        f"resources/{DATA}": text.encode(),
        "resources/slavemodule.txt": module.encode(),
        f"resources/{module}.py": Path(__file__).with_name(f"entry_{major}.py").read_bytes(),
    }
    members.update((f"resources/{name}", content) for name, content in tyres.items())
    for file in sorted(source.glob("*.py")):
        members[f"resources/{source.name}/{file.name}"] = file.read_bytes()
    for file in sorted((source / "resources" / "binaries").rglob("*")):
        if file.suffix in {".so", ".dll", ".dylib"}:
            members[f"binaries/{file.parent.name}/{identifier}{file.suffix}"] = file.read_bytes()
    _write(path, members)
    return len(variables)


def _self_contained(document: Any, tyres: dict[str, bytes]) -> Any:
    """Return settings whose tyre files are named by where they stand in the resources; collect those."""
    if isinstance(document, list):
        return [_self_contained(item, tyres) for item in document]
    if not isinstance(document, dict):
        return document
    found = {key: _self_contained(value, tyres) for key, value in document.items()}
    if "magic_formula" in found:
        content = Path(found["magic_formula"]).read_bytes()
        name = f"tyres/{hashlib.sha256(content).hexdigest()[:16]}.tir"
        tyres[name] = content
        found["magic_formula"] = name
    return found


def _description(
    major: int,
    identifier: str,
    token: str,
    vehicle: str,
    table: TableSettings,
    variables: tuple[Quantity, ...],
) -> bytes:
    """Return modelDescription.xml."""
    root = Element(
        "fmiModelDescription",
        {
            "fmiVersion": f"{major}.0",
            "modelName": vehicle,
            "guid" if major == 2 else "instantiationToken": token,
            "description": f"{vehicle} on the table {table.name}: pose in, wrench out. Runs mastd: the "
            "Python that loads this FMU must have it (pip install mastd)",
            "generationTool": f"mastd {version('mastd')}",
            "variableNamingConvention": "flat",
        },
    )
    ability = {"modelIdentifier": identifier, "needsExecutionTool": "true"}
    ability["canHandleVariableCommunicationStepSize"] = "true"
    if major == 3:
        ability["fixedInternalStepSize"] = repr(STEP)
    SubElement(root, "CoSimulation", ability)
    definitions = SubElement(root, "UnitDefinitions")
    for name in dict.fromkeys(variable.unit for variable in variables):
        unit = SubElement(definitions, "Unit", {"name": name})
        SubElement(unit, "BaseUnit", {base: str(power) for base, power in _BASE_UNITS[name].items()})
    categories = SubElement(root, "LogCategories")
    for name in ("logStatusWarning", "logStatusDiscard", "logStatusError", "logStatusFatal"):
        SubElement(categories, "Category", {"name": name, "description": "messages of this status"})
    SubElement(root, "DefaultExperiment", {"startTime": "0", "stepSize": repr(STEP)})
    listed = SubElement(root, "ModelVariables")
    structure = SubElement(root, "ModelStructure")
    (_add_variables_2 if major == 2 else _add_variables_3)(listed, structure, variables)
    indent(root)
    return bytes(tostring(root, "UTF-8", xml_declaration=True))


def _add_variables_2(listed: Element, structure: Element, variables: tuple[Quantity, ...]) -> None:
    for reference, variable in enumerate(variables):
        item = SubElement(
            listed,
            "ScalarVariable",
            {
                "name": variable.name,
                "valueReference": str(reference),
                "description": variable.meaning,
                "causality": variable.causality,
                "variability": "continuous",
            },
        )
        start = {"start": "0"} if variable.causality == "input" else {}
        SubElement(item, "Real", {"unit": variable.unit, **start})
    for group in ("Outputs", "InitialUnknowns"):
        unknowns = SubElement(structure, group)
        for index, variable in enumerate(variables, 1):
            if variable.causality == "output":
                SubElement(unknowns, "Unknown", {"index": str(index)})


def _add_variables_3(listed: Element, structure: Element, variables: tuple[Quantity, ...]) -> None:
    for reference, variable in enumerate(variables):
        start = {"start": "0"} if variable.causality == "input" else {}
        attributes = {
            "name": variable.name,
            "valueReference": str(reference),
            "description": variable.meaning,
            "causality": variable.causality,
            "variability": "continuous",
            "unit": variable.unit,
        }
        SubElement(listed, "Float64", {**attributes, **start})
    independent = {"name": "time", "valueReference": str(len(variables)), "causality": "independent"}
    SubElement(listed, "Float64", {**independent, "variability": "continuous", "description": "s"})
    for group in ("Output", "InitialUnknown"):
        for reference, variable in enumerate(variables):
            if variable.causality == "output":
                SubElement(structure, group, {"valueReference": str(reference)})


def _write(path: Path, members: dict[str, bytes]) -> None:
    try:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in members.items():
                info = zipfile.ZipInfo(name, _DATE)
                info.compress_type = zipfile.ZIP_DEFLATED
                info.external_attr = 0o644 << 16
                archive.writestr(info, content)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror or error}") from error
