"""Several supplies: a condition of one of them counts whatever the others do, and names it."""

from __future__ import annotations

import numpy as np
import pytest

from mastd.kinematics.ranges import speed_ratios
from mastd.loop.measurement.frame import Frame
from mastd.safety.codes import Code
from mastd.safety.guard import Guard
from mastd.safety.inspection import inspect_scalars
from mastd.settings.core.loader import load, load_text
from mastd.settings.core.starter import find
from mastd.settings.daemon.daemon import DaemonSettings
from mastd.settings.table.table import TableSettings
from tests.support.unlike_actuators import two_supplies

PERIOD = 1e-3
TABLE = load_text(two_supplies(), "table.yaml", TableSettings)
GUARD = load(find("daemon", "simulated"), DaemonSettings).guard


@pytest.mark.parametrize(
    ("pressures", "told"),
    [
        ((200e5, 150e5), "supply east: 150.0 bar, minimum 190.0 bar"),
        ((100e5, 270e5), "supply south: 100.0 bar, minimum 140.0 bar"),
        ((100e5, 150e5), "supply south: 100.0 bar, minimum 140.0 bar"),
        ((200e5, 270e5), ""),
    ],
)
def test_the_supply_whose_pressure_is_low_is_named(pressures: tuple[float, float], told: str) -> None:
    frame = Frame(TABLE)
    for name, value in (("oil_temperature", 313.0), ("oil_level", 0.9)):
        frame.field(f"sample.{name}")[:] = value
    frame.field("sample.supply_pressure")[:] = pressures
    guard = Guard(TABLE, GUARD, PERIOD, frame.index, speed_ratios(TABLE))
    lasting = round(GUARD.supply_delay / PERIOD) + 1
    masks = [inspect_scalars(frame.values, True, guard.model, guard.state) for _ in range(lasting)]
    low = [bool(mask >> Code.SUPPLY_PRESSURE & 1) for mask in masks]
    assert low == [False] * (lasting - 1) + [bool(told)]
    assert not any(mask >> Code.OIL_LEVEL & 1 or mask >> Code.SUPPLY_FLOW & 1 for mask in masks)
    if told:
        assert guard.describe(Code.SUPPLY_PRESSURE) == told


def test_channels_are_numbered_where_there_are_several() -> None:
    names = [channel.name for channel in Frame(TABLE).channels if channel.name.startswith("supply")]
    assert names[:2] == ["supply.supply_pressure.1", "supply.supply_pressure.2"]
    assert len(names) == len(set(names)) == 14
    shipped = load(find("table", "table"), TableSettings)
    one = [channel.name for channel in Frame(shipped).channels if channel.name.startswith("supply")]
    assert one[:1] == ["supply.supply_pressure"]
    assert np.array(one).size == 7
