"""How a vehicle's equations are solved: a formulation, and a time integrator."""

from __future__ import annotations

from dataclasses import dataclass

from mastd.errors import UsageError
from mastd.settings.vehicle.solver_names import (
    Formulation,
    Integrator,
    JacobianPolicy,
    integrators_of,
    misfit,
)


@dataclass(frozen=True)
class Solver:
    """A formulation and how it is stepped.

    Raises UsageError for an integrator or a policy that does not go with it.
    """

    formulation: Formulation = "chassis"
    integrator: Integrator | None = None
    """None: the usual one."""
    policy: JacobianPolicy | None = None
    """Of implicit Euler. None: round-robin with ``partial-jacobian``, else full: a Jacobian that is renewed
    in part, which KR patent 10-1310276 covers, is only taken where it is asked for."""
    cartesian: tuple[str, ...] = ()
    """Subsystems with relative Cartesian coordinates beside others with joint coordinates, by their names."""

    def __post_init__(self) -> None:
        found = misfit(self.formulation, self.integrator, self.policy)
        if found is not None:
            raise UsageError(f"{found[0]}: {found[1]}")

    @property
    def renews(self) -> JacobianPolicy:
        """The columns of its Jacobian that implicit Euler renews."""
        return self.policy or ("round-robin" if self.formulation == "partial-jacobian" else "full")

    @property
    def steps_by(self) -> Integrator:
        """The time integrator."""
        return self.integrator or integrators_of(self.formulation)[0]
