"""Collect the code blocks and anchors of all pages: README, the other files beside it, and docs.

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
_TOPIC: Final = re.compile(r"""((?:['"](?:topic|stream-ids)['"](?: =|:)|\b(?:topic|subscribe) =>) ['"])([^'"]*)""")
_PATTERN: Final = re.compile(r"'topic-pattern' = '([^']*)'")


@dataclass(frozen=True)
class Block:
    """A fenced block.

    Attributes:
        page: path from the repository's root.
        line: of its first line in the page, from 1.
        language: the language of the fence.
        text: the content.
        reason: why it is not run; None if it is.
        first: statements to run before it.
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
    """Return the paths of all pages."""
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def blocks(page: Path, text: str | None = None) -> list[Block]:
    """Return a page's blocks in order.

    Args:
        text: the content; None to read the page.
    """
    text = page.read_text(encoding="utf-8") if text is None else text
    page_blocks = []
    for match in _BLOCK.finditer(text):
        words = {match["kind"]: match["words"]}
        line = text.count("\n", 0, match.start("text")) + 1
        page_blocks.append(
            Block(
                page.relative_to(ROOT).as_posix(),
                line,
                match["language"],
                match["text"],
                words.get("not run"),
                words.get("first", ""),
            )
        )
    return page_blocks


def topic_names(text: str) -> set[str]:
    """Return the topics of a page's tables."""
    return {name for _, value in _TOPIC.findall(text) for name in value.split(";")}


def rename_topics(text: str, suffix: str) -> str:
    """Return a page with ``suffix`` added to the names of its topics."""
    text = _PATTERN.sub(lambda m: f"'topic-pattern' = '(?:{m[1]}){suffix}'", text)
    return _TOPIC.sub(lambda m: m[1] + ";".join(name + suffix for name in m[2].split(";")), text)


def anchors(text: str) -> set[str]:
    """Return the anchors of a page, as GitHub and mkdocs derive them from headings."""
    without_code = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", without_code, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).strip().replace(" ", "-") for h in headings}
