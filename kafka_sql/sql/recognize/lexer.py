"""Tokenize Flink's and Spark's SQL lazily, with the position of each token.

Statements are classified by their first few words, and table names in queries are replaced by position, so neither
needs a syntax tree. Laziness keeps classifying a long statement cheap: its end is never read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

WORD, QUOTED, STRING, NUMBER, SYMBOL, HINT = "word", "quoted", "string", "number", "symbol", "hint"


class Token(NamedTuple):
    """A word, a quoted name, a string, a number or a symbol: ``sql[start:end]``."""

    type: str
    text: str
    start: int
    end: int

    @property
    def upper(self) -> str:
        """The word in upper case, for comparison with keywords; empty for other tokens."""
        return self.text.upper() if self.type == WORD else ""

    @property
    def word(self) -> str:
        """The word in upper case, or the symbol; empty for literals and quoted names."""
        return self.text if self.type == SYMBOL else self.upper

    @property
    def is_identifier(self) -> bool:
        """Whether the token is a word or a quoted name."""
        return self.type in (WORD, QUOTED)

    def is_symbol(self, text: str) -> bool:
        """Return whether the token is this symbol."""
        return self.type == SYMBOL and self.text == text

    @property
    def name(self) -> str:
        """The identifier of a word or a quoted name."""
        return self.text[1:-1].replace("``", "`") if self.type == QUOTED else self.text


# Unclosed strings and comments become one symbol up to the end of the text; retrying at each character would take
# quadratic time. Flink escapes quotes by doubling them, has no backslash escapes and no nested comments, and also has
# // comments.
_FLINK = re.compile(
    r"""(?P<skip>\s+|--[^\r\n]*|//[^\r\n]*
      |/\*\+[^'*]*(?:(?:\*(?!/)|'[^']*')[^'*]*)*\*/|/\*[^*]*\*+(?:[^/*][^*]*\*+)*/)
    |(?P<open>/\*.*)
    |(?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?(?!\w))
    |(?P<string>'(?:[^']|'')*'|[uU]&'(?:[^']|'')*'(?:\s*[uU][eE][sS][cC][aA][pP][eE]\s*'(?:[^']|'')*')?)
    |(?P<word>[\w$]+)
    |(?P<quoted>`(?:[^`]|``)*`)
    |(?P<symbol>\|\||<>|!=|<=|>=|.)""",
    re.VERBOSE | re.DOTALL,
)

# Spark has backslash escapes, raw and double-quoted strings, and nested comments, which a pattern cannot match. Only
# Flink's names have a $; Spark substitutes ${...}.
_SPARK = re.compile(
    r"""(?P<skip>\s+|--(?:\\\n|[^\r\n])*)
    |(?P<comment>/\*)
    |(?P<string>[rR]'[^']*'|[rR]"[^"]*"|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
    |(?P<open>['"].*)
    |(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?:[LSYDF]|BD)?(?!\w))
    |(?P<word>(?:\w|\$(?!\{))+)
    |(?P<quoted>`(?:[^`]|``)*`)
    |(?P<symbol>\|>|=>|->|.)""",
    re.VERBOSE | re.DOTALL,
)
_TYPES = {name: name for name in (WORD, QUOTED, STRING, NUMBER, SYMBOL, "skip", "comment")}
_COMMENT_DELIMITER = re.compile(r"/\*|\*/")
_STRING_OR_HINT_END = re.compile(r"'[^']*'|\*/")
_LITERAL = re.compile(r"(?P<unicode>[uU]&)?'(?P<text>(?:[^']|'')*)'(?:\s*\w+\s*'(?P<escape>(?:[^']|'')*)')?", re.DOTALL)


def tokenize_flink(sql: str, start: int = 0) -> Iterator[Token]:
    """Yield the tokens of a Flink statement from offset ``start``."""
    for match in _FLINK.finditer(sql, start):
        type = _TYPES.get(match.lastgroup or "", SYMBOL)
        if type != "skip":
            yield Token(type, match[0], match.start(), match.end())


def string_value(literal: str) -> str:
    """Return the value of a string literal of Flink: ``'...'`` or ``U&'...'``, whose escapes are UTF-16 code units.

    As in Flink, an escape has four digits, and the escape character is a backslash without UESCAPE.

    Raises:
        ValueError: UESCAPE is not a valid escape character, or an escape is malformed.
    """
    match = _LITERAL.fullmatch(literal)
    assert match is not None
    text = match["text"].replace("''", "'")
    if match["unicode"] is None:
        return text
    escape = "\\" if match["escape"] is None else match["escape"].replace("''", "'")
    if not re.fullmatch(r"[^0-9a-fA-F+'\"\s]", escape):
        raise ValueError("UESCAPE expects one character, and no hexadecimal digit, plus sign, quote or space")
    escaped = re.escape(escape)
    try:
        parts = re.sub(rf"{escaped}({escaped}|[0-9a-fA-F]{{4}}|)", lambda m: _unescape(m[1], escape), text)
        return parts.encode("utf-16", "surrogatepass").decode("utf-16")
    except ValueError:
        raise ValueError(f"expected four hexadecimal digits of UTF-16 after each '{escape}'") from None


def _unescape(code: str, escape: str) -> str:
    return escape if code == escape else chr(int(code, 16))


def tokenize_spark(sql: str, start: int = 0) -> Iterator[Token]:
    """Yield the tokens of a Spark statement from offset ``start``, without hints."""
    return (token for token in tokenize_spark_with_hints(sql, start) if token.type != HINT)


def tokenize_spark_with_hints(sql: str, start: int = 0) -> Iterator[Token]:
    """Yield the tokens of a Spark statement from offset ``start``, each hint ``/*+ ... */`` as one token."""
    while match := _SPARK.match(sql, start):
        type, start = _TYPES.get(match.lastgroup or "", SYMBOL), match.end()
        if type == "comment" and sql.startswith("+", start):
            # string literals in the hint may contain */
            start = next((m.end() for m in _STRING_OR_HINT_END.finditer(sql, start) if m[0] == "*/"), len(sql))
            yield Token(HINT, sql[match.start() : start], match.start(), start)
        elif type == "comment":
            start = _find_comment_end(sql, start)
        elif type != "skip":
            yield Token(type, match[0], match.start(), start)


def strip_semicolon(sql: str, start: int) -> str:
    """Return the Spark statement that starts at ``start``, unchanged except for its trailing semicolons."""
    body = sql[start:]
    if ";" not in body:
        return body
    end = len(sql)
    for token in tokenize_spark(sql, start):
        if token.text != ";":
            end = len(sql)
        elif end == len(sql):
            end = token.start
    return sql[start:end]


def _find_comment_end(sql: str, start: int) -> int:
    """Return the end offset of the comment whose text starts at ``start``, or of the SQL text if it is unclosed."""
    depth = 1
    for delimiter in _COMMENT_DELIMITER.finditer(sql, start):
        depth += 1 if delimiter[0] == "/*" else -1
        if depth == 0:
            return delimiter.end()
    return len(sql)
