"""Benches of the control on motions from elsewhere: strong-motion records, roads, and a vehicle on the table.

What is not shipped is taken from the folder ``shared`` beside this checkout, else left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

from mastd.bench.control.cases import CASES
from mastd.bench.control.profiles import PAYLOAD, VEHICLE, noise, profile_text
from mastd.bench.control.results import Job, Result
from mastd.bench.control.work import MORE_PLAYS, PLAYS, RIGID, VEHICULAR, iterate_profile, passing
from mastd.settings.core.starter import find

SHARED = Path(__file__).resolve().parents[3].parent / "shared" / "data"
TRANSLATIONS = ("surge", "sway", "heave")
ROAD_AXES = ("heave", "roll", "pitch")
JUDGED = (
    "raw_nrmse",
    "best_lag_nrmse",
    "lag_s",
    "spectrum_outside_share",
    "play_0_raw_nrmse",
    "play_1_raw_nrmse",
)


@dataclass(frozen=True)
class Record:
    """A motion: the text of its profile, and the axes that it drives."""

    text: Callable[[], str]
    axes: tuple[str, ...]


def _starter(name: str, **changes: object) -> str:
    """Return a starter profile under the benches' payload; its files are found from anywhere."""
    path = find("profile", name)
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    content = {**content, "payload": dict(PAYLOAD), **changes}
    content.pop("verdict", None)
    return yaml.safe_dump(_placed(content, path.parent), sort_keys=False)


def _placed(content: Any, folder: Path) -> Any:
    if isinstance(content, dict):
        return {
            key: str(folder / value) if key == "file" else _placed(value, folder)
            for key, value in content.items()
        }
    return [_placed(part, folder) for part in content] if isinstance(content, list) else content


def _gilroy() -> str:
    """Return Gilroy (Gavilan College), Loma Prieta 1989, along three axes at different scales."""
    file = str(SHARED / "records" / "usgs_RSN763_GIL067.AT2")
    segment = {
        "kind": "record",
        "band": ["0.5 Hz", "20 Hz"],
        "baseline": "linear",
        "duration": "20 s",
        "fade": "1 s",
        "axes": {
            "surge": {"file": file, "scale": 0.6},
            "sway": {"file": file},
            "heave": {"file": file, "scale": -0.6},
        },
    }
    return profile_text("Gilroy", [segment])


def _belgian_road() -> str:
    """Return six wheel hubs of a truck on Belgian blocks, as heave, roll and pitch, scaled to a stroke."""
    names = {
        "WFT1@LF_Z_Acceler.RN_1": (1.8, 1.0),
        "WFT1@RF_Z_Acceler.RN_1": (1.8, -1.0),
        "WFT2@LM_Z_Acceler.RN_1": (0.2, 1.0),
        "WFT2@RM_Z_Acceler.RN_1": (0.2, -1.0),
        "WFT2@LR_Z_Acceler.RN_1": (-1.2, 1.0),
        "WFT2@RR_Z_Acceler.RN_1": (-1.2, -1.0),
    }
    segment = {
        "kind": "measured",
        "file": str(SHARED / "rpc3" / "acc_Belgium_road_20Kph_Pass02_DATA7.rsp"),
        "band": ["0.8 Hz", "20 Hz"],
        "start": "20 s",
        "duration": "20 s",
        "fade": "1 s",
        "axes": list(ROAD_AXES),
        "channels": {
            name: {"at": [f"{x!r} m", f"{y!r} m", "0.5 m"], "along": "z"} for name, (x, y) in names.items()
        },
    }
    return profile_text("Belgian blocks", [segment])


def _here() -> Mapping[str, Record]:
    records = {
        "class_b_road": Record(lambda: _starter("class_b_road"), ROAD_AXES),
        "strong_motion": Record(lambda: _starter("strong_motion"), ("sway", "heave")),
        "measured_road": Record(lambda: _starter("measured_road"), ROAD_AXES),
    }
    if SHARED.is_dir():
        records["gilroy"] = Record(_gilroy, TRANSLATIONS)
        records["belgian_road"] = Record(_belgian_road, ROAD_AXES)
    return MappingProxyType(records)


RECORDS = _here()


def iterate_record(job: Job, directory: Path) -> Result:
    """Iterate a record on the identified table, at the scale that passes the check."""
    record = RECORDS[job.axis]
    text, gain = passing(record.text())
    matrix = Job("matrix", job.seed, RIGID)
    result = iterate_profile(CASES["identified"], text, record.axes, matrix, PLAYS, directory)
    return Result({**result.figures, "scale": gain}, result.cause, result.told)


def iterate_vehicle(job: Job, directory: Path) -> Result:
    """Iterate noise along one axis under a simulated vehicle, at the scale that passes the check."""
    text, gain = passing(noise(job.axis, payload=VEHICLE))
    matrix = Job("matrix", job.seed, VEHICULAR)
    result = iterate_profile(CASES["identified"], text, (job.axis,), matrix, MORE_PLAYS, directory)
    return Result({**result.figures, "scale": gain}, result.cause, result.told)


def record_figures(name: str) -> tuple[str, ...]:
    """Return the names of the figures of a record."""
    return ("scale", *(f"{axis}.{figure}" for axis in RECORDS[name].axes for figure in JUDGED))
