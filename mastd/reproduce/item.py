"""One number of a source document beside ours, and when the two agree."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Item:
    """One compared number.

    ``paper`` is None where the paper leaves a question open, or says in words only what the number shows.
    ``ours`` is None where there is nothing to compare: a table without that part, a run that failed.
    """

    identifier: str
    what: str
    paper: float | None
    ours: float | None
    unit: str
    within: bool

    @property
    def document(self) -> str:
        """Number of the source document: the first part of the identifier."""
        return self.identifier.split(".")[0]

    def as_json(self) -> dict[str, object]:
        """Return the fields under their fixed names."""
        return {
            "id": self.identifier,
            "document": self.document,
            "what": self.what,
            "paper": self.paper,
            "ours": self.ours,
            "unit": self.unit,
            "within": self.within,
        }


def answer(identifier: str, what: str, ours: float, unit: str, *, within: bool = True) -> Item:
    """Return the item of a number that the paper does not print; without a finite one it is not within."""
    value = float(ours) if math.isfinite(ours) else None
    return Item(identifier, what, None, value, unit, value is not None and within)


def at_most(identifier: str, what: str, paper: float, ours: float, unit: str, *, bound: float) -> Item:
    """Return the item of a number that is within if it does not exceed ``bound``."""
    value = float(ours) if math.isfinite(ours) else None
    return Item(identifier, what, paper, value, unit, value is not None and value <= bound)


def compare(
    identifier: str,
    what: str,
    paper: float,
    ours: float | None,
    unit: str,
    *,
    relative: float = 0.0,
    absolute: float = 0.0,
) -> Item:
    """Return the item; it is within if the difference is at most ``relative`` of the paper's figure.

    ``absolute`` comes on top: half a unit of the last printed digit where the paper rounds.
    """
    value = None if ours is None or not math.isfinite(ours) else float(ours)
    within = value is not None and abs(value - paper) <= absolute + relative * abs(paper) + 1e-12
    return Item(identifier, what, paper, value, unit, within)
