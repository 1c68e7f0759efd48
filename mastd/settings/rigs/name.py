"""Name of a rig in a profile; what the rig may give stands in ``mastd.settings.rigs.rigs``."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

RigName = Annotated[
    str, Field(pattern=r"^[a-z][a-z0-9_]{0,29}$", description="Name of a rig in the rigs' settings.")
]
