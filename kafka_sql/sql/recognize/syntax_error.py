"""Build syntax errors that show the source line without exposing secrets.

In text that does not parse, values cannot be located reliably: after a missing quote, the text between two literals is
a value. The text of a statement is therefore shown only up to its options.
"""

from __future__ import annotations

import re

from kafka_sql.errors import SqlSyntaxError
from kafka_sql.options.secrets import MASK, find_options_start

_MAX_WIDTH = 160  # of the shown part of a line, in characters
_EQUALS = re.compile(r"=\s*(?=')")


def syntax_error(sql: str, start: int, end: int, message: str) -> SqlSyntaxError:
    """Return the error at ``sql[start:end]``, with 1-based line and column, the source line and a marker below it."""
    return _build_error(sql, start, end, message, literals_from=end)


def unclosed_quote_error(sql: str, start: int) -> SqlSyntaxError:
    """Return the error for an unbalanced quote at ``sql[start]``. The missing quote may be anywhere before it."""
    message = "unclosed quote; the missing quote may be earlier in the statement"
    return _build_error(sql, start, start + 1, message, literals_from=0)


def _build_error(sql: str, start: int, end: int, message: str, literals_from: int) -> SqlSyntaxError:
    line_start = sql.rfind("\n", 0, start) + 1
    line_end = sql.find("\n", start)
    line = sql[line_start : len(sql) if line_end < 0 else line_end].rstrip("\r")
    line_number, offset = sql.count("\n", 0, start) + 1, start - line_start
    width = min(end, line_start + len(line)) - start
    text = _mask_values(line, sql, line_start, max(literals_from - line_start, 0))
    offset = min(offset, len(text))
    if text != line and offset + width > len(text) - len(MASK):
        offset, width = min(offset, len(text) - len(MASK)), len(MASK)
    text, offset = _excerpt(text, offset, width)
    marker = re.sub(r"[^\t]", " ", text[:offset]) + "^" * max(min(width, _MAX_WIDTH), 1)
    column = start - line_start + 1
    shown = f"{line_number:5} | {text}\n      | {marker}"
    message = f"line {line_number}, column {column}: {message}.\n{shown}"
    return SqlSyntaxError(message, line=line_number, column=column, marked=shown)


def _excerpt(line: str, offset: int, width: int) -> tuple[str, int]:
    """Return the part of a long line around ``offset``, and the offset in that part."""
    if len(line) <= _MAX_WIDTH:
        return line, offset
    start = max(offset - _MAX_WIDTH // 2, 0)
    end = min(max(offset + width, start + _MAX_WIDTH), start + 2 * _MAX_WIDTH)
    before, after = "..." * (start > 0), "..." * (end < len(line))
    return f"{before}{line[start:end]}{after}", offset - start + len(before)


def _mask_values(line: str, sql: str, line_start: int, literals_from: int) -> str:
    """Return the line of ``sql`` at ``line_start``, masked from the first text that could be an option value.

    Args:
        literals_from: offset in the line from which literals are masked even if no option precedes them. It is the end
            of the error, because later literals do not explain it; or 0 for an unbalanced quote, because the text
            between two literals may then look like a literal.
    """
    options_start = find_options_start(sql)
    if options_start is None or options_start > line_start + len(line):
        equals, literal = _EQUALS.search(line), line.find("'", literals_from)
        visible = min(equals.end() if equals else len(line), literal if literal >= 0 else len(line))
    else:
        visible = max(options_start - line_start, 0)
    return line[:visible] + MASK if line[visible:].strip() else line
