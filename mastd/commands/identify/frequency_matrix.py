"""The frequency response matrix of a play on all axes, of the table's axes and of its actuators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from mastd.control.iteration.driver import matrix_of
from mastd.control.iteration.history import MATRIX, save_matrix
from mastd.control.iteration.responses import CENTRE
from mastd.errors import FormatError
from mastd.kinematics.design import observer_gain
from mastd.kinematics.geometry import Geometry
from mastd.motion.profile.timeline import KNOT_SPACING
from mastd.record.play_columns import play_columns
from mastd.record.reader import Run
from mastd.report.drawing.blocks import Block, Heading, Paragraph, Pictures
from mastd.report.drawing.picture import Panel
from mastd.report.pages.iteration import MatrixPicture, matrix_panels
from mastd.settings.core.axes import AXES
from mastd.settings.table.table import TableSettings
from mastd.signals.frequency_matrix import FrequencyMatrix
from mastd.signals.metrics import second_derivative

ACTUATOR_MATRIX: Final = "matrix-links.npz"


@dataclass(frozen=True, eq=False)
class Matrices:
    """From the accelerations asked for to those measured: of the six axes of C, and of the n actuators.

    The actuators' (n, n) is reported from the play's six axes: drives that they cannot make are not in it.
    ``band`` in Hz is what the play excites.
    """

    axes: FrequencyMatrix
    actuators: FrequencyMatrix
    names: tuple[str, ...]
    band: tuple[float, float]

    @property
    def coherence(self) -> dict[str, float]:
        """Mean multiple coherence of each axis over the band."""
        inside = (self.axes.frequency >= self.band[0]) & (self.axes.frequency <= self.band[1])
        mean = np.mean(self.axes.coherence[inside], axis=0)
        return dict(zip(AXES, map(float, mean), strict=True))


def matrices_of(record: Run, table: TableSettings) -> Matrices:
    """Identify the matrices from a record; raise FormatError where it does not suffice."""
    duration, band = record.metadata.get("duration"), record.metadata.get("band")
    if not isinstance(duration, int | float) or not isinstance(band, list | tuple):
        raise FormatError(f"{record.path}: does not state the duration of its run and the band it excites")
    knots = round(duration / KNOT_SPACING) + 1
    asked = [f"reference_acceleration.{axis}" for axis in AXES]
    lengths = [f"length.{number + 1}" for number in range(len(table.links))]
    columns = play_columns(record, [*asked, *CENTRE, *lengths], KNOT_SPACING, knots)
    drives = np.column_stack([columns[name] for name in asked])
    still = [
        axis
        for axis, column in zip(AXES, drives.T, strict=True)
        if axis in table.freedoms and not np.any(column)
    ]
    if still:
        raise FormatError(f"{record.path}: its run did not move {', '.join(still)}")
    responses = np.column_stack([columns[name] for name in CENTRE])
    extended = np.column_stack([second_derivative(columns[name], 1.0 / KNOT_SPACING) for name in lengths])
    actuators = matrix_of(drives, extended)
    of_actuators = actuators.response @ observer_gain(Geometry.from_settings(table))
    return Matrices(
        matrix_of(drives, responses),
        FrequencyMatrix(actuators.frequency, of_actuators, actuators.coherence),
        tuple(f"{number}: {actuator.name}" for number, actuator in enumerate(table.links, start=1)),
        (float(band[0]), float(band[1])),
    )


def save_matrices(directory: Path, matrices: Matrices) -> Path:
    """Write both, where `mastd iterate --matrix` finds that of the axes, and return its file."""
    save_matrix(directory / MATRIX, matrices.axes, CENTRE)
    save_matrix(directory / ACTUATOR_MATRIX, matrices.actuators, matrices.names)
    return directory / MATRIX


def matrix_blocks(matrices: Matrices) -> tuple[Block, ...]:
    """Return the page's part about the matrices."""
    return (
        Heading("Frequency response of the axes"),
        Paragraph(
            "Measured over reference acceleration of C, axis by axis; coherence: the fraction of each axis'"
            " power that all six explain."
        ),
        Pictures(_panels(matrices.axes, AXES, AXES, matrices.band)),
        Heading("Frequency response of the actuators"),
        Paragraph(
            "The same by actuators. Of four in one plane the ideal response is three quarters of the own"
            " command and a quarter of each other one: their null space is not driven."
        ),
        Pictures(
            _panels(
                matrices.actuators,
                matrices.names,
                [f"{number + 1}" for number in range(len(matrices.names))],
                matrices.band,
            )
        ),
    )  # fmt: skip


def _panels(
    matrix: FrequencyMatrix, names: Sequence[str], drives: Sequence[str], band: tuple[float, float]
) -> tuple[Panel, ...]:
    picture = MatrixPicture(matrix.frequency, np.abs(matrix.response), matrix.coherence)
    return tuple(matrix_panels(picture, names, band, drives))
