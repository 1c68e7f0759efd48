"""Where a run comes from: versions, digests, files, seeds, serials, plant, machine and rights."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from mastd.record.reader import Run
from mastd.report.drawing.blocks import Facts, Table, cells
from mastd.report.numbers import group, part, plain


def provenance_facts(run: Run, result: Mapping[str, Any]) -> Facts:
    """Return the provenance of a run, as names with their values."""
    metadata = run.metadata
    rows: list[tuple[str, str]] = [("record", str(run.path))]
    if result.get("command_sha256"):
        rows.append(("command_sha256", str(result["command_sha256"])))
    rows.append(("settings_sha256", plain(metadata.get("settings_sha256"))))
    texts = group(metadata, "settings_text")
    rows += [(f"SHA-256 of {name} settings", _sha256(text)) for name, text in texts.items()]
    files = group(metadata, "input_files_sha256")
    rows += [(f"SHA-256 of {name}", str(digest)) for name, digest in files.items()]
    versions = group(metadata, "versions")
    rows.append(("versions", ", ".join(f"{name} {number}" for name, number in versions.items()) or "–"))
    rows.append(("seeds", plain(metadata.get("seeds"))))
    rows.append(("plant", plant_text(metadata)))
    rows.append(("table", plain(part(metadata, "table", "name"))))
    rows.append(("machine", plain(metadata.get("host"))))
    return Facts(tuple(rows))


def plant_text(metadata: Mapping[str, object]) -> str:
    """Return which plant was driven, and how."""
    plant = group(metadata, "plant")
    if not plant:
        return "–"
    simulated = {True: "simulated", False: "real"}.get(plant.get("simulated"), "unknown kind")  # type: ignore[arg-type]
    mode, link = plain(plant.get("mode")), plain(plant.get("link"))
    return f"{plain(plant.get('name'))}, {simulated}, {mode}, link {link}"


def serials_table(run: Run) -> Table | None:
    """Return the serial numbers of the sensors, None where the record has none."""
    serials = group(run.metadata, "serials")
    rows = [cells(name, plain(value)) for name, value in serials.items()]
    return (
        Table(("sensors", "serial numbers, in order"), tuple(rows), folded="Serial numbers") if rows else None
    )


def rights_table(run: Run) -> Table | None:
    """Return the real-time rights of a run, None where the record has none."""
    for event in run.events:
        rights = event.get("rights")
        if event.get("event") == "rights" and isinstance(rights, list):
            rows = [
                cells(
                    plain(part(right, "name")),
                    plain(part(right, "obtained")),
                    plain(part(right, "found")),
                    plain(part(right, "advice")) if part(right, "obtained") is False else "",
                )
                for right in rights
            ]
            return Table(("right", "obtained", "found", "remedy"), tuple(rows), folded="Real-time rights")
    return None


def _sha256(text: object) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest() if isinstance(text, str) else "–"
