"""Ways down a tree that is given by its connection array, eq. (1) of Kang and Yoon."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Connection = Sequence[int] | Mapping[int, int]
"""Of each body its lower body, -1 the ground."""


def path_down(connection: Connection, body: int) -> list[int]:
    """Return a body and all bodies below it, down to the chassis."""
    path = []
    while body >= 0:
        path.append(body)
        body = connection[body]
    return path


def common_lower(connection: Connection, first: int, second: int) -> int:
    """Return the highest body that is below both bodies, or one of them."""
    below = set(path_down(connection, first))
    return next(body for body in path_down(connection, second) if body in below)


def above_common(connection: Connection, first: int, second: int) -> set[int]:
    """Return the bodies on the two branches above the common lower body of two bodies."""
    return set(path_down(connection, first)) ^ set(path_down(connection, second))
