"""Rewrite Kafka tables in the queries of Spark's CREATE TABLE ... AS and CREATE VIEW."""

from __future__ import annotations

from kafka_sql.catalog.tables import Tables
from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.sql.recognize import lexer
from kafka_sql.sql.rewrite.hints import has_options_hint
from kafka_sql.sql.rewrite.query import may_use_tables, rewrite_query
from kafka_sql.sql.rewrite.table_references import find_table_references

_CREATE_WORDS = ("CREATE", "OR", "REPLACE", "GLOBAL", "TEMPORARY", "TEMP")
_QUERIES = ("SELECT", "WITH", "VALUES", "FROM", "TABLE", "(")


def rewrite_ctas(tables: Tables, text: str) -> str:
    """Rewrite the query of Spark's CREATE or REPLACE TABLE ... AS; return other statements unchanged.

    Raises:
        KafkaSqlError: an invalid hint.
    """
    start = _query_start(text, "TABLE") if tables and may_use_tables(text) else None
    if start is None:
        return text
    rewrite = rewrite_query(tables, text[start:], streaming=False)
    return text[:start] + rewrite.text if rewrite.kafka_tables and not rewrite.uses_stream_keyword else text


def rewrite_create_view(tables: Tables, text: str) -> str:
    """Rewrite the query of Spark's CREATE VIEW; return other statements unchanged.

    Raises:
        UnsupportedSqlError: the query has an OPTIONS hint on a Kafka table, which a view cannot store.
    """
    start = _query_start(text, "VIEW") if tables and may_use_tables(text) else None
    if start is None:
        return text
    query = text[start:]
    has_hint = has_options_hint(query)
    if not has_hint and not any(
        reference.name[0].lower() == "default_catalog" for reference in find_table_references(query)
    ):
        return text
    rewrite = rewrite_query(tables, query, streaming=False)
    if has_hint and rewrite.kafka_tables:
        raise UnsupportedSqlError(
            f"CREATE VIEW: the OPTIONS hint on table '{rewrite.kafka_tables[0].definition.name}' cannot be stored in "
            "a view. Create a second table with CREATE TABLE ... LIKE and use that, or use the hint in each query.",
            table=rewrite.kafka_tables[0].definition.name,
        )
    return text[:start] + rewrite.text if rewrite.kafka_tables and not rewrite.uses_stream_keyword else text


def _query_start(text: str, created: str) -> int | None:
    """Return where the query of ``CREATE [OR REPLACE] ... created ... AS query`` starts; None for other statements."""
    depth, is_created, previous = 0, False, ""
    for token in lexer.tokenize_spark(text):
        word = token.upper or token.text
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        if not is_created and token.upper not in (created, *_CREATE_WORDS):
            return None
        is_created |= token.upper == created
        if is_created and previous == "AS" and word in _QUERIES and depth == (token.text == "("):
            return token.start
        previous = token.upper
    return None
