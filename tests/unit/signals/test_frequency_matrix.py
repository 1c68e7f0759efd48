"""Frequency response matrices of systems that are known, and the step that the iteration makes with them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import signal

from mastd.arrays import FloatArray
from mastd.control.iteration.learning import Sizes, correction, welch_segment
from mastd.signals.frequency_matrix import FrequencyMatrix, frequency_matrix, pseudo_inverse
from mastd.signals.metrics import rms

RATE = 1000.0
BAND = (1.0, 20.0)
MIX = np.random.default_rng(3).standard_normal((8, 6)) + 2.0 * np.eye(8, 6)
"""What each of eight responses has of each of six drives, behind a filter that all share."""
SECTIONS = signal.butter(2, 30.0, fs=RATE, output="sos")


def noise(seed: int, count: int, columns: int) -> FloatArray:
    return np.random.default_rng(seed).standard_normal((count, columns))


def system(drives: FloatArray) -> FloatArray:
    """Return the eight responses to accelerations (k, 6)."""
    filtered: FloatArray = signal.sosfilt(SECTIONS, drives, axis=0)
    return filtered @ MIX.T


@pytest.fixture(scope="module")
def measured() -> FrequencyMatrix:
    """The matrix from a minute of noise, whose axes have something in common."""
    drives = noise(1, 60_000, 6)
    drives[:, 1] += 0.7 * drives[:, 0]
    responses = system(drives) + 0.05 * noise(2, 60_000, 8)
    return frequency_matrix(drives, responses, RATE, 2048)


def test_each_response_is_told_from_each_drive_with_its_phase(measured: FrequencyMatrix) -> None:
    inside = (measured.frequency >= BAND[0]) & (measured.frequency <= BAND[1])
    _, filtered = signal.sosfreqz(SECTIONS, measured.frequency, fs=RATE)
    known = filtered[:, None, None] * MIX
    assert np.max(np.abs(measured.response - known)[inside]) < 0.08
    assert np.min(measured.coherence[inside]) > 0.98


def test_more_responses_than_drives_give_the_drives_back(measured: FrequencyMatrix) -> None:
    inverse = pseudo_inverse(measured.response, np.ones(6), np.ones(8), 1e-4)
    inside = (measured.frequency >= BAND[0]) & (measured.frequency <= BAND[1])
    assert np.max(np.abs(inverse @ measured.response - np.eye(6))[inside]) < 1e-3


def test_a_direction_that_does_nothing_is_not_driven() -> None:
    response = np.zeros((1, 2, 2), dtype=np.complex128)
    response[0] = [[1.0, 1.0], [1.0, 1.0 + 1e-6]]
    inverse = pseudo_inverse(response, np.ones(2), np.ones(2), 0.02)
    assert np.max(np.abs(inverse)) < 1.0


def test_noise_of_the_responses_lowers_the_coherence_alone() -> None:
    drives = noise(4, 40_000, 2)
    responses = drives + 1.0 * noise(5, 40_000, 2)
    loud = frequency_matrix(drives, responses, RATE, 512)
    assert 0.4 < np.mean(loud.coherence) < 0.6
    assert abs(np.mean(loud.response[5:-5], axis=0) - np.eye(2)).max() < 0.05


def test_a_silent_drive_has_no_response() -> None:
    drives = noise(6, 10_000, 2)
    drives[:, 1] = 0.0
    matrix = frequency_matrix(drives, drives[:, :1], RATE, 512)
    assert not np.any(matrix.response[:, :, 1])
    assert np.allclose(matrix.response[1:, 0, 0], 1.0)


@pytest.mark.parametrize(
    ("drives", "responses", "words"),
    [
        (np.zeros((100, 6)), np.zeros((99, 6)), "100 samples of the drives, 99 of the responses"),
        (np.zeros((100, 6)), np.zeros((100, 6)), "do not hold two windows of 128"),
        (np.full((300, 6), np.nan), np.zeros((300, 6)), "not finite"),
    ],
)
def test_series_that_cannot_be_are_refused(drives: FloatArray, responses: FloatArray, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        frequency_matrix(drives, responses, RATE, 128)


def test_one_step_makes_up_for_what_is_missing(measured: FrequencyMatrix) -> None:
    """The responses to a drive become those to another by one correction, from rest to rest."""
    count = 12_000
    window = np.minimum(1.0, np.minimum(np.arange(count), np.arange(count)[::-1]) / 1500.0)[:, None]
    inside = signal.butter(4, BAND, "bandpass", fs=RATE, output="sos")
    wanted = window * signal.sosfiltfilt(inside, noise(7, count, 6), axis=0)
    played = 0.6 * wanted
    target = system(wanted)
    sizes = Sizes(np.ones(6), np.ones(8))
    change = correction(target - system(played), RATE, measured, sizes, BAND)
    assert not np.any(change[:9])
    assert not np.any(change[-9:])
    corrected = played + np.gradient(np.gradient(change, axis=0), axis=0) * RATE**2
    left = signal.sosfiltfilt(inside, target - system(corrected), axis=0)
    before = signal.sosfiltfilt(inside, target - system(played), axis=0)
    for response in range(8):
        assert rms(left[:, response]) < 0.1 * rms(before[:, response])


def test_windows_of_a_noise_play_are_many_enough_and_never_too_long() -> None:
    assert welch_segment(100_000) == 4096
    assert welch_segment(5_000) == 256
    assert all(count / welch_segment(count) >= 16.0 for count in (2_000, 9_000, 60_000, 1_000_000))
