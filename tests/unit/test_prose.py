"""The house style of CONTRIBUTING: no phrase that it rules out, in code, comments, errors and pages."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.documents import ROOT
from tests.prose import tracked, violations


def test_the_house_style_is_kept() -> None:
    assert not [found for name in tracked() for found in violations(name, Path(ROOT, name).read_text("utf-8"))]


@pytest.mark.parametrize(
    ("line", "phrase"),
    [
        ("the query goes on", "goes on"),
        ("What tasks tell the driver", "tell"),
        ("which stands in the docs", "stands"),
        ("a client made anew", "anew"),
        ("10 ms per task a second", "task a second"),
    ],
)
def test_a_phrase_is_found(line: str, phrase: str) -> None:
    (violation,) = violations("x.py", line)
    assert violation == f"x.py:1: {phrase!r}: {line}"


def test_technical_senses_are_allowed() -> None:
    assert not list(violations("x.py", "a standalone file; PK stands for primary key; file.tell()"))
