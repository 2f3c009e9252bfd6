"""The user's own views in the streaming mode: their text is read as a stream, as Flink reads it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from kafka_sql.catalog.sql_literals import path, pattern, quote, string
from kafka_sql.catalog.tables import Tables
from kafka_sql.sql.recognize.names import strip_catalog

if TYPE_CHECKING:
    from kafka_sql.sql.rewrite.query import QueryRewrite

_TEXT = re.compile(r"^View Text: (.*?)\nView (?:Original Text|Schema Mode|Catalog and Namespace): ", re.DOTALL | re.M)
_NAMESPACE = re.compile(r"^View Catalog and Namespace: spark_catalog\.(.*)$", re.MULTILINE)


def rewrite_view_as_stream(
    tables: Tables, name: tuple[str, ...], read: Callable[[str, str | None], QueryRewrite]
) -> QueryRewrite | None:
    """A view as a query of streams; None where the name is no view, or the view reads no Kafka table.

    A view that was made of a DataFrame has no text, and stays as it is.

    Args:
        read: a query with its tables as streams, and the database of names without one.
    """
    information = _information(tables, strip_catalog(name))
    text = _TEXT.search(information) if information else None
    if information is None or text is None:
        return None
    namespace = _NAMESPACE.search(information)
    database = namespace[1].strip("`") if namespace else None
    view = read(text[1], None if database == _current(tables) else database)
    if not view.kafka_tables:
        return None
    columns = tables.plain(f"SELECT * FROM {path(strip_catalog(name))} LIMIT 0").columns
    view.text = f"SELECT * FROM ({view.text}) AS {quote(name[-1])}({', '.join(map(quote, columns))})"
    return view


def _current(tables: Tables) -> str:
    return str(tables.plain("SELECT current_database()").collect()[0][0])


def _information(tables: Tables, name: tuple[str, ...]) -> str | None:
    """What Spark's catalog says of a name of one part or two; a temporary view comes first."""
    if len(name) > 2:
        return None
    database = f"IN {quote(name[0])} " if len(name) > 1 else ""
    rows = tables.plain(f"SHOW TABLE EXTENDED {database}LIKE {string(pattern(name[-1]))}").collect()
    found = [r for r in rows if r.tableName.lower() == name[-1].lower() and (len(name) == 1 or not r.isTemporary)]
    found.sort(key=lambda r: not r.isTemporary)
    return found[0].information if found else None
