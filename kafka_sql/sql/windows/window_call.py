"""Parse the calls of Flink's window functions: their parameters, by position or by name, and durations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NoReturn

from sqlglot import exp

from kafka_sql.errors import StatementError, UnsupportedSqlError
from kafka_sql.sql.expressions.interval import parse_fixed_interval
from kafka_sql.sql.recognize import lexer
from kafka_sql.sql.recognize.lexer import Token
from kafka_sql.sql.recognize.syntax_error import syntax_error
from kafka_sql.sql.rewrite.hints import parse_hint
from kafka_sql.sql.rewrite.query_blocks import closing_parenthesis, split_list

_PARAMETERS: Final = {
    "TUMBLE": ("DATA", "TIMECOL", "SIZE", "OFFSET"),
    "HOP": ("DATA", "TIMECOL", "SLIDE", "SIZE", "OFFSET"),
    "CUMULATE": ("DATA", "TIMECOL", "STEP", "SIZE", "OFFSET"),
    "SESSION": ("DATA", "TIMECOL", "GAP"),
}
_UNITS: Final = ("DAY", "HOUR", "MINUTE", "SECOND", "WEEK")
MILLISECOND: Final = 1000  # in microseconds


@dataclass(frozen=True)
class WindowCall:
    """The windows of a query's rows.

    ``TUMBLE(TABLE orders, DESCRIPTOR(ts), INTERVAL '10' MINUTES)``, for example, has the source ``orders``, the time
    column ``ts`` and a size of 600,000,000.

    Attributes:
        function: TUMBLE, HOP, CUMULATE or SESSION.
        source: the text of the relation, as in FROM.
        time_column: the name of the time column.
        size: the (maximum) size of a window, or the gap of a session, in microseconds.
        step: the slide of HOP or the step of CUMULATE; the size for other windows.
        offset: the shift of the windows' starts, at least 0 and less than the step or, with CUMULATE, the size.
        partition_keys: the texts of a session's PARTITION BY.
    """

    function: str
    source: str
    time_column: str
    size: int
    step: int
    offset: int = 0
    partition_keys: tuple[str, ...] = ()


@dataclass(frozen=True)
class LocatedCall:
    """A call and its tokens, with ``TABLE(...)`` around it."""

    call: WindowCall
    tokens: range


def find_table_functions(sql: str, tokens: Sequence[Token]) -> list[LocatedCall]:
    """Return the calls of window table-valued functions, without those in the arguments of others.

    Raises:
        SqlSyntaxError: a call has wrong arguments.
        StatementError, UnsupportedSqlError: a duration is invalid.
    """
    calls: list[LocatedCall] = []
    index = 0
    while index < len(tokens) - 1:
        if tokens[index].upper in _PARAMETERS and tokens[index + 1].text == "(":
            end = closing_parenthesis(tokens, index + 1)
            arguments = _split_arguments(tokens, range(index + 2, end))
            if any(_is_descriptor(tokens, argument) for argument in arguments):
                call = _parse_call(sql, tokens, tokens[index].upper, arguments, range(index, end))
                calls.append(LocatedCall(call, _with_table_keyword(tokens, range(index, end + 1))))
                index = end
        index += 1
    return calls


def _with_table_keyword(tokens: Sequence[Token], call: range) -> range:
    """Return the tokens of a call with ``TABLE (`` before it and ``)`` after it, if they are there."""
    is_enclosed = call.start > 1 and tokens[call.start - 1].text == "(" and tokens[call.start - 2].upper == "TABLE"
    if is_enclosed and call.stop < len(tokens) and tokens[call.stop].text == ")":
        return range(call.start - 2, call.stop + 1)
    return call


def _split_arguments(tokens: Sequence[Token], part: range) -> list[range]:
    """Return the arguments. Commas between the columns of PARTITION BY do not separate arguments."""
    arguments: list[range] = []
    for element in split_list(tokens, part):
        is_key = arguments and not _is_descriptor(tokens, element) and _partition_start(tokens, arguments[-1])
        if is_key and not (tokens[element.start].upper == "INTERVAL" or _parameter_name(tokens, element)):
            arguments[-1] = range(arguments[-1].start, element.stop)
        else:
            arguments.append(element)
    return arguments


def _parameter_name(tokens: Sequence[Token], argument: range) -> str:
    """Return the name in ``NAME => value``; empty for an argument without a name."""
    is_named = len(argument) > 1 and tokens[argument.start + 1].text == "=>"
    return tokens[argument.start].upper if is_named else ""


def _is_descriptor(tokens: Sequence[Token], argument: range) -> bool:
    start = argument.start + (2 if _parameter_name(tokens, argument) else 0)
    return start < argument.stop - 1 and tokens[start].upper == "DESCRIPTOR" and tokens[start + 1].text == "("


def _partition_start(tokens: Sequence[Token], argument: range) -> int:
    """Return the index of ``PARTITION BY`` in an argument; 0 if it is missing."""
    for index in argument:
        if tokens[index].upper == "PARTITION" and index + 1 < argument.stop and tokens[index + 1].upper == "BY":
            return index
    return 0


def _parse_call(
    sql: str, tokens: Sequence[Token], function: str, arguments: Sequence[range], call: range
) -> WindowCall:
    parameters = _PARAMETERS[function]
    values: dict[str, range] = {}
    for position, argument in enumerate(arguments):
        name = _parameter_name(tokens, argument)
        value = range(argument.start + 2, argument.stop) if name else argument
        name = name or (parameters[position] if position < len(parameters) else "")
        if name not in parameters or name in values or not value:
            _raise_syntax_error(sql, tokens, argument, f"{function} takes {_signature(function)}")
        values[name] = value
    missing = [name for name in parameters if name not in values and name != "OFFSET"]
    if missing:
        _raise_syntax_error(sql, tokens, call, f"{function} takes {_signature(function)}; {missing[0]} is missing")
    source, keys = _parse_data(sql, tokens, values["DATA"], function)
    column = _parse_descriptor(sql, tokens, values["TIMECOL"], function)
    durations = {n: parse_duration(tokens, v, function, n) for n, v in values.items() if n not in ("DATA", "TIMECOL")}
    return make_call(function, source, column, durations, keys)


def make_call(
    function: str, source: str, column: str, durations: dict[str, int], keys: tuple[str, ...] = ()
) -> WindowCall:
    """Return a call after checking its durations, which are in microseconds.

    Raises:
        StatementError: Flink would reject them.
    """
    offset = durations.pop("OFFSET", 0)
    for name, value in durations.items():
        if value <= 0:
            raise StatementError(
                f"{function}: {name} must be positive. Write an interval such as INTERVAL '5' MINUTES."
            )
    size = durations.get("SIZE") or durations["GAP"]
    step = durations.get("SLIDE") or durations.get("STEP") or size
    if size % step:
        name = "SLIDE" if function == "HOP" else "STEP"
        raise StatementError(
            f"{function}: SIZE must be an integral multiple of {name}, but {size / 1e6:g} seconds is not a multiple of "
            f"{step / 1e6:g} seconds."
        )
    return WindowCall(function, source, column, size, step, offset % (size if function == "CUMULATE" else step), keys)


def _signature(function: str) -> str:
    sample = {"DATA": "TABLE t", "TIMECOL": "DESCRIPTOR(ts)", "OFFSET": "[offset]"}
    return f"({', '.join(sample.get(name, name.lower()) for name in _PARAMETERS[function])})"


def _parse_data(sql: str, tokens: Sequence[Token], part: range, function: str) -> tuple[str, tuple[str, ...]]:
    """Return the text of a relation and the keys of its PARTITION BY."""
    start = part.start + (tokens[part.start].upper == "TABLE")
    partition = _partition_start(tokens, part)
    end = partition or part.stop
    if start == end or (start == part.start and tokens[start].text != "("):
        _raise_syntax_error(sql, tokens, part, f"{function} takes TABLE and the name of a table, or a query")
    if partition and function != "SESSION":
        raise UnsupportedSqlError(
            f"{function}: PARTITION BY is for SESSION only, because other windows do not depend on a key. Use GROUP BY."
        )
    first, last = tokens[start].start, tokens[end - 1].end
    hint = parse_hint(sql, last)
    keys = range(partition + 2, part.stop) if partition else range(0)
    if keys and tokens[keys.start].text == "(" and closing_parenthesis(tokens, keys.start) == keys.stop - 1:
        keys = range(keys.start + 1, keys.stop - 1)
    texts = [sql[tokens[key.start].start : tokens[key.stop - 1].end] for key in split_list(tokens, keys) if key]
    return sql[first : hint.end if hint else last], tuple(texts)


def _parse_descriptor(sql: str, tokens: Sequence[Token], part: range, function: str) -> str:
    """Return the column in ``DESCRIPTOR(column)``."""
    inner = [tokens[index] for index in part]
    if len(inner) != 4 or inner[0].upper != "DESCRIPTOR" or inner[2].type not in (lexer.WORD, lexer.QUOTED):
        _raise_syntax_error(sql, tokens, part, f"{function} takes DESCRIPTOR and the name of one time column")
    return inner[2].name


def parse_duration(tokens: Sequence[Token], part: range, function: str, name: str) -> int:
    """Return the length of ``INTERVAL '10' MINUTES`` in microseconds.

    Raises:
        UnsupportedSqlError: the text is not an interval of fixed length.
    """
    words = [tokens[index] for index in part]
    sign = -1 if words[0].text == "-" else 1
    words = words[1:] if sign < 0 else words
    is_interval = len(words) > 2 and words[0].upper == "INTERVAL" and words[1].type in (lexer.STRING, lexer.NUMBER)
    units = [word.upper.removesuffix("S") for word in words[2:] if word.upper and word.upper != "TO"]
    if not is_interval or not 1 <= len(units) <= 2 or any(unit not in _UNITS for unit in units):
        raise UnsupportedSqlError(
            f"{function}: {name} is not an interval of days, hours, minutes and seconds. Write a literal such as "
            "INTERVAL '10' MINUTES."
        )
    text = words[1].text.strip("'\"")
    literal = exp.Interval(this=exp.Literal.string(text), unit=exp.Var(this=" TO ".join(units)))
    microseconds = parse_fixed_interval(literal, f"{function}: {name}").microseconds
    return sign * microseconds // MILLISECOND * MILLISECOND


def _raise_syntax_error(sql: str, tokens: Sequence[Token], part: range, message: str) -> NoReturn:
    first = tokens[min(part.start, len(tokens) - 1)]
    raise syntax_error(sql, first.start, first.end, message)
