"""What all formats share: lines whatever their ends, files that appear whole or not, chosen channels."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import numpy as np
import pytest

from mastd.errors import FormatError
from mastd.formats import catalogue
from mastd.formats.core import files
from mastd.formats.core.measurement import Channel, Measurement, Series


def measurement(*channels: Channel, step: float | None = 0.01) -> Measurement:
    return Measurement("made", (Series(channels, step),))


def channel(name: str, unit: str = "") -> Channel:
    return Channel(name, unit, np.arange(3.0))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\r\r\n"])
def test_a_line_is_a_line_whatever_ends_it(tmp_path: Path, end: str) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(end.join(["one", "", "three", ""]).encode() + b"\x1a")
    assert files.lines_of(path) == ["one", "", "three"]


def test_text_is_utf_8_or_latin_1_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("\ufeffStraße\n".encode())
    assert files.lines_of(path) == ["Straße"]
    path.write_bytes("Straße\n".encode("latin-1"))
    assert files.lines_of(path) == ["Straße"]
    path.write_bytes(b"one\ntw\x00o\n")
    with pytest.raises(FormatError, match=r"a\.txt:2: byte 0x00: not a text file"):
        files.lines_of(path)


def test_a_pipe_or_a_device_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.AT2")
    for path in (tmp_path / "a.AT2", Path("/dev/zero"), tmp_path):
        for reading in (catalogue.read, files.content_of, lambda path: files.head_of(path, 10)):
            with pytest.raises(FormatError, match=": is not a file"):
                reading(path)


@pytest.mark.parametrize("replacing", [files.replacing, files.replacing_named])
def test_a_file_is_replaced_whole_or_stays(tmp_path: Path, replacing: object) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")

    def write(content: bytes, then: Exception | None = None) -> None:
        if replacing is files.replacing:
            with files.replacing(path) as file:
                file.write(content)
                if then:
                    raise then
        else:
            with files.replacing_named(path) as part:
                assert part.suffix == path.suffix
                part.write_bytes(content)
                if then:
                    raise then

    with pytest.raises(ZeroDivisionError):
        write(b"half", ZeroDivisionError())
    assert path.read_bytes() == b"old"
    write(b"new")
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["a.bin"], "nothing else is left"


def test_what_is_no_file_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    for path in (tmp_path / "pipe.csv", tmp_path):
        for writing in (files.replacing(path), files.replacing_named(path)):
            with pytest.raises(FormatError, match="exists and is not a file: not replaced"), writing:
                pass
    assert stat.S_ISFIFO((tmp_path / "pipe.csv").stat().st_mode)


def test_a_folder_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "a.bin"
    for writing in (files.replacing(path), files.replacing_named(path)):
        with pytest.raises(FormatError, match=r"a\.bin: cannot be written: No such file"), writing:
            pass


def test_a_channel_is_picked_by_name_or_number(tmp_path: Path) -> None:
    path = tmp_path / "a"
    both = measurement(channel("left", "g"), channel("2", "g"))
    assert catalogue.pick(both, path, "left")[1].name == "left"
    assert catalogue.pick(both, path, "1")[1].name == "left"
    assert catalogue.pick(both, path, "2")[1].name == "2"
    assert catalogue.pick(measurement(channel("only")), path)[1].name == "only"
    for wrong, told in [(None, "holds 2 channels: give one of them: 'left', '2'"), ("3", "no channel '3'")]:
        with pytest.raises(FormatError, match=told):
            catalogue.pick(both, path, wrong)
    with pytest.raises(FormatError, match="2 channels are named 'a': give the channel's number"):
        catalogue.pick(measurement(channel("a"), channel("a")), path, "a")


def test_what_a_file_does_not_say_is_given_and_what_it_says_must_agree(tmp_path: Path) -> None:
    path = tmp_path / "a"
    silent = measurement(channel("a"), step=None)
    series, found = catalogue.pick(silent, path, unit="gal", step=0.02)
    assert (series.step, found.unit) == (0.02, "gal")
    stated = measurement(channel("a", "cm/s2"))
    series, found = catalogue.pick(stated, path, unit="gal", step=0.01)
    assert (series.step, found.unit) == (0.01, "cm/s2"), "the file's own words, where they mean the same"
    with pytest.raises(FormatError, match="states the unit 'cm/s2', given is 'g'"):
        catalogue.pick(stated, path, unit="g")
    with pytest.raises(FormatError, match=r"states a step of 0\.01 s, given is 0\.02 s"):
        catalogue.pick(stated, path, step=0.02)
    with pytest.raises(FormatError, match="the time between two values is unknown"):
        silent.series[0].axis_values()


def test_times_are_products_not_sums() -> None:
    series = Series((Channel("a", "m", np.zeros(100_001)),), 1e-3)
    assert series.axis_values()[100_000] == 100_000 * 1e-3
