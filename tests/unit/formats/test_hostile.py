"""Whatever bytes a reader is given, it ends in a result or in one clear error, and takes little memory."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mastd.errors import FormatError
from mastd.formats import catalogue
from mastd.formats.core.measurement import HEAD, Channel, Format, Measurement, Series
from tests.support.formats.fuzz import MAX_BYTES, measured, problem_of
from tests.support.formats.mutations import damaged
from tests.support.formats.samples import fitting, mcap_unchecked, road_text, samples

FORMATS = [pytest.param(known, id=known.name) for known in catalogue.formats()]
CHANCE = st.randoms(use_true_random=True)
QUICK = settings(suppress_health_check=list(HealthCheck))


def check(content: bytes, suffix: str, *readers: Format | None) -> None:
    """Give a file to readers, None for the catalogue."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"any{suffix}")
        path.write_bytes(content)
        for reader in readers:
            spent: list[float] = []
            with measured(spent):
                problem, _ = problem_of(path, reader)
            assert not problem, f"{reader.name if reader else 'catalogue'}: {problem}"
            assert spent[1] < MAX_BYTES


@given(st.binary(max_size=600))
@settings(QUICK, max_examples=10)
def test_any_bytes(content: bytes) -> None:
    check(content, ".bin", None, *catalogue.formats())


@given(st.text(max_size=300))
@settings(QUICK, max_examples=10)
def test_any_text(content: str) -> None:
    readers = [known for known in catalogue.formats() if known.library is None]
    check(content.encode("utf-8", "replace"), ".txt", None, *readers)


@pytest.mark.parametrize("known", FORMATS)
@given(data=st.data())
@settings(QUICK, max_examples=6)
def test_any_bytes_behind_the_beginning_of_a_file(known: Format, data: st.DataObject) -> None:
    content = data.draw(st.sampled_from(samples()[known.name]))
    kept = data.draw(st.integers(0, min(len(content), 2000)))
    check(content[:kept] + data.draw(st.binary(max_size=400)), known.suffixes[0], known, None)


@pytest.mark.parametrize("known", FORMATS)
def test_files_that_are_cut_off(known: Format, tmp_path: Path) -> None:
    path = tmp_path / f"cut{known.suffixes[0]}"
    for content in samples()[known.name]:
        ends = [k + 1 for k, byte in enumerate(content) if byte == 10]
        places = {*ends[:: 1 + len(ends) // 60], *range(0, len(content), 1 + len(content) // 30)}
        for place in sorted(places)[:: 1 if known.library is None else 12]:
            path.write_bytes(content[:place])
            problem, _ = problem_of(path, known)
            assert not problem, place


def test_an_error_cannot_make_a_terminal_obey_the_file(tmp_path: Path) -> None:
    path = tmp_path / "road.crg"
    path.write_bytes(
        road_text().replace(b"REFERENCE_LINE_END_U = 11.0", b"REFERENCE_LINE\x1b[2J_X = \x9bnan")
    )
    problem, result = problem_of(path, None)
    assert not problem
    assert not result


@pytest.mark.parametrize("name", ["mts_bin", "rpc3"])
def test_numbers_that_signal_are_read_in_silence(name: str, tmp_path: Path) -> None:
    number = np.float32(fitting(name).channels[0].values[1]).tobytes()
    path = tmp_path / "noise.bin"
    path.write_bytes(samples()[name][0].replace(number, 0x7F800001.to_bytes(4, "little")))
    problem, result = problem_of(path, None)
    assert not problem
    assert result
    assert np.isnan(catalogue.read(path).channels[0].values[1])


def test_names_that_no_text_can_hold_are_replaced(tmp_path: Path) -> None:
    path = tmp_path / "run.mcap"
    content = mcap_unchecked().replace(b'"pose.heave"', b'"pose\\ud800"')
    path.write_bytes(content)
    found = catalogue.read(path)
    assert [channel.name for channel in found.channels] == ["pose?"]


def test_all_words_of_a_measurement_can_be_written() -> None:
    lone = "a\udcd9"
    channel = Channel(lone, lone, np.zeros(1), lone)
    series = Series((channel,), 1.0, axis=lone, axis_unit=lone, name=lone)
    found = Measurement("x", (series,), {lone: lone}, (lone,))
    words = (series.axis, series.axis_unit, series.name, channel.name, channel.unit, channel.description)
    assert {*words, *found.notes, *found.notes.values(), *found.warnings} == {"a?"}


@pytest.mark.parametrize("known", FORMATS)
def test_damaged_files(known: Format) -> None:
    others = [content for contents in samples().values() for content in contents]

    @given(CHANCE)
    @settings(QUICK, max_examples=40 if known.library is None else 8)
    def tried(chance: random.Random) -> None:
        content = damaged(chance, chance.choice(samples()[known.name]), others)
        check(content, known.suffixes[0], chance.choice((known, None)))

    tried()


@pytest.mark.parametrize("known", [one for one in FORMATS if one.id != "csv"])
def test_a_format_takes_its_own_files_and_nobody_elses(known: Format) -> None:
    for name, contents in samples().items():
        for content in contents:
            assert known.recognises(content[:HEAD]) == (name == known.name), name


@pytest.mark.parametrize("known", FORMATS)
def test_files_are_told_by_their_content_under_any_name(known: Format, tmp_path: Path) -> None:
    suffixes = {"", ".unheard", *(suffix for one in catalogue.formats() for suffix in one.suffixes)}
    for number, content in enumerate(samples()[known.name]):
        for suffix in suffixes:
            path = tmp_path / f"file {number}{suffix}"
            path.write_bytes(content)
            assert catalogue.recognise(path).name == known.name
        assert catalogue.read(path).format == known.name


def nowhere(folder: Path) -> Iterator[Path]:
    """Give paths that hold no file."""
    yield folder
    yield folder / "absent"
    yield folder / "absent" / "absent"
    (folder / "empty").touch()
    yield folder / "empty"
    (folder / "loop").symlink_to(folder / "loop")
    yield folder / "loop"


@pytest.mark.parametrize("known", FORMATS)
def test_what_is_no_file_is_told(known: Format, tmp_path: Path) -> None:
    for path in nowhere(tmp_path):
        with pytest.raises(FormatError) as error:
            known.read(path)
        assert str(error.value).startswith(f"{path}")
        assert "\n" not in str(error.value)
