"""A syntax error with the line it is in, and no secret in it.

Text that does not parse cannot be trusted to be what it looks like: after a forgotten quote, what stands between two
literals is a value. So from the first option on, a line is shown only as far as it is certainly no value.
"""

from __future__ import annotations

import re

from kafka_sql.errors import SqlSyntaxError

_MASK = "******"
_WIDEST = 160  # characters of a line that are shown
# Where options begin: behind WITH, or, as that word may be what is wrong, behind the first quoted text with an
# equals sign.
_OPTIONS = re.compile(r"\bWITH\b(?!\s+(?:LOCAL\s+)?TIME\b)\s*\(?|['\"]\s*=\s*", re.IGNORECASE)
_KEY = re.compile(r"\s*,?\s*(?:'[A-Za-z][\w.-]*'\s*=\s*)?")
_COMPARED = re.compile(r"=\s*(?=')")


def syntax_error(sql: str, start: int, end: int, message: str) -> SqlSyntaxError:
    """The error at ``sql[start:end]``: line and column from 1, the source line and a mark below it."""
    return _error(sql, start, end, message, literals_from=end)


def unclosed_quote_error(sql: str, start: int) -> SqlSyntaxError:
    """The error of a quote at ``sql[start]`` that is left over; which one was forgotten, nobody knows."""
    message = "this quote, or one before it, is not closed"
    return _error(sql, start, start + 1, message, literals_from=0)


def _error(sql: str, start: int, end: int, message: str, literals_from: int) -> SqlSyntaxError:
    begin = sql.rfind("\n", 0, start) + 1
    stop = sql.find("\n", start)
    line = sql[begin : len(sql) if stop < 0 else stop].rstrip("\r")
    number, offset = sql.count("\n", 0, start) + 1, start - begin
    width = min(end, begin + len(line)) - start
    text = _masked(line, sql, begin, max(literals_from - begin, 0))
    offset = min(offset, len(text))
    if text != line and offset + width > len(text) - len(_MASK):
        offset, width = min(offset, len(text) - len(_MASK)), len(_MASK)
    text, offset = _excerpt(text, offset, width)
    mark = re.sub(r"[^\t]", " ", text[:offset]) + "^" * max(min(width, _WIDEST), 1)
    place = f"line {number}, column {start - begin + 1}"
    shown = f"{number:5} | {text}\n      | {mark}"
    return SqlSyntaxError(f"{place}: {message}.\n{shown}", number, start - begin + 1, shown)


def _excerpt(line: str, offset: int, width: int) -> tuple[str, int]:
    """The part of a long line around the place, and where in it the place is."""
    if len(line) <= _WIDEST:
        return line, offset
    start = max(offset - _WIDEST // 2, 0)
    stop = min(max(offset + width, start + _WIDEST), start + 2 * _WIDEST)
    before, behind = "..." * (start > 0), "..." * (stop < len(line))
    return f"{before}{line[start:stop]}{behind}", offset - start + len(before)


def _masked(line: str, sql: str, begin: int, literals_from: int) -> str:
    """The line of ``sql`` that begins at ``begin``, masked from the first thing on that could be an option's value.

    Args:
        literals_from: where in the line literals are masked also before the options: they are not needed behind the
            mark, and not to be trusted where a quote is left over.
    """
    options = _OPTIONS.search(sql)
    if options is None or options.end() > begin + len(line):
        compared, literal = _COMPARED.search(line), line.find("'", literals_from)
        known = min(compared.end() if compared else len(line), literal if literal >= 0 else len(line))
    else:
        known = max(options.end() - begin, 0)
        if known == 0 or "=" not in options[0]:
            key = _KEY.match(line, known)
            known = key.end() if key else known
    return line[:known] + _MASK if line[known:].strip() else line
