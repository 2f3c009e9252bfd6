"""Draw the ratios to the peers: a bar per comparison, with a line at 1 for the speed of the peer."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from xml.sax.saxutils import escape

from benchmarks.comparison import Result
from benchmarks.peers.launch import FLINK, OURS, SPARK
from benchmarks.report import ratio

_LEFT, _BAR, _WIDTH, _MAX_RATIO = 270, 18, 460, 5.0
_COLORS = {SPARK: "#e25a1c", FLINK: "#7b4397"}
_DEFAULT_COLOR = "#4a6fa5"


def draw(results: Sequence[Result]) -> str:
    """Return an SVG of all throughput comparisons."""
    bars = []
    throughputs = [r for r in results if r.records]
    for (group, comparison), peer_results in groupby(throughputs, key=lambda r: (r.group, r.comparison)):
        by_peer = {r.peer: r for r in peer_results}
        if OURS in by_peer:
            ours = by_peer.pop(OURS)
            bars += [(f"{group} {comparison}", peer, ratio(ours, result)) for peer, result in by_peer.items()]
    lines, y = [], 46
    for i, (label, peer, value) in enumerate(bars):
        if not i or bars[i - 1][0] != label:
            y += 10
            lines.append(_text(_LEFT - 10, y + 13, label, "end"))
        width = min(value, _MAX_RATIO) / _MAX_RATIO * _WIDTH
        color = _COLORS.get(peer, _DEFAULT_COLOR)
        lines.append(f'<rect x="{_LEFT}" y="{y}" width="{width:.1f}" height="{_BAR - 3}" rx="2" fill="{color}"/>')
        lines.append(_text(_LEFT + width + 6, y + 12, f"{value:.2f} × {peer}", "start"))
        y += _BAR
    x_of_one = _LEFT + _WIDTH / _MAX_RATIO
    height = y + 24
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_LEFT + _WIDTH + 170} {height}" '
        'font-family="system-ui, sans-serif" font-size="12">\n'
        f'<rect width="100%" height="100%" fill="#ffffff"/>\n'
        f"{_text(_LEFT, 22, 'Throughput of kafka_sql, in multiples of the peer in the same run', 'start', 14)}\n"
        f'<line x1="{x_of_one}" y1="34" x2="{x_of_one}" y2="{height - 12}" stroke="#888888" stroke-dasharray="4 3"/>\n'
        + "\n".join(lines)
        + "\n</svg>\n"
    )


def _text(x: float, y: float, text: str, anchor: str, size: int = 12) -> str:
    return f'<text x="{x:.1f}" y="{y}" text-anchor="{anchor}" font-size="{size}" fill="#222222">{escape(text)}</text>'
