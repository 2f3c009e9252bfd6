"""Classify statements by their first words: which ones kafka_sql runs itself, and which ones go to Spark.

Every statement of a session passes through here, so the cost for Spark's own statements must be negligible: tokens are
read one at a time and only as far as needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from kafka_sql.sql.recognize import lexer
from kafka_sql.sql.recognize import statement_types as st
from kafka_sql.sql.recognize.classify_create import classify_create, classify_replace
from kafka_sql.sql.recognize.classify_insert import classify_insert, classify_with
from kafka_sql.sql.recognize.lexer import Token
from kafka_sql.sql.recognize.statement_types import Execute, Explain, StatementSet
from kafka_sql.sql.recognize.token_cursor import TokenCursor

_SPARK_MODES = ("EXTENDED", "CODEGEN", "COST", "FORMATTED")
# Flink's explain details, each with the closest mode of Spark.
_DETAILS = {
    "ESTIMATED_COST": "COST",
    "CHANGELOG_MODE": "EXTENDED",
    "JSON_EXECUTION_PLAN": "EXTENDED",
    "PLAN_ADVICE": "EXTENDED",
}


def classify_explain(sql: str, cursor: TokenCursor) -> Explain | None:
    """Classify the tokens after EXPLAIN."""
    mode, is_spark_syntax = "", True
    if cursor.take_words("PLAN", "FOR"):
        is_spark_syntax = False
    elif detail := _take_any(cursor, _DETAILS):
        mode, is_spark_syntax = _DETAILS[detail], False
        while cursor.take_symbol(","):
            if (detail := _take_any(cursor, _DETAILS)) is None:
                return None
            mode = mode or _DETAILS[detail]
    else:
        mode = _take_any(cursor, _SPARK_MODES) or ""
    first = cursor.peek()
    return Explain(mode, sql[first.start :], is_spark_syntax) if first is not None else None


def _take_any(cursor: TokenCursor, words: Iterable[str]) -> str | None:
    return next((word for word in words if cursor.take_words(word)), None)


def classify_execute(sql: str, cursor: TokenCursor) -> StatementSet | Execute | None:
    """Classify the tokens after EXECUTE; EXECUTE IMMEDIATE is Spark's."""
    if cursor.take_words("STATEMENT", "SET"):
        return parse_statement_set(sql, cursor.end, has_begin=False)
    first = cursor.peek()
    if first is None or first.upper in ("IMMEDIATE", "EXECUTE"):
        return None
    return Execute(sql[first.start :])


def classify_statement_set(sql: str, cursor: TokenCursor) -> StatementSet | None:
    """Classify the tokens after STATEMENT (without EXECUTE, as in EXPLAIN STATEMENT SET)."""
    if not cursor.take_words("SET"):
        return None
    return parse_statement_set(sql, cursor.end, has_begin=False)


def classify_begin(sql: str, cursor: TokenCursor) -> StatementSet | None:
    """Classify the tokens after BEGIN; without STATEMENT SET it is Spark's."""
    if not cursor.take_words("STATEMENT", "SET"):
        return None
    if not cursor.take_symbol(";") and cursor.peek() is not None:
        return None
    return parse_statement_set(sql, cursor.end, has_begin=True)


def parse_statement_set(sql: str, start: int, has_begin: bool) -> StatementSet | None:
    """Split a statement set from offset ``start`` up to END into its statements."""
    statements: list[str] = []
    tokens: list[Token] = []
    for token in lexer.tokenize_spark(sql, start):
        if not has_begin:
            if token.upper != "BEGIN":
                return None
            has_begin, start = True, token.end
        elif token.type == lexer.SYMBOL and token.text == ";":
            if _is_end(tokens):
                return StatementSet(tuple(statements)) if not sql[token.end :].strip("; \n\r\t") else None
            if tokens:
                statements.append(sql[start : token.start].strip())
            tokens, start = [], token.end
        else:
            tokens.append(token)
    if _is_end(tokens):
        return StatementSet(tuple(statements))
    last = sql[start:].strip() if tokens else ""
    return StatementSet((*statements, last) if last else tuple(statements), has_end=False)


def _is_end(tokens: list[Token]) -> bool:
    return len(tokens) == 1 and tokens[0].upper == "END"


def classify(sql: str) -> st.Statement | None:
    """Return the statement if kafka_sql may have to run it, or None if it is always Spark's.

    Tables are not looked up: DROP, DESCRIBE and INSERT statements for Spark's tables are returned too.
    """
    cursor = TokenCursor(lexer.tokenize_flink(sql))
    first = cursor.take()
    if first is None:
        return None
    if first.upper in _MAY_BE_FLINKS and (verb := _flink_verb(sql, first, cursor)) is not None:
        return st.FlinkStatement(verb)
    classifier = _CLASSIFIERS.get(first.upper)
    return classifier(sql, cursor) if classifier is not None else None


def _flink_verb(sql: str, first: lexer.Token, cursor: TokenCursor) -> str | None:
    """Return the first words of a statement that only Flink has: Spark would report a syntax error at the second."""
    for words, verb in _FLINK_ONLY.items():
        if first.upper == words[0] and cursor.starts_with(*words[1:]):
            return verb
    is_catalog = first.upper == "CREATE" and cursor.starts_with("CATALOG")
    has_options = is_catalog and any(token.upper == "WITH" for token in lexer.tokenize_flink(sql))
    return "CREATE CATALOG" if has_options else None  # without WITH, it is a statement of Unity Catalog


def is_query(sql: str) -> bool:
    """Return whether the statement is a query, judging by its first word."""
    for token in lexer.tokenize_flink(sql):
        if token.text != "(":
            return token.upper in ("SELECT", "WITH", "VALUES", "FROM", "TABLE")
    return False


def _classify_alter(_: str, cursor: TokenCursor) -> st.Statement | None:
    if cursor.take_words("VIEW"):
        name = cursor.take_name()
        return st.UnsupportedStatement("ALTER VIEW", name) if name else None
    if not cursor.take_words("TABLE"):
        return None
    if_exists = cursor.take_words("IF", "EXISTS")
    name = cursor.take_name()
    return st.AlterTable(name, if_exists, cursor.end, _is_flink_syntax(cursor)) if name else None


def _is_flink_syntax(cursor: TokenCursor) -> bool:
    """Return whether the clause after the table name exists in Flink's ALTER TABLE only."""
    first, second = cursor.peek(), cursor.peek(1)
    if first is None or second is None:
        return False
    if first.upper in ("MODIFY", "RESET"):
        return True
    is_list = second.text == "(" or (second.type == lexer.STRING and first.upper == "SET")
    return first.upper in ("SET", "ADD", "DROP") and (is_list or second.upper == "WATERMARK")


def _classify_drop(_: str, cursor: TokenCursor) -> st.Statement | None:
    if cursor.take_words("DATABASE") or cursor.take_words("SCHEMA"):
        cursor.take_words("IF", "EXISTS")
        name = cursor.take_name()
        return st.DropDatabase(name) if name and cursor.take_words("CASCADE") and cursor.is_at_end() else None
    temporary = cursor.take_words("TEMPORARY")
    view = cursor.take_words("VIEW")
    if not view and not cursor.take_words("TABLE"):
        return None
    if_exists = cursor.take_words("IF", "EXISTS")
    name = cursor.take_name()
    if view and temporary:
        return st.DropTemporaryView(name, if_exists) if name and cursor.is_at_end() else None
    if view:
        return st.UnsupportedStatement("DROP VIEW", name) if name else None
    cursor.take_words("PURGE")  # Spark's option; a Kafka table has nothing to purge
    return st.DropTable(name, if_exists, temporary) if name and cursor.is_at_end() else None


def _classify_describe(_: str, cursor: TokenCursor) -> st.Statement | None:
    cursor.take_words("TABLE")
    following = cursor.peek(1)
    extended = False
    if following is not None and following.type in (lexer.WORD, lexer.QUOTED):
        extended = cursor.take_words("EXTENDED") or cursor.take_words("FORMATTED")
    # DESCRIBE FUNCTION f and similar statements have more tokens, so is_at_end() returns False
    name = cursor.take_name()
    return st.Describe(name, extended) if name and cursor.is_at_end() else None


def _classify_show(_: str, cursor: TokenCursor) -> st.Statement | None:
    if cursor.take_words("VIEWS"):
        return st.ShowViews()
    if cursor.take_words("CREATE", "VIEW"):
        name = cursor.take_name()
        return st.ShowCreateView(name) if name and cursor.is_at_end() else None
    if cursor.take_words("CURRENT"):
        is_catalog = cursor.take_words("CATALOG")
        is_known = is_catalog or cursor.take_words("DATABASE")
        return st.ShowCurrent(is_catalog) if is_known and cursor.is_at_end() else None
    if cursor.take_words("CREATE", "TABLE"):
        name = cursor.take_name()
        return st.ShowCreate(name) if name and cursor.is_at_end() else None
    if cursor.take_words("JOBS"):
        extended = cursor.take_words("EXTENDED")
        return st.ShowJobs(extended) if cursor.is_at_end() else None
    if cursor.take_words("COLUMNS"):
        name = cursor.take_name() if cursor.take_words("FROM") or cursor.take_words("IN") else ()
        like = _take_like(cursor)
        return st.ShowColumns(name, *like) if name and like is not None else None
    full = cursor.take_words("FULL", "TABLES")
    if not full and not cursor.take_words("TABLES"):
        return None
    database = None
    if cursor.take_words("FROM") or cursor.take_words("IN"):
        database = cursor.take_name()
        if not database:
            return None
    like = _take_like(cursor)
    return st.ShowTables(database, *like, full) if like is not None else None


def _take_like(cursor: TokenCursor) -> tuple[str | None, bool] | None:
    """Take ``[[NOT] LIKE 'pattern']`` at the end of the statement; return None if something else follows."""
    negated = cursor.take_words("NOT")
    like = cursor.take_string() if cursor.take_words("LIKE") else None
    return (like, negated) if cursor.is_at_end() and not (negated and like is None) else None


def _classify_set(_: str, cursor: TokenCursor) -> st.Statement | None:
    key = cursor.take_string()
    value = cursor.take_string() if key is not None and cursor.take_symbol("=") else None
    return st.SetOption(key, value) if key is not None and value is not None and cursor.is_at_end() else None


def _classify_reset(_: str, cursor: TokenCursor) -> st.Statement | None:
    key = cursor.take_string()
    return st.ResetOption(key) if cursor.is_at_end() else None


def _classify_use(_: str, cursor: TokenCursor) -> st.Statement | None:
    following = cursor.peek(1)
    if following is not None and following.type in (lexer.WORD, lexer.QUOTED) and cursor.take_words("CATALOG"):
        name = cursor.take_name()
        return st.UseCatalog(name[0]) if len(name) == 1 and cursor.is_at_end() else None
    name = cursor.take_name()
    is_flink_name = name[:1] != () and name[0].lower() in ("default_catalog", "default_database")
    return st.UseDatabase(name) if is_flink_name and cursor.is_at_end() else None


def _classify_stop(_: str, cursor: TokenCursor) -> st.Statement | None:
    id = cursor.take_string() if cursor.take_words("JOB") else None
    savepoint = cursor.take_words("WITH", "SAVEPOINT")
    drain = cursor.take_words("WITH", "DRAIN")
    return st.StopJob(id, savepoint, drain) if id is not None and cursor.is_at_end() else None


def _unsupported(verb: str, *words: str) -> Callable[[str, TokenCursor], st.UnsupportedStatement | None]:
    """Return a classifier for statements that start with these words, followed by a table name."""

    def classify_unsupported(_: str, cursor: TokenCursor) -> st.UnsupportedStatement | None:
        name = cursor.take_name() if cursor.take_words(*words) else ()
        return st.UnsupportedStatement(" ".join((verb, *words)), name) if name else None

    return classify_unsupported


_FLINK_ONLY: Final = {
    ("COMPILE", "PLAN"): "COMPILE PLAN",
    ("COMPILE", "AND", "EXECUTE", "PLAN"): "COMPILE PLAN",
    ("EXECUTE", "PLAN"): "EXECUTE PLAN",
    ("CREATE", "MATERIALIZED", "TABLE"): "CREATE MATERIALIZED TABLE",
    ("CREATE", "OR", "ALTER", "MATERIALIZED", "TABLE"): "CREATE MATERIALIZED TABLE",
    ("ALTER", "MATERIALIZED", "TABLE"): "ALTER MATERIALIZED TABLE",
    ("DROP", "MATERIALIZED", "TABLE"): "DROP MATERIALIZED TABLE",
    ("CREATE", "MODEL"): "CREATE MODEL",
    ("CREATE", "TEMPORARY", "MODEL"): "CREATE MODEL",
}
_MAY_BE_FLINKS: Final = frozenset(words[0] for words in _FLINK_ONLY)
# its keys and those of _FLINK_ONLY are the FIRST_WORDS
_CLASSIFIERS: Final[dict[str, Callable[[str, TokenCursor], st.Statement | None]]] = {
    "CREATE": classify_create,
    "DROP": _classify_drop,
    "DESCRIBE": _classify_describe,
    "DESC": _classify_describe,
    "SHOW": _classify_show,
    "STOP": _classify_stop,
    "USE": _classify_use,
    "SET": _classify_set,
    "RESET": _classify_reset,
    "INSERT": classify_insert,
    "REPLACE": classify_replace,
    "ALTER": _classify_alter,
    "WITH": classify_with,
    "EXPLAIN": classify_explain,
    "EXECUTE": classify_execute,
    "BEGIN": classify_begin,
    "STATEMENT": classify_statement_set,
    "UPDATE": _unsupported("UPDATE"),
    "DELETE": _unsupported("DELETE", "FROM"),
    "MERGE": _unsupported("MERGE", "INTO"),
    "TRUNCATE": _unsupported("TRUNCATE", "TABLE"),
    "ANALYZE": _unsupported("ANALYZE", "TABLE"),
    "COMMENT": _unsupported("COMMENT", "ON", "TABLE"),
}
