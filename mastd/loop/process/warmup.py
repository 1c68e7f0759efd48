"""Compile every kernel of the cycle before it is needed, by running a scratch cycle through its states."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mastd.control.reference.stream import add_knot, begin_stream, read_stream, stream_block
from mastd.kinematics.inverse import actuator_lengths
from mastd.loop.payload.loaded_profile import Driven, OnTable
from mastd.loop.payload.prepare import driven_vehicle, table_vehicle
from mastd.loop.payload.profile_inputs import ProfileInputs
from mastd.loop.process.installation import Installation
from mastd.safety.states import State
from mastd.settings.core.starter import find
from mastd.settings.profile.cueing import WashoutSettings
from mastd.settings.profile.oils import OilsSettings
from mastd.settings.profile.profile import ProfileSettings
from mastd.settings.profile.segments import Hold
from mastd.settings.profile.stream import PoseStream, TranslationBox
from mastd.settings.table.payload import VehiclePayload
from mastd.wire.access.verbs import Verb
from mastd.wire.common.vehicle_block import VEHICLE_NUMBERS
from mastd.wire.plant.messages import Stage

ANY_VEHICLE = "benchmark_sedan"
"""Vehicles differ in numbers only: what is compiled for one serves for all."""


def compile_vehicles(vehicle: OnTable | None, driven: Driven | None) -> None:
    """Load what these vehicles' periods call, by a period of each; both begin again afterwards."""
    numbers, pose = np.zeros(VEHICLE_NUMBERS), np.zeros(6)
    if vehicle is not None:
        vehicle.lie(pose, numbers)
        vehicle.ride(pose, 1, numbers)
        vehicle.lie(pose, numbers)
    if driven is not None:
        driven.begin(np.zeros((4, 6)), numbers)
        driven.step(numbers)
        stream = stream_block(1e-3)
        begin_stream(stream, driven.motion)
        add_knot(stream, driven.motion)
        read_stream(stream, 0.5e-3, np.zeros((4, 6)))


def compile_any_vehicle(installation: Installation) -> None:
    """Load what the periods of any vehicle and any rig's stream call: a service may be given one any time."""
    file, period = str(find("vehicle", ANY_VEHICLE)), installation.daemon.period_ns * 1e-9
    segment = Hold(kind="hold", duration=1.0)
    on_table = VehiclePayload(kind="vehicle", vehicle=file)
    carried = ProfileSettings(name=ANY_VEHICLE, payload=on_table, segments=(segment,))
    oils = OilsSettings(
        vehicle=file,
        cabin_seat=(0.0, 0.0, installation.table.body.top_height),
        speed=10.0,
        duration=1.0,
        cueing=WashoutSettings(kind="washout"),
    )
    driven = ProfileSettings(name=ANY_VEHICLE, mode="oils", oils=oils)
    inputs = ProfileInputs.read(carried, installation.table)
    compile_vehicles(table_vehicle(inputs, period), driven_vehicle(driven, period))
    box = TranslationBox(travel=0.01, velocity=0.1, acceleration=1.0, jerk=100.0)
    stream = PoseStream(kind="pose", rig="any", duration=1.0, bandwidth=1.0, heave=box)
    streamed = ProfileSettings(name="any", mode="stream", stream=stream)
    compile_vehicles(None, driven_vehicle(streamed, period))


def compile_kernels(installation: Installation) -> None:
    """Load the kernels from the cache, or compile them into it; takes seconds the first time only."""
    cycle, table = installation.bare_cycle(), installation.table
    sample = cycle.sample
    actuator_lengths(
        installation.geometry.legs,
        np.zeros(6),
        sample.field("lengths"),
    )
    if table.sensors.displacement:
        sample.field("displacements")[:] = [
            (one.neutral_length - one.offset) / one.scale for one in table.sensors.displacement
        ]
    if table.packs:
        sample.field("supply_pressure")[:] = [supply.pressure for supply in table.packs.values()]
    sample.stage = int(Stage.HIGH)
    verbs = [Verb.NONE, Verb.RAISE, Verb.NONE, Verb.NONE, Verb.NONE]
    for step, verb in enumerate(verbs):
        sample.step = sample.sequence = step
        cycle.step(1, step * installation.daemon.period_ns, verb)
    reference = cycle.reference
    follows: tuple[Callable[[], object], ...] = (
        lambda: reference.play(np.zeros(6)),
        lambda: reference.slow(0.0),
        lambda: reference.brake(np.zeros(6), np.zeros(6)),
        lambda: reference.rejoin(np.zeros(6), np.zeros(6)),
    )
    for follow in follows:
        follow()
        cycle.advance(installation.daemon.period_ns * 1e-9)
    assert cycle.supervisor.state is not State.OFF
