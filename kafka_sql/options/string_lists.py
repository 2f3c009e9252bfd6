"""Split and join the values of options of type list, as Flink does (StructuredOptionsSplitter, ConfigurationUtils)."""

from __future__ import annotations

import re
from collections.abc import Iterable

# an element in quotes, or up to the next delimiter or quote; then a delimiter or the end
_ELEMENT = r"""(?:\s*'(?P<single>(?:[^']|'')*)'\s*|\s*"(?P<double>(?:[^"]|"")*)"\s*|(?P<plain>[^{0}'"]*))(?:{0}|\Z)"""
_ELEMENTS = {delimiter: re.compile(_ELEMENT.format(delimiter)) for delimiter in ";,"}
_YAML_LIST = re.compile(r"\s*\[(.*)\]\s*", re.DOTALL)


def split_list(text: str) -> tuple[str, ...]:
    """Return the elements of a list such as ``a;b``, ``'a;b';c`` or ``[a, b]``.

    Quotes are single or double ones around a whole element, and doubled inside of it. Spaces around an element are
    ignored, and so is an empty first or last element, as in ``a;b;``.

    Raises:
        ValueError: a quote is not at the start or the end of an element.
    """
    yaml = _YAML_LIST.fullmatch(text)
    delimiter, text = (";", text) if yaml is None else (",", yaml[1])
    elements: list[str | None] = []
    position, is_last = 0, False
    while not is_last:
        match = _ELEMENTS[delimiter].match(text, position)
        if match is None:
            raise ValueError(f"expected '{delimiter}' between elements, and quotes around a whole element or doubled")
        if match["single"] is not None:
            elements.append(match["single"].replace("''", "'"))
        elif match["double"] is not None:
            elements.append(match["double"].replace('""', '"'))
        else:
            elements.append(match["plain"].strip() or None)
        position, is_last = match.end(), not match[0].endswith(delimiter)
    inner = elements[(elements[0] is None) : len(elements) - (len(elements) > 1 and elements[-1] is None)]
    return tuple(element or "" for element in inner)


def join_list(elements: Iterable[str]) -> str:
    """Return the text of which ``split_list`` returns these elements."""
    return ";".join(_quote(element) for element in elements)


def _quote(element: str) -> str:
    needs_quotes = re.search(r"""[;'"]|^\s|\s$|^\[|^$""", element) is not None
    return "'" + element.replace("'", "''") + "'" if needs_quotes else element
