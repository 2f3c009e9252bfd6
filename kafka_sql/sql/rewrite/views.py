"""Look up the query texts of views in Spark's catalog. A streaming query reads the tables of its views as streams."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pyspark.errors import AnalysisException

from kafka_sql.catalog.sql_literals import like_pattern, qualified_name, quote, string_literal
from kafka_sql.catalog.tables import Tables
from kafka_sql.sql.recognize.names import current_database, strip_catalog

_VIEW_TEXT = re.compile(
    r"^View Text: (.*?)\nView (?:Original Text|Schema Mode|Catalog and Namespace): ", re.DOTALL | re.MULTILINE
)
_VIEW_NAMESPACE = re.compile(r"^View Catalog and Namespace: spark_catalog\.(.*)$", re.MULTILINE)


@dataclass(frozen=True)
class ViewDefinition:
    """The query text of a view."""

    text: str  # the query as written
    database: str | None  # the database of unqualified table names in the text; None if it is the current one


def find_view(tables: Tables, name: tuple[str, ...]) -> ViewDefinition | None:
    """Return the definition of a view in Spark's catalog.

    Returns None if the name is not a view, or is a view created from a DataFrame, which has no text.
    """
    information = _show_table_extended(tables, strip_catalog(name))
    if information is None:
        return None
    text = _VIEW_TEXT.search(information)
    if text is None:
        return None
    namespace = _VIEW_NAMESPACE.search(information)
    database = namespace[1].strip("`") if namespace else None
    return ViewDefinition(text[1], None if database == current_database(tables) else database)


def view_columns(tables: Tables, name: tuple[str, ...]) -> list[str]:
    """Return the column names of a view."""
    return tables.spark_sql(f"SELECT * FROM {qualified_name(strip_catalog(name))} LIMIT 0").columns


def _show_table_extended(tables: Tables, name: tuple[str, ...]) -> str | None:
    """Return what SHOW TABLE EXTENDED prints for a table or view; a temporary view takes precedence.

    Returns None if there is no such database, as for files: parquet.`/path`.
    """
    if len(name) > 2:
        return None
    database = f"IN {quote(name[0])} " if len(name) > 1 else ""
    statement = f"SHOW TABLE EXTENDED {database}LIKE {string_literal(like_pattern(name[-1]))}"
    try:
        rows = tables.spark_sql(statement).collect()
    except AnalysisException as e:
        if e.getCondition() != "SCHEMA_NOT_FOUND":
            raise
        return None
    matches = [r for r in rows if r.tableName.lower() == name[-1].lower() and (len(name) == 1 or not r.isTemporary)]
    matches.sort(key=lambda r: not r.isTemporary)
    return matches[0].information if matches else None
