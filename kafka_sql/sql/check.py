"""``kafka_sql.check(spark, "orders")``: what would keep tables from being read and written."""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import SparkSession

from kafka_sql.catalog.data_source import arrow_schema
from kafka_sql.checks.finding import Finding
from kafka_sql.checks.table import check_table
from kafka_sql.errors import StatementError, TableNotFoundError, did_you_mean
from kafka_sql.sql.session import session_tables


class Report(tuple[Finding, ...]):
    """The findings of all tables, which print themselves as lines."""

    __slots__ = ()

    @property
    def ok(self) -> bool:
        """Whether nothing failed."""
        return all(finding.ok is not False for finding in self)

    def __repr__(self) -> str:
        return "\n".join(map(str, self))


def check(spark: SparkSession, *tables: str) -> Report:
    """Look whether tables can be read and written: brokers, rights, topics, schemas, exactly-once, clock.

    The driver asks; no record is read or written, and nothing is made.

    Args:
        tables: names as in SQL (``orders``, ``shop.orders``); all Kafka tables of the session where none is given.

    Raises:
        TableNotFoundError: there is no such Kafka table.
        StatementError: the session has not been enabled.
    """
    return Report(iter_findings(spark, *tables))


def iter_findings(spark: SparkSession, *tables: str) -> Iterator[Finding]:
    """The same, one after the other, as they are found."""
    known = session_tables(spark)
    if known is None:
        raise StatementError("The session does not know Kafka tables: call kafka_sql.enable(spark) first.")
    known.refresh()
    entries = [known.find(tuple(name.split("."))) for name in tables] if tables else list(known)
    for name, entry in zip(tables, entries, strict=False):
        if entry is None:
            names = [other.definition.name for other in known]
            raise TableNotFoundError(f"There is no Kafka table '{name}' in this session.{did_you_mean(name, names)}")
    for entry in entries:
        assert entry is not None
        yield from check_table(entry.definition, arrow_schema(entry.data_source.spark_schema))
