"""Collect the code blocks of all pages: README, the other files beside it, and docs.

A test runs each block, or a comment above it gives the reason why not: ``<!-- not run: it needs a cluster -->``.
Statements that a page's blocks need but readers do not are in a comment, too: ``<!-- first: CREATE TABLE ...; -->``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
_BLOCK: Final = re.compile(
    r"(?:^<!-- (?P<kind>not run|first): (?P<words>.*?) -->\n)?"
    r"^(?P<fence>`{3,})(?P<language>\w*)\n(?P<text>.*?)^(?P=fence)$",
    re.MULTILINE | re.DOTALL,
)
_TOPIC: Final = re.compile(r"""(['"]topic['"](?: =|:) ['"])([^'"]*)""")
_PATTERN: Final = re.compile(r"'topic-pattern' = '([^']*)'")


@dataclass(frozen=True)
class Block:
    """A fenced block.

    Attributes:
        page: path from the repository's root.
        line: of its first line in the page, from 1.
        language: as the fence says it.
        text: what it holds.
        reason: why it is not run, or None.
        first: statements to be run before it.
    """

    page: str
    line: int
    language: str
    text: str
    reason: str | None
    first: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def pages() -> list[Path]:
    """All pages, as paths."""
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def blocks(page: Path, text: str | None = None) -> list[Block]:
    """A page's blocks in order; of ``text`` where it was changed."""
    text = page.read_text(encoding="utf-8") if text is None else text
    found = []
    for match in _BLOCK.finditer(text):
        words = {match["kind"]: match["words"]}
        line = text.count("\n", 0, match.start("text")) + 1
        found.append(
            Block(
                page.relative_to(ROOT).as_posix(),
                line,
                match["language"],
                match["text"],
                words.get("not run"),
                words.get("first", ""),
            )
        )
    return found


def topics_of(text: str) -> set[str]:
    """The topics that a page's tables name."""
    return {name for _, value in _TOPIC.findall(text) for name in value.split(";")}


def renamed(text: str, ending: str) -> str:
    """A page whose topics have names that end like this."""
    text = _PATTERN.sub(lambda m: f"'topic-pattern' = '(?:{m[1]}){ending}'", text)
    return _TOPIC.sub(lambda m: m[1] + ";".join(name + ending for name in m[2].split(";")), text)
