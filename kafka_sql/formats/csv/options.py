"""The options of the csv format, under Flink's keys (flink-csv, CsvFormatOptions), and what they make of a text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from kafka_sql.errors import ConflictingOptionsError
from kafka_sql.options import Option, Options, boolean

_ESCAPE: Final = re.compile(r"\\(u+[0-9a-fA-F]{4}|[0-3]?[0-7]{1,2}|.)", re.DOTALL)
_LETTERS: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def _single(text: str) -> str:
    if len(text) != 1 or ord(text) > 0xFFFF:
        raise ValueError("must be a string with single character")
    return text


def _unescaped(text: str) -> str:
    """A single character that may be written as in Java: ``\\t``, ``\\u0001``."""

    def replace(match: re.Match[str]) -> str:
        code = match[1]
        if code[0] == "u" and len(code) > 1:
            return chr(int(code.lstrip("u"), 16))
        if code[0] in "01234567":
            return chr(int(code, 8))
        return _LETTERS.get(code, code)

    return _single(_ESCAPE.sub(replace, text))


FIELD_DELIMITER: Final = Option(
    "csv.field-delimiter",
    _unescaped,
    "Character",
    "What stands between two columns. May be written as in Java: '\\t', '\\u0001'.",
    default=",",
)
DISABLE_QUOTE_CHARACTER: Final = boolean(
    "csv.disable-quote-character",
    "Whether quotes have no meaning: they are read and written as any other character.",
    default="false",
)
QUOTE_CHARACTER: Final = Option(
    "csv.quote-character",
    _single,
    "Character",
    "What stands around a value that holds delimiters or line ends; inside, it is doubled.",
    default='"',
)
ALLOW_COMMENTS: Final = boolean(
    "csv.allow-comments",
    "Whether lines that begin with '#' are skipped. A record that has no other line is an error.",
    default="false",
)
IGNORE_PARSE_ERRORS: Final = boolean(
    "csv.ignore-parse-errors",
    "Whether to skip what cannot be read instead of failing: a field that is not what the table declares, or is "
    "missing, becomes null, and a record that is no CSV is left out.",
    default="false",
)
ARRAY_ELEMENT_DELIMITER: Final = Option(
    "csv.array-element-delimiter",
    _single,
    "Character",
    "What stands between two elements of an ARRAY or fields of a ROW.",
    default=";",
)
ESCAPE_CHARACTER: Final = Option(
    "csv.escape-character",
    _single,
    "Character",
    "A character that takes the next one's meaning away, but makes line ends, tabs and NUL of 'n', 'r', 't' and '0'. "
    "None by default.",
)
NULL_LITERAL: Final = Option(
    "csv.null-literal",
    str,
    "String",
    "The text that is null. By default there is none, and null is written as nothing.",
)
SCIENTIFIC: Final = boolean(
    "csv.write-bigdecimal-in-scientific-notation",
    "'true' writes a DECIMAL in its shortest form: 1E+5 for 100000, 1.5 for 1.50. 'false', and the option left out, "
    "write all digits of the scale.",
)
TRIM_SPACES: Final = boolean(
    "csv.trim-spaces", "Whether to read values without the space around them, unless it is quoted.", default="false"
)
IGNORE_TRAILING_UNMAPPABLE: Final = boolean(
    "csv.ignore-trailing-unmappable", "Whether to ignore more values than there are columns.", default="false"
)
ALLOW_TRAILING_COMMA: Final = boolean(
    "csv.allow-trailing-comma", "Whether a delimiter may stand behind the last value.", default="true"
)
FAIL_ON_MISSING_COLUMNS: Final = boolean(
    "csv.fail-on-missing-columns",
    "Whether fewer values than columns are an error also where 'csv.ignore-parse-errors' would make nulls of them.",
    default="false",
)
EMPTY_STRING_AS_NULL: Final = boolean("csv.empty-string-as-null", "Whether an empty value is null.", default="false")

CSV_OPTIONS: Final[tuple[Option[Any], ...]] = (
    FIELD_DELIMITER,
    DISABLE_QUOTE_CHARACTER,
    QUOTE_CHARACTER,
    ALLOW_COMMENTS,
    IGNORE_PARSE_ERRORS,
    ARRAY_ELEMENT_DELIMITER,
    ESCAPE_CHARACTER,
    NULL_LITERAL,
    SCIENTIFIC,
    TRIM_SPACES,
    IGNORE_TRAILING_UNMAPPABLE,
    ALLOW_TRAILING_COMMA,
    FAIL_ON_MISSING_COLUMNS,
    EMPTY_STRING_AS_NULL,
)


@dataclass(frozen=True)
class Dialect:
    """How a table writes its CSV.

    Attributes:
        separator, element_separator: one character each.
        quote, escape: one character, or an empty text where there is none.
        null: the text of null; None where there is none.
        trim, comments, ignore_errors, ignore_extra, trailing, fail_on_missing, empty_null: the options of these names.
    """

    separator: str
    element_separator: str
    quote: str
    escape: str
    null: str | None
    trim: bool
    comments: bool
    ignore_errors: bool
    ignore_extra: bool
    trailing: bool
    fail_on_missing: bool
    empty_null: bool

    @property
    def ascii(self) -> bool:
        """Whether each of its characters is one byte."""
        return (self.separator + self.quote + self.escape).isascii()


def parse_dialect(options: Options) -> Dialect:
    """The dialect that the options describe.

    Raises:
        ConflictingOptionsError: a quote character is given and disabled.
    """
    disabled = options[DISABLE_QUOTE_CHARACTER]
    if disabled and options.is_set(QUOTE_CHARACTER):
        raise ConflictingOptionsError(
            "Format cannot define a quote character and disabled quote character at the same time: "
            f"'{QUOTE_CHARACTER.key}' and '{DISABLE_QUOTE_CHARACTER.key}'.",
            option=QUOTE_CHARACTER.key,
        )
    return Dialect(
        separator=options[FIELD_DELIMITER],
        element_separator=options[ARRAY_ELEMENT_DELIMITER],
        quote="" if disabled else options[QUOTE_CHARACTER],
        escape=options.get(ESCAPE_CHARACTER) or "",
        null=options.get(NULL_LITERAL),
        trim=options[TRIM_SPACES],
        comments=options[ALLOW_COMMENTS],
        ignore_errors=options[IGNORE_PARSE_ERRORS],
        ignore_extra=options[IGNORE_TRAILING_UNMAPPABLE],
        trailing=options[ALLOW_TRAILING_COMMA],
        fail_on_missing=options[FAIL_ON_MISSING_COLUMNS],
        empty_null=options[EMPTY_STRING_AS_NULL],
    )
