"""Waiting for a plant that is not there yet, or that serves another daemon."""

from __future__ import annotations

import time
from collections.abc import Callable

from mastd.loop.process.script import StopRequest
from mastd.wire.plant.socket_link import AddressInUseError, NoPlantError, PlantLink

ATTEMPT_NS = 1_000_000_000
PAUSE_S = 0.5
_LOOK_S = 0.05


class _NotWantedError(Exception):
    """Somebody has asked to stop."""


def await_plant(
    attempt: Callable[[Callable[[], None]], PlantLink],
    stop: StopRequest,
    look: Callable[[], None],
    show: Callable[[str], None],
) -> PlantLink | None:
    """Return the link once the plant has taken this daemon, None if ``stop`` came first.

    ``attempt`` tries once and calls what it is given every 50 ms, as ``look`` is called all the time;
    ``show`` gets what is waited for whenever that changes. Raises ProtocolError when the plant refuses the
    terms, which no waiting changes.
    """

    def waiting() -> None:
        look()
        if stop.requested:
            raise _NotWantedError

    shown = ""
    try:
        while True:
            try:
                return attempt(waiting)
            except NoPlantError as error:
                said = str(error).partition(" within ")[0]
                text = f"waiting for the plant: {said}; start `hil-sim plant`, or the drive's bridge"
            except AddressInUseError as error:
                text = f"waiting for the plant: {error}; stop the other daemon"
            if text != shown:
                shown = text
                show(text)
            end = time.monotonic() + PAUSE_S
            while time.monotonic() < end:
                waiting()
                time.sleep(_LOOK_S)
    except _NotWantedError:
        return None
