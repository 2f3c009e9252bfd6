"""Generate docs/flink-programs.md from the outcomes of the programs: ``python -m tools.flink_programs_page``."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Final

from tests.flink_programs.outcomes import OUTCOMES, read_outcomes
from tests.flink_programs.programs import FLINK
from tests.flink_programs.run import DIFFERENT, EQUAL, FAILED, NOT_APPLICABLE, REFUSED, Outcome

PAGE: Final = Path(__file__).parent.parent / "docs" / "flink-programs.md"
_TITLES: Final = {
    DIFFERENT: "Different rows",
    FAILED: "Failed after the start",
    REFUSED: "Refused before the start",
    NOT_APPLICABLE: "Not applicable",
}


def page() -> str:
    """Return the content of the page."""
    outcomes = list(read_outcomes().values())
    applicable = [outcome for outcome in outcomes if outcome.outcome != NOT_APPLICABLE]
    equal = sum(outcome.outcome == EQUAL for outcome in applicable)
    lines = [
        "# Flink's test programs",
        "",
        f"Flink {FLINK} tests its planner with programs: tables with rows before and after a restart, a statement,",
        "and the changes that each sink must receive. `make proofs` reads them from Flink's published test jar and",
        "runs each one on Kafka tables, as a continuous query with the same restart. The rows of the sinks must be",
        "exactly Flink's.",
        "",
        "A source or sink without changes is a `kafka` table with `json`, one with updates of a primary key an",
        "`upsert-kafka` table, and any other one a table with `debezium-json`. Each topic has one partition. Flink's",
        "sources end; here, a last row far in the future closes the windows. Flink's sources emit a watermark after",
        "each row; here, a micro-batch has one. So a program with late rows runs with one row per micro-batch, and one",
        "with intervals of processing time waits before the restart. This page is generated from",
        "`tests/flink_programs/outcomes.txt` (`make docs-options`).",
        "",
        f"**{equal} of {len(applicable)} programs are equal**, by class. Programs that",
        "are not listed have not been run or are not explained yet:",
        "",
        "| class | " + " | ".join(OUTCOMES) + " |",
        "|---|" + "---|" * len(OUTCOMES),
    ]
    for class_name in sorted({_class_name(outcome) for outcome in outcomes}):
        lines.append(_row(class_name, [o for o in outcomes if _class_name(o) == class_name]))
    lines += [_row("all", outcomes), ""]
    for kind, title in _TITLES.items():
        lines += [f"## {title}", "", *_section(kind, [o for o in outcomes if o.outcome == kind]), ""]
    return "\n".join(lines)


def _section(kind: str, outcomes: list[Outcome]) -> list[str]:
    if not outcomes:
        return ["None."]
    if kind == NOT_APPLICABLE:
        reasons = Counter(outcome.reason for outcome in outcomes)
        return ["| programs | reason |", "|---|---|", *(f"| {n} | {reason} |" for reason, n in reasons.most_common())]
    rows = (f"| `{o.program.partition(' ')[2]}` | {_class_name(o)} | {_escape(o.reason)} |" for o in outcomes)
    return ["| program | class | reason |", "|---|---|---|", *rows]


def _row(name: str, outcomes: list[Outcome]) -> str:
    numbers = Counter(outcome.outcome for outcome in outcomes)
    return f"| {name} | " + " | ".join(str(numbers[kind] or "") for kind in OUTCOMES) + " |"


def _class_name(outcome: Outcome) -> str:
    return outcome.program.partition(" ")[0]


def _escape(text: str) -> str:
    return text.replace("<", "&lt;")


if __name__ == "__main__":
    PAGE.write_text(page())
