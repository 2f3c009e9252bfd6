"""Explain the syntax error of a text that has several statements."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import ParseException

from kafka_sql.errors import SqlSyntaxError
from kafka_sql.sql.errors.conversion import combine
from kafka_sql.sql.recognize.splitter import statements


@contextmanager
def explain_several_statements(text: str) -> Iterator[None]:
    """Replace the syntax error of a text that has several statements, which only marks where the second one starts.

    Raises:
        SqlSyntaxError: the text has several statements; also an instance of ParseException if Spark raised that.
    """
    try:
        yield
    except (SqlSyntaxError, ParseException) as e:
        count = sum(1 for _ in statements(text))
        if count < 2:
            raise
        error = SqlSyntaxError(
            f"spark.sql() runs one statement, but this text has {count}. Run them one by one, or save them to a file "
            "and run it with kafka-sql -f FILE."
        )
        raise (combine(error, e, e) if isinstance(e, ParseException) else error) from None
