"""Write in Spark's syntax what only Flink's parser accepts."""

from __future__ import annotations

import re
from typing import Final

from kafka_sql.catalog.sql_literals import quote
from kafka_sql.sql.recognize import lexer
from kafka_sql.sql.recognize.query_text import QueryText
from kafka_sql.sql.rewrite.edits import Edit

MAY_HAVE_FLINK_SYNTAX: Final = re.compile(r"\$|\bVARCHAR\b", re.IGNORECASE)


def rewrite_flink_syntax(query: QueryText) -> list[Edit]:
    """Return the edits that write Flink's syntax as Spark's."""
    if not MAY_HAVE_FLINK_SYNTAX.search(query.text):
        return []
    return [*_quote_names(query), *_name_strings(query)]


def _quote_names(query: QueryText) -> list[Edit]:
    """Quote names with a dollar sign, such as those in the SQL that Flink's Table API serializes."""
    names = (token for token in query.tokens if token.type == lexer.WORD and "$" in token.text)
    return [Edit(token.start, token.end, quote(token.text)) for token in names]


def _name_strings(query: QueryText) -> list[Edit]:
    """Write VARCHAR without a length in a CAST as STRING, which it is in Flink."""
    casts = (i for i in range(len(query.tokens)) if query.word(i) in ("CAST", "TRY_CAST") and query.word(i + 1) == "(")
    ends = (query.closing(i + 1) for i in casts)
    types = (range(end - 1, end) for end in ends if (query.word(end - 2), query.word(end - 1)) == ("AS", "VARCHAR"))
    return [Edit(*query.span(type), "STRING") for type in types]
