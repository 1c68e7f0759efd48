"""What an iteration has done so far, as it stands in its directory: enough to go on after an interruption."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final
from zipfile import BadZipFile

import numpy as np

from mastd.control.iteration.figures import Figures, ResponseFigures
from mastd.errors import FormatError, UsageError
from mastd.formats.core.files import content_of, replacing
from mastd.signals.frequency_matrix import FrequencyMatrix

HISTORY: Final = "history.json"
MATRIX: Final = "matrix.npz"
VERSION: Final = 1
MIN_GAIN: Final = 0.2
"""Below it the iteration ends: the residual is not described by the matrix."""


@dataclass(frozen=True)
class PlayNote:
    """One play: which drive, from which play it was made and how, and what came of it.

    ``gain`` is the learning gain, ``share`` what the check let through of the step and ``limit`` the limit
    that took the rest, "" for none; ``step`` (s) and ``lost`` tell how the drive was written.
    """

    number: int
    drive: str
    profile: str
    responses: str
    made_from: int | None
    gain: float
    share: float
    limit: str
    step: float
    lost: float
    figures: Figures


@dataclass(frozen=True)
class NoiseNote:
    """The matrix's origin: the noise's duration in s and rms (6,) on each axis, or the file it came from.

    ``coherence``: mean over the judged band, by response.
    """

    source: str
    duration: float
    levels: tuple[float, ...]
    coherence: Mapping[str, float]


@dataclass(frozen=True)
class History:
    """The whole of one iteration; ``origin`` is what the caller wants to know again when it continues."""

    name: str
    band: tuple[float, float]
    duration: float
    origin: Mapping[str, Any] = field(default_factory=dict)
    noise: NoiseNote | None = None
    plays: tuple[PlayNote, ...] = ()
    ended: str = ""
    """Why it ended before the plays that were asked for, "" if it did not."""
    largest_gain: float = 1.0
    """Learning gain that a fault in a play has left."""

    @property
    def best(self) -> PlayNote | None:
        """The run with the smallest error, None before the first one."""
        return min(self.plays, key=lambda play: play.figures.error, default=None)

    def with_play(self, play: PlayNote) -> History:
        """Return the history with one more play."""
        return replace(self, plays=(*self.plays, play))

    def next_step(self) -> tuple[PlayNote, float]:
        """Return the play from which the next drive is made, and the learning gain.

        The last one, as long as it is the best; else the best one again, with half the gain.
        """
        best, last = self.best, self.plays[-1]
        assert best is not None
        gain = last.gain if last is best else 0.5 * last.gain
        return best, min(gain, self.largest_gain)

    def document(self) -> dict[str, Any]:
        """Return it as plain data."""
        best = self.best
        return {
            "version": VERSION,
            "name": self.name,
            "band_hz": list(self.band),
            "duration_s": self.duration,
            "best": None if best is None else best.number,
            "ended": self.ended,
            "largest_gain": self.largest_gain,
            "noise": None if self.noise is None else asdict(self.noise),
            "plays": [_play_document(play) for play in self.plays],
            "origin": dict(self.origin),
        }

    def save(self, directory: Path) -> None:
        """Write it, whole or not at all."""
        with replacing(directory / HISTORY) as file:
            file.write((json.dumps(self.document(), indent=1, allow_nan=False) + "\n").encode())


def load_history(directory: Path) -> History:
    """Return the history of a directory; UsageError where there is none, FormatError where it is damaged."""
    path = directory / HISTORY
    if not path.is_file():
        raise UsageError(f"{directory}: no {HISTORY}; not a directory of mastd iterate")
    try:
        document = json.loads(content_of(path))
        if document["version"] != VERSION:
            raise FormatError(f"{path}: version {document['version']}, expected {VERSION}")
        noise = document["noise"]
        return History(
            document["name"],
            (document["band_hz"][0], document["band_hz"][1]),
            document["duration_s"],
            document["origin"],
            None if noise is None else NoiseNote(**{**noise, "levels": tuple(noise["levels"])}),
            tuple(_play(one) for one in document["plays"]),
            document["ended"],
            document["largest_gain"],
        )
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise FormatError(f"{path}: is damaged: {type(error).__name__}: {error}") from error


def _play_document(play: PlayNote) -> dict[str, object]:
    own = {key: value for key, value in vars(play).items() if key != "figures"}
    return {**own, "error": play.figures.error, "figures": [one.document() for one in play.figures.responses]}


def _play(document: Mapping[str, Any]) -> PlayNote:
    own = {key: value for key, value in document.items() if key not in ("error", "figures")}
    parts = tuple(ResponseFigures(**one) for one in document["figures"])
    return PlayNote(**own, figures=Figures(parts, document["error"]))


def save_matrix(path: Path, matrix: FrequencyMatrix, names: Sequence[str]) -> None:
    """Write a frequency response matrix and the names of its responses, as arrays that numpy loads."""
    with replacing(path) as file:
        np.savez(file, **vars(matrix), names=np.array(names))


def load_matrix(path: Path, names: Sequence[str]) -> FrequencyMatrix:
    """Return a matrix that ``save_matrix`` has written; UsageError unless it is one of these responses."""
    try:
        with np.load(path, allow_pickle=False) as held:
            own = [str(name) for name in held["names"]]
            matrix = FrequencyMatrix(held["frequency"], held["response"], held["coherence"])
    except (OSError, KeyError, ValueError, EOFError, BadZipFile) as error:
        raise UsageError(
            f"{path}: not a frequency response matrix: {error}; remove the file to measure it again"
        ) from error
    if own != list(names):
        raise UsageError(
            f"{path}: matrix of {', '.join(own)}, expected {', '.join(names)}: omit it to measure it again"
        )
    return matrix
