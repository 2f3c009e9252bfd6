"""Draw the pictures in docs/pictures as SVG: ``python -m tools.pictures``."""

from __future__ import annotations

from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

from tools import demo_picture

FOLDER: Final = Path(__file__).parents[1] / "docs" / "pictures"
_STYLE: Final = (
    "text{font:13px sans-serif;fill:#1f2933}.s{font-size:11px;fill:#52606d}.h{font-weight:bold}"
    ".ours{fill:#e3f2fd;stroke:#1565c0}.spark{fill:#fff3e0;stroke:#e65100}.kafka{fill:#e8f5e9;stroke:#2e7d32}"
    ".plain{fill:#f5f7fa;stroke:#9aa5b1}path,line{stroke:#52606d;fill:none;stroke-width:1.4}"
    ".life{stroke-dasharray:4 4;stroke:#9aa5b1}.mark{fill:#ffebee;stroke:#c62828}"
)


class Picture:
    """Builds an SVG."""

    def __init__(self, title: str, width: int, height: int) -> None:
        """Start with a white background and a title for screen readers."""
        self._parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
            f'width="{width}" height="{height}">',
            f"<title>{escape(title)}</title>",
            f"<style>{_STYLE}</style>",
            '<defs><marker id="a" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" '
            'orient="auto-start-reverse">'
            '<path d="M0 0L8 4L0 8z" style="fill:#52606d;stroke:none"/></marker></defs>',
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        ]

    def box(self, x: int, y: int, w: int, h: int, style: str, *lines: str) -> None:
        """Draw a box with a heading and smaller lines below it."""
        self._parts.append(f'<rect class="{style}" x="{x}" y="{y}" width="{w}" height="{h}" rx="6"/>')
        first = y + h / 2 - 8 * (len(lines) - 1) + 4
        for n, line in enumerate(lines):
            self.text(x + w // 2, int(first + 16 * n), line, "h" if n == 0 else "s")

    def text(self, x: int, y: int, label: str, style: str = "s", anchor: str = "middle") -> None:
        """Draw a line of text at ``x``."""
        self._parts.append(f'<text class="{style}" x="{x}" y="{y}" text-anchor="{anchor}">{escape(label)}</text>')

    def arrow(self, x1: int, y1: int, x2: int, y2: int, label: str = "", both: bool = False) -> None:
        """Draw an arrow with text above its middle."""
        start = ' marker-start="url(#a)"' if both else ""
        self._parts.append(f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" marker-end="url(#a)"{start}/>')
        if label:
            self.text((x1 + x2) // 2, (y1 + y2) // 2 - 6, label)

    def line(self, x1: int, y1: int, x2: int, y2: int, style: str = "life") -> None:
        """Draw a line without an arrowhead."""
        self._parts.append(f'<line class="{style}" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"/>')

    def svg(self) -> str:
        """Return the SVG."""
        return "\n".join([*self._parts, "</svg>", ""])


def architecture() -> str:
    """Draw the architecture: statements at the top, rows from Kafka to Spark below."""
    p = Picture(
        "Architecture: statements declare tables, tables become data sources, records become columns and back", 860, 400
    )
    p.box(20, 30, 150, 64, "plain", "spark.sql(...)", "kafka-sql, spark-sql,", "dbt, pipelines")
    p.box(230, 30, 150, 64, "ours", "sql/", "recognizes Flink's", "statements")
    p.box(440, 30, 150, 64, "ours", "catalog/", "a data source class", "per table")
    p.box(660, 30, 170, 64, "spark", "Spark", "parser, planner, jobs")
    p.arrow(170, 62, 230, 62)
    p.arrow(380, 62, 440, 62)
    p.arrow(590, 62, 660, 62)
    p.text(20, 140, "on the driver", "s", "start")
    p.box(230, 130, 150, 64, "ours", "options/", "all options,", "validated")
    p.box(440, 130, 150, 64, "ours", "source/, sink/", "task planning;", "commit decision")
    p.arrow(305, 130, 305, 94)
    p.arrow(515, 94, 515, 130, "", both=True)
    p.arrow(590, 162, 660, 110)
    p.text(20, 240, "in the executors' Python workers", "s", "start")
    p.box(20, 270, 150, 76, "kafka", "Kafka", "partitions of topics,", "replicas")
    p.box(230, 270, 150, 76, "ours", "kafka/", "Kafka clients;", "byte buffers, no", "objects per record")
    p.box(440, 270, 150, 76, "ours", "formats/", "byte buffers to", "Arrow columns", "and back")
    p.box(660, 270, 170, 76, "spark", "Spark", "rows as Arrow batches")
    p.arrow(170, 308, 230, 308, "", both=True)
    p.arrow(380, 308, 440, 308, "", both=True)
    p.arrow(590, 308, 660, 308, "", both=True)
    p.arrow(515, 194, 515, 270, "")
    p.text(560, 236, "splits")
    p.text(430, 380, "imports go from upper to lower boxes; formats/ and kafka/ do not import Spark")
    return p.svg()


def split() -> str:
    """Draw the steps of one micro-batch for a partition."""
    p = Picture("Life cycle of a split: from offsets of a partition to a committed batch", 860, 330)
    p.text(20, 30, "orders[0]", "h", "start")
    for n in range(12):
        style = "plain" if n < 3 else "ours" if n < 9 else "kafka"
        p.box(120 + 56 * n, 14, 52, 26, style, str(39 + n))
    p.text(204, 58, "already read")
    p.text(454, 58, "this batch: [42, 48)")
    p.text(708, 58, "later")
    steps = [
        ("spark", "latestOffset", "ends of partitions;", "rate limits allow", "up to 48"),
        ("spark", "offsets/7", "end offsets in", "Spark's checkpoint", "before reading"),
        ("ours", "split", "orders[0] 42 to 48,", "split or grouped", "into tasks by size"),
        ("ours", "task", "fetch and decode", "into columns, up", "to the end offset"),
        ("spark", "commits/7", "sink has committed;", "Spark marks the", "batch as done"),
        ("kafka", "group", "48 is committed", "to Kafka, for", "monitoring"),
    ]
    for n, (style, *lines) in enumerate(steps):
        p.box(14 + 141 * n, 110, 126, 92, style, *lines)
        if n:
            p.arrow(14 + 141 * n - 15, 156, 14 + 141 * n, 156)
    p.arrow(782, 202, 782, 250)
    p.line(782, 250, 77, 250, "")
    p.arrow(77, 250, 77, 204)
    p.text(430, 242, "the next batch")
    p.text(430, 286, "crash before commits/7: the same batch is read again, offsets 42 to 48")
    p.text(430, 306, "crash after it: the next batch starts at 48")
    return p.svg()


def two_phase_commit() -> str:
    """Draw the sequence of an exactly-once batch."""
    p = Picture("Two-phase commit: tasks prepare, the driver decides, the brokers commit", 860, 480)
    actors = [
        ("spark", "driver", 110, 140),
        ("ours", "tasks", 330, 140),
        ("kafka", "topic", 560, 140),
        ("kafka", "__kafka_sql_transactions", 740, 200),
    ]
    for style, name, x, width in actors:
        p.box(x - width // 2, 16, width, 34, style, name)
        p.line(x, 50, x, 362)

    def step(y: int, x1: int, x2: int, label: str) -> None:
        p.arrow(x1, y, x2, y, label)

    step(100, 110, 330, "batch 7: rows")
    step(132, 330, 560, "begin, produce, flush")
    p.text(445, 150, "acknowledged; the transaction stays open")
    step(180, 330, 110, "prepared: transactional id, hint")
    step(214, 110, 560, "are all still open?")
    p.box(60, 236, 740, 40, "mark", "")
    step(264, 110, 740, "the decision: batch 7 and its transactions")
    p.text(790, 294, "the point of no return", "h", "end")
    step(330, 110, 560, "EndTxn(commit) for each")
    p.text(690, 334, "read_committed consumers see the rows", "s", "middle")
    p.text(60, 392, "crash before the decision:", "h", "start")
    p.text(270, 392, "transactions are aborted, the batch is written again", "s", "start")
    p.text(60, 414, "crash after the decision:", "h", "start")
    p.text(270, 414, "the next start reads the decision and commits; the replay is discarded", "s", "start")
    p.text(60, 436, "a zombie driver:", "h", "start")
    p.text(270, 436, "is fenced, because all drivers of a prefix share a transactional id", "s", "start")
    return p.svg()


PICTURES: Final = {
    "architecture": architecture,
    "split": split,
    "two-phase-commit": two_phase_commit,
    "demo": demo_picture.draw,
}

if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, draw in PICTURES.items():
        (FOLDER / f"{name}.svg").write_text(draw())
