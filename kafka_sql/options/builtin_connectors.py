"""Define the options of Flink's connectors for trying things out: datagen, print and blackhole."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from kafka_sql.errors import ConflictingOptionsError, InvalidOptionError, UnknownOptionError
from kafka_sql.options.option import Option, Options, any_string, boolean, duration, enum, integer, string
from kafka_sql.suggestions import did_you_mean

DATAGEN, PRINT, BLACKHOLE = "datagen", "print", "blackhole"

_CONNECTOR: Final = string("connector", "The connector.", required=True)
ROWS_PER_SECOND: Final = integer(
    "rows-per-second", "Rows per second that a stream generates.", minimum=1, bits=64, default="10000"
)
NUMBER_OF_ROWS: Final = integer(
    "number-of-rows",
    "Rows to generate. By default, a stream never ends. A batch query requires this option.",
    minimum=0,
    bits=64,
)
IDENTIFIER: Final = any_string("print-identifier", "What each printed line starts with.")
STANDARD_ERROR: Final = boolean("standard-error", "Print to standard error, not standard output.", default="false")
CONNECTORS: Final[Mapping[str, tuple[Option[Any], ...]]] = {
    DATAGEN: (_CONNECTOR, ROWS_PER_SECOND, NUMBER_OF_ROWS),
    PRINT: (_CONNECTOR, IDENTIFIER, STANDARD_ERROR),
    BLACKHOLE: (_CONNECTOR,),
}

RANDOM, SEQUENCE = "random", "sequence"
_FIELD: Final = re.compile(r"fields\.(.+)\.(kind|min|max|start|end|length|var-len|max-past|null-rate)")


def _number(key: str) -> Option[str]:
    def parse(text: str) -> str:
        float(text)
        return text

    return Option(key, parse, "Number", "A number.")


def _rate(text: str) -> float:
    if not 0 <= (rate := float(text)) <= 1:
        raise ValueError("expected a number from 0 to 1")
    return rate


_FIELD_OPTIONS: Final[Mapping[str, Option[Any]]] = {
    "kind": enum("kind", "How values are generated.", allowed=(RANDOM, SEQUENCE), default=RANDOM),
    "min": _number("min"),
    "max": _number("max"),
    "start": integer("start", "First value of a sequence.", minimum=-(2**63), bits=64),
    "end": integer("end", "Last value of a sequence.", minimum=-(2**63), bits=64),
    "length": integer("length", "Length of a string or collection.", minimum=1),
    "var-len": boolean("var-len", "Vary the length from 1 to 'length'.", default="false"),
    "max-past": duration("max-past", "How far a timestamp is in the past.", default="0"),
    "null-rate": Option("null-rate", _rate, "Float", "The share of nulls.", default="0"),
}


@dataclass(frozen=True)
class Generator:
    """How the values of one column are generated; see docs/trying-out.md."""

    kind: str = RANDOM
    min: str | None = None
    max: str | None = None
    start: int = 0
    end: int = 0
    length: int | None = None
    var_len: bool = False
    max_past: int = 0
    null_rate: float = 0.0


def parse_options(connector: str, raw: Mapping[str, str], columns: Iterable[str]) -> Options:
    """Return the validated options of a table.

    Args:
        columns: the physical columns.

    Raises:
        OptionError: an option is unknown or invalid.
    """
    known = CONNECTORS[connector]
    options = Options(known, raw)
    keys = {option.key for option in known}
    if connector == DATAGEN:
        parse_generators(raw, columns)
    unknown = [key for key in raw if key not in keys and not (connector == DATAGEN and _FIELD.fullmatch(key))]
    if unknown:
        raise UnknownOptionError(
            f"Unsupported option '{unknown[0]}' for connector '{connector}'. Supported options: "
            + ", ".join(f"'{key}'" for key in sorted(keys))
            + (", 'fields.<column>.<kind, min, max, start, ...>'" if connector == DATAGEN else "")
            + "."
            + did_you_mean(unknown[0], keys),
            option=unknown[0],
        )
    return options


def parse_generators(raw: Mapping[str, str], columns: Iterable[str]) -> dict[str, Generator]:
    """Return the generators of the columns that have options.

    Raises:
        OptionError: an option is invalid, or names a column that does not exist.
    """
    names = list(columns)
    values: dict[str, dict[str, Any]] = {}
    for key, text in raw.items():
        match = _FIELD.fullmatch(key)
        if match is None:
            continue
        if match[1] not in names:
            raise UnknownOptionError(
                f"Option '{key}': the table has no physical column '{match[1]}'.{did_you_mean(match[1], names)}",
                option=key,
            )
        values.setdefault(match[1], {})[match[2].replace("-", "_")] = _FIELD_OPTIONS[match[2]].read(text, key)
    return {name: _generator(name, fields) for name, fields in values.items()}


def _generator(column: str, fields: Mapping[str, Any]) -> Generator:
    if fields.get("kind") != SEQUENCE:
        wrong = next((f for f in ("start", "end") if f in fields), None)
        if wrong is not None:
            raise ConflictingOptionsError(
                f"Option 'fields.{column}.{wrong}' requires 'fields.{column}.kind' = 'sequence'.",
                option=f"fields.{column}.{wrong}",
            )
    elif "start" not in fields or "end" not in fields or fields["start"] > fields["end"]:
        raise InvalidOptionError(
            f"'fields.{column}.kind' = 'sequence' requires 'fields.{column}.start' and 'fields.{column}.end', and the "
            "end must not be smaller than the start.",
            option=f"fields.{column}.kind",
        )
    return Generator(**fields)


def row_limit(raw: Mapping[str, str], columns: Iterable[str]) -> int | None:
    """Return how many rows a datagen table has, which number-of-rows and sequences limit; None if it is endless."""
    limits = [g.end - g.start + 1 for g in parse_generators(raw, columns).values() if g.kind == SEQUENCE]
    rows = Options(CONNECTORS[DATAGEN], raw).get(NUMBER_OF_ROWS)
    return min([*limits, *([rows] if rows is not None else [])], default=None)
