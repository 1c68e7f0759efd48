"""Table settings whose joints may be moved freely, to see what a changed geometry does to the results."""

from __future__ import annotations

from pydantic import ValidationInfo, field_validator

from mastd.settings.table.table import LinkSettings, TableSettings


class FreeTableSettings(TableSettings):
    """A table whose neutral lengths need not agree with its joints: the results follow from the joints."""

    @field_validator("links")
    @classmethod
    def _links_fit(cls, links: tuple[LinkSettings, ...], info: ValidationInfo) -> tuple[LinkSettings, ...]:
        return links
