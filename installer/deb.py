"""The Debian package: the staged tree, and the scripts of `debian/` that dpkg calls."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

from installer.interpreter import InstallError, Interpreter
from installer.paths import PROJECT

_SCRIPTS = ("preinst", "postinst", "prerm", "postrm")


def build_package(tree: Path, interpreter: Interpreter, version: str, directory: Path) -> Path:
    """Make the package of the staged ``tree`` in ``directory`` and return it.

    Raises InstallError where dpkg-deb is missing or refuses.
    """
    if shutil.which("dpkg-deb") is None:
        raise InstallError("dpkg-deb is missing: packages are made on Debian or Ubuntu")
    architecture = _output("dpkg", "--print-architecture")
    control = tree / "DEBIAN"
    shutil.rmtree(control, ignore_errors=True)  # of a build that was interrupted
    files = sorted(path for path in tree.rglob("*") if path.is_file() and not path.is_symlink())
    control.mkdir()
    description = (PROJECT / "installer/debian/control.in").read_text(encoding="utf-8")
    (control / "control").write_text(
        description.format(
            version=version,
            architecture=architecture,
            interpreter=interpreter.name,
            kilobytes=sum(path.stat().st_size for path in files) // 1024,
        ),
        encoding="utf-8",
    )
    names = [str(path.relative_to(tree)) for path in files]
    settings = [f"/{name}\n" for name in names if name.startswith("etc/")]
    (control / "conffiles").write_text("".join(settings), encoding="utf-8")
    sums = [
        f"{hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()}  {name}\n"
        for path, name in zip(files, names, strict=True)
        if not name.startswith("etc/")
    ]
    (control / "md5sums").write_text("".join(sums), encoding="utf-8")
    for script in _SCRIPTS:
        shutil.copyfile(PROJECT / "installer/debian" / script, control / script)
        (control / script).chmod(0o755)
    package = directory / f"mastd_{version}_{architecture}.deb"
    try:
        _output("dpkg-deb", "--root-owner-group", "-Zzstd", "-z9", "--build", str(tree), str(package))
    finally:
        shutil.rmtree(control)
    return package


def _output(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise InstallError(f"{command[0]} failed: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
    return done.stdout.strip()
