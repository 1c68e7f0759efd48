"""A driven vehicle on its road, a period at a time: drivers, vehicle, what is felt at the seat, fallbacks.

Everything in it is an array, a number or a class of this package, so that it can be pickled in the middle of
a drive and goes on identically.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.index_table import size_of
from mastd.roads.ground import Ground
from mastd.settings.profile.oils import ClassRoad, FlatRoad, KerbRoad, OilsSettings, OperatorDriver, Road
from mastd.vehicle.blocks.fields import REPORT, REPORT_SIZE
from mastd.vehicle.drivers.base import SAMPLE, Driver, Seen
from mastd.vehicle.drivers.car import Car
from mastd.vehicle.drivers.controls import Controls, no_controls
from mastd.vehicle.drivers.course import Course, along
from mastd.vehicle.drivers.crew import Crew
from mastd.vehicle.drivers.engine_starter import EngineStarter
from mastd.vehicle.drivers.manual import ManualDriver
from mastd.vehicle.drivers.pedals import SpeedGains
from mastd.vehicle.drivers.takeover import Takeover
from mastd.vehicle.equations.prescribed_forces import PrescribedForces
from mastd.vehicle.model import library
from mastd.vehicle.model.definition import Model, Seat
from mastd.vehicle.payload import checks, road_ahead
from mastd.vehicle.payload.fallbacks import FADE_IN, FADE_OUT, Condition, Watch
from mastd.vehicle.payload.road_step import WATCHED, judge
from mastd.vehicle.payload.seat import FELT, feel
from mastd.vehicle.powertrain.fields import DRIVER
from mastd.vehicle.simulation.simulation import Simulation
from mastd.vehicle.solver.compiled_step import WRENCHES
from mastd.vehicle.solver.recording import TraceLayout, record_now
from mastd.vehicle.solver.snapshot import remember, restore
from mastd.vehicle.state.trace import ANGLES, ANGULAR_VELOCITY, POSITION, VELOCITY

DRIVER_INPUTS: Final = ("steering", "throttle", "brake", "clutch", "gear")
"""Columns of ``VehicleOnRoad.inputs``: share of the first rack's travel (−1…1, left positive), pedals 0…1,
the gear lever."""
END_FADE: Final = 1.0
"""s in which the cue goes at the end of the drive."""
_FULL: Final = SpeedGains()
"""What full pedals are where there are none: as ``driver_manual`` has them."""


class VehicleOnRoad:
    """A vehicle that is driven; ``step`` takes it one period further.

    ``signals``: the row of ``layout`` after the last sound step. ``felt`` (9): what is felt at the seat, see
    ``mastd.vehicle.payload.seat``. ``inputs`` (5): what the driver does, see ``DRIVER_INPUTS``.
    """

    def __init__(self, crew: Crew, ground: Ground, seat: Seat, period: float) -> None:
        """Put the vehicle on its springs, rolling at the crew's speed; ``period`` in s.

        Raises EquilibriumError for a vehicle that does not stand, GroundError for wheels beside the road,
        UsageError for a powertrain that is too stiff for the period.
        """
        model = crew.model
        simulation = Simulation(model, step=period, ground=ground)
        simulation.start(crew.speed, crew.gear)
        self.model = model
        self.layout = TraceLayout(len(model.wheels), len(model.drives))
        self.gravity = float(model.gravity)
        self.signals = np.zeros(self.layout.width)
        self.felt = np.zeros(FELT)
        self.inputs = np.zeros(len(DRIVER_INPUTS))
        self._crew = crew
        self._period = period
        self._sample = max(1, round(SAMPLE / period))
        self._blocks = simulation.blocks
        self._ground = ground.parameters
        self._arrays = simulation.layout.arrays
        self.seat = seat
        self._report = np.zeros(REPORT_SIZE)
        self._table = np.zeros((1, self.layout.width))
        self._now = simulation.system.inputs.row()[np.newaxis].copy()
        self._columns = simulation.system.inputs
        self._prescribed = PrescribedForces(simulation.layout)
        self._take_step = simulation.bind(
            self._now, self._ground, self._report, self._table, np.zeros(WRENCHES)
        )
        self._watched = np.zeros(size_of(WATCHED))
        self._start = remember(self._blocks)
        self._report[REPORT.converged] = 1.0
        record_now(self._arrays, simulation.design_heights, self._report, self.signals)
        feel(self.signals, self.seat.position, self.gravity, self.felt)
        self._start_signals, self._start_felt = self.signals.copy(), self.felt.copy()
        self._torques = crew.car.torques
        self._steered, self._reach = _first_rack(crew.car)
        self._prepare()

    @classmethod
    def of(cls, oils: OilsSettings, seed: int, period: float) -> VehicleOnRoad:
        """Return the vehicle, its road and its driver; ``seed``: of the profile.

        Raises DriveError for settings that do not go together, FormatError for a road that cannot be read,
        and as ``VehicleOnRoad`` and ``library.find`` do.
        """
        model = library.find(oils.vehicle)
        checks.refuse_kerb(oils, model)
        ground, line = road_of(oils.road, model, seed)
        checks.refuse(oils, model, road_ahead.way_to_end(ground, model))
        crew = Crew(Car.of(model), oils.driver, oils.speed, seed, line)
        seat = model.seats[0] if oils.seat is None else model.seat(oils.seat)
        return cls(crew, ground, seat, period)

    # Asking

    @property
    def time(self) -> float:
        """Of the vehicle's world, s since the start."""
        return self._steps * self._period

    @property
    def fraction(self) -> float:
        """Of the cue that is to be given, 0…1."""
        return self._watch.fraction

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """What is wrong in this period."""
        return self._watch.conditions

    @property
    def operator_timeout(self) -> float | None:
        """s for which an operator who drives may be silent; None: no operator does."""
        driver = self._crew.settings
        return driver.timeout if isinstance(driver, OperatorDriver) else None

    @property
    def frozen(self) -> bool:
        """The vehicle has failed and is stepped no more."""
        return self._watch.stopped

    # Driving

    def begin(self) -> None:
        """Start again: the vehicle where it was in the beginning, new drivers in it, nothing given."""
        restore(self._blocks, self._start)
        self._prescribed.drop()
        self.signals[:], self.felt[:] = self._start_signals, self._start_felt
        self._prepare()

    def receive(self, values: FloatArray) -> None:
        """Take what an operator drives with (5), see ``driver_manual``; others hear nothing."""
        for driver in self._drivers:
            if isinstance(driver, ManualDriver):
                driver.receive(values, self.time)

    def give(self, torques: FloatArray, forces: FloatArray) -> None:
        """Let torques (nw) of motors act on the wheels and forces (nw) in their dampers, until the next call.

        ``torques``: N m, forward positive, on top of powertrain and driver, whoever drives. ``forces``: N,
        pushing the damper's ends apart positive, added to what it gives by itself; they do nothing at a wheel
        that has no damper of its own, see ``mastd.vehicle.equations.prescribed_forces.damper_of_wheel``.
        """
        self._prescribed.take(torques, forces)

    def step(self, *, ending: bool = False) -> None:
        """Go on by one period; ``ending``: the cue is on its way out, the drive is over."""
        watch = self._watch
        away = watch.stopped or watch.spun
        watch.fade(away or ending, FADE_OUT if away else (END_FADE if ending else FADE_IN))
        if watch.stopped:
            return
        index = self._steps % self._sample
        if index == 0:
            self._evaluate_preview()
        self.inputs[:] = self._shown[index]
        self._now[0] = self._rows[index]
        self._now[0, self._columns.drive_torque] += self._prescribed.torques
        self._take_step()
        status = judge(
            self._table,
            self.layout.wheels,
            self.layout.drives,
            self.seat.position,
            self.gravity,
            self.signals,
            self.felt,
            self._watched,
        )
        self._steps += 1
        watch.update(status, self._watched.tolist(), self.time)

    def _prepare(self) -> None:
        """Put new drivers in, and begin to count."""
        self._steps = 0
        self._report[:] = 0.0
        self._report[REPORT.converged] = 1.0
        self._watch = Watch([wheel.name for wheel in self.model.wheels], self._period)
        self._drivers: tuple[Driver, ...] = self._crew.drivers()
        self._coasting: Driver = ManualDriver(self.model, self._crew.car)
        self._takeover = Takeover(len(self.model.drives))
        self._starter = EngineStarter(self.model)
        self._rows = np.zeros((0, 0))
        self._shown = np.zeros((self._sample, len(DRIVER_INPUTS)))
        self.inputs[:] = 0.0

    def _evaluate_preview(self) -> None:
        """Ask the drivers, and write the rows of inputs until they are asked again."""
        first = self._steps
        times = self._period * np.arange(first + 1, first + self._sample + 1, dtype=np.float64)
        seen = self._seen()
        controls = no_controls(self.model, times)
        for driver in self._drivers:
            driver.act(seen, times, controls)
            if isinstance(driver, ManualDriver):
                self._watch.note_driver(driver.lost, seen.time)
        takeover = self._takeover
        takeover.ask(self._watch.spun)
        if takeover.needed:
            coasting = no_controls(self.model, times)
            self._coasting.act(seen, times, coasting)
            takeover.mix(controls, coasting, times - seen.time)
        else:
            takeover.note(controls)
        clutch = float(controls.driver[-1, DRIVER.clutch])
        self._starter.inspect(self._arrays.drive_state, clutch, self._sample * self._period)
        self._rows = controls.rows(self.model)
        self._show(controls)

    def _seen(self) -> Seen:
        row, layout = self.signals, self.layout
        return Seen(
            time=self.time,
            position=row[POSITION].copy(),
            yaw=float(row[ANGLES][2]),
            velocity=row[VELOCITY].copy(),
            yaw_rate=float(row[ANGULAR_VELOCITY][2]),
            spins=row[layout.wheel(1)].copy(),
            engine_speed=float(row[-1]),
        )

    def _show(self, controls: Controls) -> None:
        """Write what the driver does, for the record; torques on wheels as pedals, as they are heard."""
        shown = self._shown
        if controls.drives.shape[1]:
            shown[:, 0] = controls.drives[:, self._steered, 0] / self._reach
        shown[:, 1] = controls.driver[:, DRIVER.throttle]
        shown[:, 2] = controls.driver[:, DRIVER.brake]
        shown[:, 3] = controls.driver[:, DRIVER.clutch]
        shown[:, 4] = controls.driver[:, DRIVER.gear]
        per_newton = 1.0 / (self._torques.radii * self._torques.mass)
        shown[:, 1] += controls.drive_torque @ per_newton / _FULL.max_drive
        shown[:, 2] += controls.brake_torque @ per_newton / _FULL.max_brake


def _first_rack(car: Car) -> tuple[int, float]:
    """Return the rack of the first steered axle, and its displacement (m) at its end to the left."""
    if not car.model.drives:
        return 0, 1.0
    steered = car.track.steered
    return steered.drive, math.copysign(car.model.drives[steered.drive].limit, steered.ratio)


def road_of(road: Road, model: Model, seed: int) -> tuple[Ground, Course | None]:
    """Return the road before a vehicle, and the line that it follows, None for straight on.

    Raises FormatError for a file that holds no road, ValueError for a kerb that is too high.
    """
    if isinstance(road, FlatRoad):
        return Ground.flat().with_friction(road.friction, road.friction), None
    if isinstance(road, KerbRoad):
        radius = road_ahead.min_radius(model)
        start = road_ahead.front(model) + road.distance
        length = np.inf if road.length is None else road.length
        return Ground.kerb(start, road.height, radius, length, road.side), None
    if isinstance(road, ClassRoad):
        return road_ahead.class_road(model, road.road_class, road.length, seed), None
    ahead = road_ahead.opencrg_road(model, Path(road.file))
    return ahead.ground, along(ahead.line)
