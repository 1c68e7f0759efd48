"""Files that are no FMU, or none that runs here: each is refused with one line, and leaves nothing behind."""

from __future__ import annotations

import tempfile
import zipfile
from pathlib import Path

import pytest

from hil_sim.cli import main
from hil_sim.rigs.fmu.archive import MAX_FILES, MAX_SIZE, FmuArchive
from mastd.errors import UsageError
from tests.support.rigs.fmu_samples import PLATFORM, description, needs_fmpy, pack

pytestmark = needs_fmpy
DESCRIPTION = "modelDescription.xml"


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where FMUs are extracted in these tests."""
    directory = tmp_path / "scratch"
    directory.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(directory))
    return directory


def refused(path: Path, scratch: Path, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    """Return the one line with which the command refuses a file."""
    assert main(["rig", "fmu", str(path), "--check", *options]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"{path}: ")
    assert not list(scratch.iterdir())
    return line.removeprefix(f"{path}: ")


@pytest.mark.parametrize("content", [b"", b"PK", b"not a zip file" * 100])
def test_a_file_that_is_no_archive(
    content: bytes, tmp_path: Path, scratch: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.fmu"
    path.write_bytes(content)
    assert "not a ZIP file" in refused(path, scratch, capsys)


def test_a_file_that_is_not_there(tmp_path: Path, scratch: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(tmp_path / "x.fmu", scratch, capsys) == "cannot be read: No such file or directory"


def test_an_archive_without_a_description(
    tmp_path: Path, scratch: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = pack(tmp_path / "x.fmu", {"resources/a.txt": "a"})
    assert refused(path, scratch, capsys) == f"is no FMU: it holds no {DESCRIPTION}"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("<fmiModelDescription", "is not XML: unclosed token"),
        ("<other/>", "does not state its version of FMI"),
        (
            '<fmiModelDescription fmiVersion="1.0" modelIdentifier="x"/>',
            "has FMI 1.0, expected FMI 2.0 or 3.0",
        ),
        ('<fmiModelDescription fmiVersion="4.0"/>', "has FMI 4.0, expected FMI 2.0 or 3.0"),
        (description(2, kinds="ModelExchange"), "is for model exchange only, expected co-simulation"),
        (
            description(3, kinds="ScheduledExecution"),
            "is for scheduled execution only, expected co-simulation",
        ),
        (
            description(3, kinds="ModelExchange ScheduledExecution"),
            "is for model exchange and scheduled execution only",
        ),
        (description(2).replace('"lag"', '"../lag"', 1), "modelIdentifier '../lag' is no name of a library"),
        (description(3, extra='fixedInternalStepSize="1 ms"'), "fixedInternalStepSize is no number: '1 ms'"),
    ],
)
def test_a_description_of_what_is_not_run(
    text: str, says: str, tmp_path: Path, scratch: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = pack(tmp_path / "x.fmu", {DESCRIPTION: text})
    assert says in refused(path, scratch, capsys)


@pytest.mark.parametrize("major", [2, 3])
def test_no_binary_for_this_machine_names_those_that_there_are(
    major: int, tmp_path: Path, scratch: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = pack(
        tmp_path / "x.fmu",
        {
            DESCRIPTION: description(major),
            "binaries/win64/lag.dll": b"MZ",
            "binaries/darwin64/lag.dylib": b"x",
            "binaries/linux64/readme.txt": b"x",
        },
    )
    line = refused(path, scratch, capsys)
    assert "has no binary for this machine (" in line
    assert line.endswith("it has darwin64, win64")


def test_sources_alone_are_told_of(tmp_path: Path, scratch: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = pack(tmp_path / "x.fmu", {DESCRIPTION: description(2), "sources/lag.c": "int x;"})
    line = refused(path, scratch, capsys)
    assert "it has no binary at all; its C sources are there: compile them with 'fmpy compile'" in line


@pytest.mark.parametrize(
    "name",
    [
        "../evil",
        "resources/../../evil",
        "/etc/evil",
        "..\\evil",
        "resources\\..\\..\\evil",
        "C:\\evil",
        "c:/evil",
        "\\evil",
    ],
)
def test_a_path_that_leads_outside_is_never_written(
    name: str, tmp_path: Path, scratch: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = pack(
        tmp_path / "x.fmu",
        {DESCRIPTION: description(2), f"binaries/{PLATFORM[2]}/lag.so": b"x", name: "evil"},
    )
    before = sorted(tmp_path.rglob("*"))
    assert (
        refused(path, scratch, capsys) == f"holds {name!r}, a path outside the archive: it is not extracted"
    )
    assert sorted(tmp_path.rglob("*")) == before


def test_backslashes_of_real_files_are_slashes(tmp_path: Path) -> None:
    path = pack(tmp_path / "x.fmu", {DESCRIPTION: "<x/>", "resources\\maps\\a.txt": "a", "binaries\\": ""})
    target = tmp_path / "out"
    with FmuArchive(path) as archive:
        archive.extract(target)
    written = sorted(file.relative_to(target).as_posix() for file in target.rglob("*") if file.is_file())
    assert written == [DESCRIPTION, "resources/maps/a.txt"]
    assert (target / "resources/maps/a.txt").read_text(encoding="ascii") == "a"


def claiming(path: Path, name: str, size: int) -> Path:
    """Write an archive that says that one of its members has another size."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(DESCRIPTION, description(2))
        archive.writestr("resources/big.bin", b"0")
        archive.getinfo(name).file_size = size
    return path


def test_too_large_an_archive_is_refused_before_it_is_extracted(
    tmp_path: Path, scratch: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = claiming(tmp_path / "x.fmu", "resources/big.bin", MAX_SIZE + 1)
    assert "would take 1074 MB extracted, at most 1074 MB are taken" in refused(path, scratch, capsys)
    path = claiming(tmp_path / "y.fmu", DESCRIPTION, 1 << 27)
    assert f"{DESCRIPTION} has 134 MB, at most 67 MB are taken" in refused(path, scratch, capsys)


def test_too_many_files_are_refused(
    tmp_path: Path, scratch: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.fmu"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(DESCRIPTION, description(2))
        for k in range(MAX_FILES):
            archive.writestr(str(k), b"")
    assert f"holds {MAX_FILES + 1} files, at most {MAX_FILES} are taken" in refused(path, scratch, capsys)


def test_a_damaged_member_is_named(tmp_path: Path, scratch: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = bytes(range(256)) * 40
    path = tmp_path / "x.fmu"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(DESCRIPTION, description(2))
        archive.writestr(f"binaries/{PLATFORM[2]}/lag.so", content)
    whole = bytearray(path.read_bytes())
    whole[whole.index(content) + 5000] ^= 0xFF
    path.write_bytes(whole)
    line = refused(path, scratch, capsys)
    assert line.startswith(f"binaries/{PLATFORM[2]}/lag.so cannot be extracted: Bad CRC-32")


def test_a_name_that_a_terminal_would_obey_is_shown_escaped(tmp_path: Path) -> None:
    path = pack(tmp_path / "x.fmu", {DESCRIPTION: description(2), "../\x1b[2J": "x"})
    with pytest.raises(UsageError, match=r"holds '\.\./\\\\x1b\[2J'"):
        FmuArchive(path)
