"""Write rows to tables of the connectors print and blackhole, which are for trying things out."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TextIO

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from kafka_sql.catalog.catalog_table import CatalogTable
from kafka_sql.options import Options
from kafka_sql.options.builtin_connectors import CONNECTORS, IDENTIFIER, PRINT, STANDARD_ERROR
from kafka_sql.sql.jobs.targets.batch_functions import with_short_errors
from kafka_sql.table.changelog import INSERT, KINDS, ROW_KIND_NAME


def _print_line(line: str, file: TextIO) -> None:
    print(line, file=file, flush=True)


line_printer: Callable[[str, TextIO], None] = _print_line  # kafka-sql sets another one, which erases its progress line


def write_batch(entry: CatalogTable, rows: DataFrame) -> None:
    """Print the rows on the driver, or compute and discard them."""
    if entry.table.options["connector"] == PRINT:
        print_rows(entry, _read_changes(rows))
    else:
        rows.write.format("noop").mode("overwrite").save()


def start_stream(writer: DataStreamWriter, entry: CatalogTable) -> StreamingQuery:
    """Start a continuous query that prints its rows on the driver, or discards them; its output mode is set."""
    if entry.table.options["connector"] != PRINT:
        return writer.format("noop").start()

    def write(rows: DataFrame, _: int) -> None:
        print_rows(entry, _read_changes(rows))

    return writer.foreachBatch(with_short_errors(write)).start()


def print_rows(entry: CatalogTable, rows: Iterable[tuple[str, Sequence[Any]]]) -> None:
    """Print one line per row kind and row, as Flink does: ``identifier> +I[1, a]``."""
    options = Options(CONNECTORS[PRINT], entry.table.options)
    identifier = options.get(IDENTIFIER)
    prefix = f"{identifier}> " if identifier else ""
    file = sys.stderr if options[STANDARD_ERROR] else sys.stdout
    for kind, row in rows:
        line_printer(f"{prefix}{kind}[{', '.join(map(_text, row))}]", file)


def _read_changes(rows: DataFrame) -> Iterator[tuple[str, Sequence[Any]]]:
    """Yield the rows with their row kinds; those of a query without row kinds are inserts."""
    has_row_kind = rows.columns[-1] == ROW_KIND_NAME
    for row in rows.toLocalIterator():
        yield (row[-1], row[:-1]) if has_row_kind else (KINDS[INSERT], row)


def _text(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)
