"""The private environment: locked packages and the product, on the machine's own interpreter.

It is a virtual environment put together by hand: a link to the interpreter, a `pyvenv.cfg` that makes it look
beside the link, and `site-packages`. `sys.executable` is the link, so processes that the product starts find
the same. Nothing in it names the directory in which it was built.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from installer.interpreter import InstallError, Interpreter
from installer.paths import PROGRAMS, PROJECT, Paths, below

BUILDER = ("hatchling", "packaging", "pathspec", "pluggy", "trove-classifiers")
"""The build backend and what it needs, as far as `requirements.txt` locks them."""
SOURCE_TIME = 1_580_601_600
"""Time stamp of all files, 2020-02-02 as in the project's wheels.

The compiled kernels are kept by the stamps of their sources: with the same one in every version, an upgrade
that leaves the kernels alone does not compile them again."""
_MARKS = ("--invalidation-mode", "checked-hash")
_LAUNCHER = """#!{python} -I
import sys

from {module} import main

sys.exit(main())
"""


def build_environment(root: Path, paths: Paths, interpreter: Interpreter, work: Path) -> None:
    """Build the environment below ``root``; ``work`` keeps what the next build can use again.

    Raises InstallError when a package cannot be fetched.
    """
    home = below(root, paths.environment)
    packages = home / "lib" / interpreter.name / "site-packages"
    tools = _tools(interpreter, work)
    locked_packages = _packages(tools, interpreter, work)
    # Links instead of copies: what follows adds files and changes none.
    shutil.copytree(locked_packages, packages, copy_function=os.link)
    _pip(tools, "install", "--no-deps", "--no-compile", "--target", str(packages), str(_wheel(tools, work)))
    shutil.rmtree(packages / "bin", ignore_errors=True)  # launchers with the builder's interpreter
    for origin in packages.glob("*.dist-info/direct_url.json"):  # where the wheel lay
        origin.unlink()
    (home / "bin").mkdir()
    (home / "bin" / "python3").symlink_to(interpreter.path)
    (home / "pyvenv.cfg").write_text(
        f"home = {interpreter.path.parent}\ninclude-system-site-packages = false\n", encoding="utf-8"
    )
    _stamp(packages)
    _compile(tools, root, packages)


def write_launchers(root: Path, paths: Paths) -> None:
    """Write the commands that users call. They leave the user's Python settings aside (-I)."""
    directory = below(root, paths.programs)
    directory.mkdir(parents=True)
    for name, module in PROGRAMS.items():
        launcher = directory / name
        python = paths.environment / "bin/python3"
        launcher.write_text(_LAUNCHER.format(python=python, module=module), encoding="utf-8")
        launcher.chmod(0o755)


def locked(names: tuple[str, ...], lock: str) -> str:
    """Return the part of a lock file that locks ``names``; raise InstallError for one that is not there."""
    blocks = {
        match[1]: match[0]
        for match in re.finditer(r"^([\w.-]+)==.*\n(?:^[ \t]+--hash.*\n?)*", lock, flags=re.MULTILINE)
    }
    missing = [name for name in names if name not in blocks]
    if missing:
        raise InstallError(f"requirements.txt does not lock {', '.join(missing)}")
    return "".join(blocks[name] for name in names)


def foreign_paths(root: Path, texts: tuple[str, ...]) -> list[str]:
    """Return the files below ``root`` that hold one of ``texts``: paths of the machine that built it."""
    found = []
    marks = [text.encode() for text in texts]
    for path in sorted(root.rglob("*")):
        if path.is_file() and not path.is_symlink():
            content = path.read_bytes()
            if any(mark in content for mark in marks):
                found.append(str(path.relative_to(root)))
    return found


def _tools(interpreter: Interpreter, work: Path) -> Path:
    """Return the interpreter of an environment with pip and the build backend."""
    directory = work / f"tools-{interpreter.name}"
    python = directory / "bin" / "python"
    wanted = locked(BUILDER, (PROJECT / "requirements.txt").read_text(encoding="utf-8"))
    lock = directory / "lock.txt"
    if not lock.exists() or lock.read_text(encoding="utf-8") != wanted:
        shutil.rmtree(directory, ignore_errors=True)
        work.mkdir(parents=True, exist_ok=True)
        _run([str(interpreter.path), "-m", "venv", str(directory)])
        (work / "lock.txt").write_text(wanted, encoding="utf-8")
        _pip(python, "install", "--require-hashes", "--no-deps", "-r", str(work / "lock.txt"))
        (work / "lock.txt").replace(lock)
    return python


def _packages(tools: Path, interpreter: Interpreter, work: Path) -> Path:
    """Return a directory with the locked packages, made again when the lock has changed."""
    directory, lock = work / f"packages-{interpreter.name}", PROJECT / "requirements-package.txt"
    mark = work / f"packages-{interpreter.name}.txt"
    wanted = lock.read_text(encoding="utf-8")
    if not mark.exists() or mark.read_text(encoding="utf-8") != wanted:
        mark.unlink(missing_ok=True)
        shutil.rmtree(directory, ignore_errors=True)
        # Wheels only: whatever had to be compiled here would carry paths of this machine.
        options = ("--require-hashes", "--only-binary", ":all:", "--no-compile")
        _pip(tools, "install", *options, "--target", str(directory), "-r", str(lock))
        shutil.rmtree(directory / "bin", ignore_errors=True)
        mark.write_text(wanted, encoding="utf-8")
    return directory


def _wheel(tools: Path, work: Path) -> Path:
    directory = work / "wheel"
    shutil.rmtree(directory, ignore_errors=True)
    options = ("--no-deps", "--no-build-isolation", "--no-index")
    _pip(tools, "wheel", *options, "--wheel-dir", str(directory), str(PROJECT))
    return next(directory.glob("*.whl"))


def _stamp(packages: Path) -> None:
    for path in packages.rglob("*"):
        if not path.is_dir():
            os.utime(path, (SOURCE_TIME, SOURCE_TIME))


def _compile(tools: Path, root: Path, packages: Path) -> None:
    """Compile everything under the names that files will have, with marks that do not go by time stamps."""
    names = ("-s", str(root), "-p", "/")
    _run([str(tools), "-m", "compileall", "-q", "-j", "0", *names, *_MARKS, str(packages)])


def _pip(python: Path, *arguments: str) -> None:
    _run([str(python), "-I", "-m", "pip", "--disable-pip-version-check", "--quiet", *arguments])


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise InstallError(f"{' '.join(command[:5])} … failed: {lines[-1] if lines else 'no message'}")
