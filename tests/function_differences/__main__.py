"""Write the results of both engines into the table of differences: ``python -m tests.function_differences``.

Flink's results of the calls are those in ``flink_values.tsv``. ``--flink`` computes them again, and those of new calls,
which are lines with a table and an expression only. Both engines always compute the examples of the table. At the end,
all calls are listed that have other results, and of which no statement would be warned.
"""

from __future__ import annotations

import csv
import json
import sys
from typing import Any

from pyspark.sql import SparkSession

from kafka_sql.sql.function_differences import TABLE, Difference, differences
from tests.function_differences.compare import silent_differences, without_warning
from tests.function_differences.flink import flink_lines
from tests.function_differences.values import FLINK_VALUES, Call, Error, create_views, flink_calls, spark_calls

ONE_ROW = "urls"  # any table: the examples have no columns


def create_session() -> SparkSession:
    """Return a session that computes the few rows without compiling code, which would take longer."""
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.codegen.wholeStage", "false")
    builder = builder.config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    return builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()


def render(value: Any) -> str:
    """Return a result as text."""
    if value is None:
        return "NULL"
    if isinstance(value, Error):
        return "an error"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (bytes, bytearray)):
        return f"0x{value.hex()}"
    if isinstance(value, str):
        return value or "''"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list) else str(value)


def with_results(spark: SparkSession, rows: list[Difference]) -> list[Difference]:
    """Return the table with the results of its examples, by both engines."""
    lines = [line.split("\t") for line in flink_lines((ONE_ROW, row.example) for row in rows).splitlines()]
    flink = {line[2]: (json.loads(line[4]) or [Error(line[3])])[0] for line in lines}
    sparks = {call.expression: call for call in spark_calls(spark, ONE_ROW, [row.example for row in rows])}
    return [
        row._replace(
            flink=render(flink[row.example]), spark=render((sparks[row.example].results or [Error("rejected")])[0])
        )
        for row in rows
    ]


def compare(spark: SparkSession) -> list[str]:
    """Return the calls with other results of which no statement would be warned."""
    calls = flink_calls()
    by_table: dict[str, list[str]] = {}
    for call in calls:
        by_table.setdefault(call.table, []).append(call.expression)
    sparks: dict[tuple[str, str], Call] = {}
    for table, expressions in by_table.items():
        sparks |= {(table, call.expression): call for call in spark_calls(spark, table, expressions)}
    found = without_warning(silent_differences(calls, sparks))
    return [f"{f.call.table}: {f.call.expression}: row {f.row + 1}: {f.spark!r}, in Flink {f.flink!r}" for f in found]


def main() -> None:
    """Write the table, and list what it lacks."""
    if "--flink" in sys.argv:
        file = FLINK_VALUES[0]
        lines = [line.split("\t") for line in file.read_text().splitlines()]
        file.write_text(flink_lines((line[0], line[2] if len(line) > 2 else line[1]) for line in lines))
    spark = create_session()
    create_views(spark)
    rows = with_results(spark, [row for of_name in differences().values() for row in of_name])
    with TABLE.open("w", encoding="utf-8", newline="") as output:
        writer = csv.writer(output, csv.excel_tab, quoting=csv.QUOTE_NONE, lineterminator="\n", escapechar=None)
        writer.writerows([Difference._fields, *rows])
    print("\n".join(compare(spark)) or "All differences have a warning.")


if __name__ == "__main__":
    main()
