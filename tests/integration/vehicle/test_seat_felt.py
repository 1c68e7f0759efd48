"""What a seat feels in a simulated drive, against the path that the seat itself takes."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from mastd.vehicle.manoeuvres.base import jturn, play
from mastd.vehicle.model.library import find
from mastd.vehicle.payload.seat import FELT, feel
from mastd.vehicle.state.trace import ANGLES, POSITION


def test_in_a_turn_the_driver_feels_what_the_path_of_the_seat_says() -> None:
    model = find("benchmark_sedan")
    trace, _ = play(model, jturn(model, duration=2.5))
    position = model.seat().position
    felt = np.empty((len(trace), FELT))
    for row, out in zip(trace.chassis, felt, strict=True):
        feel(row, position, model.gravity, out)
    attitude = Rotation.from_euler("ZYX", trace.chassis[:, ANGLES][:, ::-1])
    seat = trace.chassis[:, POSITION] + attitude.apply(position)
    step = trace.time[1] - trace.time[0]
    accelerations = (seat[2:] - 2.0 * seat[1:-1] + seat[:-2]) / step**2
    expected = attitude[1:-1].inv().apply(accelerations + np.array([0.0, 0.0, model.gravity]))
    np.testing.assert_allclose(felt[1:-1, :3], expected, atol=0.02)
    assert np.max(np.abs(felt[:, 1])) > 2.0  # the turn is felt
    np.testing.assert_allclose(felt[0, :3], [0.0, 0.0, model.gravity], atol=0.1)
