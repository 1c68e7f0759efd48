"""A road measurement from its file to the table and back to a file, by the commands a user types."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from mastd.formats import catalogue
from mastd.record.reader import open_run
from tests.support.lab import Lab

HUBS = {
    "WFT1@LF_Z_Acceler.RN_1": (1.8, 1.0),
    "WFT1@RF_Z_Acceler.RN_1": (1.8, -1.0),
    "WFT2@LM_Z_Acceler.RN_1": (0.0, 1.0),
    "WFT2@RM_Z_Acceler.RN_1": (0.0, -1.0),
    "WFT2@LR_Z_Acceler.RN_1": (-1.3, 1.0),
    "WFT2@RR_Z_Acceler.RN_1": (-1.3, -1.0),
}
"""Wheel hubs of a three-axle vehicle, and where they stand on the table along x and y in m."""


def belgian_block(file: Path, gain: float) -> str:
    """Return a profile of 5 s of the road, band-limited, as heave, roll and pitch."""
    channels = "".join(
        f'      "{name}": {{at: [{x} m, {y} m, 0 m], along: z}}\n' for name, (x, y) in HUBS.items()
    )
    return f"""
name: Belgian block
gain: {gain}
segments:
  - kind: measured
    file: {file}
    band: [1 Hz, 20 Hz]
    start: 20 s
    duration: 5 s
    axes: [heave, roll, pitch]
    fade: 0.5 s
    channels:
{channels}"""


@pytest.mark.real_time
def test_a_measured_road_is_scaled_by_check_played_and_exported_again(lab: Lab, shared: Path) -> None:
    road = shared / "data" / "rpc3" / "acc_Belgium_road_20Kph_Pass02_DATA7.rsp"
    full = lab.run("check", lab.profile(belgian_block(road, 1.0)))
    assert full.returncode == 1, full.stderr
    assert "heave, roll, pitch from 6 channels by least squares, condition number" in full.stdout
    assert "exceeded" in full.stdout
    scale = float(full.stdout.rsplit("maximum span that would pass: ", 1)[1].split("%")[0]) / 100.0
    assert 0.05 < scale < 1.0

    profile = lab.profile(belgian_block(road, scale))
    checked = json.loads(lab.run("check", "--json", profile).stdout)
    assert checked["ok"]
    assert 1.0 <= checked["scale"] < 1.01
    code, document = lab.play(profile, "--lockstep", "--link", "direct")
    assert code == 0, document
    directory = lab.directory / document["run"]
    run = open_run(directory)
    hashes = run.metadata["input_files_sha256"]
    assert hashes == {str(road): hashlib.sha256(road.read_bytes()).hexdigest()}
    assert document["axes"]["heave"]["best_lag_nrmse"] < 0.2

    out = lab.directory / "played.rsp"
    exported = lab.run("export", directory, "--to", "rpc3", "--signals", "reference,achieved", "--out", out)
    assert exported.returncode == 0, exported.stderr
    written = catalogue.read(out)
    assert written.format == "rpc3"
    (series,) = written.series
    assert series.step == pytest.approx(1e-3)
    columns = {channel.name: channel.values for channel in series.channels}
    for name in ("pose.heave", "pose.roll", "pose.pitch"):
        assert np.allclose(columns[name], run.columns[name], rtol=1e-6, atol=1e-9)
        assert np.std(columns[name]) > 0.0
