"""What the head of a record says of its origin: versions, settings with digests, seeds, serials, machine.

The daemon's part is known when it starts, the profile's part when that is loaded; ``join`` makes one of both.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from mastd.record.channels import Channel
from mastd.record.run_files import MORE_CHANNELS
from mastd.safety.faults import TABLE
from mastd.safety.states import State
from mastd.settings.core.export import as_json, digest
from mastd.wire.plant.hello import PlantHello

if TYPE_CHECKING:
    from mastd.loop.payload.loaded_profile import LoadedProfile
    from mastd.loop.payload.profile_inputs import ProfileInputs
    from mastd.loop.process.host import Connection
    from mastd.loop.process.installation import Installation

PACKAGES = ("mastd", "numpy", "scipy", "numba", "pyzmq", "msgpack", "pydantic", "mcap")


def versions() -> dict[str, str]:
    """Return the versions of the daemon and of what it computes with."""
    return {package: version(package) for package in PACKAGES}


def of_daemon(installation: Installation, connection: Connection, hello: PlantHello) -> dict[str, Any]:
    """Return the daemon's part as plain data; every settings file is kept as text and as SI values."""
    table = installation.table
    return {
        "versions": versions(),
        "settings_text": dict(installation.texts),
        "settings_files": {name: str(path.resolve()) for name, path in installation.files.items()},
        "table": as_json(table),
        "daemon": as_json(installation.daemon),
        "seeds": {"plant": connection.request.seed if connection.address is None else None},
        "serials": {
            "lengths": [actuator.transducer.serial for actuator in table.links],
            "pressures": [
                [p.serial for p in actuator.pressure_transducers or ()] for actuator in table.links
            ],
            "forces": [
                single.serial
                if (single := actuator.pressure_difference_transducer or actuator.load_cell)
                else None
                for actuator in table.links
            ],
            "accelerometers": [sensor.serial for sensor in table.sensors.accelerometers],
        },
        "plant": {
            "name": hello.name,
            "simulated": hello.simulated,
            "boot_id": hello.boot_id,
            "mode": hello.mode,
            "link": connection.link if connection.address is None else connection.address,
        },
        "host": {
            "system": platform.platform(),
            "processors": os.cpu_count(),
            "python": platform.python_version(),
            "realtime_kernel": os.path.exists("/sys/kernel/realtime") or "PREEMPT_RT" in platform.version(),
        },
        "states": [state.name for state in State],
        "faults": {str(int(row.code)): row.title for row in TABLE},
    }


def of_profile(
    text: str, inputs: ProfileInputs, loaded: LoadedProfile, channels: Sequence[Channel] = ()
) -> dict[str, Any]:
    """Return the profile's part as plain data; ``text`` of its file, ``channels``: of what is simulated.

    Of each file that profile and vehicle name the path and the SHA-256 of its bytes are kept.
    """
    profile = inputs.profile
    return {
        MORE_CHANNELS: [[channel.name, channel.unit, channel.meaning] for channel in channels],
        "name": profile.name,
        "duration": loaded.duration,
        "band": loaded.band,
        "input_files_sha256": dict(inputs.digests),
        "settings_text": {"profile": text},
        "profile": as_json(profile),
        "seeds": {"profile": profile.seed},
    }


def join(daemon: dict[str, Any], profile: dict[str, Any]) -> dict[str, object]:
    """Return the whole head of a record that begins now."""
    texts = {**daemon["settings_text"], **profile["settings_text"]}
    return {
        **daemon,
        **profile,
        "started_unix": time.time(),
        "settings_text": texts,
        "settings_sha256": digest(texts),
        "seeds": {**daemon["seeds"], **profile["seeds"]},
    }
