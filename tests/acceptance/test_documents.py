"""Every command that a document shows runs as it stands, in the order of the page, as a user types it."""

from __future__ import annotations

import os
import re
import shlex
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
                done = subprocess.run(
                    line[2:],
                    shell=True,
                    cwd=directory,
                    env=environment,
                    capture_output=True,
                    text=True,
                    timeout=PATIENCE,
                    check=False,
                )
                assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
    assert shown > 0


def test_the_manual_names_all_that_init_makes() -> None:
    (text,) = re.findall(r"^`mastd init` copies.*?\n\n", passage("docs/operating.md", ""), flags=re.M | re.S)
    for path in (ROOT / "config").iterdir():
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
