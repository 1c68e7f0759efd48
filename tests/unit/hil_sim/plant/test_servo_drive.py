"""What the simulated table does with commands, and without: it follows, bridges, fades, holds, comes down."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from hil_sim.faults import parse
from hil_sim.plant.block import SUPPLY_STATE
from hil_sim.plant.plant import Plant
from hil_sim.plant.truth import ActuatorTruth, DeviationTruth, PayloadTruth, PlantTruth
from mastd.arrays import FloatArray
from mastd.settings.core.loader import load
from mastd.settings.table.table import TableSettings
from mastd.wire.plant.messages import Command, DriveMode, Sample, SampleFlag, Stage
from tests.support.present import present

Motion = tuple[FloatArray, FloatArray, FloatArray]

ROOT = Path(__file__).resolve().parents[4]
PERIOD_NS = 1_000_000
HALF_G = 0.5 * 9.80665
PAYLOAD = PayloadTruth(mass=12e3, centre_of_gravity=(0.0, 0.0, 2.0), inertia=(10e3, 40e3, 42e3))
TABLE = load(ROOT / "config" / "table.yaml", TableSettings)
HEAVE, ROLL, PITCH = 2, 3, 4


class Nominal:
    """Commands of a motion from the table's nominal geometry and masses, by differences of the lengths."""

    def __init__(self, table: TableSettings, payload: PayloadTruth | None) -> None:
        self.joints = np.array([actuator.table_joint for actuator in table.links])
        self.base = np.array([actuator.base_joint for actuator in table.links])
        self.neutral = np.array(table.neutral_position)
        self.gravity = table.gravity
        mass = 0.0 if payload is None else payload.mass
        centre = np.zeros(3) if payload is None else np.array(payload.centre_of_gravity)
        own = np.zeros(3) if payload is None else np.array(payload.inertia)
        self.mass = table.body.mass + mass
        self.moment = mass * centre
        self.inertia = np.diag(np.array(table.body.inertia) + own) + mass * (
            centre @ centre * np.eye(3) - np.outer(centre, centre)
        )

    def vectors(self, poses: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the actuator vectors and the joints from C, in B (samples, n, 3)."""
        cr, cp, cy = np.cos(poses[:, 3:]).T
        sr, sp, sy = np.sin(poses[:, 3:]).T
        turned = np.array(
            [
                [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
                [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
                [-sp, cp * sr, cp * cr],
            ]
        )
        arms = np.einsum("ijk,nj->kni", turned, self.joints)
        return self.neutral + poses[:, None, :3] + arms - self.base, arms

    def commands(self, motion: Motion) -> FloatArray:
        """Return lengths, rates, accelerations and expected forces (samples, 4 n); angles are small."""
        pose, rate, acceleration = motion
        spread = 1e-3
        before, now, after = (
            np.linalg.norm(self.vectors(pose + rate * t + 0.5 * acceleration * t * t)[0], axis=2)
            for t in (-spread, 0.0, spread)
        )
        lift = acceleration[:, :3] + np.array([0, 0, self.gravity])
        tilt = self.gravity * np.column_stack([pose[:, 4], -pose[:, 3], np.zeros(len(pose))])
        force = self.mass * lift + np.cross(acceleration[:, 3:], self.moment)
        moment = acceleration[:, 3:] @ self.inertia + np.cross(self.moment, lift - tilt)
        vectors, arms = self.vectors(pose)
        units = vectors / now[:, :, None]
        jacobian = np.concatenate([units, np.cross(arms, units)], axis=2).transpose(0, 2, 1)
        forces = np.linalg.pinv(jacobian) @ np.concatenate([force, moment], axis=1)[:, :, None]
        return np.hstack(
            [now, (after - before) / (2 * spread), (before - 2 * now + after) / spread**2, forces[:, :, 0]]
        )


@dataclass
class Player:
    """A plant with someone who commands it, and what was seen meanwhile."""

    truth: PlantTruth = field(default_factory=lambda: PlantTruth(payload=PAYLOAD))
    table: TableSettings = TABLE
    seed: int = 1

    def __post_init__(self) -> None:
        self.plant = Plant(self.table, self.truth, PERIOD_NS, self.seed)
        self.nominal = Nominal(self.table, self.truth.payload)
        self.sample = Sample(self.plant.sample_layout)
        self.command = Command(self.plant.command_layout)
        self.poses: list[FloatArray] = []
        self.accelerations: list[FloatArray] = []
        self.flags = SampleFlag(0)

    def tick(self, command: Command | None) -> None:
        self.plant.advance(command, PERIOD_NS)
        self.plant.read(self.sample)
        self.flags |= SampleFlag(self.sample.flags)
        self.poses.append(self.plant.true_pose)
        self.accelerations.append(self.plant.true_acceleration)

    def wait(self, seconds: float, command: Command | None = None) -> None:
        for _ in range(round(seconds * 1e3)):
            self.tick(command)

    def forget(self) -> None:
        self.poses.clear()
        self.accelerations.clear()
        self.flags = SampleFlag(0)

    def pressurise(self) -> None:
        self.command.mode = DriveMode.DISABLED
        self.command.stage = Stage.HIGH
        for _ in range(6000):
            self.tick(self.command)
            if self.sample.stage == Stage.HIGH:
                return
        raise AssertionError("the supply did not come up")

    def follow(self, motion: Motion, late: int = 0) -> None:
        """Play a motion at the period, each set-point ``late`` samples after its time."""
        self.command.mode = DriveMode.FOLLOW
        self.command.stage = Stage.HIGH
        commands = self.nominal.commands(motion)
        for k in range(len(commands) - 1):
            self.command.values[: commands.shape[1]] = commands[max(k + 1 - late, 0)]
            self.command.sequence += 1
            self.tick(self.command)

    def raised(self) -> Player:
        self.pressurise()
        self.follow(ramp(self.plant.true_pose, np.zeros(6), 3.0))
        self.follow(ramp(np.zeros(6), np.zeros(6), 0.2))
        return self

    @property
    def worst_acceleration(self) -> float:
        """Largest magnitude of the true acceleration of C."""
        return float(np.linalg.norm(np.array(self.accelerations)[:, :3], axis=1).max())

    @property
    def height(self) -> float:
        return float(self.plant.true_pose[HEAVE])


def ramp(start: FloatArray, end: FloatArray, seconds: float) -> Motion:
    """Return a rest-to-rest motion on a quintic, sampled at the period."""
    u = np.linspace(0, 1, round(seconds * 1e3) + 1)[:, None]
    shift = end - start
    return (
        start + (u**3 * (10 - 15 * u + 6 * u * u)) * shift,
        30 * u * u * (1 - u) ** 2 * shift / seconds,
        60 * u * (1 - u) * (1 - 2 * u) * shift / seconds**2,
    )


def road(seconds: float, seed: int) -> Motion:
    """Return heave, roll and pitch of a class B road at 40 km/h, 0.5 to 5 Hz, with fades of 1 s.

    Two tracks 2 m apart with independent phases, wheelbase 4 m; displacement density of one track
    G(f) = G_d(n0) n0² v / f² (ISO 8608, geometric mean of class B 64e-6 m³ at n0 = 0.1 1/m).
    """
    speed, wheelbase, track = 40 / 3.6, 4.0, 2.0
    count = round(seconds * 1e3)
    frequency = np.fft.rfftfreq(count, 1e-3)
    inside = (frequency >= 0.5) & (frequency <= 5.0)
    density = np.zeros(frequency.size)
    density[inside] = 64e-6 * 0.01 * speed / frequency[inside] ** 2
    generator = np.random.default_rng(seed)
    left, right = (
        np.sqrt(2 * density * frequency[1]) * np.exp(2j * np.pi * generator.random(frequency.size))
        for _ in range(2)
    )
    delay = np.exp(-2j * np.pi * frequency * wheelbase / speed)
    spectra = {
        HEAVE: 0.25 * (left + right) * (1 + delay),
        PITCH: -0.5 / wheelbase * (left + right) * (1 - delay),
        ROLL: 0.5 / track * (left - right) * (1 + delay),
    }
    series = np.zeros((3, count, 6))
    for axis, spectrum in spectra.items():
        for order in range(3):
            derived = spectrum * (2j * np.pi * frequency) ** order
            series[order, :, axis] = np.fft.irfft(derived * count / 2, count)
    times = np.minimum(np.arange(count), count - 1 - np.arange(count)) * 1e-3
    sign = np.where(np.arange(count) < count / 2, 1.0, -1.0)[:, None]
    u = np.clip(times, 0, 1)[:, None]
    fade, slope, bend = (
        u**3 * (10 - 15 * u + 6 * u * u),
        sign * 30 * u * u * (1 - u) ** 2,
        60 * u * (1 - u) * (1 - 2 * u),
    )
    pose, rate, acceleration = series
    return (
        fade * pose,
        fade * rate + slope * pose,
        fade * acceleration + 2 * slope * rate + bend * pose,
    )


def cut_at_fastest(motion: Motion) -> tuple[Motion, Motion]:
    """Return the motion up to its fastest heave and the rest."""
    fastest = int(np.abs(motion[1][:, HEAVE]).argmax())
    head = motion[0][:fastest], motion[1][:fastest], motion[2][:fastest]
    return head, (motion[0][fastest - 1 :], motion[1][fastest - 1 :], motion[2][fastest - 1 :])


def best_lag(reference: FloatArray, reached: FloatArray) -> tuple[float, float]:
    """Return the least error over reference rms in 0.5 to 5 Hz, and the lag in s where it is met."""
    frequency = np.fft.rfftfreq(len(reference), 1e-3)
    inside = (frequency >= 0.5) & (frequency <= 5.0)
    wanted, got = np.fft.rfft(reference)[inside], np.fft.rfft(reached)[inside]
    lags = np.arange(0, 30e-3, 0.2e-3)
    errors = [
        np.linalg.norm(got - wanted * np.exp(-2j * np.pi * frequency[inside] * lag)) / np.linalg.norm(wanted)
        for lag in lags
    ]
    best = int(np.argmin(errors))
    return float(errors[best]), float(lags[best])


@pytest.mark.parametrize("spread", [0.0, 0.1], ids=["nominal", "other oil and valves"])
def test_follows_a_class_b_road_with_twelve_tonnes(spread: float) -> None:
    deviation = DeviationTruth(spread=spread, seed=3)
    player = Player(PlantTruth(payload=PAYLOAD, deviation=deviation)).raised()
    player.forget()
    motion = road(8.0, seed=1)
    player.follow(motion, late=1)
    for axis in (HEAVE, ROLL, PITCH):
        error, lag = best_lag(motion[0][1:, axis], np.array(player.poses)[:, axis])
        assert error <= (0.06 if spread == 0.0 else 0.20)
        assert lag <= 0.008
    assert not player.flags


def test_needs_its_feed_forward_and_orifice_law() -> None:
    """What the demo's drive is for: the same road without them is several times worse in roll."""
    plain = TABLE.drive.model_copy(
        update={"orifice_law": False, "valve_lead": 0.0, "force_feedforward": 0.0, "rate_feedforward": 1.0}
    )
    motion = road(6.0, seed=1)
    errors = []
    for drive in (TABLE.drive, plain):
        player = Player(table=TABLE.model_copy(update={"drive": drive})).raised()
        player.forget()
        player.follow(motion, late=1)
        errors.append(best_lag(motion[0][1:, ROLL], np.array(player.poses)[:, ROLL])[0])
    assert errors[1] > 2.5 * errors[0]


@pytest.mark.parametrize("payload", [None, PAYLOAD], ids=["bare", "12 t"])
def test_rises_from_its_stops_smoothly(payload: PayloadTruth | None) -> None:
    player = Player(PlantTruth(payload=payload))
    assert player.height == pytest.approx(-0.0502, abs=2e-4)
    player.raised()
    assert player.worst_acceleration < 0.5
    assert np.abs(player.plant.true_pose).max() < 2e-4
    weight = (TABLE.body.mass + (payload.mass if payload else 0.0)) * TABLE.gravity
    assert player.plant.forces[:4].sum() == pytest.approx(weight, rel=0.02)


def moving(roughness: float = 3.0) -> tuple[Player, Motion]:
    """Return a plant at the fastest instant of a road rougher than the demo's, and the rest of the road."""
    player = Player().raised()
    pose, rate, acceleration = road(8.0, seed=1)
    head, rest = cut_at_fastest((roughness * pose, roughness * rate, roughness * acceleration))
    player.follow(head)
    assert abs(player.plant.true_velocity[HEAVE]) > 0.035 * roughness
    player.forget()
    return player, rest


def test_without_commands_it_fades_holds_and_comes_down() -> None:
    player, _ = moving()
    drive = TABLE.drive
    player.wait(drive.command_timeout - 5e-3)
    assert not player.flags, "within the time-out the last rate goes on"
    gone = np.diff(np.array(player.poses)[20:, HEAVE]) / 1e-3
    assert np.ptp(gone) < 0.2 * np.abs(gone).max()
    player.wait(0.4)
    assert player.flags == SampleFlag.DRIVE_FADING | SampleFlag.DRIVE_TIMED_OUT
    held = player.height
    player.wait(1.5)
    assert player.height == pytest.approx(held, abs=2e-4)
    assert abs(held) < 0.049
    player.wait(8.0)
    assert player.flags & SampleFlag.DRIVE_LOWERING
    assert player.height == pytest.approx(-0.0502, abs=3e-4)
    assert player.sample.stage == Stage.OFF
    assert player.worst_acceleration < HALF_G


Event = Callable[[Player], Command | None]


def press_stop(player: Player) -> Command | None:
    player.plant.inject(parse("estop@0s"))
    return player.command


def disable(player: Player) -> Command | None:
    player.command.mode = DriveMode.DISABLED
    return player.command


def lower(player: Player) -> Command | None:
    player.command.mode = DriveMode.LOWER
    return player.command


def switch_off(player: Player) -> Command | None:
    player.command.stage = Stage.OFF
    return player.command


def disable_and_switch_off(player: Player) -> Command | None:
    player.command.mode = DriveMode.DISABLED
    return switch_off(player)


@pytest.mark.parametrize("event", [press_stop, disable, lower, switch_off, disable_and_switch_off])
def test_comes_down_gently_from_full_speed(event: Event) -> None:
    player, _ = moving()
    command = event(player)
    player.wait(0.15, command)
    assert player.flags & SampleFlag.DRIVE_FADING
    player.wait(9.0, command)
    assert player.flags & SampleFlag.DRIVE_LOWERING
    assert player.height == pytest.approx(-0.0502, abs=3e-4)
    assert np.abs(player.plant.true_velocity).max() < 1e-6
    assert player.worst_acceleration < 0.25 * 9.80665
    assert bool(player.flags & SampleFlag.ESTOP) == (event is press_stop)


def test_a_loss_of_the_pump_lets_it_down_when_the_accumulators_are_empty() -> None:
    player, rest = moving()
    player.plant.inject(parse("supply-loss@0s"))
    surging = ramp(np.zeros(6), np.array([0, 0, 0.03, 0, 0, 0]), 0.4)
    player.follow(rest)
    assert player.flags & SampleFlag.SUPPLY_FAULT
    for _ in range(20):
        player.follow(surging)
        player.follow((surging[0][::-1], -surging[1][::-1], surging[2][::-1]))
    player.wait(9.0, player.command)
    assert player.flags & SampleFlag.DRIVE_LOWERING
    assert player.height == pytest.approx(-0.0502, abs=3e-4)
    assert player.worst_acceleration < HALF_G


def test_once_starved_it_comes_down_even_if_the_pressure_is_back() -> None:
    player = Player().raised()
    player.plant._block.supply_state[0, SUPPLY_STATE.filtered] = 0.0
    player.wait(9.0, player.command)
    assert player.sample.field("supply_pressure")[0] > present(TABLE.supply).limits.minimum_pressure
    assert player.height == pytest.approx(-0.0502, abs=3e-4)
    assert player.worst_acceleration < HALF_G


def test_an_offset_of_one_vertical_transducer_binds_the_table() -> None:
    """0.2 mm in one transducer: the valves push until leakage and orifices let the difference through."""
    off = ActuatorTruth(link=TABLE.links[0].name, transducer_offset=0.2e-3)
    valve = TABLE.types[0].valve.model_copy(update={"overlap": 0.0})
    table = TABLE.model_copy(update={"valve": valve})
    player = Player(PlantTruth(payload=PAYLOAD, actuators=(off,)), table).raised()
    player.wait(5.0, player.command)
    twist = 0.5 * np.array([-1.0, 1.0, -1.0, 1.0])
    area = TABLE.types[0].cylinder.piston_areas[0]
    weight = 47e3 * TABLE.gravity / 4
    leak_per_force = TABLE.types[0].cylinder.leakage / area**2
    # The valve stands open for the leakage of the weight; its flow falls with the pressure drop's root.
    drop_force = area * (present(TABLE.supply).pressure - present(TABLE.supply).return_pressure) - weight
    orifice_per_force = leak_per_force * weight / (2 * drop_force)
    # A quarter of the offset is left to each vertical actuator, the table gives way to the rest.
    each = TABLE.types[0].length_gain * 0.2e-3 / 4 / (leak_per_force + orifice_per_force)
    assert abs(float(twist @ player.plant.forces[:4])) == pytest.approx(2 * each, rel=0.05)


@pytest.mark.parametrize("gap_ms", [3, 20, 100])
def test_bridges_a_gap_and_rejoins_without_a_jerk(gap_ms: int) -> None:
    player, rest = moving(roughness=2.0)
    player.wait(gap_ms * 1e-3)
    late = tuple(part[gap_ms:] for part in rest)
    player.follow((late[0], late[1], late[2]))
    assert not player.flags
    assert player.worst_acceleration < HALF_G
    error = np.array(player.poses)[-500:, HEAVE] - rest[0][-500:, HEAVE]
    assert np.abs(error).max() < 0.5e-3


def test_after_lowering_by_itself_it_follows_only_when_it_was_disabled_in_between() -> None:
    player = Player().raised()
    player.wait(10.0)
    bottom = player.height
    stay = ramp(player.plant.true_pose, player.plant.true_pose + np.array([0, 0, 0.02, 0, 0, 0]), 2.0)
    player.command.mode = DriveMode.FOLLOW
    player.follow(stay)
    assert player.height == pytest.approx(bottom, abs=1e-4)
    player.pressurise()
    assert not SampleFlag(player.sample.flags)
    player.follow(stay)
    assert player.height == pytest.approx(bottom + 0.02, abs=3e-4)


def test_does_not_start_without_supply_pressure() -> None:
    player = Player()
    player.command.mode = DriveMode.FOLLOW
    player.command.stage = Stage.LOW
    still = player.nominal.commands(ramp(np.zeros(6), np.zeros(6), 1e-3))[0]
    player.command.values[: len(still)] = still
    player.wait(2.0, player.command)
    assert player.sample.stage == Stage.LOW
    assert player.height == pytest.approx(-0.0502, abs=1e-4)
    assert player.worst_acceleration < 0.05


def test_a_command_far_from_the_table_is_approached_slowly() -> None:
    player = Player().raised()
    player.forget()
    player.wait(0.01)
    up = np.array([0, 0, 0.01, 0, 0, 0])
    player.follow((np.tile(up, (1500, 1)), np.zeros((1500, 6)), np.zeros((1500, 6))))
    assert player.height == pytest.approx(0.01, abs=2e-4)
    assert player.worst_acceleration < 2.0


def test_valve_trim_moves_the_actuator_and_force_references_carry_no_offset() -> None:
    player = Player().raised()
    player.command.field("valve_trims")[:4] = 20e-3
    player.wait(1.0, player.command)
    # The overlap lets some of it be.
    assert player.height == pytest.approx(20e-3 / TABLE.types[0].length_gain, abs=8e-5)


@pytest.mark.parametrize(
    ("field_name", "value"),
    [
        ("lengths", np.nan),
        ("lengths", 1.3),
        ("lengths", 0.0),
        ("rates", np.inf),
        ("accelerations", 1e300),
        ("force_references", -np.inf),
        ("valve_trims", 1e9),
        ("payload_wrench", np.nan),
    ],
)
def test_a_command_that_cannot_be_meant_counts_as_none(field_name: str, value: float) -> None:
    player = Player().raised()
    player.forget()
    player.command.field(field_name)[2] = value
    player.wait(0.5, player.command)
    assert np.isfinite(player.poses).all()
    assert np.ptp(np.array(player.poses)[:, HEAVE]) < 2e-4
    assert player.flags & SampleFlag.DRIVE_TIMED_OUT
