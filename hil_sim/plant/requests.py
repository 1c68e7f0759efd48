"""What may be asked of a simulated plant beyond the protocol's core: faults, and its true motion."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hil_sim import faults
from mastd.errors import ProtocolError
from mastd.wire.plant.hello import MAX_TEXT_LENGTH

if TYPE_CHECKING:
    from hil_sim.plant.plant import Plant


class PlantRequests:
    """Answers the requests ``inject`` and ``truth`` of docs/protocol.md for one plant."""

    def __init__(self, plant: Plant) -> None:
        self._plant = plant

    def __call__(self, message: dict[str, object]) -> dict[str, object]:
        """Return the answer to one request; raise MastdError for one that cannot be served."""
        kind = message["kind"]
        plant = self._plant
        if kind == "inject":
            text = message.get("fault")
            if not isinstance(text, str):
                raise ProtocolError("inject: fault must be a text like estop@0s")
            plant.inject(faults.parse(text[:MAX_TEXT_LENGTH]))
            return {"time_ns": plant.time_ns}
        if kind == "truth":
            return {
                "time_ns": plant.time_ns,
                "pose": plant.true_pose.tolist(),
                "velocity": plant.true_velocity.tolist(),
                "acceleration": plant.true_acceleration.tolist(),
                "forces": plant.forces.tolist(),
            }
        raise ProtocolError(f"no request {str(kind)[:40]!r}; there are inject, status and truth")
