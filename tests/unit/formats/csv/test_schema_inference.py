"""Which columns are inferred from CSV lines, and that the decoder reads the lines with them without loss."""

from __future__ import annotations

import csv
import io
from decimal import Decimal

import pyarrow as pa
import pyarrow.types as pt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_sql.errors import DecodeError
from kafka_sql.formats.csv.decoder import CsvDecoder
from kafka_sql.formats.csv.options import CSV_OPTIONS
from kafka_sql.formats.csv.schema_inference import infer_from_payloads
from kafka_sql.formats.format import ColumnTypes
from kafka_sql.options import Options
from tests.unit.formats.inferred_tables import schema_of


def infer(*lines: str, **options: str) -> ColumnTypes:
    return infer_from_payloads([line.encode() for line in lines], csv_options(**options), None)


def csv_options(**options: str) -> Options:
    return Options(CSV_OPTIONS, {f"csv.{key.replace('_', '-')}": text for key, text in options.items()})


@pytest.mark.parametrize(
    ("values", "sql_type"),
    [
        (["1", "-9223372036854775808"], "BIGINT"),
        (["9223372036854775808"], "STRING"),
        (["1.50", "7", "-1e-3"], "DOUBLE"),
        (["1.5", "9007199254740993"], "STRING"),
        (["1.2345678901234567890"], "STRING"),
        (["true", "false"], "BOOLEAN"),
        (["TRUE"], "STRING"),
        (["true", "1"], "STRING"),
        (["007"], "STRING"),
        (["+5"], "STRING"),
        ([" 5"], "STRING"),
        (["NaN"], "STRING"),
        (["٣"], "STRING"),
        (["1", ""], "STRING"),
        (["2020-12-30"], "STRING"),
        (['"1"', "2"], "BIGINT"),
    ],
)
def test_types(values: list[str], sql_type: str) -> None:
    assert infer(*(f"x,{value}" for value in values)) == (("_c0", "STRING"), ("_c1", sql_type))


def test_options_of_the_format() -> None:
    assert infer("1|NULL", "NULL|a", field_delimiter="|", null_literal="NULL") == (("_c0", "BIGINT"), ("_c1", "STRING"))
    assert infer("1,", ",true", empty_string_as_null="true") == (("_c0", "BIGINT"), ("_c1", "BOOLEAN"))
    assert infer("1 ,2", trim_spaces="true") == (("_c0", "BIGINT"), ("_c1", "BIGINT"))
    assert infer("NULL", null_literal="NULL") == (("_c0", "STRING"),)
    assert infer("#1,2\n3", allow_comments="true") == (("_c0", "BIGINT"),)
    assert infer() == ()


def test_lines_of_other_lengths_are_errors_unless_they_are_ignored_or_collected() -> None:
    lines = ("1,2", "1", "1,2,3", '"')
    with pytest.raises(DecodeError) as e:
        infer(*lines)
    assert (e.value.row, e.value.reason) == (
        1,
        "Failed to deserialize CSV row: the payload has 1 values, expected 2 as in the first record: 1",
    )
    errors: list[DecodeError] = []
    columns = infer_from_payloads([line.encode() for line in lines], csv_options(), errors)
    assert columns == (("_c0", "BIGINT"), ("_c1", "BIGINT"))
    assert [error.row for error in errors] == [1, 2, 3]
    assert len(infer(*lines, ignore_parse_errors="true", fail_on_missing_columns="true")) == 3


# without NUL: a payload with one among its first bytes is UTF-16 or UTF-32
TEXTS = st.one_of(
    st.sampled_from(["true", "false", "007", "-0", "-0.0", "1e400", "", " ", '"', "9007199254740993", "1E5", "NaN"]),
    st.integers(-(2**64), 2**64).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.text(st.characters(codec="utf-8", exclude_characters="\0\r\n\\"), max_size=3),
)


@given(st.integers(1, 3).flatmap(lambda n: st.lists(st.lists(TEXTS, min_size=n, max_size=n), min_size=1, max_size=4)))
def test_the_decoder_reads_all_lines_without_loss(rows: list[list[str]]) -> None:
    lines = []
    for row in rows:
        text = io.StringIO()
        csv.writer(text, quoting=csv.QUOTE_ALL).writerow(row)
        lines.append(text.getvalue())
    schema = schema_of(infer(*lines))
    columns = CsvDecoder(schema, csv_options()).decode(pa.array([line.encode() for line in lines])).columns
    for field, column, texts in zip(schema, columns, zip(*rows, strict=True), strict=True):
        for text, value in zip(texts, column.to_pylist(), strict=True):
            if pt.is_boolean(field.type):
                assert text == str(value).lower()
            elif pt.is_string(field.type):
                assert value == text
            else:
                assert Decimal(repr(value)) == Decimal(text)
