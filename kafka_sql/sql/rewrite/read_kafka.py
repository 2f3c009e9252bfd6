"""Parse the calls of ``read_kafka(name => value, ...)``, and create the temporary tables that they read.

The arguments have the names of Databricks' function and of WITH; docs/read-kafka.md lists them.
"""

from __future__ import annotations

import itertools
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from kafka_sql.catalog.tables import Tables
from kafka_sql.errors import (
    ConflictingOptionsError,
    InvalidOptionError,
    SqlSyntaxError,
    UnknownOptionError,
    UnsupportedSqlError,
)
from kafka_sql.options import connector as opt
from kafka_sql.sql.declarations.added_columns import add_inferred_columns
from kafka_sql.sql.declarations.create import to_table
from kafka_sql.sql.grammar.parser import parse_declaration
from kafka_sql.sql.grammar.statement_nodes import Declaration
from kafka_sql.sql.recognize import lexer
from kafka_sql.sql.recognize.classify import classify
from kafka_sql.sql.recognize.query_text import QueryText
from kafka_sql.sql.recognize.statement_types import CreateView
from kafka_sql.sql.recognize.table_references import TableReference
from kafka_sql.sql.recognize.token_cursor import TokenCursor
from kafka_sql.suggestions import did_you_mean

FUNCTION: Final = "read_kafka"

_INCLUDE_HEADERS: Final = "includeHeaders"  # an argument that is not an option
_STARTING_OFFSETS: Final = "startingOffsets"
_ENDING_OFFSETS: Final = "endingOffsets"
_KAFKA: Final = "kafka."
# arguments of Databricks in lower case, because these are case-insensitive -> options
_OPTIONS: Final = {
    "bootstrapservers": f"{opt.PROPERTIES_PREFIX}bootstrap.servers",
    "subscribe": opt.TOPIC.key,
    "subscribepattern": opt.TOPIC_PATTERN.key,
    "failondataloss": opt.FAIL_ON_DATA_LOSS.key,
    "maxoffsetspertrigger": opt.MAX_OFFSETS.key,
    "minoffsetspertrigger": opt.MIN_OFFSETS.key,
    "maxtriggerdelay": opt.MAX_TRIGGER_DELAY.key,
}
_DATABRICKS_NAMES: Final = (
    *("bootstrapServers", "subscribe", "subscribePattern", _STARTING_OFFSETS, _ENDING_OFFSETS, _INCLUDE_HEADERS),
    *("failOnDataLoss", "maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay"),
)
_OPTION_KEYS: Final = frozenset(  # those without a dot
    key for option in (*opt.KAFKA_OPTIONS, *opt.UPSERT_OPTIONS) for key in option.keys if "." not in key
)
_STARTUP_MODES: Final = {"earliest": opt.EARLIEST, "latest": opt.LATEST}


@dataclass(frozen=True)
class Call:
    """A call of the function."""

    options: Mapping[str, str] = field(repr=False)  # the options of a table with the same content. May contain secrets.
    reference: TableReference  # the position of the call
    has_headers: bool  # whether the table is to have a column with the headers


def may_have_calls(text: str) -> bool:
    """Return whether a statement may have calls."""
    return FUNCTION in text.lower()


def find_calls(query: QueryText, relations: Sequence[TableReference], streaming: bool) -> list[Call]:
    """Return the calls in a statement, in text order.

    Raises:
        SqlSyntaxError, UnsupportedSqlError: the arguments are not names with literals.
        OptionError: an argument has an invalid value, or two arguments set the same option.
    """
    if not may_have_calls(query.text):
        return []
    references = [r for r in relations if r.parenthesis and r.name[0].lower() == FUNCTION]
    _check_positions(query, {reference.parenthesis for reference in references})
    return [_parse_call(query, reference, reference.is_stream or streaming) for reference in references]


def _check_positions(query: QueryText, in_from: Container[int]) -> None:
    """Reject calls outside FROM."""
    for index, name in enumerate(query.tokens):
        is_call = name.name.lower() == FUNCTION and query.word(index + 1) == "(" and query.word(index + 3) == "=>"
        if is_call and index + 1 not in in_from and query.word(index - 1) != ".":
            raise UnsupportedSqlError(
                f"{FUNCTION} in line {query.text.count(chr(10), 0, name.start) + 1}: it is only supported in FROM and "
                f"JOIN: FROM {FUNCTION}(...) or FROM STREAM {FUNCTION}(...)."
            )


def _parse_call(query: QueryText, reference: TableReference, reads_stream: bool) -> Call:
    cursor = TokenCursor(query.tokens[i] for i in range(reference.parenthesis, len(query.tokens)))
    arguments: dict[str, str] = {}
    cursor.take_symbol("(")
    while not cursor.take_symbol(")"):
        if arguments and not cursor.take_symbol(","):
            raise _syntax_error(query.text, cursor, "',' or ')' after an argument")
        name = cursor.take_identifier()
        if name is None or not cursor.take_symbol("=>"):
            raise _syntax_error(
                query.text, cursor, "an argument such as topic => 'orders', with backticks if it has a dot"
            )
        if name in arguments:
            raise ConflictingOptionsError(f"{FUNCTION}: the argument '{name}' is set twice. Remove one.", option=name)
        arguments[name] = _take_literal(cursor, name)
    headers = [arguments.pop(name) for name in list(arguments) if name.lower() == _INCLUDE_HEADERS.lower()]
    if any(value.lower() not in ("true", "false") for value in headers):
        raise InvalidOptionError(f"{FUNCTION}: '{_INCLUDE_HEADERS}' must be TRUE or FALSE.", option=_INCLUDE_HEADERS)
    return Call(_to_options(arguments, reads_stream), reference, "true" in map(str.lower, headers))


def _take_literal(cursor: TokenCursor, name: str) -> str:
    token, following = cursor.take(), cursor.peek()
    is_whole = following is None or following.text in (",", ")")
    if token is not None and is_whole:
        if token.type == lexer.NUMBER or token.upper in ("TRUE", "FALSE"):
            return token.text.lower()
        if token.type == lexer.STRING:
            try:
                literal = sqlglot.parse_one(token.text, dialect="spark")
            except SqlglotError:  # its message contains the value
                literal = None
            if isinstance(literal, (exp.Literal, exp.RawString)):
                return str(literal.this)
    raise UnsupportedSqlError(
        f"{FUNCTION}: the value of '{name}' must be a string in quotes, a number, TRUE or FALSE. Expressions and "
        "parameters are not supported."
    )


def _syntax_error(sql: str, cursor: TokenCursor, expected: str) -> SqlSyntaxError:
    """Return an error without the text of the statement, which may contain secrets."""
    line = sql.count("\n", 0, cursor.end) + 1
    return SqlSyntaxError(f"{FUNCTION} in line {line}: expected {expected}.")


def _to_options(arguments: Mapping[str, str], reads_stream: bool) -> dict[str, str]:
    """Return the options of a table that reads what Databricks' function reads with these arguments."""
    options: dict[str, str] = {}
    for name, value in arguments.items():
        converted = _convert(name, value, reads_stream)
        if converted is None:
            continue
        key, text = converted
        if key in options:
            raise ConflictingOptionsError(
                f"{FUNCTION}: two arguments set the option '{key}'. Remove one, such as '{name}'.", option=key
            )
        options[key] = text
    options.setdefault(opt.CONNECTOR.key, opt.KAFKA)
    if options[opt.CONNECTOR.key] == opt.KAFKA and not any(key.startswith("scan.startup.") for key in options):
        options[opt.STARTUP_MODE.key] = opt.LATEST if reads_stream else opt.EARLIEST
    return options


def _convert(name: str, value: str, reads_stream: bool) -> tuple[str, str] | None:
    """Return an argument as an option; None if it has the default's meaning."""
    lower_name = name.lower()
    if lower_name == _STARTING_OFFSETS.lower():
        mode = _STARTUP_MODES.get(value.lower())
        if mode is None:
            raise InvalidOptionError(
                f"{FUNCTION}: '{_STARTING_OFFSETS}' supports 'earliest' and 'latest'. For offsets, set "
                f"`{opt.STARTUP_MODE.key}` => '{opt.SPECIFIC}' and `{opt.STARTUP_OFFSETS.key}` instead.",
                option=_STARTING_OFFSETS,
            )
        return opt.STARTUP_MODE.key, mode
    if lower_name == _ENDING_OFFSETS.lower():
        if value.lower() != "latest" or reads_stream:
            raise InvalidOptionError(
                f"{FUNCTION}: '{_ENDING_OFFSETS}' supports only 'latest', the default of a batch. Set "
                f"`{opt.BOUNDED_MODE.key}` => '{opt.SPECIFIC}' and `{opt.BOUNDED_OFFSETS.key}` instead.",
                option=_ENDING_OFFSETS,
            )
        return None
    if lower_name.startswith(_KAFKA):
        return opt.PROPERTIES_PREFIX + name[len(_KAFKA) :], value
    key = _OPTIONS.get(lower_name, name)
    if "." not in key and key not in _OPTION_KEYS:
        names = [*_DATABRICKS_NAMES, *sorted(_OPTION_KEYS)]
        raise UnknownOptionError(
            f"{FUNCTION}: unknown argument '{name}'.{did_you_mean(name, names)} Arguments are {', '.join(names)}, and "
            "other options of WITH in backticks.",
            option=name,
        )
    return key, ";".join(value.split(",")) if lower_name == "subscribe" else value


_FORMAT_KEYS: Final = (opt.FORMAT.key, opt.VALUE_FORMAT.key, opt.KEY_FORMAT.key)
# The columns of Databricks' function; the headers come last.
_RAW_COLUMNS: Final = """`key` BYTES, `value` BYTES, `topic` STRING NOT NULL METADATA VIRTUAL,
    `partition` INT NOT NULL METADATA VIRTUAL, `offset` BIGINT NOT NULL METADATA VIRTUAL,
    `timestamp` TIMESTAMP_LTZ(3) NOT NULL METADATA VIRTUAL, `timestamp-type` STRING NOT NULL METADATA VIRTUAL"""
_HEADERS: Final = "`headers` ARRAY<ROW<`key` STRING, `value` BYTES>> METADATA FROM 'header-list' VIRTUAL"
_RAW_OPTIONS: Final = {
    opt.KEY_FORMAT.key: "raw",
    opt.KEY_FIELDS.key: "key",
    opt.VALUE_FORMAT.key: "raw",
    opt.VALUE_FIELDS_INCLUDE.key: opt.EXCEPT_KEY,
}
_RAW_SELECT: Final = """`key`, `value`, `topic`, `partition`, `offset`, `timestamp`, CASE `timestamp-type`
    WHEN 'CreateTime' THEN 0 WHEN 'LogAppendTime' THEN 1 ELSE -1 END AS `timestampType`"""


def create_table(tables: Tables, call: Call) -> str:
    """Create the table of a call, and return its name."""
    if has_format(call):
        if call.has_headers:
            raise UnsupportedSqlError(
                f"{FUNCTION}: 'includeHeaders' is not supported with a format. Declare the table with CREATE TABLE and "
                "a column METADATA FROM 'header-list'."
            )
        declaration = add_inferred_columns(Declaration((FUNCTION,), temporary=True, options=[*call.options.items()]))
        return _create(tables, call, declaration)
    columns = f"{_RAW_COLUMNS}, {_HEADERS}" if call.has_headers else _RAW_COLUMNS
    declaration = Declaration(
        (FUNCTION,),
        temporary=True,
        columns=parse_declaration(f"CREATE TABLE t ({columns})").columns,
        options=[*{**call.options, **_RAW_OPTIONS}.items()],
    )
    return _create(tables, call, declaration)


def has_format(call: Call) -> bool:
    """Return whether the columns are those of a format, and not those of Databricks' function."""
    return any(key in call.options for key in _FORMAT_KEYS)


def select_call(call: Call, table: str) -> str:
    """Return the relation that replaces a call."""
    if has_format(call):
        return table
    headers = ", `headers`" if call.has_headers else ""
    return f"(SELECT {_RAW_SELECT}{headers} FROM {table})"


def check_statement(query: QueryText) -> None:
    """Check that a statement with calls does not outlive their tables.

    Raises:
        UnsupportedSqlError: it creates a permanent view or a function.
    """
    statement = classify(query.text)
    if isinstance(statement, CreateView) and not statement.temporary:
        raise UnsupportedSqlError(
            f"CREATE VIEW {'.'.join(statement.name)}: {FUNCTION}(...) is only supported in a temporary view. Use "
            "CREATE TEMPORARY VIEW, or declare the table with CREATE TABLE."
        )
    cursor = TokenCursor(iter(query.tokens))
    if cursor.take_words("CREATE"):
        cursor.take_words("OR", "REPLACE")
        cursor.take_words("TEMPORARY")
        if cursor.take_words("FUNCTION"):
            raise UnsupportedSqlError(
                f"CREATE FUNCTION: {FUNCTION}(...) is not supported in a function. Declare the table with CREATE "
                "TABLE, and use its name."
            )


def _create(tables: Tables, call: Call, declaration: Declaration) -> str:
    """Create the table of a call, unless it exists with the same columns, and return its name.

    Calls with the same arguments share a table.
    """
    names = tables.names_of_calls
    key = frozenset(call.options.items()), call.has_headers
    if key not in names:
        candidates = (f"{FUNCTION}_{number}" for number in itertools.count(len(names) + 1))
        names[key] = next(name for name in candidates if tables.find((name,)) is None)
    declaration.name = (names[key],)
    table = to_table(declaration)
    entry = tables.find(table.name)
    if entry is None or (entry.table.columns, entry.table.options) != (table.columns, table.options):
        tables.create(table, replace=True)
    return names[key]
