"""Every machine: commands in surroundings that are not a developer's, each as a process of its own.

Where the surroundings take nothing away that a command needs, its answer and exit code are those of anywhere
else; otherwise there is one line that says what is missing, and never a traceback.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from mastd.loop.process.compile_progress import FIRST_TIME
from tests.support.lab import PATIENCE, Lab

NOBODY = 12345
"""A user without an entry in passwd."""
IS_ROOT = os.geteuid() == 0
SETPRIV, UNSHARE = shutil.which("setpriv"), shutil.which("unshare")
needs_root = pytest.mark.skipif(not (IS_ROOT and SETPRIV), reason="only root can become another user")
CLOSED_TO_ME = ["--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-dac_override,-dac_read_search"]
AS_NOBODY = [f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
MAY_READ = ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
"""So that the checkout may lie in a home directory."""
QUICK = """
name: quick
segments:
  - {kind: sine, frequency: 2 Hz, duration: 2 s, axes: {heave: {amplitude: 3 mm}}}
"""
IK = ("ik", "5mm", "0mm", "-3mm", "0.5deg", "0deg", "0deg")
CHECK = ("check", "quick.yaml")
SETTINGS = ("--table", "table.yaml", "--config", "quick_daemon.yaml")
RUN = ("run", "quick.yaml", "--sim", "--link", "direct", "--lockstep", *SETTINGS)
FULL = "No space left on device"
SEVERAL = """
import json, sys
from mastd.cli import main
print(json.dumps([main(words) for words in json.load(sys.stdin)]))
"""
"""Several commands in one process, which costs one start."""


@dataclass(frozen=True)
class Surroundings:
    """What is different; ``{tmp}`` in a value is the test's directory."""

    changed: Mapping[str, str | None] = field(default_factory=dict)
    streams: str = ""
    """Redirections of a shell."""
    privileges: tuple[str, ...] = ()


def environment(lab: Lab, changed: Mapping[str, str | None]) -> dict[str, str]:
    texts = {name: value.format(tmp=lab.directory) for name, value in changed.items() if value is not None}
    return {name: value for name, value in lab.environment.items() if name not in changed} | texts


def ended_process(
    lab: Lab, command: Sequence[str], variables: Mapping[str, str], typed: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a program in the lab's directory to its end; ``typed`` is its standard input."""
    return subprocess.run(
        command,
        input=typed,
        cwd=lab.directory,
        env=variables,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def done(lab: Lab, words: tuple[str, ...], around: Surroundings) -> subprocess.CompletedProcess[str]:
    """Run a command in these surroundings."""
    command = [sys.executable, "-m", "mastd", *words]
    if around.privileges:
        command = [str(SETPRIV), *around.privileges, *command]
    redirected = ["sh", "-c", f'exec "$@" {around.streams}', "sh", *command]
    return ended_process(lab, redirected, environment(lab, around.changed))


@pytest.fixture
def anywhere(lab: Lab) -> Lab:
    """A lab whose profile is called quick.yaml."""
    lab.config.rename(lab.directory / "quick_daemon.yaml")
    lab.profile(QUICK, "quick.yaml")
    return lab


NO_MEMORY = "not enough memory: the address space is limited to {} MB (ulimit -v), at least 500 MB are needed"
ASCII = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
LONG = "/" + "d" * 140


@pytest.mark.parametrize(
    ("words", "around", "code", "told"),
    [
        pytest.param(CHECK, Surroundings(streams="2>&-"), 0, "", id="errors closed"),
        pytest.param(CHECK, Surroundings(streams="<&- >&- 2>&-"), 0, "", id="all closed"),
        pytest.param(CHECK, Surroundings(streams="2>/dev/full"), 0, "", id="errors full"),
        pytest.param(
            CHECK,
            Surroundings(streams=">/dev/full"),
            2,
            f"standard output cannot be written: {FULL}\n",
            id="output full",
        ),
        pytest.param(("--help",), Surroundings(streams=">/dev/full"), 0, "", id="help, output full"),
        pytest.param(
            RUN,
            Surroundings(streams=">/dev/full"),
            0,
            f"standard output cannot be written: {FULL}\n",
            id="run, output full",
        ),
        pytest.param((*RUN, "--json"), Surroundings(streams="2>&-"), 0, "", id="run, errors closed"),
        pytest.param(CHECK, Surroundings(ASCII), 0, "", id="ASCII"),
        pytest.param(("profiles",), Surroundings({"PYTHONIOENCODING": "latin-1"}), 0, "", id="Latin-1"),
        pytest.param(("run", "--help"), Surroundings({"LC_ALL": "C", **ASCII}), 0, "", id="help, ASCII"),
        pytest.param(IK, Surroundings({"HOME": None, "TMPDIR": LONG}), 0, "", id="no home, no TMPDIR"),
        pytest.param(
            RUN,
            Surroundings({"XDG_RUNTIME_DIR": "{tmp}" + LONG, "TMPDIR": "{tmp}" + LONG}),
            0,
            "",
            id="run, long socket paths",
        ),
    ],
)
def test_a_command_answers_as_anywhere_else(
    words: tuple[str, ...], around: Surroundings, code: int, told: str, anywhere: Lab
) -> None:
    (anywhere.directory / LONG[1:]).mkdir()
    ended = done(anywhere, words, around)
    assert (ended.returncode, ended.stderr) == (code, told)
    if words is IK:
        assert "actuator 5   1200.160199 mm" in ended.stdout
    if words[0] == "run" and "--help" not in words:
        (record,) = anywhere.directory.glob("runs/*/run.mcap")
        assert record.with_name("report.html").is_file()
    if "--json" in words:
        assert json.loads(ended.stdout)["verdict"] == "pass"


@pytest.mark.parametrize(
    ("shell", "words", "told"),
    [
        pytest.param("ulimit -v 100000;", CHECK, NO_MEMORY.format(102), id="memory for nothing"),
        pytest.param("ulimit -v 300000;", CHECK, NO_MEMORY.format(307), id="memory for some"),
        pytest.param(
            "ulimit -n 20;", RUN, "Too many open files, limit 20 for a process (ulimit -n)", id="open files"
        ),
        pytest.param(
            'mkdir gone; cd gone; rmdir "$PWD";',
            ("check", "first_motion"),
            "working directory: No such file or directory",
            id="no working directory",
        ),
        pytest.param(
            "", ("check", "/proc/uptime"), "/proc/uptime:1:1: (file): the file is empty", id="kernel's file"
        ),
    ],
)
def test_what_a_machine_refuses_is_one_line_with_its_limit(
    shell: str, words: tuple[str, ...], told: str, anywhere: Lab
) -> None:
    command = ["sh", "-c", f'{shell} exec "$@"', "sh", sys.executable, "-m", "mastd", *words]
    ended = ended_process(anywhere, command, anywhere.environment)
    assert (ended.returncode, ended.stdout, ended.stderr) == (2, "", f"{told}\n")


@needs_root
def test_a_user_without_name_and_home_has_kernels_and_sockets(anywhere: Lab) -> None:
    spare = anywhere.directory / "spare"
    spare.mkdir()
    os.chown(spare, NOBODY, NOBODY)
    changed = {"HOME": None, "XDG_CACHE_HOME": None, "MASTD_CACHE": None, "TMPDIR": str(spare)}
    around = Surroundings(changed, privileges=(*AS_NOBODY, *MAY_READ))
    ended = done(anywhere, IK, around)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "actuator 5   1200.160199 mm" in ended.stdout
    assert list(spare.glob(f"mastd-cache-{NOBODY}/kernels-*")), "they are found there by the next command"


@needs_root
def test_a_run_leaves_the_runtime_directory_of_another_user_alone(anywhere: Lab) -> None:
    foreign = anywhere.directory / "foreign"
    foreign.mkdir(mode=0o500)
    os.chown(foreign, NOBODY, NOBODY)
    around = Surroundings({"XDG_RUNTIME_DIR": str(foreign)}, privileges=tuple(CLOSED_TO_ME))
    ended = done(anywhere, RUN, around)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert not list(foreign.iterdir())


@pytest.mark.skipif(IS_ROOT and not SETPRIV, reason="root may read everything, and there is no setpriv")
def test_what_may_not_be_entered_is_one_line_for_every_command(anywhere: Lab) -> None:
    closed = anywhere.directory / "closed"
    closed.mkdir()
    anywhere.profile(
        "name: q\nsegments:\n"
        "  - {kind: record, band: [0.5 Hz, 15 Hz], axes: {heave: {file: closed/plain.AT2}}}\n",
        "denied.yaml",
    )
    closed.chmod(0)
    commands = [
        ["check", "closed/q.yaml"],
        ["run", "closed/q.yaml"],
        ["check", "denied.yaml"],
        ["inspect", "closed/q.csv"],
        ["report", "closed/run"],
        ["export", "closed/run", "--to", "csv"],
        ["recover", "closed/run.mcap"],
        ["init", "closed/here"],
        ["iterate", "closed/q.yaml"],
        ["vehicle", "settle", "--vehicle", "closed/v.yaml"],
        ["run", "quick.yaml", "--sim", "--link", "direct", "--lockstep", "--out", "closed/runs"],
        ["ctl", "load", "closed/q.yaml"],
    ]
    program = [sys.executable, "-c", SEVERAL]
    prefix = [str(SETPRIV), *CLOSED_TO_ME] if IS_ROOT else []
    ended = ended_process(anywhere, [*prefix, *program], anywhere.environment, json.dumps(commands))
    closed.chmod(0o700)
    assert ended.returncode == 0, ended.stderr
    assert dict(zip(map(" ".join, commands), json.loads(ended.stdout), strict=True)) == dict.fromkeys(
        map(" ".join, commands), 2
    ), ended.stderr
    lines = [line for line in ended.stderr.splitlines() if FIRST_TIME not in line]
    assert len(lines) == len(commands), ended.stderr
    assert all("closed" in line and "Permission denied" in line for line in lines[:-1]), ended.stderr


@pytest.mark.skipif(not (IS_ROOT and UNSHARE), reason="only root can mount a small disk")
def test_a_disk_that_fills_during_a_run_hides_neither_its_fault_nor_the_cause(anywhere: Lab) -> None:
    runs = anywhere.directory / "runs"
    runs.mkdir()
    mounting = 'mount -t tmpfs -o size=600k tmpfs "$0" && exec "$@"'
    small = [str(UNSHARE), "--mount", "sh", "-c", mounting, str(runs)]
    if subprocess.run([*small, "true"], capture_output=True, check=False).returncode:
        pytest.skip("a small disk cannot be mounted here")
    run = [*small, sys.executable, "-m", "mastd", *RUN, "--fault", "estop@3s", "--json"]
    ended = ended_process(anywhere, run, anywhere.environment)
    document = json.loads(ended.stdout)
    assert (ended.returncode, document["verdict"], document["state"]) == (3, "fault", "ESTOP"), ended.stderr
    assert document["cause"] == f"emergency stop: e-stop input of the drive; recorder lost: {FULL}"
    assert "its record may break off; free some space" in ended.stderr, "told before the motion"
