"""Subsystem synthesis (Song and Kim): both coordinate sets and mixtures of them against dense equations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mastd.arrays import FloatArray
from mastd.errors import UsageError
from mastd.formulations.constraints.partition import acceleration_terms, factor_groups, independent_columns
from mastd.formulations.subsystem.solve import solve_subsystems
from mastd.formulations.subsystem.workspace import SUBSYSTEM, SubsystemWorkspace, subsystem_workspace
from mastd.formulations.tree.arrays import BODY_GROUP, DRIVEN, FREE, LINK
from mastd.formulations.tree.subsystems import base_links, choices, subsystems_of
from mastd.vehicle.model.definition import Model
from mastd.vehicle.model.library import find
from tests.support.formulations.tree_states import (
    TreeCar,
    absolute_accelerations,
    body_accelerations,
    dense_accelerations,
    move_anywhere,
    tree_car,
)

VEHICLES = ["quarter_car", "sedan", "mcpherson_hatchback", "transporter_8x8"]
RELATIVE = 1e-9
SEEDS = range(3)


def free_racks(model: Model) -> Model:
    """Return a vehicle with nothing that says where its racks are."""
    kept = [k for k, primitive in enumerate(model.primitives) if primitive.drive < 0]
    place = {old: new for new, old in enumerate(kept)}

    def chosen(primitives: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(place[k] for k in primitives if k in place)

    return replace(
        model,
        name=f"{model.name} with free racks",
        primitives=tuple(model.primitives[k] for k in kept),
        axles=tuple(replace(axle, primitives=chosen(axle.primitives)) for axle in model.axles),
        corners=tuple(replace(corner, primitives=chosen(corner.primitives)) for corner in model.corners),
        drives=(),
    )


def off_axes(model: Model) -> Model:
    """Return a vehicle with the centres of mass of its parts beside the axes of slides."""
    chassis, *parts = model.bodies
    shift = np.array([0.03, -0.02, 0.04])
    return replace(model, bodies=(chassis, *(replace(part, centre=part.centre + shift) for part in parts)))


def vehicle(name: str) -> Model:
    return off_axes(free_racks(find("mcpherson_hatchback"))) if name == "free racks" else find(name)


def room_of(car: TreeCar, default: str, **chosen: str) -> SubsystemWorkspace:
    parts = subsystems_of(car.model, car.tree)
    named = {name.replace("_", " "): kind for name, kind in chosen.items()}
    return subsystem_workspace(car.layout, car.tree, parts, choices(parts, default, named))


def alternating(car: TreeCar) -> SubsystemWorkspace:
    parts = subsystems_of(car.model, car.tree)
    return subsystem_workspace(car.layout, car.tree, parts, [k % 2 for k in range(len(parts))])


def difference(found: FloatArray, expected: FloatArray) -> float:
    """Return the largest difference relative to the largest acceleration."""
    return float(np.max(np.abs(found - expected)) / np.max(np.abs(expected)))


@pytest.mark.parametrize("name", [*VEHICLES, "free racks"])
def test_all_coordinates_give_the_accelerations_of_the_dense_equations(name: str) -> None:
    car = tree_car(vehicle(name))
    workspaces = [room_of(car, "joint"), room_of(car, "cartesian"), alternating(car)]
    for seed in SEEDS:
        move_anywhere(car, seed)
        expected, bodies = dense_accelerations(car), absolute_accelerations(car)
        for work in workspaces:
            car.tree.udot[car.free] = np.nan
            assert solve_subsystems(car.tree, car.layout.arrays, work) == 0
            assert difference(car.tree.udot[car.free], expected[car.free]) < RELATIVE
            assert difference(body_accelerations(car), bodies) < RELATIVE


@pytest.mark.parametrize("name", ["mcpherson_hatchback", "free racks"])
def test_any_choice_of_independent_coordinates_gives_the_same_accelerations(name: str) -> None:
    car = tree_car(vehicle(name))
    move_anywhere(car, 2)
    tree, expected, tried = car.tree, dense_accelerations(car), 0
    workspaces = [room_of(car, "joint"), room_of(car, "cartesian")]
    for line in tree.groups:
        chosen = tree.members[
            line[BODY_GROUP.first] : line[BODY_GROUP.first] + line[BODY_GROUP.rows] + line[BODY_GROUP.free]
        ]
        for k in range(line[BODY_GROUP.rows]):
            chosen[[k, -1]] = chosen[[-1, k]]
            if factor_groups(tree) == 0:
                independent_columns(tree)
                acceleration_terms(tree)
                for work in workspaces:
                    tree.udot[car.free] = np.nan
                    assert solve_subsystems(tree, car.layout.arrays, work) == 0
                    assert difference(tree.udot[car.free], expected[car.free]) < 1e-7
                tried += 1
            chosen[[k, -1]] = chosen[[-1, k]]
    assert tried > 4


@pytest.mark.parametrize("name", ["quarter_car", "sedan"])
def test_what_is_held_or_given_is_not_touched(name: str) -> None:
    car = tree_car(find(name))
    move_anywhere(car, 5)
    before = car.tree.udot.copy()
    solve_subsystems(car.tree, car.layout.arrays, room_of(car, "joint"))
    fixed = car.tree.fixed != FREE
    assert fixed.any()
    np.testing.assert_array_equal(car.tree.udot[fixed], before[fixed])


def test_the_corners_of_a_car_are_its_subsystems() -> None:
    car = tree_car(find("sedan"))
    parts = subsystems_of(car.model, car.tree)
    assert [part.name for part in parts] == ["front left", "front right", "rear left", "rear right"]
    assert [car.model.bodies[car.tree.links[k, LINK.body]].name for k in base_links(car.tree)] == [
        "chassis",
        "front rack",
    ]


def test_what_is_driven_against_a_body_that_moves_is_not_of_the_base() -> None:
    tree = tree_car(find("sedan")).tree
    upper = next(line for line in tree.links if line[LINK.lower] > 0)
    tree.fixed[upper[LINK.first] : upper[LINK.first] + upper[LINK.coordinates]] = DRIVEN
    assert len(base_links(tree)) == 2


def test_a_free_rack_joins_its_corners() -> None:
    car = tree_car(free_racks(find("sedan")))
    parts = subsystems_of(car.model, car.tree)
    assert sorted(part.name for part in parts) == ["front", "rear left", "rear right"]
    assert base_links(car.tree) == (0,)


def test_a_cab_on_its_mounts_is_a_subsystem_whose_joints_are_not_cut() -> None:
    car = tree_car(find("transporter_8_axles"))
    parts = {part.name: part for part in subsystems_of(car.model, car.tree)}
    assert len(parts) == 17
    assert (parts["cab"].rows, len(parts["cab"].links)) == ((), 1)
    assert {car.model.primitives[k].joint for k in parts["cab"].primitives} == {"cab bearings"}


def test_every_moving_part_is_in_one_subsystem_or_the_base() -> None:
    for name in (*VEHICLES, "free racks"):
        car = tree_car(vehicle(name))
        parts = subsystems_of(car.model, car.tree)
        links = [*base_links(car.tree), *(link for part in parts for link in part.links)]
        assert sorted(links) == list(range(len(car.tree.links)))
        rows = [row for part in parts for row in part.rows]
        assert sorted(rows) == list(range(len(car.tree.row_table)))


def test_a_wrong_choice_is_named_with_what_would_be_right() -> None:
    car = tree_car(find("sedan"))
    parts = subsystems_of(car.model, car.tree)
    assert choices(parts, "joint", {"rear left": "cartesian"}) == (0, 0, 1, 0)
    with pytest.raises(UsageError, match=r"front lift: no such subsystem.*front left"):
        choices(parts, "joint", {"front lift": "cartesian"})
    with pytest.raises(UsageError, match=r"cartesain: no such coordinates.*cartesian"):
        choices(parts, "cartesain", {})


def test_joints_that_do_not_determine_a_subsystem_are_reported() -> None:
    car = tree_car(find("sedan"))
    move_anywhere(car, 1)
    work = room_of(car, "cartesian")
    first = work.table[2, SUBSYSTEM.first_equation]
    work.equations[first] = work.equations[first + 1]
    assert solve_subsystems(car.tree, car.layout.arrays, work) == 3
