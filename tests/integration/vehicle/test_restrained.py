"""Tie-downs and chocks on a standing car, and what is refused before it stands."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from mastd.cli import main
from mastd.errors import GroundError, UsageError
from mastd.roads.ground import Ground
from mastd.vehicle.equilibrium.settle import weight
from mastd.vehicle.model.definition import Chock, Model, TieDown
from mastd.vehicle.model.library import find
from mastd.vehicle.simulation.simulation import Simulation
from tests.support.lab import ROOT


@pytest.fixture(scope="module")
def tied() -> Model:
    model = find("sedan")
    straps = tuple(
        TieDown(
            f"{x:g} {side:+d}",
            np.array([x, 0.4 * side, 0.35]),
            np.array([x + 0.2 * reach, 0.8 * side, 0.0]),
            4e5,
            1e3,
            3e3,
        )
        for x, reach in ((0.3, 1.0), (-2.6, -1.0))
        for side in (1, -1)
    )
    return replace(model, tie_downs=straps, chocks=(Chock(2, 0.004, 4e5, 1e3), Chock(3, 0.004, 4e5, 1e3)))


def test_loads_at_rest_are_weight_and_the_straps_vertical_pull(tied: Model) -> None:
    simulation = Simulation(tied, restrained=True)
    simulation.start(0.0)
    sample = simulation.sample()
    state = simulation.state
    turn = Rotation.from_quat(np.roll(state.attitude[0], -1))
    pull = 0.0
    for strap in tied.tie_downs:
        way = strap.anchor - (state.position[0] + turn.apply(strap.point - tied.bodies[0].centre))
        pull -= strap.preload * way[2] / np.linalg.norm(way)
    assert sample.wheel_loads[0].sum() == pytest.approx(weight(tied) + pull, rel=2e-4)
    assert sample.chassis[0, 2] < height_without(tied) - 1e-3, "the straps pull it down"


def height_without(model: Model) -> float:
    simulation = Simulation(model)
    simulation.start(0.0)
    return float(simulation.sample().chassis[0, 2])


def test_settle_shows_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "config" / "vehicles" / "transporter_8x8.yaml").read_text(encoding="utf-8")
    lines = text.splitlines()
    first = lines.index("# tie_downs:")
    while lines[first].startswith("# "):
        lines[first] = lines[first][2:]
        first += 1
    path = tmp_path / "tied.yaml"
    tyres = ROOT / "config" / "vehicles" / "tyres"
    path.write_text("\n".join(lines).replace("tyres/", f"{tyres}/"), encoding="utf-8")
    capsys.readouterr()
    assert main(["vehicle", "settle", "--restrained", "--vehicle", str(path)]) == 0
    assert "at rest, tied down" in capsys.readouterr().out
    assert main(["vehicle", "settle", "--restrained"]) == 2
    assert "has no tie_downs and no chocks" in capsys.readouterr().err


def test_what_is_too_stiff_for_the_step_is_refused(tied: Model) -> None:
    with pytest.raises(UsageError, match="chocks: that of rl is too stiff for a step of 20 ms"):
        Simulation(replace(tied, powertrain=None), step=20e-3, restrained=True)
    Simulation(replace(tied, powertrain=None), step=20e-3)
    with pytest.raises(UsageError, match="sedan: powertrain: the shaft is too stiff for a step of 50 ms"):
        Simulation(tied, step=50e-3)


def test_a_tied_car_does_not_start_rolling(tied: Model) -> None:
    with pytest.raises(ValueError, match="tied down must be at rest"):
        Simulation(tied, restrained=True).start(5.0)


def test_a_car_is_put_on_a_level_table_at_the_origins_height(tied: Model) -> None:
    tilt = Rotation.from_rotvec([0.0, 0.02, 0.0]).as_matrix()
    with pytest.raises(GroundError, match=r"under fl the table is .* a vehicle starts where it is level"):
        Simulation(tied, ground=Ground.plane(np.zeros(3), tilt)).start(0.0)
    with pytest.raises(GroundError, match=r"under fl the table is 5 mm above z = 0"):
        Simulation(tied, ground=Ground.plane(np.array([0.0, 0.0, 0.005]), np.eye(3)), restrained=True).start(
            0.0
        )


def test_a_car_starts_again_on_the_ground_it_was_given(tied: Model) -> None:
    simulation = Simulation(tied, ground=Ground.plane(np.zeros(3), np.eye(3)))
    simulation.start(0.0)
    raised = Ground.plane(np.array([0.0, 0.0, 0.05]), np.eye(3)).parameters
    simulation.step(simulation.system.inputs.row(), raised)
    simulation.start(0.0)
    assert simulation.sample().wheel_loads[0].sum() == pytest.approx(weight(tied), rel=1e-3)


def test_wheels_beside_the_table_are_refused_and_told(tied: Model) -> None:
    plate = Ground.plane(np.zeros(3), np.eye(3))
    with pytest.raises(GroundError, match=r"wheels off the ground's surface: rl by .* mm, rr by .* mm; move"):
        Simulation(tied, ground=plate.with_extent(1.5, 1.0, (-0.5, 0.0))).start(0.0)
    Simulation(tied, ground=plate.with_extent(2.5, 1.0, (-1.4, 0.0))).start(0.0)
