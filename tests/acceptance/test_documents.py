"""Every command that a document shows runs as it stands, in the order of the page, as a user types it."""

from __future__ import annotations

import contextlib
import os
import re
import select
import shlex
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.lab import PATIENCE, ROOT

PAGES = (
    "README.md",
    "docs/operating.md",
    "docs/table.md",
    "docs/vehicles.md",
    "docs/theory.md",
    "docs/protocol.md",
    "docs/formats.md",
    "docs/fmi.md",
)
SERVICE = "The service and its operators"
FMU_AT_THE_TABLE = "An FMU as a rig"
APART = {
    "docs/operating.md": (SERVICE, "A separate simulated plant", "The vehicle alone", "Soak"),
    "docs/fmi.md": (FMU_AT_THE_TABLE,),
}
"""Chapters that need nothing from the rest of their page: other tests may run beside them, or must not."""
IN_REAL_TIME = {("docs/operating.md", SERVICE), ("docs/protocol.md", "")}
LONG = {
    ("docs/table.md", ""),
    ("docs/vehicles.md", ""),
    ("docs/theory.md", ""),
    ("docs/operating.md", "The vehicle alone"),
    ("docs/fmi.md", FMU_AT_THE_TABLE),
}
"""Passages of long calculations, each of which has tests of its own."""
BLOCK = re.compile(r"```(\w*)\n(.*?)```", flags=re.DOTALL)
FILE_BEFORE = re.compile(r"Write `([^`]+)`:\s*$")


def passages() -> Iterator[object]:
    """Give each page without its separate chapters, and each of these."""
    for page in PAGES:
        for chapter in ("", *APART.get(page, ())):
            marks = [pytest.mark.real_time] if (page, chapter) in IN_REAL_TIME else []
            marks += [pytest.mark.evidence] if (page, chapter) in LONG else []
            yield pytest.param(page, chapter, id=f"{page}-{chapter}" if chapter else page, marks=marks)


def passage(page: str, chapter: str) -> str:
    """Return the text of a chapter, or without one that of the page except its separate chapters."""
    chapters = re.split(r"^## ", (ROOT / page).read_text(encoding="utf-8"), flags=re.MULTILINE)
    texts = {text.partition("\n")[0]: text for text in chapters}
    apart = {title: texts.pop(title) for title in APART.get(page, ())}
    return apart[chapter] if chapter else "".join(texts.values())


@pytest.mark.parametrize(("page", "chapter"), list(passages()))
def test_the_commands_of_a_page_run_in_their_order(
    page: str, chapter: str, tmp_path: Path, runtime: Path
) -> None:
    text = passage(page, chapter)
    programs = tmp_path / "bin"
    programs.mkdir()
    for program, module in (("mastd", "mastd"), ("hil-sim", "hil_sim")):
        script = programs / program
        script.write_text(
            f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m {module} "$@"\n', encoding="ascii"
        )
        script.chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{programs}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "XDG_RUNTIME_DIR": str(runtime),
    }
    directory = tmp_path / "work"
    directory.mkdir()
    with ended_groups() as groups:
        assert run_blocks(text, directory, environment, groups) > 0


@contextlib.contextmanager
def ended_groups() -> Iterator[list[int]]:
    """Give a list of process groups; kill what is left of them, whatever has happened."""
    groups: list[int] = []
    try:
        yield groups
    finally:
        for group in groups:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)


def run_blocks(text: str, directory: Path, environment: dict[str, str], groups: list[int]) -> int:
    """Write the files and run the commands of a text; return how many commands it shows.

    Each runs in a process group of its own, and so does what it leaves behind.
    """
    shown = 0
    for match in BLOCK.finditer(text):
        language, body = match.groups()
        named = FILE_BEFORE.search(text[: match.start()])
        if named:
            target = directory / named.group(1)
            target.write_text(body, encoding="utf-8")
        if language != "console":
            continue
        for line in body.splitlines():
            if line.startswith("$ "):
                shown += 1
                process = subprocess.Popen(
                    line[2:],
                    shell=True,
                    cwd=directory,
                    env=environment,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                    start_new_session=True,
                )
                groups.append(process.pid)
                out, err = process.communicate(timeout=PATIENCE)
                assert process.returncode == 0, f"{line}\n{out}\n{err}"
    return shown


def test_what_commands_have_started_ends_with_them_also_where_one_fails(tmp_path: Path) -> None:
    text = "```console\n$ sleep 1000 > /dev/null 2>&1 & echo $! > pid\n$ false\n```\n"
    with pytest.raises(AssertionError), ended_groups() as groups:
        run_blocks(text, tmp_path, dict(os.environ), groups)
    with contextlib.suppress(ProcessLookupError):  # it is gone already
        left = os.pidfd_open(int((tmp_path / "pid").read_text(encoding="ascii")))
        ended, _, _ = select.select([left], [], [], PATIENCE)
        os.close(left)
        assert ended


def test_the_manual_names_all_that_init_makes() -> None:
    (text,) = re.findall(r"^`mastd init` copies.*?\n\n", passage("docs/operating.md", ""), flags=re.M | re.S)
    for path in (ROOT / "config").iterdir():
        if path.name == "tables":  # of which it takes one
            continue
        assert f"`{path.name}{'/' if path.is_dir() else ''}`" in text, path.name


def test_make_targets_that_the_documents_name_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    rules = re.findall(r"^([a-z][a-z -]*):", makefile, flags=re.MULTILINE)
    targets = {target for rule in rules for target in rule.split()}
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        named = re.findall(
            r"`make ([a-z-]+)`|^make ([a-z-]+)", path.read_text(encoding="utf-8"), flags=re.MULTILINE
        )
        assert {first or second for first, second in named} <= targets, path


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings as GitHub makes them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    counts: Counter[str] = Counter()
    found = set()
    for heading in re.findall(r"^#+ +(.+?) *$", text, flags=re.MULTILINE):
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
        anchor = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        found.add(f"{anchor}-{counts[anchor]}" if counts[anchor] else anchor)
        counts[anchor] += 1
    return found


def test_links_between_the_documents_lead_somewhere() -> None:
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        for target in re.findall(r"\]\(([^)\s]+)", path.read_text(encoding="utf-8")):
            if "://" in target:
                continue
            file, _, anchor = target.partition("#")
            page = path.parent / file if file else path
            assert page.exists(), f"{path.name}: {target}"
            assert not anchor or anchor in anchors(page), f"{path.name}: {target}"


def test_the_site_builds_and_its_links_anchors_and_modules_are_there(tmp_path: Path) -> None:
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    page = (tmp_path / "site" / "python.html").read_text(encoding="utf-8")
    assert 'id="mastd.wire.rigs.client.RigClient' in page
    assert {path.stem for path in (tmp_path / "site").glob("*.html")} >= {
        path.stem for path in (ROOT / "docs").glob("*.md")
    }
