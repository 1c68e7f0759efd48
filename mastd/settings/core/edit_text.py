"""Change single values in the text of a settings file; every other character stays as it is."""

from __future__ import annotations

from collections.abc import Mapping

import yaml

from mastd.errors import SettingsError

Location = tuple[str | int, ...]


def amended(text: str, name: str, changes: Mapping[Location, str]) -> str:
    """Return ``text`` with changed values at some paths, for instance ``("links", 0, "stroke")``.

    ``text`` is one that ``mastd.settings.core.loader`` has read; ``name`` stands for its file in messages. A
    new value is written plainly, as it is to stand there. Raises SettingsError for every place at which the
    text has no single value.
    """
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    spans: list[tuple[int, int, str]] = []
    problems = []
    for location, value in changes.items():
        node = _node(root, location)
        if isinstance(node, yaml.ScalarNode):
            spans.append((node.start_mark.index, node.end_mark.index, value))
        else:
            where = ".".join(map(str, location))
            problems.append(f"{name}: {where}: not found as a single value; write it there by hand: {value}")
    if problems:
        raise SettingsError(problems)
    for start, end, value in sorted(spans, reverse=True):
        text = text[:start] + value + text[end:]
    return text


def _node(node: yaml.Node | None, location: Location) -> yaml.Node | None:
    """Return what stands at a place, None if nothing does, or if it stands there twice."""
    for part in location:
        if isinstance(node, yaml.MappingNode):
            found = [value for key, value in node.value if key.value == part]
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and 0 <= part < len(node.value):
            found = [node.value[part]]
        else:
            return None
        if len(found) != 1:
            return None
        node = found[0]
    return node
