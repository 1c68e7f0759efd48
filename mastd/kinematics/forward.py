import numpy as np
from mastd.kinematics.observer import observe
from mastd.kinematics.jacobian import geometric_jacobian
class Observer:
    def __init__(self, g):
        J=np.empty((g.links,6)); geometric_jacobian(g.table_joints,g.base_joints,g.neutral_position,np.zeros(6),J)
        self.gain=np.ascontiguousarray(np.linalg.pinv(J)); u,s,v=np.linalg.svd(J); self.null_vector=np.ascontiguousarray(u[:,-1])
