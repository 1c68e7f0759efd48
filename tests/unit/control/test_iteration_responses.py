"""What is compared with the target: accelerometers without gravity, the point that a profile moves."""

from __future__ import annotations

import numpy as np

from mastd.control.iteration.driver import sampled_motion
from mastd.control.iteration.figures import figures
from mastd.control.iteration.responses import chosen, motion_columns, of_profile
from mastd.motion.profile.compiler import program
from mastd.motion.profile.timeline import KNOT_SPACING
from mastd.settings.core.loader import load
from mastd.settings.core.starter import find
from mastd.settings.profile.profile import ProfileSettings
from mastd.settings.table.table import TableSettings
from mastd.signals.metrics import rms, second_derivative

TABLE = load(find("table", "table"), TableSettings)


def test_gravity_is_taken_out_of_an_accelerometer_by_the_attitude() -> None:
    """A table that stands tilted feels gravity in every sensor, and moves in none."""
    roll, pitch = np.array([0.0, 0.05, -0.03]), np.array([0.0, -0.02, 0.04])
    up = np.column_stack([-np.sin(pitch), np.cos(pitch) * np.sin(roll), np.cos(pitch) * np.cos(roll)])
    columns = {f"pose.{axis}": np.zeros(3) for axis in ("surge", "sway", "heave", "yaw")}
    columns |= {"pose.roll": roll, "pose.pitch": pitch}
    for number, sensor in enumerate(TABLE.sensors.accelerometers, start=1):
        columns[f"accelerometer.{number}"] = TABLE.gravity * up @ np.array(sensor.direction) + 0.5
    names = [sensor.name for sensor in TABLE.sensors.accelerometers]
    responses = chosen([*names, "accelerometer.3"], TABLE, {})
    assert set(responses.channels) <= set(columns)
    assert responses.units == ("m/s2",) * (len(names) + 1)
    assert np.allclose(responses.of(columns), 0.5)


def test_the_motion_of_the_control_point_is_that_which_its_profile_asks_for() -> None:
    profile = load(find("profile", "random"), ProfileSettings)
    assert profile.point == "T"
    motion = program(profile, TABLE)
    asked = second_derivative(motion.blocks[0].samples[:6000], 1.0 / KNOT_SPACING)
    sampled = sampled_motion(motion.timeline())[:6000]
    responses = of_profile("T", TABLE).of(motion_columns(sampled))
    for axis in range(3):
        assert rms(responses[5:-5, axis] - asked[5:-5, axis]) < 2e-3 * rms(asked[:, axis])
    centre = of_profile("C", TABLE).of(motion_columns(sampled))
    assert np.array_equal(centre, sampled[:, 2])


def test_what_moves_unasked_counts_against_the_largest_of_its_kind() -> None:
    times = np.arange(8000) * 1e-3
    wave = np.sin(2.0 * np.pi * 5.0 * times) * np.minimum(1.0, np.minimum(times, 8.0 - times))
    target = np.column_stack([2.0 * wave, 0.0 * wave])
    achieved = np.column_stack([1.9 * wave, 0.1 * wave])
    names, units = ("heave", "roll"), ("m/s2", "rad/s2")
    judged = figures(achieved, target, names, units, 1000.0, (2.0, 10.0))
    heave, roll = judged.responses
    assert (heave.asked, roll.asked) == (True, False)
    assert np.isclose(heave.nrmse, 0.05, rtol=1e-3)
    assert np.isclose(roll.nrmse, 0.1 * 1.4 / 2.0, rtol=1e-3)
    assert np.isclose(judged.error, np.hypot(heave.nrmse, roll.nrmse))
