"""Settings of the gateway: the operators' lease, their rates, answers, the status, the network address."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from mastd.settings.core.base import Settings
from mastd.settings.core.quantity import Frequency, Rate, Time


class GatewaySettings(Settings):
    """How operators are served."""

    lease: Annotated[Time, Field(ge=1, le=3600)]
    """Time after an operator's last command until another one may command."""
    command_rate: Annotated[Rate, Field(ge=1, le=1000)]
    """Commands per second that a client may send on average; stop and estop are never counted."""
    burst: Annotated[int, Field(ge=1, le=1000)]
    """Commands that a client may send at once."""
    answer: Annotated[Time, Field(ge=0.05, le=60)]
    """Time the loop may take to answer a request; then it is withdrawn and its client told so."""
    status_rate: Annotated[Frequency, Field(ge=1, le=100)]
    """Status snapshots per second for those who watch."""
    address: str | None
    """Network address for operators elsewhere, such as tcp://192.0.2.7:5580; needs keys (`mastd keys`), and
    the next port for the status. Null serves this machine alone."""
