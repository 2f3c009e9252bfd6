"""No text is converted in more than linear time and memory, whether it is valid or not."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Final

import pyarrow.types as pt
import pytest

from kafka_sql.formats.csv.fallback import text_converter
from kafka_sql.formats.inferred_types import number_type
from kafka_sql.formats.java.charset import Charset
from kafka_sql.formats.java.jackson import Fractional, parse_document
from kafka_sql.formats.java.scalars import scalar_converter
from kafka_sql.formats.java.text import compact_json
from kafka_sql.formats.java.times import TimestampStandard
from tests.unit.formats.growth import assert_linear
from tests.unit.formats.hostile_texts import COLUMNS, NUMBERS, TEXTS, Text

LARGEST: Final = 1 << 13  # characters


def converters() -> Iterator[tuple[str, Callable[[str], Any]]]:
    """Yield all converters of texts, with names."""
    for field in COLUMNS:
        if not pt.is_nested(field.type) and field.name not in ("i8", "i16", "n"):  # they are like i32 and w
            yield f"csv {field.name}", text_converter(field.type)
            for standard in TimestampStandard if pt.is_timestamp(field.type) else [TimestampStandard.ISO]:
                yield f"json {field.name} {standard.value}", scalar_converter(field.type, standard, as_decimals=True)
    yield "inferred type", number_type
    yield "number of a document", lambda text: compact_json([Fractional(text)], as_decimals=True)
    for name in ("UTF-8", "UTF-16", "ISO-2022-JP", "GB18030"):
        charset = Charset.from_java_name(name)
        yield name, functools.partial(lambda charset, text: charset.decode(charset.encode(text)), charset)


CONVERTERS: Final = dict(converters())


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", CONVERTERS)
def test_texts(name: str) -> None:
    def run(text: str) -> None:
        with suppress(ValueError):
            CONVERTERS[name](text)

    for what, make in TEXTS.items():
        check(what, make, run)


@pytest.mark.sample(1)
@pytest.mark.parametrize("wrap", ["{}", '["{}"]', '{"k":{},"k":{}}', "[[{}]]"])
def test_documents(wrap: str) -> None:
    def run(text: str) -> None:
        with suppress(ValueError):
            compact_json(parse_document(text.encode()), as_decimals=True)

    for what, make in NUMBERS.items():
        check(what, functools.partial(lambda make, size: wrap.replace("{}", make(size)), make), run)


def check(what: str, make: Text, run: Callable[[str], None]) -> None:
    try:
        assert_linear(make, run, LARGEST)
    except AssertionError as e:
        raise AssertionError(f"{what}: {e}") from e
