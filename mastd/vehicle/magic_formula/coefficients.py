"""Index tables of the Magic Formula's packed coefficients, by their names in property files.

They are those of the property file with all that does not change put together: scale factors, inflation
pressure, nominal load. What multiplies a force is kept for a load of 1 N. A name that no file has says in its
entry what it stands for.
"""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple

from mastd.index_table import Entry, index_table, size_of


class GeneralRow(NamedTuple):
    """What all forces share."""

    UNLOADED_RADIUS: Annotated[int, Entry("m", "R_0")]
    FNOMIN: Annotated[int, Entry("N", "F_z0")]
    INVERSE_FZ0: Annotated[int, Entry("1/N", "1 / F'_z0, the scaled nominal load")]
    FZMIN_RATIO: Annotated[int, Entry("1", "F_z / F'_z0 the coefficients are taken at, at least")]
    FZMAX_RATIO: Annotated[int, Entry("1", "at most")]
    CAMMIN: Annotated[int, Entry("rad", "")]
    CAMMAX: Annotated[int, Entry("rad", "")]
    IS_MF61: Annotated[int, Entry("1", "1: slip is tan α and camber sin γ (MF 6.1); 0: both are angles")]
    LMUX: Annotated[int, Entry("1", "λ_μx")]
    LMUY: Annotated[int, Entry("1", "λ_μy")]
    AMU: Annotated[int, Entry("1", "A_μ of (4.E8); 1: shifts go with the friction itself")]


class FxRow(NamedTuple):
    """Pure longitudinal slip (4.E9) to (4.E18)."""

    PCX1: int
    PDX1: int
    PDX2: int
    PDX3: int
    PEX1: int
    PEX2: int
    PEX3: int
    PEX4: int
    PKX1: int
    PKX2: int
    PKX3: int
    PHX1: int
    PHX2: int
    PVX1: int
    PVX2: int


class FyRow(NamedTuple):
    """Pure lateral slip (4.E19) to (4.E30)."""

    PCY1: int
    PDY1: int
    PDY2: int
    PDY3: int
    PEY1: int
    PEY2: int
    PEY3: int
    PEY4: int
    PEY5: int
    PKY1: int
    PKY2: int
    PKY3: int
    PKY4: int
    PKY5: int
    PHY1: int
    PHY2: int
    PHY3: int
    PKY6: int
    PKY7: int
    PVY1: int
    PVY2: int
    PVY3: int
    PVY4: int


class MzRow(NamedTuple):
    """Aligning moment: trail, residual moment, lever (4.E31) to (4.E49), (4.E71) to (4.E76)."""

    QBZ1: int
    QBZ2: int
    QBZ3: int
    QBZ4: int
    QBZ5: int
    QBZ6: int
    QCZ1: int
    QDZ1: int
    QDZ2: int
    QDZ3: int
    QDZ4: int
    QEZ1: int
    QEZ2: int
    QEZ3: int
    QEZ4: int
    QEZ5: int
    QHZ1: int
    QHZ2: int
    QHZ3: int
    QHZ4: int
    QBZ9: int
    QBZ10: int
    QDZ6: int
    QDZ7: int
    QDZ8: int
    QDZ9: int
    QDZ10: int
    QDZ11: int
    SSZ1: int
    SSZ2: int
    SSZ3: int
    SSZ4: int


class CombinedRow(NamedTuple):
    """Combined slip (4.E50) to (4.E67)."""

    HAS_RBX1: Annotated[int, Entry("1", "0: friction ellipse")]
    RBX1: int
    RBX2: int
    RBX3: int
    RCX1: int
    REX1: int
    REX2: int
    RHX1: int
    RBY1: int
    RBY2: int
    RBY3: int
    RBY4: int
    RCY1: int
    REY1: int
    REY2: int
    RHY1: int
    RHY2: int
    RVY1: int
    RVY2: int
    RVY3: int
    RVY4: int
    RVY5: int
    RVY6: int


class MxRow(NamedTuple):
    """Overturning moment (4.E69)."""

    HAS_QSX4: Annotated[int, Entry("1", "1: with the terms of QSX4 to QSX11")]
    QSX1: int
    QSX2: int
    QSX3: int
    QSX4: int
    QSX5: int
    QSX6: int
    QSX7: int
    QSX8: int
    QSX9: int
    QSX10: int
    QSX11: int


class MyRow(NamedTuple):
    """Rolling resistance (4.E70)."""

    INVERSE_LONGVL: Annotated[int, Entry("s/m", "1 / V_0")]
    QSY1: int
    QSY2: int
    QSY3: int
    QSY4: int
    QSY5: int
    QSY6: int
    QSY7: int
    LMY: Annotated[int, Entry("m", "times R_0 and the factor of the inflation pressure")]


class RelaxationRow(NamedTuple):
    """Relaxation lengths; where a file has no PTX1 or PTY1, those of the carcass."""

    IS_CARCASS_X: Annotated[int, Entry("1", "1: slip stiffness over carcass stiffness")]
    PTX1: Annotated[int, Entry("m", "of the carcass: 1 / stiffness, m/N")]
    PTX2: Annotated[int, Entry("m", "of the carcass: PCFX1")]
    PTX3: Annotated[int, Entry("1", "of the carcass: PCFX2")]
    IS_CARCASS_Y: Annotated[int, Entry("1", "as along")]
    PTY1: Annotated[int, Entry("m", "of the carcass: 1 / stiffness, m/N")]
    PTY2: Annotated[int, Entry("1", "1 / PTY2; of the carcass: PCFY1")]
    PTY3: Annotated[int, Entry("1", "of the carcass alone: PCFY2")]
    MIN_LENGTH: Annotated[int, Entry("m", "least length")]


class VerticalRow(NamedTuple):
    """Vertical law (4.E68), rolling radius, rim."""

    QFZ1: Annotated[int, Entry("N/m", "at no depth")]
    QFZ2: Annotated[int, Entry("N/m2", "growth of the stiffness with depth")]
    VERTICAL_DAMPING: Annotated[int, Entry("N s/m", "")]
    RIM_DEPTH: Annotated[int, Entry("m", "at which the rim is reached")]
    BOTTOM_STIFF: Annotated[int, Entry("N/m", "")]
    FREE_RADIUS: Annotated[int, Entry("m", "")]
    RE_SCALE: Annotated[int, Entry("m", "deflection at the nominal load")]
    BREFF: Annotated[int, Entry("1", "")]
    DREFF: Annotated[int, Entry("1", "")]
    FREFF: Annotated[int, Entry("1", "")]


GENERAL: Final = index_table(GeneralRow)
FX: Final = index_table(FxRow, size_of(GENERAL))
FY: Final = index_table(FyRow, size_of(FX))
MZ: Final = index_table(MzRow, size_of(FY))
COMBINED: Final = index_table(CombinedRow, size_of(MZ))
MX: Final = index_table(MxRow, size_of(COMBINED))
MY: Final = index_table(MyRow, size_of(MX))
RELAXATION: Final = index_table(RelaxationRow, size_of(MY))
VERTICAL: Final = index_table(VerticalRow, size_of(RELAXATION))
COUNT: Final = size_of(VERTICAL)
