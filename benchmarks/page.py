"""Write the results of the last full run to docs/benchmarks.md and its picture: ``python -m benchmarks.page``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from benchmarks.picture import draw
from benchmarks.report import load, table

RESULTS: Final = Path(__file__).with_name("results") / "full.json"
_DOCS: Final = Path(__file__).parent.parent / "docs"
PAGE: Final = _DOCS / "benchmarks.md"
PICTURE: Final = _DOCS / "pictures" / "benchmark.svg"
_BEGIN, _END = "<!-- results: made by python -m benchmarks.page -->", "<!-- end of results -->"


def update_page(text: str) -> str:
    """Return the page with an updated section of results."""
    machine, results = load(RESULTS)
    memory = {
        r.peer: " · ".join(f"{process} {size:,} MiB" for process, size in r.memory.items())
        for r in results
        if (r.group, r.comparison) == ("read", "json")
    }
    section = "\n".join(
        [
            _BEGIN,
            "",
            "![Throughput in multiples of the peer](pictures/benchmark.svg)",
            "",
            " · ".join(f"{k} {v}" for k, v in machine.items()) + ".",
            "",
            "The last columns are how many times as fast kafka_sql is; for milliseconds, how many times as long it",
            "takes (lower is better).",
            "",
            table(results),
            *(f"Peak memory of {peer} while it reads JSON: {sizes}.\n" for peer, sizes in memory.items()),
            _END,
        ]
    )
    return re.sub(f"{re.escape(_BEGIN)}.*{re.escape(_END)}", lambda _: section, text, flags=re.DOTALL)


if __name__ == "__main__":
    PAGE.write_text(update_page(PAGE.read_text()))
    PICTURE.write_text(draw(load(RESULTS)[1]))
