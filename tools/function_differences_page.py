"""Generate docs/function-differences.md from the table of warnings: ``python -m tools.function_differences_page``."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from kafka_sql.sql.function_differences import Difference, differences

PAGE: Final = Path(__file__).parent.parent / "docs" / "function-differences.md"


def page() -> str:
    """Return the content of the page."""
    rows = [difference for of_name in differences().values() for difference in of_name]
    return "\n".join(
        [
            "# Functions with other results in Flink",
            "",
            "Expressions of queries are Spark's. Most functions and operators that Flink and Spark have under one name",
            "return the same values. A statement that reads or writes a Kafka table logs a warning for each one in",
            "this table, with what to write for Flink's result. Views that it reads do not count.",
            "`SET 'table.function-differences' = 'IGNORE'` turns the warnings off. [Computed columns](expressions.md)",
            "have Flink's results.",
            "",
            "This page is generated from the table of the warnings, `kafka_sql/sql/function_differences.tsv` (`make",
            "docs-options`). `make function-differences` runs Flink 2.3 and Spark 4.3 with the same inputs. There is",
            "no warning if one of them fails for an input, as Spark does for `1 / 0`, and none of rare values in",
            "functions that almost every query has: `NaN` in comparisons, `MAX` and `MIN`; `SUM` of `INT`, which",
            "overflows in Flink; parts of times before 1970, which Flink rounds up; empty patterns.",
            "",
            "| in a query | difference | for Flink's result, write | example | Flink | Spark |",
            "|---|---|---|---|---|---|",
            *map(_row, rows),
            "",
        ]
    )


def _row(row: Difference) -> str:
    instead = _code(row.instead) if row.instead else "not available"
    cells = (_code(row.call), row.difference, instead, _code(row.example), _code(row.flink), _code(row.spark))
    return f"| {' | '.join(cells)} |"


def _code(text: str) -> str:
    return f"`{text}`".replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page())
