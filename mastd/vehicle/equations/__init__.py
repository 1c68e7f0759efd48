"""Equations of motion: residual and Jacobian of bodies, joints and forces."""
