from __future__ import annotations
import numpy as np
from numpy.typing import NDArray
from mastd.kernel import fused_kernel, separate_kernel
Floats = NDArray[np.float64]
FREE_RADIUS=0
COUNT=6
@fused_kernel
def normal_load(c, depth, rate):
    share = depth*1000.0
    if share.real > 1.0:
        share = 1.0+0.0*depth
    f = c[1]*depth + c[2]*share*rate
    if depth.real <= 0.0 or f.real <= 0.0:
        f = 0.0*f
    return f
@fused_kernel
def slip_stiffness(c, load, camber):
    return 20.0*load, 15.0*load
@fused_kernel
def peak_friction(c, load, camber):
    return 1.0+0.0*load, 1.0+0.0*load
@fused_kernel
def relaxation_lengths(c, load, camber):
    return 0.3+0.0*load, 0.5+0.0*load
@fused_kernel
def rolling_radius(c, load):
    return 0.32+0.0*load
@separate_kernel
def slip_forces(c, load, kappa, tan_alpha, camber, speed, friction, shift):
    s = np.sqrt((20.0*kappa)**2+(15.0*tan_alpha)**2+1e-12)
    t = np.tanh(s)/s*friction*load
    return 20.0*kappa*t, -15.0*tan_alpha*t, 0.0*load, 0.0*load, 0.3*tan_alpha*t
