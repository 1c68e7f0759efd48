"""Roles of clients; what each may ask for stands in the table of verbs.

In order of rights: an ``observer`` watches and stops; a ``rig`` gives signals as well; an ``operator``
commands; an ``engineer`` also has the settings reloaded. Who has a role has all that lesser ones have.
"""

from __future__ import annotations

from typing import Literal, get_args

Role = Literal["observer", "rig", "operator", "engineer"]
ROLES: tuple[Role, ...] = get_args(Role)
"""All roles, the least rights first."""

_CALLED: dict[Role, str] = {
    "observer": "an observer",
    "rig": "a rig",
    "operator": "an operator",
    "engineer": "an engineer",
}


def lesser(one: Role, other: Role) -> Role:
    """Return the one of two roles that has less rights."""
    return min(one, other, key=ROLES.index)


def read_role(text: str) -> Role | None:
    """Return the role that a word stands for, None for none."""
    return next((role for role in ROLES if role == text), None)


def called(role: Role) -> str:
    """Return a role with its article, for a sentence."""
    return _CALLED[role]
