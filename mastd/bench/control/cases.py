"""What is played in the benches of the control: stages, the worth of each part, trouble.

A case is played for each seed of the hidden truth and each axis, in noise along that axis.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal

from mastd.bench.control.plays import Streamed
from mastd.bench.control.profiles import corner_noise, heavy_noise, noise
from mastd.bench.control.truth import PayloadTruth, TableTruth, Truth
from mastd.bench.control.variants import Changes, Variant, merged
from mastd.settings.core.axes import AXES
from mastd.units import STANDARD_GRAVITY

Known = Literal["nothing", "identified", "two per cent"]
"""What is known of the table beside its settings: what `mastd identify` finds, or all to two per cent."""

MAIN = ("heave", "sway", "roll")
MOTION = ("best_lag_nrmse", "worst_best_lag_nrmse", "raw_nrmse", "lag_s", "cross_axis")
RESPONSE = ("bandwidth_hz", "flatness_hz")

FULL_FORCE: Changes = MappingProxyType({"limits": {"force_share": "100 %"}})
"""The truth may be heavier than what `mastd check` has proved: only what the actuators can give bounds it."""
UNCHECKED: Changes = MappingProxyType({"control": {"payload_check": {"enabled": False}}})

WEAK_SUPPLY: Changes = MappingProxyType(
    {"supply": {"pressure": "168 bar"}, "actuator": {"maximum_force": "155 kN"}}
)
"""20 % less than the daemon thinks."""


@dataclass(frozen=True)
class Case:
    """One way of playing; everything that is left out is as in the starter settings and in the hidden truth.

    ``known``: what is known beside the settings. ``plant_table``: what the plant's table has otherwise than
    the daemon thinks. ``truth`` changes the hidden truth. ``faults``: at seconds of the profile. ``wide``: a
    second play, of wide noise, shows the bandwidth. ``profile``: axis → the text of what is played.
    """

    table: Changes = field(default_factory=lambda: FULL_FORCE)
    daemon: Changes = field(default_factory=dict)
    plant_table: Changes = field(default_factory=dict)
    known: Known = "nothing"
    streamed: Streamed | None = None
    profile: Callable[[str], str] = noise
    truth: Callable[[TableTruth], TableTruth] = lambda truth: truth
    faults: tuple[tuple[str, float, str], ...] = ()
    """Name with channel, s of the profile, value with its unit or nothing."""
    wide: bool = False
    axes: tuple[str, ...] = AXES
    figures: tuple[str, ...] = MOTION

    @property
    def variant(self) -> Variant:
        """Settings of the daemon."""
        return Variant(self.table, self.daemon)

    @property
    def plant_variant(self) -> Variant | None:
        """Settings of the plant where they differ."""
        return Variant(merged(self.table, self.plant_table)) if self.plant_table else None


STAGES: Mapping[str, Case] = MappingProxyType(
    {
        "first": Case(wide=True, figures=(*MOTION, *RESPONSE)),
        "identified": Case(wide=True, known="identified", figures=(*MOTION, *RESPONSE)),
        "streamed": Case(known="identified", streamed="poses", wide=True, figures=(*MOTION, *RESPONSE)),
        "streamed_derivatives": Case(
            known="identified", streamed="derivatives", wide=True, figures=(*MOTION, *RESPONSE)
        ),
    }
)


WIDE_GUARDS: Changes = MappingProxyType(
    {
        "limits": {
            "force_share": "100 %",
            "following_error": {"minimum": "40 mm", "at_maximum_velocity": "60 mm"},
        }
    }
)
PATIENT_GUARD: Changes = MappingProxyType({"stuck_travel": "10 mm", "limit_delay": "1 s"})
"""A control that follows badly is to be seen to the end."""


def _ladder() -> Mapping[str, Case]:
    """Return the ladder of the control study: each row adds a part to the one above."""
    rows: tuple[tuple[str, Changes, Changes], ...] = (
        (
            "length_loop",
            {
                "length_gain": "8 1/s",
                "rate_feedforward": 0.0,
                "valve_lead": "0 ms",
                "force_feedforward": "0 %",
                "pressure_damping": "0 1/s",
                "orifice_law": False,
            },
            {
                "feedforward": {
                    "dynamics": "none",
                    "friction": False,
                    "valve_inverse": False,
                    "valve_learning": False,
                    "payload_learning": False,
                    "preview": False,
                    "stream_delay": "0 ms",
                },
                "acceleration": {"gain": "0 1/s"},
            },
        ),
        ("pressure_damping", {"length_gain": "25 1/s", "pressure_damping": "60 1/s"}, {}),
        ("rate_feedforward", {"rate_feedforward": 1.0}, {}),
        (
            "links_feedforward",
            {"valve_lead": "3.2 ms", "force_feedforward": "100 %"},
            {"feedforward": {"dynamics": "links"}},
        ),
        ("orifice_law", {"orifice_law": True}, {"feedforward": {"stream_delay": "3 ms"}}),
        ("mass_matrix", {}, {"feedforward": {"dynamics": "payload"}}),
        ("preview", {}, {"feedforward": {"valve_inverse": True, "preview": True}}),
        ("friction", {}, {"feedforward": {"friction": True}}),
        ("acceleration", {"length_gain": "15 1/s"}, {"acceleration": {"gain": "100 1/s"}}),
        ("valve_learning", {}, {"feedforward": {"valve_learning": True}}),
        ("payload_learning", {}, {"feedforward": {"payload_learning": True}}),
    )
    cases: dict[str, Case] = {}
    drive: Changes = {}
    control: Changes = {}
    for number, (name, of_drive, of_control) in enumerate(rows, start=1):
        drive, control = merged(drive, of_drive), merged(control, of_control)
        cases[f"{number:02}_{name}"] = Case(
            merged(WIDE_GUARDS, {"drive": drive}),
            {"control": control, "guard": PATIENT_GUARD},
            figures=("best_lag_nrmse", "lag_s", "cross_axis"),
        )
    cases[f"{len(rows) + 1:02}_two_per_cent"] = replace(next(reversed(cases.values())), known="two per cent")
    return MappingProxyType(cases)


LADDER = _ladder()


def _half(axis: str) -> str:
    return noise(axis, ratio=0.5)


def _heavier(truth: TableTruth) -> TableTruth:
    payload = truth.payload
    assert payload is not None
    xx, yy, zz = payload.inertia
    heavier = replace(payload, mass=1.3 * payload.mass, inertia=(1.3 * xx, 1.3 * yy, 1.3 * zz))
    return replace(truth, payload=heavier)


def _missing(truth: TableTruth) -> TableTruth:
    return replace(truth, payload=None)


def _supported(truth: TableTruth) -> TableTruth:
    payload = truth.payload
    assert payload is not None
    carried = SUPPORTED_RATIO * (TABLE_MASS + payload.mass) * STANDARD_GRAVITY
    support: Truth = {"position": ["0 m", "0 m", "-0.5 m"], "force": f"{carried!r} N"}
    return replace(truth, static_supports=(support,))


def sprung(truth: TableTruth) -> TableTruth:
    """Put 80 % of the payload on springs of 9 Hz, hardly damped."""
    payload = truth.payload
    assert isinstance(payload, PayloadTruth)
    return replace(truth, payload=replace(payload, sprung_ratio=0.8, sprung_frequency=9.0))


TABLE_MASS = 35_000.0
SUPPORTED_RATIO = 0.6
TROUBLE_AT = 5.0
"""s of the profile at which a sensor fails."""
_REPORTED = (*MOTION, "internal_force_rms_n", "indicated")

ROBUST: Mapping[str, Case] = MappingProxyType(
    {
        name: replace(case, axes=MAIN, figures=_REPORTED)
        for name, case in {
            "undisturbed": Case(profile=_half),
            "payload_heavier": Case(daemon=UNCHECKED, profile=_half, truth=_heavier),
            "payload_missing": Case(daemon=UNCHECKED, profile=_half, truth=_missing),
            "supply_weak": Case(profile=_half, plant_table=WEAK_SUPPLY),
            "accelerometer_stuck": Case(profile=_half, faults=(("accelerometer-stuck.5", TROUBLE_AT, ""),)),
            "accelerometer_missing": Case(
                profile=_half, faults=(("accelerometer-missing.5", TROUBLE_AT, ""),)
            ),
            "pressure_stuck": Case(profile=_half, faults=(("pressure-stuck.5", TROUBLE_AT, ""),)),
            "pressure_missing": Case(profile=_half, faults=(("pressure-missing.5", TROUBLE_AT, ""),)),
            "supported_40t": Case(daemon=UNCHECKED, profile=heavy_noise, truth=_supported),
            "corner": Case(profile=corner_noise),
        }.items()
    }
)

SPRUNG: Mapping[str, Case] = MappingProxyType({"first": Case(truth=sprung, figures=MOTION)})

CASES: Mapping[str, Case] = MappingProxyType(
    {
        **STAGES,
        **{f"ladder.{name}": case for name, case in LADDER.items()},
        **{f"robust.{name}": case for name, case in ROBUST.items()},
        **{f"sprung.{name}": case for name, case in SPRUNG.items()},
    }
)
