"""Attributes of HDF5 objects as texts, and data sets that are refused before they are read."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np

from mastd.errors import FormatError
from mastd.formats.core.packages import package

_MAX_ATTRIBUTES: Final = 1000
_MAX_ELEMENTS: Final = 16


def attributes(item: Any) -> dict[str, str]:
    """Return the attributes of a file, group or data set that are texts or a few numbers, as texts."""
    found = {}
    for name in list(item.attrs)[:_MAX_ATTRIBUTES]:
        text = attribute_text(item, name)
        if text or name in item.attrs:
            found[name] = text
    return found


def attribute_text(item: Any, *names: str) -> str:
    """Return the first existing attribute of some as text, "" where there is none.

    One that h5py cannot read, or with more than a few elements, counts as none.
    """
    for name in names:
        if name not in item.attrs:
            continue
        try:
            # Its size is looked at first: reading allocates it.
            if item.attrs.get_id(name).get_space().get_simple_extent_npoints() <= _MAX_ELEMENTS:
                return _text(item.attrs[name])
        except (OSError, TypeError, ValueError, KeyError, RuntimeError):
            continue
    return ""


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.rstrip(b"\0").decode("utf-8", "replace")
    if isinstance(value, np.ndarray):
        return " ".join(_text(one) for one in value.ravel().tolist())
    if isinstance(value, np.generic):
        return _text(value.item())
    return "" if type(value).__name__ == "Empty" else str(value)


def refuse_link(path: Path, group: Any, name: str) -> Any:
    """Return the link to ``name`` in a group; FormatError where it leads to another file."""
    link = group.get(name, getlink=True)
    if isinstance(link, package("h5py", "hdf", "HDF5").ExternalLink):
        raise FormatError(
            f"{path}: {group.name.rstrip('/')}/{name} is a link to the file {link.filename!r}: "
            "external files are not opened"
        )
    return link


def refuse_unreadable(path: Path, dataset: Any) -> None:
    """Raise FormatError where values are in other files, or need an unavailable filter."""
    h5py = package("h5py", "hdf", "HDF5")
    if dataset.is_virtual or dataset.external:
        raise FormatError(f"{path}: the values of {dataset.name} are in external files, which are not opened")
    properties = dataset.id.get_create_plist()
    for number in range(properties.get_nfilters()):
        code, _, _, name = properties.get_filter(number)
        if not h5py.h5z.filter_avail(code):
            called = name.decode("utf-8", "replace").rstrip("\0") or "without a name"
            raise FormatError(
                f"{path}: {dataset.name} is compressed with the filter {code} ({called}), which is not "
                "available"
            )
