"""Errors a user can cause, each one line; faults at run time are data (see ``mastd.safety.faults``)."""

from __future__ import annotations


class MastdError(Exception):
    """Base of all errors that end a command with one clear line and exit code 2."""

    exit_code = 2


class SettingsError(MastdError):
    """A settings or profile file is refused; holds every problem found, one line each.

    Each line reads ``file:line:col: path: what is wrong, what would be right``.
    """

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class UsageError(MastdError):
    """A command line that cannot be carried out, for instance a missing file."""


class FormatError(MastdError):
    """A data file (record, road, measurement) that cannot be read, with its location.

    Messages quote what stands in files: a terminal does not get to obey it.
    """

    def __init__(self, text: str) -> None:
        super().__init__(printable(text))


def printable(text: str, keep: str = "\n") -> str:
    """Return a text with escapes for all that a terminal would obey, or not show, but what is in ``keep``."""
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() or letter in keep else letter.encode("unicode_escape").decode()
        for letter in text
    )


class GroundError(MastdError):
    """A vehicle that does not stand on the road or table that is under it."""


class KinematicsError(MastdError):
    """A geometry the kinematics cannot serve, for instance one whose observer does not contract."""


class ProtocolError(MastdError):
    """A message or a peer that does not keep to the protocol, with both values where two differ."""


class StoppedError(MastdError):
    """Somebody stopped a run before anything moved."""

    exit_code = 5


REFUSED = 6
"""Exit code where the daemon refuses a command."""


class RealtimeRightsError(MastdError):
    """Real-time rights are missing and the settings do not allow to continue without them."""

    exit_code = 4
