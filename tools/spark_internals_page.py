"""Generate docs/spark-internals.md from the entries in the code: ``python -m tools.spark_internals_page``."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from kafka_sql.spark.internal import Internal, JavaClass, PythonName, Text, internals
from kafka_sql.spark.patch import Patch

PAGE = Path(__file__).parent.parent / "docs" / "spark-internals.md"
_KINDS = {Patch: "replaced", PythonName: "Python", JavaClass: "Java", Text: "text"}


def page() -> str:
    """Return the content of the page."""
    lines = [
        "# Spark internals",
        "",
        "kafka_sql uses the following parts of Spark that are not its public API: functions of PySpark that it",
        "replaces, private names of PySpark, Java classes, and texts of messages. Only modules of `kafka_sql.spark`",
        "use them. `tests/integration/spark/test_internals.py` looks up each of them on the installed Spark, so run it",
        "first with a new version of Spark. This page is generated from the code (`make docs-options`).",
        "",
    ]
    for module, entries in groupby(internals(), key=lambda pair: pair[0]):
        lines += [
            f"## `{module.removeprefix('kafka_sql.')}`",
            "",
            "| | name | why | without it | Spark | until |",
            "|---|---|---|---|---|---|",
            *(_row(entry) for _, entry in entries),
            "",
        ]
    return "\n".join(lines)


def _row(entry: Internal) -> str:
    name = f"`{_escape(entry.name)}`"
    if isinstance(entry, JavaClass):
        name += "".join(f" `{member}`" for member in entry.members)
    elif isinstance(entry, Text):
        name += f" in `{entry.source}`"
    why, if_gone = _escape(entry.why), _escape(entry.if_gone)
    return f"| {_KINDS[type(entry)]} | {name} | {why} | {if_gone} | {entry.since} | {entry.until} |"


def _escape(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    PAGE.write_text(page())
