"""Places of the Magic Formula's packed coefficients.

They are those of the property file with all that does not change put together: scale factors, inflation
pressure, nominal load. ``p`` is the share of the scaled nominal load F'zo, ``d`` = p − 1 is df_z. What
multiplies a force is kept for a load of 1 N.
"""

from __future__ import annotations

from typing import Final

(
    RADIUS,  # R0, m
    NOMINAL_LOAD,  # F_zo, N
    SHARE,  # 1 / F'zo
    FZMIN_RATIO,  # p the coefficients are taken at
    FZMAX_RATIO,
    CAMMIN,
    CAMMAX,
    TANGENT,  # 1: slip is tan α and camber sin γ (MF 6.1); 0: both are angles
    GRIP_X,  # λ_μx, λ_μy
    GRIP_Y,
    DIGRESSION,  # A_μ of (4.E8); 1: shifts go with the friction itself
) = range(11)
# Pure longitudinal slip
CX, MX1, MX2, MX3, EX1, EX2, EX3, EX4, KX1, KX2, KX3, HX1, HX2, VX1, VX2 = range(11, 26)
# Pure lateral slip; KG: camber stiffness of MF 6.1
CY, MY1, MY2, MY3, EY1, EY2, EY3, EY4, EY5, KY1, KY2, KY3, KY4, KY5 = range(26, 40)
HY1, HY2, HY3, KG1, KG2, VY1, VY2, VY3, VY4 = range(40, 49)
# Aligning moment: trail, residual moment, lever
BT1, BT2, BT3, BT4, BT5, BT6, CT, DT1, DT2, DT3, DT4, ET1, ET2, ET3, ET4, ET5 = range(49, 65)
HT1, HT2, HT3, HT4, BR1, BR2, DR1, DR2, DR3, DR4, DR5, DR6, S1, S2, S3, S4 = range(65, 81)
# Combined slip; COMBINED 0: friction ellipse
COMBINED, BXA1, BXA2, BXA3, CXA, EXA1, EXA2, HXA = range(81, 89)
BYK1, BYK2, BYK3, BYK4, CYK, EYK1, EYK2, HYK1, HYK2, VYK1, VYK2, VYK3, VYK4, VYK5, VYK6 = range(89, 104)
# Overturning moment; OVERTURNING_TERMS 1: with the terms of QSX4 to QSX11
OVERTURNING_TERMS, X1, X2, X3, X4, X5, X6, X7, X8, X9, X10, X11 = range(104, 116)
# Rolling resistance; REFERENCE_SPEED: 1 / V_o
REFERENCE_SPEED, Y1, Y2, Y3, Y4, Y5, Y6, Y7, YIELD = range(116, 125)
# Relaxation lengths; CARCASS 1: slip stiffness over carcass stiffness
CARCASS_X, CX1, CX2, CX3, CARCASS_Y, CY1, CY2, CY3, MIN_LENGTH = range(125, 134)
# Vertical
STIFFNESS, PROGRESSION, DAMPING, RIM_DEPTH, RIM_STIFFNESS, FREE_RADIUS, RE_SCALE, RE_B, RE_D, RE_F = range(
    134, 144
)
COUNT: Final = 144
