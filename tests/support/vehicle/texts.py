"""Vehicle files of the tests: the shipped sedan, and one with a trailing arm of free definition behind."""

from __future__ import annotations

from pathlib import Path

VEHICLES = Path(__file__).parents[3] / "config" / "vehicles"
SEDAN = (VEHICLES / "benchmark_sedan.yaml").read_text(encoding="utf-8")

PIVOT = "      pivot: {kind: revolute, bodies: [chassis, arm], axis: [pivot_inner, pivot_outer]}\n"
TRAILING_ARM = f"""  - name: rear
    suspension: custom
    hardpoints:
      wheel_centre: [-2800 mm, 785 mm, 310 mm]
      pivot_inner: [-2400 mm, 400 mm, 330 mm]
      pivot_outer: [-2400 mm, 700 mm, 330 mm]
      spring_lower: [-2750 mm, 620 mm, 300 mm]
      spring_upper: [-2750 mm, 600 mm, 640 mm]
    bodies:
      arm:
        mass: 14 kg
        centre_of_mass: [-2600 mm, 650 mm, 315 mm]
        inertia: [0.3 kg m2, 0.6 kg m2, 0.7 kg m2]
    joints:
{PIVOT}    carrier: arm
    wheel: {{mass: 22 kg, axial_inertia: 1.2 kg m2, transverse_inertia: 0.7 kg m2}}
    tyre:
      free_radius: 328.5 mm
      rolling_radius: 320 mm
      stiffness: 220 N/mm
      longitudinal_slip_stiffness: 20
      cornering_stiffness: 17 1/rad
    springs:
      coil:
        bodies: [chassis, arm]
        points: [spring_upper, spring_lower]
        stiffness: 40 N/mm
        preload: 4000 N
"""
CUSTOM = SEDAN[: SEDAN.index("  - name: rear")] + TRAILING_ARM
CAB = """groups:
  cab:
    hardpoints:
      pin: [1000 mm, 0 mm, 900 mm]
      left_lower: [-100 mm, 500 mm, 900 mm]
      left_upper: [-100 mm, 500 mm, 1100 mm]
      right_lower: [-100 mm, -500 mm, 900 mm]
      right_upper: [-100 mm, -500 mm, 1100 mm]
      lateral: [-100 mm, 900 mm, 1100 mm]
    bodies:
      cab:
        mass: 300 kg
        centre_of_mass: [400 mm, 0 mm, 1300 mm]
        inertia: [80 kg m2, 80 kg m2, 70 kg m2]
    joints:
      pin: {kind: spherical, bodies: [chassis, cab], point: pin}
    springs:
      left: {bodies: [chassis, cab], points: [left_lower, left_upper], stiffness: 40 N/mm}
      right: {bodies: [chassis, cab], points: [right_lower, right_upper], stiffness: 40 N/mm}
      side: {bodies: [chassis, cab], points: [lateral, left_upper], stiffness: 90 N/mm}
"""


def changed(text: str, *changes: tuple[str, str]) -> str:
    """Return a text with the first occurrence of each old part replaced; fail if one is not there."""
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


def position(text: str, part: str) -> str:
    """Return line and column of the first occurrence of a part of a text, as messages show them."""
    before = text[: text.index(part)]
    return f"{before.count(chr(10)) + 1}:{len(before) - (before.rfind(chr(10)) + 1) + 1}"
