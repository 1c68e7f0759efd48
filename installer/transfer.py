"""From the staged tree onto a machine, and away from it again; edited settings and records always stay."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from installer.interpreter import InstallError
from installer.paths import CACHES, CONFIGURATION, DEFAULTS, RECORDS, Paths, below

_CONFIGURATION = (str(CONFIGURATION.relative_to("/")) + "/", str(DEFAULTS.relative_to("/")))


def install(tree: Path, root: Path, paths: Paths) -> list[str]:
    """Copy the staged ``tree`` onto the machine at ``root``; return what its users should know.

    A settings file that was edited stays as it is, and the new one is laid beside it as `FILE.new`.
    """
    before = _manifest(root, paths)
    said = []
    shutil.rmtree(below(root, paths.environment), ignore_errors=True)
    environment = str(paths.environment.relative_to("/")) + "/"
    files = sorted(_files(tree))
    digests = {}
    for name in files:
        source, target = tree / name, root / name
        if name.startswith(_CONFIGURATION):
            digests[name] = _digest(source)
            if target.exists() and _digest(target) not in (before.get(name), digests[name]):
                said.append(f"kept: /{name}, which was edited; the new one is /{name}.new")
                target = root / f"{name}.new"
                digests[f"{name}.new"] = digests[name]
        elif not name.startswith(environment):
            digests[name] = ""
        _copy(source, target)
    for name in sorted(before.keys() - digests.keys()):  # no longer part of the product
        said += _remove(root, name, before[name])
    manifest = below(root, paths.manifest)
    manifest.write_text(json.dumps(digests, indent=1), encoding="utf-8")
    return said


def uninstall(root: Path, paths: Paths) -> list[str]:
    """Remove what `install` has put at ``root``; return what was left and why.

    Raises InstallError when nothing is installed there.
    """
    manifest = _manifest(root, paths)
    if not manifest:
        raise InstallError(f"nothing is installed at {below(root, paths.environment)}")
    left = []
    for name in sorted(manifest, reverse=True):
        left += _remove(root, name, manifest[name])
    shutil.rmtree(below(root, paths.environment))
    for cache in CACHES:  # compiled again by whoever needs it
        if below(root, cache).is_symlink():
            below(root, cache).unlink()
        shutil.rmtree(below(root, cache), ignore_errors=True)
    for path in (CONFIGURATION, paths.documents):
        _remove_empty(below(root, path))
    if below(root, RECORDS).exists():
        left.append(f"left: {RECORDS}, the records")
    return left


def _manifest(root: Path, paths: Paths) -> dict[str, str]:
    """Return the installed files, those of the configuration with their digest, others with an empty text."""
    try:
        text = below(root, paths.manifest).read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    return {str(name): str(digest) for name, digest in json.loads(text).items()}


def _remove(root: Path, name: str, digest: str) -> list[str]:
    """Remove a file but one whose ``digest`` tells that it was edited; return what to say."""
    path = root / name
    if not path.exists() and not path.is_symlink():
        return []
    if digest and _digest(path) != digest:
        return [f"left: /{name}, which was edited"]
    path.unlink()
    return []


def _files(tree: Path) -> Iterator[str]:
    for directory, _, names in os.walk(tree):
        for name in names:
            yield str((Path(directory) / name).relative_to(tree))


def _copy(source: Path, target: Path) -> None:
    """Copy a file or link with its time stamp; what runs from the old one keeps it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    shutil.copy2(source, target, follow_symlinks=False)


def _remove_empty(directory: Path) -> None:
    """Remove empty directories from ``directory`` downwards."""
    for path, _, _ in os.walk(directory, topdown=False):
        if not os.listdir(path):
            os.rmdir(path)


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
