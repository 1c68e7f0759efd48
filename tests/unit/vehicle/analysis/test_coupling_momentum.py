"""Momentum at the interface of vehicle and table: what the one gives is what the other gets."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from hil_sim.plant.block import ACTUATOR, ACTUATOR_STATE, BODY, BODY_STATE
from hil_sim.plant.plant import Plant
from hil_sim.plant.provider import provider
from mastd.arrays import FloatArray
from mastd.roads.ground import Ground, write_plane
from mastd.settings.core.starter import starter_directory
from mastd.vehicle.blocks.fields import BODY as VEHICLE_BODY
from mastd.vehicle.blocks.fields import REPORT_SIZE
from mastd.vehicle.model.definition import Model
from mastd.vehicle.model.library import find
from mastd.vehicle.simulation.simulation import FIRM_BRAKE, Accuracy, NewtonOptions, Simulation
from mastd.vehicle.solver.compiled_step import WRENCHES
from mastd.wire.plant.messages import Command
from mastd.wire.plant.provider import PlantRequest
from tests.support.vehicle.cosimulation import standing
from tests.support.vehicle.drives import momentum_rate, weight
from tests.support.vehicle.shaken_plate import shaking

STEP = 1e-3
EXACT = 1e-9
"""Of the force's integral."""
DAMPING = 0.2
"""Spectral radius of the formula."""


@dataclass(frozen=True)
class Balance:
    """Sums over bodies of mass times velocity, acceleration and the formula's mean acceleration, (3) each."""

    velocity: FloatArray
    acceleration: FloatArray
    mean: FloatArray

    @classmethod
    def of(cls, simulation: Simulation) -> Balance:
        """Return the sums now, inertial axes."""
        bodies, model = simulation.layout.arrays.bodies, simulation.model
        places = list(zip(model.bodies, simulation.layout.body, strict=True))
        return cls(
            *(
                sum(
                    (body.mass * bodies[item, field : field + 3, lane] for body, (item, lane) in places),
                    np.zeros(3),
                )
                for field in (
                    VEHICLE_BODY.velocity,
                    VEHICLE_BODY.acceleration,
                    VEHICLE_BODY.mean_acceleration,
                )
            )
        )


def in_still_air(name: str) -> Model:
    """Return a vehicle on which nothing acts from outside but weight and ground."""
    return replace(find(name), aerodynamics=None)


@pytest.mark.parametrize(
    ("name", "accuracy"),
    [
        ("benchmark_sedan", "exact"),
        ("transporter_8x8", "fast"),
        *(
            pytest.param(name, accuracy, marks=pytest.mark.evidence)
            for name, accuracy in (
                ("benchmark_sedan", "fast"),
                ("sedan", "fast"),
                ("sedan", "exact"),
                ("transporter_8x8", "exact"),
            )
        ),
    ],
)
def test_a_shaken_vehicle_has_the_momentum_that_weight_and_wrench_give(name: str, accuracy: Accuracy) -> None:
    """Σ m v at the end = at the beginning + ∫ (weight − wrench) dt, with what the formula leaves at its ends.

    v₁ = v₀ + h ((1 − γ) ā₀ + γ ā₁) and (1 − α_m) ā₁ + α_m ā₀ = (1 − α_f) a₁ + α_f a₀ summed over n steps:
    v_n − v_0 = h (Σ a + α_f (a_0 − a_n) + (1 − γ − α_m) (ā_0 − ā_n)).
    """
    model = in_still_air(name)
    simulation = Simulation(model, step=STEP, accuracy=accuracy, newton=NewtonOptions(damping=DAMPING))
    simulation.start(0.0)
    motion = shaking(4.5, STEP, 2.0, 1.0, 5)
    inputs = simulation.system.inputs.row()
    inputs[simulation.system.inputs.brake_capacity] = FIRM_BRAKE
    ground, wrench = Ground.plane(np.zeros(3), np.eye(3)).parameters, np.zeros(WRENCHES)
    report, signals = np.zeros(REPORT_SIZE), np.zeros((1, simulation.signals.width))
    begin, impulse, size, worst = Balance.of(simulation), np.zeros(3), 0.0, np.zeros(6)
    due = np.array([0.0, 0.0, -model.gravity * sum(body.mass for body in model.bodies)])
    count = round(2.5 / STEP)
    step = simulation.bind(inputs[np.newaxis], ground, report, signals, wrench)
    for k in range(count):
        write_plane(ground, motion.place[k], motion.rotation[k], motion.velocity[k], motion.turn[k])
        step()
        impulse += STEP * (due - wrench[6:9])
        size += STEP * float(np.linalg.norm(wrench[6:9]))
        if k % 100 == 0:
            state = simulation.state
            left = momentum_rate(model, state) - weight(model, state) + wrench[6:]
            worst = np.maximum(worst, np.abs(left))
    end, formula = Balance.of(simulation), simulation.formula
    alpha_f = DAMPING / (1.0 + DAMPING)
    ends = STEP * (
        alpha_f * (begin.acceleration - end.acceleration)
        + (1.0 - formula.gamma - formula.alpha_m) * (begin.mean - end.mean)
    )
    left = end.velocity - begin.velocity - impulse - ends
    print(f"{name}, {accuracy}: {np.abs(left).max() / size:.1e} of ∫|F| dt, worst of a step {worst}")
    assert np.abs(end.velocity).max() > 1e-3 * size
    assert np.all(np.abs(left) <= EXACT * size)
    # In each step, with an independent sum of the rates of momentum and of angular momentum.
    assert np.all(worst <= EXACT * abs(due[2]))


def test_what_tyres_say_and_what_accelerations_say_is_the_same_force() -> None:
    """To what a last correction that is not evaluated again changes the tyres by."""
    model = in_still_air("sedan")
    vehicle = standing(model, STEP)
    loads, forces = [], []
    for k in range(500):
        pose = np.array([0.0, 0.0, 2e-3 * np.sin(0.05 * k) ** 2, 0.0, 0.0, 0.0])
        vehicle.follow(pose, 1)
        loads.append(vehicle.signals[vehicle.layout.wheel(0)].sum())
        forces.append(-vehicle.wrench[2])
    assert np.ptp(forces) > 500.0
    assert np.array(forces) == pytest.approx(np.array(loads), abs=0.5)


class Accounts:
    """The plant's own equation of motion, solved for the payload's wrench, inner step by inner step."""

    def __init__(self, plant: Plant) -> None:
        self.block = plant._block
        parameters = self.block.body
        self.mass, self.gravity = float(parameters[BODY.mass]), float(parameters[BODY.gravity])
        self.moment = parameters[BODY.first_moment : BODY.first_moment + 3].copy()
        self.inertia = parameters[BODY.inertia : BODY.inertia + 9].reshape(3, 3).copy()
        s = self.moment
        skew = np.array([[0.0, -s[2], s[1]], [s[2], 0.0, -s[0]], [-s[1], s[0], 0.0]])
        self.matrix = np.block([[self.mass * np.eye(3), -skew], [skew, self.inertia]])

    def before(self) -> FloatArray:
        """Return place, attitude and twist as they are, (13)."""
        return self.block.body_state[BODY_STATE.position : BODY_STATE.twist + 6].copy()

    def wrench(self, before: FloatArray, step: float) -> FloatArray:
        """Return what acted on the table beside its legs and its weight in the inner step just made, (6)."""
        place, attitude, twist = before[:3], before[3:7], before[7:]
        v, w = twist[:3], twist[3:]
        momentum = self.mass * v + np.cross(w, self.moment)
        spin = self.inertia @ w + np.cross(self.moment, v)
        bias = np.concatenate([np.cross(w, momentum), np.cross(w, spin) + np.cross(v, momentum)])
        # The pose in the middle of the step, where forces act.
        turn = 0.25 * step * np.array([-attitude[1:] @ w, *(attitude[0] * w + np.cross(attitude[1:], w))])
        quaternion = attitude + turn
        rotation = Rotation.from_quat(quaternion[[1, 2, 3, 0]]).as_matrix()
        place = place + 0.5 * step * rotation @ v
        down = -self.gravity * rotation[2]
        arms = self.block.actuators[:, ACTUATOR.table_joint : ACTUATOR.table_joint + 3]
        feet = self.block.actuators[:, ACTUATOR.base_joint : ACTUATOR.base_joint + 3]
        along = (place - feet) @ rotation + arms
        along /= np.linalg.norm(along, axis=1)[:, np.newaxis]
        legs = self.block.actuator_states[:, ACTUATOR_STATE.force] @ np.hstack([along, np.cross(arms, along)])
        change = (self.block.body_state[BODY_STATE.twist : BODY_STATE.twist + 6] - twist) / step
        weight = np.concatenate([self.mass * down, np.cross(self.moment, down)])
        return np.asarray(self.matrix @ change + bias - weight - legs)


def test_the_plant_integrates_the_wrench_that_the_vehicle_gave() -> None:
    """In lockstep, at C in P axes, force and moment, from what the plant's motion says it felt."""
    period = 1_000_000
    opened = provider.open(PlantRequest(starter_directory() / "table.yaml", mode="lockstep"))
    assert isinstance(opened, Plant)
    plant, model = opened, find("sedan")
    vehicle, accounts = standing(model, 1e-9 * period), Accounts(opened)
    steps = plant._period_steps
    command = Command(plant.command_layout)
    at = plant.command_layout.slices["payload_wrench"]
    rest = plant.true_pose
    vehicle.lie(rest)
    given, felt, size = np.zeros(6), np.zeros(6), 0.0
    # Thrown off its stops, so that it moves, turns and comes down again.
    accounts.block.body_state[BODY_STATE.twist : BODY_STATE.twist + 6] = [0.05, -0.03, 0.5, 0.1, 0.05, -0.02]
    moved, forces = np.zeros(6), []
    for k in range(150):
        vehicle.follow(plant.true_pose, 1)
        command.values[:] = 0.0
        command.values[at] = vehicle.wrench
        command.sequence = k
        given += vehicle.wrench * 1e-9 * period
        size += float(np.linalg.norm(vehicle.wrench[:3])) * 1e-9 * period
        forces.append(vehicle.wrench[2])
        done = 0
        for inner in range(1, steps + 1):
            until = -(-inner * period // steps)
            before = accounts.before()
            plant.advance(command if inner == 1 else None, until - done)
            done = until
            felt += accounts.wrench(before, 1e-9 * period / steps) * 1e-9 * period / steps
        moved = np.maximum(moved, np.abs(plant.true_pose - rest))
    print(f"{np.abs(felt - given).max() / size:.1e} of ∫|F| dt, moved {moved}")
    assert moved[2] > 1e-3
    assert np.ptp(forces) > 1000.0
    assert np.all(np.abs(felt - given) <= EXACT * size)
