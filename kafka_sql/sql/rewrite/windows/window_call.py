"""Parse the calls of Flink's window functions: their parameters, by position or by name, and durations."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from sqlglot import exp

from kafka_sql.errors import SqlSyntaxError, StatementError, UnsupportedSqlError
from kafka_sql.sql.expressions.interval import parse_fixed_interval
from kafka_sql.sql.recognize import lexer
from kafka_sql.sql.recognize.query_text import QueryText
from kafka_sql.sql.recognize.syntax_error import syntax_error

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
    """The windows of a relation's rows.

    ``TUMBLE(TABLE orders, DESCRIPTOR(ts), INTERVAL '10' MINUTES)``, for example, has the source ``orders``, the time
    column ``ts`` and a size of 600,000,000.
    """

    function: str  # TUMBLE, HOP, CUMULATE or SESSION
    tokens: range  # what the windows replace: the call, with ``TABLE(...)`` around it; or the source of a group window
    source: range  # the relation, as in FROM
    time_column: str  # the name of the time column
    size: int  # the (maximum) size of a window, or the gap of a session, in microseconds
    step: int  # the slide of HOP or the step of CUMULATE; the size for other windows
    offset: int = 0  # the shift of the windows' starts, at least 0 and less than the step or, with CUMULATE, the size
    partition_keys: tuple[range, ...] = ()  # a session's PARTITION BY
    group_key: range = range(0)  # the element of GROUP BY that is a group window; empty for a table function
    # in a stream: whether Spark merges the sessions as part of an aggregate, or an operator of ``state`` merges them
    is_aggregated: bool = False
    is_merged: bool = False


def find_window_calls(query: QueryText) -> list[WindowCall]:
    """Return the calls of window table-valued functions, in text order.

    Raises:
        SqlSyntaxError: a call has wrong arguments.
        StatementError, UnsupportedSqlError: a duration is invalid.
    """
    calls: list[WindowCall] = []
    for index, token in enumerate(query.tokens):
        if token.upper in _PARAMETERS and query.word(index + 1) == "(":
            end = query.closing(index + 1)
            arguments = _split_arguments(query, range(index + 2, end)) if end < len(query.tokens) else []
            if any(_is_descriptor(query, argument) for argument in arguments):
                calls.append(_parse_call(query, range(index, end), arguments))
    return calls


def _split_arguments(query: QueryText, part: range) -> list[range]:
    """Return the arguments. Commas between the columns of PARTITION BY do not separate arguments."""
    arguments: list[range] = []
    for element in query.split(part):
        is_key = arguments and not _is_descriptor(query, element) and _partition_start(query, arguments[-1])
        if is_key and not (query.word(element.start) == "INTERVAL" or _parameter_name(query, element)):
            arguments[-1] = range(arguments[-1].start, element.stop)
        else:
            arguments.append(element)
    return arguments


def _parameter_name(query: QueryText, argument: range) -> str:
    """Return the name in ``NAME => value``; empty for an argument without a name."""
    is_named = len(argument) > 1 and query.word(argument.start + 1) == "=>"
    return query.tokens[argument.start].upper if is_named else ""


def _is_descriptor(query: QueryText, argument: range) -> bool:
    start = argument.start + (2 if _parameter_name(query, argument) else 0)
    return start < argument.stop - 1 and query.word(start) == "DESCRIPTOR" and query.word(start + 1) == "("


def _partition_start(query: QueryText, argument: range) -> int:
    """Return the index of ``PARTITION BY`` in an argument; 0 if it is missing."""
    return next((part.stop for part in query.split(argument, "PARTITION")[:-1] if query.word(part.stop + 1) == "BY"), 0)


def _parse_call(query: QueryText, call: range, arguments: Sequence[range]) -> WindowCall:
    function = query.word(call.start)
    parameters = _PARAMETERS[function]
    values: dict[str, range] = {}
    for position, argument in enumerate(arguments):
        name = _parameter_name(query, argument)
        value = range(argument.start + 2, argument.stop) if name else argument
        name = name or (parameters[position] if position < len(parameters) else "")
        if name not in parameters or name in values or not value:
            raise _syntax_error(query, argument, f"{function} takes {_signature(function)}")
        values[name] = value
    _check_complete(query, call, values)
    source, keys = _parse_data(query, values.pop("DATA"), function)
    column = _parse_descriptor(query, values.pop("TIMECOL"), function)
    tokens = range(call.start, call.stop + 1)
    is_enclosed = query.word(tokens.start - 1) == "(" and query.word(tokens.start - 2) == "TABLE"
    if is_enclosed and query.word(tokens.stop) == ")":
        tokens = range(tokens.start - 2, tokens.stop + 1)
    return make_call(query, WindowCall(function, tokens, source, column, 0, 0, partition_keys=keys), values)


def name_durations(query: QueryText, call: range, durations: Sequence[range]) -> dict[str, range]:
    """Return the durations of a group window by the names of the parameters.

    Raises:
        SqlSyntaxError: there are too few or too many.
    """
    function = query.word(call.start)
    names = _PARAMETERS[function][2:]
    if len(durations) > len(names):
        raise _syntax_error(query, call, f"{function} takes {_signature(function)}")
    named = dict(zip(names, durations, strict=False))
    _check_complete(query, call, ("DATA", "TIMECOL", *named))
    return named


def _check_complete(query: QueryText, call: range, names: Container[str]) -> None:
    function = query.word(call.start)
    missing = [name for name in _PARAMETERS[function] if name not in names and name != "OFFSET"]
    if missing:
        raise _syntax_error(query, call, f"{function} takes {_signature(function)}; {missing[0]} is missing")


def make_call(query: QueryText, call: WindowCall, parts: Mapping[str, range]) -> WindowCall:
    """Return a call with its durations.

    Raises:
        StatementError, UnsupportedSqlError: a duration is invalid, or Flink would reject the durations.
    """
    function = call.function
    durations = {name: _parse_duration(query, part, function, name) for name, part in parts.items()}
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
    return replace(call, size=size, step=step, offset=offset % (size if function == "CUMULATE" else step))


def _signature(function: str) -> str:
    sample = {"DATA": "TABLE t", "TIMECOL": "DESCRIPTOR(ts)", "OFFSET": "[offset]"}
    return f"({', '.join(sample.get(name, name.lower()) for name in _PARAMETERS[function])})"


def _parse_data(query: QueryText, part: range, function: str) -> tuple[range, tuple[range, ...]]:
    """Return a relation and the keys of its PARTITION BY."""
    has_keyword = query.word(part.start) == "TABLE"
    partition = _partition_start(query, part)
    source = range(part.start + 1 if has_keyword else part.start, partition or part.stop)
    if not source or not (has_keyword or query.word(source.start) == "("):
        raise _syntax_error(query, part, f"{function} takes TABLE and the name of a table, or a query")
    if partition and function != "SESSION":
        raise UnsupportedSqlError(
            f"{function}: PARTITION BY is for SESSION only, because other windows do not depend on a key. Use GROUP BY."
        )
    keys = range(partition + 2, part.stop) if partition else range(0)
    if keys and query.word(keys.start) == "(" and query.closing(keys.start) == keys.stop - 1:
        keys = range(keys.start + 1, keys.stop - 1)
    return source, tuple(key for key in query.split(keys) if key)


def _parse_descriptor(query: QueryText, part: range, function: str) -> str:
    """Return the column in ``DESCRIPTOR(column)``."""
    if len(part) != 4 or query.word(part.start) != "DESCRIPTOR" or not query.tokens[part.start + 2].is_identifier:
        raise _syntax_error(query, part, f"{function} takes DESCRIPTOR and the name of one time column")
    return query.tokens[part.start + 2].name


def _parse_duration(query: QueryText, part: range, function: str, name: str) -> int:
    """Return the length of ``INTERVAL '10' MINUTES`` in microseconds."""
    words = query.tokens[part.start : part.stop]
    is_negative = words[0].text == "-"
    words = words[1:] if is_negative else words
    is_interval = len(words) > 2 and words[0].upper == "INTERVAL" and words[1].type in (lexer.STRING, lexer.NUMBER)
    units = [word.upper.removesuffix("S") for word in words[2:] if word.upper and word.upper != "TO"]
    if not is_interval or not 1 <= len(units) <= 2 or any(unit not in _UNITS for unit in units):
        raise UnsupportedSqlError(
            f"{function}: {name} is not an interval of days, hours, minutes and seconds. Write a literal such as "
            "INTERVAL '10' MINUTES."
        )
    literal = exp.Interval(this=exp.Literal.string(words[1].text.strip("'\"")), unit=exp.Var(this=" TO ".join(units)))
    microseconds = parse_fixed_interval(literal, f"{function}: {name}").microseconds
    return (-microseconds if is_negative else microseconds) // MILLISECOND * MILLISECOND


def _syntax_error(query: QueryText, part: range, message: str) -> SqlSyntaxError:
    first = query.tokens[min(part.start, len(query.tokens) - 1)]
    return syntax_error(query.text, first.start, first.end, message)
