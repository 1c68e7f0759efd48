"""A run of the table, exported by the command."""

from __future__ import annotations

import numpy as np
import pytest

from mastd.formats.catalogue import read
from mastd.record.reader import open_run
from mastd.safety.states import State
from mastd.settings.core.axes import AXES
from tests.support.lab import Lab

pytestmark = [pytest.mark.real_time, pytest.mark.evidence]

SHORT = """
name: short
segments:
  - kind: sine
    frequency: 4 Hz
    duration: 0.5 s
    fade: 0.25 s
    axes: {heave: {amplitude: 2 mm}}
"""


def test_a_run_is_exported_as_recorded_and_at_another_rate(lab: Lab) -> None:
    code, _ = lab.play(lab.profile(SHORT), "--lockstep", "--link", "direct")
    assert code == 0
    (path,) = lab.directory.glob("runs/*/run.mcap")
    recorded = open_run(path)
    done = lab.run("export", path.parent, "--to", "mcap")
    assert done.returncode == 0, done.stderr
    found = read(path.parent / f"{path.parent.name}.mcap")
    (series,) = found.series
    assert np.array_equal(series.axis_values(), np.arange(len(recorded.times)) * 0.001)
    assert [channel.name for channel in series.channels] == [
        f"{quantity}.{axis}"
        for quantity in ("reference", "reference_acceleration", "pose", "pose_acceleration")
        for axis in AXES
    ]
    for channel in series.channels:
        assert np.array_equal(channel.values, recorded.columns[channel.name], equal_nan=True)
        assert channel.unit == recorded.units[channel.name]
        assert channel.description
    assert found.notes["profile"] == "short"
    assert found.notes["ended"].startswith("completed in READY")
    out = lab.directory / "drive.mcap"
    words = ("--signals", "drive", "--rate", "200Hz", "--out", out)
    assert lab.run("export", path, *words).returncode == 0
    drive = read(out)
    assert len(drive.channels) == 7
    fifth = recorded.columns["command.length.1"][::5]
    playing = recorded.columns["state"][::5] == State.RUNNING
    assert np.count_nonzero(playing) == 100
    # What the profile sends to the actuators holds hardly anything above 90 Hz.
    assert np.abs(drive.channels[0].values - fifth)[playing].max() < 1e-7
