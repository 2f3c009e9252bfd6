"""``kafka_sql.check(spark, "orders")``: check whether tables can be read and written."""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import SparkSession

from kafka_sql.catalog.data_source import arrow_schema
from kafka_sql.checks.finding import Finding
from kafka_sql.checks.table import check_table
from kafka_sql.errors import StatementError, TableNotFoundError
from kafka_sql.sql.session.enable import session_tables
from kafka_sql.suggestions import did_you_mean


class Report(tuple[Finding, ...]):
    """The findings for all tables; prints one line per finding."""

    __slots__ = ()

    @property
    def ok(self) -> bool:
        """Whether no check failed."""
        return all(finding.ok is not False for finding in self)

    def __repr__(self) -> str:
        return "\n".join(map(str, self))


def check(spark: SparkSession, *tables: str) -> Report:
    """Check whether tables can be read and written: brokers, permissions, topics, schemas, exactly-once, clock.

    The checks run on the driver. They read and write no records and create nothing.

    Args:
        tables: names as in SQL (``orders``, ``shop.orders``). Default: all Kafka tables of the session.

    Raises:
        TableNotFoundError: the session has no such Kafka table.
        StatementError: the session is not enabled.
    """
    return Report(iter_findings(spark, *tables))


def iter_findings(spark: SparkSession, *tables: str) -> Iterator[Finding]:
    """Yield the findings of ``check`` one by one."""
    all_tables = session_tables(spark)
    if all_tables is None:
        raise StatementError("This session is not enabled for Kafka tables. Call kafka_sql.enable(spark) first.")
    all_tables.refresh()
    entries = [all_tables.find(tuple(name.split("."))) for name in tables] if tables else list(all_tables)
    for name, entry in zip(tables, entries, strict=False):
        if entry is None:
            names = [table.definition.name for table in all_tables]
            raise TableNotFoundError(
                f"Kafka table '{name}' not found in this session.{did_you_mean(name, names)}", table=name
            )
    for entry in entries:
        assert entry is not None
        if entry.definition.is_builtin:
            continue
        yield from check_table(entry.definition, arrow_schema(entry.data_source.spark_schema))
