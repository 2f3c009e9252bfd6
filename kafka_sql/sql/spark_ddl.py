"""Spark's own CREATE TABLE ... AS and CREATE VIEW, whose queries name Kafka tables as Spark does not know them."""

from __future__ import annotations

from kafka_sql.catalog.tables import Tables
from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.sql.recognize import lexer
from kafka_sql.sql.rewrite.hints import has_options_hint
from kafka_sql.sql.rewrite.query import may_use_tables, rewrite_query
from kafka_sql.sql.rewrite.table_references import find_table_references

_QUERIES = ("SELECT", "WITH", "VALUES", "FROM", "TABLE", "(")


def rewrite_ctas(tables: Tables, text: str) -> str:
    """A CREATE or REPLACE TABLE ... AS of Spark's with the Kafka tables of its query as Spark reads them.

    All other statements stay as they are.

    Raises:
        KafkaSqlError: a hint that is wrong.
    """
    start = _query(text, "TABLE") if tables and may_use_tables(text) else None
    if start is None:
        return text
    read = rewrite_query(tables, text[start:], streaming=False)
    return text[:start] + read.text if read.kafka_tables and not read.uses_stream_keyword else text


def rewrite_create_view(tables: Tables, text: str) -> str:
    """A CREATE VIEW of Spark's with the Kafka tables of its query as Spark knows them.

    Raises:
        UnsupportedSqlError: an OPTIONS hint behind a Kafka table: a view cannot keep it.
    """
    start = _query(text, "VIEW") if tables and may_use_tables(text) else None
    if start is None:
        return text
    query = text[start:]
    hinted = has_options_hint(query)
    if not hinted and not any(
        reference.name[0].lower() == "default_catalog" for reference in find_table_references(query)
    ):
        return text
    read = rewrite_query(tables, query, streaming=False)
    if hinted and read.kafka_tables:
        raise UnsupportedSqlError(
            f"CREATE VIEW: the OPTIONS hint on table '{read.kafka_tables[0].definition.name}' cannot be kept in a "
            "view. Declare a second table with CREATE TABLE ... LIKE and name that, or write the hint in the query "
            "itself."
        )
    return text[:start] + read.text if read.kafka_tables and not read.uses_stream_keyword else text


def _query(text: str, what: str) -> int | None:
    """Where the query of ``CREATE ... what ... AS query`` starts, or of REPLACE; None of other statements."""
    depth, created = 0, False
    last: lexer.Token | None = None
    for lexeme in lexer.tokenize_spark(text):
        depth += {"(": 1, ")": -1}.get(lexeme.text, 0)
        behind = last.upper if last is not None else ""
        if not created and lexeme.upper not in (what, "CREATE", "OR", "REPLACE", "GLOBAL", "TEMPORARY", "TEMP"):
            return None
        created |= lexeme.upper == what
        if created and behind == "AS" and (lexeme.upper or lexeme.text) in _QUERIES and depth == (lexeme.text == "("):
            return lexeme.start
        last = lexeme
    return None
