"""How a profile names a rig; what the rig may give stands in the rigs' settings (``mastd.settings.rigs``)."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

RigName = Annotated[
    str, Field(pattern=r"^[a-z][a-z0-9_]{0,29}$", description="Name of a rig in the rigs' settings.")
]
