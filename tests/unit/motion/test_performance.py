"""Largest sine over frequency and reach in a plane, by hand for a table of orthogonal actuators."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from mastd.arrays import FloatArray
from mastd.dynamics.table_model import TableModel
from mastd.kinematics.geometry import Geometry
from mastd.motion.preflight.performance import AxisEnvelope, sine_envelopes, translation_section
from mastd.settings.core.loader import load_text
from mastd.settings.core.starter import find
from mastd.settings.table.payload import NoPayload
from mastd.settings.table.table import TableSettings

FORCE, SHARE, MASS, AREA, STROKE, G = 196e3, 0.9, 35e3, 95e-4, 0.05, 9.80665
DROP = 206e5
NO_LOAD = 265 / 60e3 * math.sqrt(DROP / 70e5) / AREA
PUMP = 900 / 60e3


def table(pump: str = "900 L/min", velocity: str = "0.6 m/s") -> TableSettings:
    """Return the starter's table: one actuator along surge, two along sway, four along heave."""
    text = find("table", "table").read_text(encoding="utf-8")
    text = re.sub(r"pump_flow: 900 L/min", f"pump_flow: {pump}", text)
    return load_text(re.sub(r"velocity: 0.6 m/s", f"velocity: {velocity}", text), "table.yaml", TableSettings)


def envelopes(of: TableSettings, frequencies: list[float], *ratios: float) -> dict[str, AxisEnvelope]:
    model = TableModel.from_settings(of, NoPayload())
    geometry = Geometry.from_settings(of)
    found = sine_envelopes(of, geometry, model.mass_matrix, ratios, np.array(frequencies))
    return {one.axis: one for one in found}


def test_stroke_and_force_bound_a_sine_at_either_end() -> None:
    heave = envelopes(table(), [0.1, 100.0], 1.0, 1.3)["heave"]
    slow, fast = heave.accelerations.T
    assert slow == pytest.approx(STROKE * (0.2 * math.pi) ** 2, rel=0.01), "whatever the mass"
    assert fast == pytest.approx([4 * SHARE * FORCE / (ratio * MASS) - G for ratio in (1.0, 1.3)], rel=0.02)
    assert [row[0] for row in heave.bounds] == ["stroke"] * 2
    assert all(row[1].startswith("force of vertical") for row in heave.bounds)


def test_velocity_and_pump_bound_a_sine_between() -> None:
    omega = 2.0 * math.pi * np.array([0.8, 1.0])
    limited = envelopes(table(velocity="0.1 m/s"), [0.8, 1.0], 1.0)["sway"]
    assert limited.accelerations[0] == pytest.approx(0.1 * omega, rel=0.01)
    assert limited.bounds[0][0].startswith("velocity of lateral")
    weak = envelopes(table(pump="60 L/min"), [0.8, 1.0], 1.0)["heave"]
    assert weak.accelerations[0] == pytest.approx(0.5 * math.pi * 60 / 60e3 / (4 * AREA) * omega, rel=0.01)
    assert weak.bounds[0] == ("pump", "pump")


def test_the_flow_of_a_loaded_valve_bounds_a_sine_as_tried_phase_by_phase() -> None:
    """An actuator's speed falls with the square root of the pressure that its load leaves."""
    frequency = 2.2
    omega = 2.0 * math.pi * frequency
    found = envelopes(table(pump="9000 L/min"), [frequency], 1.0)["heave"]
    assert found.bounds[0][0].startswith("valve of vertical")
    phase = np.linspace(0.0, 2.0 * math.pi, 20001)

    def asked(amplitude: float) -> FloatArray:
        load = MASS * (G + amplitude * np.sin(phase)) / (4.0 * AREA * DROP)
        speed = amplitude / omega * np.abs(np.cos(phase))
        return speed - NO_LOAD * np.sqrt(np.maximum(1.0 - np.abs(load), 0.0))

    reached = float(found.accelerations[0, 0])
    assert np.max(asked(0.98 * reached)) < 0.0 < np.max(asked(1.02 * reached))


def test_the_reach_in_a_plane_ends_where_the_first_stroke_ends() -> None:
    of = table()
    outline = translation_section(of, Geometry.from_settings(of), (0, 2), rays=361)
    up = outline[90]
    assert up == pytest.approx([0.0, STROKE], abs=1e-6)
    links = [(np.array(link.table_joint), np.array(link.base_joint)) for link in of.links]
    for x, z in outline[::7]:
        travels = [
            math.dist(np.array(of.neutral_position) + joint + [x, 0.0, z], base) - 1.2
            for joint, base in links
        ]
        assert max(map(abs, travels)) == pytest.approx(STROKE, abs=1e-6)
