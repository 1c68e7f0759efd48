"""What the head of a record says of its origin: versions, settings with digests, seeds, serials, machine."""

from __future__ import annotations

import os
import platform
import time
from importlib.metadata import version
from typing import TYPE_CHECKING

from mastd.safety.faults import TABLE
from mastd.safety.states import State
from mastd.settings.export import as_json, digest
from mastd.wire.hello import PlantHello

if TYPE_CHECKING:
    from mastd.loop.plan import Plan
    from mastd.loop.session import Connection

PACKAGES = ("mastd", "numpy", "scipy", "numba", "pyzmq", "msgpack", "pydantic", "mcap")


def metadata(plan: Plan, connection: Connection, hello: PlantHello) -> dict[str, object]:
    """Return plain data for the record's head; every settings file is kept as text and as SI values."""
    texts = {
        "table": plan.table_path.read_text(encoding="utf-8"),
        "profile": plan.profile_path.read_text(encoding="utf-8"),
        "daemon": plan.daemon_path.read_text(encoding="utf-8"),
    }
    request = connection.request
    return {
        "name": plan.profile.name,
        "duration": plan.timeline.duration,
        "band": plan.profile.band(),
        "started_unix": time.time(),
        "versions": {package: version(package) for package in PACKAGES},
        "settings_text": texts,
        "settings_sha256": digest(texts),
        "table": as_json(plan.table),
        "profile": as_json(plan.profile),
        "daemon": as_json(plan.daemon),
        "seeds": {
            "profile": plan.profile.seed,
            "plant": request.seed if connection.address is None else None,
        },
        "serials": {
            "lengths": [link.transducer.serial for link in plan.table.links],
            "pressures": [[p.serial for p in link.pressure_transducers] for link in plan.table.links],
            "accelerometers": [sensor.serial for sensor in plan.table.sensors.accelerometers],
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
