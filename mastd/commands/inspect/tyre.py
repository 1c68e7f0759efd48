"""What ``mastd inspect`` says of a tyre property file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mastd.commands.vehicle.text import aligned
from mastd.record.plain import plain

if TYPE_CHECKING:
    from mastd.formats.tyre.tir import TyreProperties


def tyre_document(path: Path, properties: TyreProperties) -> object:
    """Return a tyre property file as data for JSON, SI."""
    return plain(
        {
            "file": str(path),
            "format": {"name": "tir", "title": f"tyre property file, {properties.format}"},
            "side": properties.side,
            "coefficients": dict(properties.coefficients),
            "warnings": list(properties.warnings),
        }
    )


def tyre_page(path: Path, properties: TyreProperties) -> str:
    """Return a tyre property file as lines."""
    lines = [
        ("format", f"tyre property file, {properties.format}"),
        ("side", f"measured on the side: {properties.side}"),
        ("found", f"{len(properties.coefficients)} numbers"),
    ]
    for name, title, unit in (("FNOMIN", "nominal load", "N"), ("UNLOADED_RADIUS", "free radius", "m")):
        if name in properties.coefficients:
            lines.append((title, f"{properties.coefficients[name]:.6g} {unit}"))
    notes = [f"note: {warning}" for warning in properties.warnings]
    return "\n".join((str(path), aligned(lines), *notes, f"curves: mastd vehicle tyre {path}"))
