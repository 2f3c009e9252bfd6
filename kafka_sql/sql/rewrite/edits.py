"""Apply edits to a text: each replaces a part of it with text, or with other parts of it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from kafka_sql.sql.recognize.query_text import Span

Template: TypeAlias = Sequence[str | Span]


class Edit(NamedTuple):
    """Replace ``text[start:end]``.

    Attributes:
        replacement: a text, or texts and parts of the original text. Edits of these parts are applied, too; others
            between ``start`` and ``end`` are not.
    """

    start: int
    end: int
    replacement: str | Template


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """Return the text after all edits."""
    return fill_template(text, edits, [Span(0, len(text))])


def fill_template(text: str, edits: Iterable[Edit], template: Template) -> str:
    """Return the texts of a template, and its parts of the original text after all edits.

    Insertions come before a replacement with the same start, and otherwise in their order. An edit inside another one
    has no effect of its own.
    """
    ordered = sorted(edits, key=lambda edit: (edit.start, edit.start != edit.end, -edit.end))
    return "".join(_fill(text, ordered, template))


def _fill(text: str, edits: Sequence[Edit], template: Template) -> Iterator[str]:
    for part in template:
        if isinstance(part, str):
            yield part
            continue
        position = part.start
        for index in range(bisect_left(edits, part.start, key=lambda edit: edit.start), len(edits)):
            start, end, replacement = edits[index]
            if start > part.end:
                break
            if start < position or end > part.end:
                continue
            yield text[position:start]
            yield from [replacement] if isinstance(replacement, str) else _fill(text, edits, replacement)
            position = end
        yield text[position : part.end]
