"""How the motion at a driver's seat becomes motion of the table."""

from __future__ import annotations

from typing import Literal

from mastd.settings.base import Settings


class Cueing(Settings):
    """Placeholder of the settings."""

    kind: Literal["washout", "ride"]
