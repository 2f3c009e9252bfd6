"""Find the queries of Spark's CREATE TABLE ... AS and CREATE VIEW, and rewrite the Kafka tables in views."""

from __future__ import annotations

from dataclasses import dataclass

from kafka_sql.catalog.tables import Tables
from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.sql.recognize import lexer
from kafka_sql.sql.recognize.query_text import QueryText
from kafka_sql.sql.recognize.table_references import find_table_references
from kafka_sql.sql.recognize.token_cursor import TokenCursor
from kafka_sql.sql.rewrite.hints import has_options_hint
from kafka_sql.sql.rewrite.query_rewriter import has_flink_syntax, needs_rewrite, rewrite_view_query
from kafka_sql.sql.rewrite.temporal_joins import replace_proctime

_CREATE_WORDS = ("CREATE", "OR", "REPLACE", "GLOBAL", "TEMPORARY", "TEMP")
_FIRST_QUERY_WORDS = ("SELECT", "WITH", "VALUES", "FROM", "TABLE", "(")


@dataclass(frozen=True)
class Ctas:
    """Spark's ``CREATE [OR REPLACE] TABLE [IF NOT EXISTS] name ... AS query``."""

    name: tuple[str, ...]  # the parts of the table name as written; empty for an expression, such as IDENTIFIER(...)
    if_not_exists: bool  # IF NOT EXISTS
    replaces: bool  # REPLACE TABLE or CREATE OR REPLACE TABLE
    query_start: int  # the offset of the query in the statement


def find_ctas(text: str) -> Ctas | None:
    """Return the parts of Spark's CREATE or REPLACE TABLE ... AS; None for another statement."""
    start = _query_start(text, "TABLE")
    if start is None:
        return None
    cursor = TokenCursor(lexer.tokenize_spark(text))
    replaces = cursor.take_words("CREATE", "OR", "REPLACE") or cursor.take_words("REPLACE")
    cursor.take_words("CREATE")
    cursor.take_words("TABLE")
    if_not_exists = cursor.take_words("IF", "NOT", "EXISTS")
    name = cursor.take_name()
    is_expression = cursor.take_symbol("(") and name[-1:] and name[-1].upper() == "IDENTIFIER"
    return Ctas(() if is_expression else name, if_not_exists, replaces, start)


def rewrite_create_view(tables: Tables, text: str) -> str:
    """Rewrite the query of Spark's CREATE VIEW; return other statements unchanged.

    Raises:
        UnsupportedSqlError: the query has a temporal join, or STREAM with a hint, which a view cannot store.
        KafkaSqlError: an invalid hint.
    """
    start = _query_start(text, "VIEW") if needs_rewrite(tables, text, streaming=False) else None
    if start is None:
        return text
    query = QueryText(text[start:])
    has_hint = has_options_hint(query)
    references = find_table_references(query)
    temporal = [".".join(reference.name) for reference in references if reference.as_of is not None]
    if temporal:
        raise UnsupportedSqlError(
            f"CREATE VIEW: the join with '{temporal[0]}' FOR SYSTEM_TIME AS OF a column cannot be stored in a view. "
            "Write the join in each query.",
            table=temporal[0],
        )
    has_name_unknown_to_spark = any(
        reference.name[0].lower() == "default_catalog" or (tables.are_private and len(reference.name) > 1)
        for reference in references
    )
    is_known_to_spark = not (has_hint or has_name_unknown_to_spark or has_flink_syntax(query.text))
    if is_known_to_spark and not replace_proctime(query):
        return text
    streamed = [".".join(reference.name) for reference in references if reference.is_stream]
    if has_hint and streamed:
        raise UnsupportedSqlError(
            f"CREATE VIEW: STREAM {streamed[0]} with an OPTIONS hint cannot be stored in a view. Remove STREAM: in "
            "streaming mode, the table is a stream in every query of the view.",
            table=streamed[0],
        )
    rewrite = rewrite_view_query(tables, query)
    return text[:start] + rewrite.text if rewrite.kafka_tables and not rewrite.uses_stream_keyword else text


def _query_start(text: str, object_type: str) -> int | None:
    """Return the offset of the query in ``CREATE [OR REPLACE] ... object_type ... [AS] query``, or None without one."""
    depth, is_after_type, previous = 0, False, ""
    for token in lexer.tokenize_spark(text):
        is_query = (token.upper or token.text) in _FIRST_QUERY_WORDS if previous == "AS" else token.upper == "SELECT"
        if is_after_type and depth == 0 and is_query and previous not in (".", object_type, "EXISTS"):
            return token.start
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        if not is_after_type and token.upper not in (object_type, *_CREATE_WORDS):
            return None
        is_after_type |= token.upper == object_type
        previous = token.upper or token.text
    return None
