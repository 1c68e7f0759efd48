"""What the daemon finds under the entry-point group ``mastd.plants``: this plant, for either link."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

from pydantic import ValidationError

from hil_sim import faults
from hil_sim.plant.plant import Plant
from hil_sim.plant.truth import PayloadTruth, PlantTruth
from mastd.control.table.gains import with_drive_gains
from mastd.errors import UsageError
from mastd.settings.core.loader import load, load_text
from mastd.settings.core.strict_yaml import read_text
from mastd.settings.table.table import TableSettings
from mastd.wire.plant.provider import PlantRequest, RigidPayload


class SimulatedPlantProvider:
    """Makes the simulated plant as an object, or the command line that runs it as a process."""

    def open(self, request: PlantRequest) -> Plant:
        """Return the plant for ``request``; raise SettingsError or UsageError for what cannot be.

        A payload that the truth itself states is the true one, whatever the request says.
        """
        text = read_text(request.table_path) if request.table_text is None else request.table_text
        table = with_drive_gains(load_text(text, str(request.table_path), TableSettings))
        truth = load(request.truth_path, PlantTruth) if request.truth_path else PlantTruth()
        if truth.payload is None and request.payload is not None:
            truth = truth.model_copy(update={"payload": _payload(request.payload)})
        scheduled = [faults.parse(text) for text in request.faults]
        plant = Plant(table, truth, request.period_ns, request.seed)
        for fault in scheduled:
            plant.inject(fault)
        return plant

    def arguments(self, request: PlantRequest, address: str) -> list[str]:
        """Return the command line of ``hil-sim plant`` that serves ``request`` at ``address``."""
        command = [sys.executable, "-m", "hil_sim", "plant", "--table", str(request.table_path)]
        command += ["--address", address, "--mode", request.mode]
        command += ["--period", f"{request.period_ns / 1e3} us", "--seed", str(request.seed)]
        if request.truth_path is not None:
            command += ["--truth", str(request.truth_path)]
        if request.payload is not None:
            command += ["--payload", _payload_text(request.payload)]
        for fault in request.faults:
            command += ["--fault", fault]
        return command


def _payload_text(payload: RigidPayload) -> str:
    """Return the ``--payload`` that describes ``payload``."""
    return json.dumps(
        {
            "mass": payload.mass,
            "centre_of_gravity": payload.centre_of_gravity,
            "inertia": payload.inertia,
        }
    )


def _payload(payload: RigidPayload) -> PayloadTruth:
    try:
        return PayloadTruth.model_validate(asdict(payload))
    except ValidationError as error:
        problem = error.errors()[0]
        location = ".".join(str(part) for part in problem["loc"])
        raise UsageError(f"payload: {location}: {problem['msg']}") from error


provider = SimulatedPlantProvider()
