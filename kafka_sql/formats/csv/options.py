"""Define the options of the csv format, under Flink's keys (CsvFormatOptions), and the dialect that they describe."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.types as pt

from kafka_sql.errors import ConflictingOptionsError, SchemaError
from kafka_sql.formats.columnar.scalar_types import is_scalar
from kafka_sql.options import Option, Options, boolean

_ESCAPE: Final = re.compile(r"\\(u+[0-9a-fA-F]{4}|[0-3]?[0-7]{1,2}|.)", re.DOTALL)
_LETTERS: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def _parse_character(text: str) -> str:
    if len(text) != 1 or ord(text) > 0xFFFF:
        raise ValueError("must be a string with single character")
    return text


def _parse_escaped_character(text: str) -> str:
    """Parse a single character, which may be escaped as in Java: ``\\t``, ``\\u0001``."""

    def replace(match: re.Match[str]) -> str:
        code = match[1]
        if code[0] == "u" and len(code) > 1:
            return chr(int(code.lstrip("u"), 16))
        if code[0] in "01234567":
            return chr(int(code, 8))
        return _LETTERS.get(code, code)

    return _parse_character(_ESCAPE.sub(replace, text))


FIELD_DELIMITER: Final = Option(
    "csv.field-delimiter",
    _parse_escaped_character,
    "Character",
    "Delimiter between columns. May be escaped as in Java: '\\t', '\\u0001'.",
    default=",",
)
DISABLE_QUOTE_CHARACTER: Final = boolean(
    "csv.disable-quote-character",
    "Whether to read and write quotes as any other character.",
    default="false",
)
QUOTE_CHARACTER: Final = Option(
    "csv.quote-character",
    _parse_character,
    "Character",
    "Quote character around values that contain delimiters or line ends; inside a value, it is doubled.",
    default='"',
)
ALLOW_COMMENTS: Final = boolean(
    "csv.allow-comments",
    "Whether to skip lines that begin with '#'. A record without another line is an error.",
    default="false",
)
IGNORE_PARSE_ERRORS: Final = boolean(
    "csv.ignore-parse-errors",
    "Whether to skip parse errors instead of failing: a field that is missing or does not match its column's type is "
    "null, and a record that is not CSV is skipped.",
    default="false",
)
ARRAY_ELEMENT_DELIMITER: Final = Option(
    "csv.array-element-delimiter",
    _parse_character,
    "Character",
    "Delimiter between the elements of an ARRAY or the fields of a ROW.",
    default=";",
)
ESCAPE_CHARACTER: Final = Option(
    "csv.escape-character",
    _parse_character,
    "Character",
    "Escape character: the next character is read literally, except 'n', 'r', 't' and '0' (line feed, carriage "
    "return, tab, NUL). None by default.",
)
NULL_LITERAL: Final = Option(
    "csv.null-literal",
    str,
    "String",
    "The text that means null. None by default; null is then written as an empty value.",
)
SCIENTIFIC: Final = boolean(
    "csv.write-bigdecimal-in-scientific-notation",
    "'true' writes a DECIMAL in its shortest form: 1E+5 for 100000, 1.5 for 1.50. 'false', like the default, writes "
    "all digits of the scale.",
)
TRIM_SPACES: Final = boolean(
    "csv.trim-spaces", "Whether to strip unquoted spaces around values when reading.", default="false"
)
IGNORE_TRAILING_UNMAPPABLE: Final = boolean(
    "csv.ignore-trailing-unmappable", "Whether to ignore values beyond the last column.", default="false"
)
ALLOW_TRAILING_COMMA: Final = boolean(
    "csv.allow-trailing-comma", "Whether a delimiter is allowed after the last value.", default="true"
)
FAIL_ON_MISSING_COLUMNS: Final = boolean(
    "csv.fail-on-missing-columns",
    "With 'csv.ignore-parse-errors': whether to skip a record with fewer values than columns. By default, its missing "
    "columns are null.",
    default="false",
)
EMPTY_STRING_AS_NULL: Final = boolean(
    "csv.empty-string-as-null", "Whether to read an empty value as null.", default="false"
)

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
    """The CSV dialect of a table. Its flags are named like their options."""

    separator: str  # one character, as the others
    element_separator: str
    quote: str  # empty if there is none
    escape: str  # empty if there is none
    null_literal: str | None  # the text of null
    trim_spaces: bool
    allow_comments: bool
    ignore_errors: bool
    ignore_extra: bool  # 'csv.ignore-trailing-unmappable'
    allow_trailing_comma: bool
    fail_on_missing: bool
    empty_string_as_null: bool

    @property
    def is_ascii(self) -> bool:
        """Whether separator, quote and escape are one byte each."""
        return (self.separator + self.quote + self.escape).isascii()


def parse_dialect(options: Options) -> Dialect:
    """Return the dialect that the options describe; raise ConflictingOptionsError if two contradict each other."""
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
        null_literal=options.get(NULL_LITERAL),
        trim_spaces=options[TRIM_SPACES],
        allow_comments=options[ALLOW_COMMENTS],
        ignore_errors=options[IGNORE_PARSE_ERRORS],
        ignore_extra=options[IGNORE_TRAILING_UNMAPPABLE],
        allow_trailing_comma=options[ALLOW_TRAILING_COMMA],
        fail_on_missing=options[FAIL_ON_MISSING_COLUMNS],
        empty_string_as_null=options[EMPTY_STRING_AS_NULL],
    )


def check_schema(schema: pa.Schema) -> None:
    """Raise SchemaError for a type that the csv format does not support (CsvRowSchemaConverter)."""
    for field in schema:
        arrow_type = field.type
        if is_scalar(arrow_type):
            continue
        if not pt.is_list(arrow_type) and not pt.is_struct(arrow_type):
            raise SchemaError(
                f"Unsupported type '{arrow_type}' for field '{field.name}': the csv format does not support it.",
                column=field.name,
            )
        for element in [arrow_type.value_type] if pt.is_list(arrow_type) else [child.type for child in arrow_type]:
            if not is_scalar(element):
                raise SchemaError(
                    f"Only simple types are supported in the second level nesting of fields '{field.name}' but was: "
                    f"{element}. The csv format has one level of ARRAY or ROW.",
                    column=field.name,
                )
