"""The ratios to the peers as a picture: a bar a contest, the peer's own speed as the line at 1."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from xml.sax.saxutils import escape

from benchmarks.contest import Result
from benchmarks.peers.launch import OURS
from benchmarks.report import ratio

_LEFT, _BAR, _WIDTH, _MOST = 270, 18, 460, 5.0
_COLOURS = {"Spark's own": "#e25a1c", "Flink SQL": "#7b4397"}
_OTHER = "#4a6fa5"


def draw(results: Sequence[Result]) -> str:
    """An SVG of all contests in which throughput is measured against a peer."""
    bars = []
    contests = [r for r in results if r.records]
    for (group, contest), found in groupby(contests, key=lambda r: (r.group, r.contest)):
        by_peer = {r.peer: r for r in found}
        if OURS in by_peer:
            ours = by_peer.pop(OURS)
            bars += [(f"{group} {contest}", peer, ratio(ours, other)) for peer, other in by_peer.items()]
    lines, y = [], 46
    for i, (label, peer, value) in enumerate(bars):
        if not i or bars[i - 1][0] != label:
            y += 10
            lines.append(_text(_LEFT - 10, y + 13, label, "end"))
        width = min(value, _MOST) / _MOST * _WIDTH
        colour = _COLOURS.get(peer, _OTHER)
        lines.append(f'<rect x="{_LEFT}" y="{y}" width="{width:.1f}" height="{_BAR - 3}" rx="2" fill="{colour}"/>')
        lines.append(_text(_LEFT + width + 6, y + 12, f"{value:.2f} × {peer}", "start"))
        y += _BAR
    one = _LEFT + _WIDTH / _MOST
    height = y + 24
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_LEFT + _WIDTH + 170} {height}" '
        'font-family="system-ui, sans-serif" font-size="12">\n'
        f'<rect width="100%" height="100%" fill="#ffffff"/>\n'
        f"{_text(_LEFT, 22, 'Throughput of kafka_sql, in multiples of the peer in the same run', 'start', 14)}\n"
        f'<line x1="{one}" y1="34" x2="{one}" y2="{height - 12}" stroke="#888888" stroke-dasharray="4 3"/>\n'
        + "\n".join(lines)
        + "\n</svg>\n"
    )


def _text(x: float, y: float, words: str, anchor: str, size: int = 12) -> str:
    return f'<text x="{x:.1f}" y="{y}" text-anchor="{anchor}" font-size="{size}" fill="#222222">{escape(words)}</text>'
