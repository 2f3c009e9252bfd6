"""Draw an excerpt of the recorded demo as a terminal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

import pyte

RECORDING: Final = Path(__file__).parents[1] / "docs" / "demo.cast"
# (first line, last line) of the parts that are shown
_PARTS: Final = (
    ("-- An ordinary Spark SQL query", "       JP"),
    ("-- From here on, INSERT starts a streaming job", "SET 'execution.runtime-mode'"),
    ("-- Totals by country per 10 minutes", "GROUP BY window"),
    ("-- The result topic is a table like any other", "  2026-03-02 06:30"),
)
_LINE_HEIGHT: Final = 17
_LEFT: Final = 16
_TOP: Final = 44
_WIDTH: Final = 900
_STYLE: Final = (
    "text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#e4e7eb;white-space:pre}"
    ".heading{font-weight:bold;fill:#7bdcb5}.title{fill:#9aa5b1}"
)


def draw() -> str:
    """Return the SVG."""
    lines = _excerpt(_screen_lines(RECORDING.read_text(encoding="utf-8")))
    height = _TOP + _LINE_HEIGHT * len(lines) + 8
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img" '
        f'width="{_WIDTH}" height="{height}">',
        "<title>The demo in a terminal: a query, and a continuous query whose results are read back</title>",
        f"<style>{_STYLE}</style>",
        f'<rect width="{_WIDTH}" height="{height}" rx="8" fill="#1f2933"/>',
        '<text class="title" x="16" y="24">$ make demo</text>',
    ]
    for number, line in enumerate(lines):
        style = ' class="heading"' if line.startswith("--") else ""
        if line:
            y = _TOP + _LINE_HEIGHT * number + 13
            parts.append(f'<text{style} x="{_LEFT}" y="{y}" xml:space="preserve">{escape(line)}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _screen_lines(recording: str) -> list[str]:
    """Return the lines of the terminal after playback, as if it never scrolled."""
    header, *events = map(json.loads, recording.splitlines())
    output = "".join(text for _, _, text in events)
    screen = pyte.Screen(header["width"], output.count("\n") + 1)
    pyte.Stream(screen).feed(output)
    return [line.rstrip() for line in screen.display]


def _excerpt(lines: list[str]) -> list[str]:
    """Return the parts to show, separated by empty lines.

    Raises:
        ValueError: the recording does not contain a part.
    """
    shown: list[str] = []
    for first, last in _PARTS:
        start = _index(lines, first, 0)
        end = _index(lines, last, start)
        shown += [*lines[start : end + 1], ""]
    return shown[:-1]


def _index(lines: list[str], start: str, after: int) -> int:
    for number in range(after, len(lines)):
        if lines[number].startswith(start):
            return number
    raise ValueError(f"docs/demo.cast has no line that starts with {start!r} after line {after}")
