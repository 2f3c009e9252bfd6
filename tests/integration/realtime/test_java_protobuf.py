"""The decoders and encoders of protobuf in Java return the same rows, errors and payloads as the format's."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from google.protobuf import message_factory
from google.protobuf.descriptor import Descriptor
from pyspark import __version__ as spark_version

from kafka_sql.catalog.catalog_table import spark_schema
from kafka_sql.catalog.data_source import arrow_schema
from kafka_sql.definition import Definition
from kafka_sql.embedded import EmbeddedRegistry
from kafka_sql.errors import DecodeError, EncodeError
from kafka_sql.realtime.java_formats import JavaPayload, create_decoder
from kafka_sql.realtime.payload_columns import encode_rows
from tests.integration.realtime.test_java_formats import check_format, damage, define, encode_error
from tests.integration.realtime.test_java_formats import java as java
from tests.registry_helpers import register
from tests.unit.formats.protobuf import test_editions, test_values
from tests.unit.formats.protobuf.oracle import FILE, ITEM, ORDER, random_message

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(spark_version < "4.3", reason="real-time mode needs PySpark 4.3"),
]

LINE = "ROW<sku STRING, price DOUBLE, tags ARRAY<STRING>, qty INT, inner ROW<x BIGINT, flags MAP<STRING, BOOLEAN>>>"
ORDERS = f"""i INT, si INT, ui INT, fi INT, sfi INT, l BIGINT, sl BIGINT, ul BIGINT, fl BIGINT, sfl BIGINT, f FLOAT,
d DOUBLE, b BOOLEAN, s STRING, y BYTES, c STRING, oi INT, os STRING, ri ARRAY<INT>, rs ARRAY<STRING>,
lines ARRAY<{LINE}>, m MAP<STRING, BIGINT>, ml MAP<INT, {LINE}>, line {LINE}, a STRING, ol {LINE}, n BIGINT,
`at` TIMESTAMP_LTZ(6), w BIGINT, doc STRING, cs ARRAY<STRING>, packed ARRAY<BIGINT>, unpacked ARRAY<DOUBLE>,
took ROW<seconds BIGINT, nanos INT>, ws STRING"""
# unsigned numbers as wider types, enums as numbers, messages of google.protobuf as rows, members of a oneof are missing
OTHERS = """`at` TIMESTAMP(6), ui BIGINT, fi BIGINT, ul DECIMAL(20, 0), fl DECIMAL(20, 0), c TINYINT, cs ARRAY<BIGINT>,
w ROW<`value` BIGINT>, n BIGINT, ol ROW<inner ROW<x BIGINT>, qty INT>, s STRING,
doc ROW<fields MAP<STRING, STRING>>, line ROW<qty INT>, m MAP<STRING, BIGINT>"""
ITEMS = """id BIGINT, name STRING, size STRING, sizes ARRAY<INT>, price DOUBLE, part ROW<code STRING, n INT>,
parts ARRAY<ROW<code STRING, n INT>>, flag BOOLEAN, raw BYTES, numbers ARRAY<INT>, big ARRAY<DECIMAL(20, 0)>,
y STRING"""
TABLES = {"orders": (ORDERS, ORDER), "others": (OTHERS, ORDER), "items": (ITEMS, ITEM)}


DOC_ENTRY = test_editions.inside(1, b"k") + test_editions.inside(2, b"")
EDITIONS: dict[str, tuple[str, str, list[bytes]]] = {
    "enums": (
        test_editions.CLOSED["2023"].format(messages=test_editions.ENUMS.replace("LABEL", "")),
        "m MAP<STRING, STRING>, n MAP<INT, INT>, r ARRAY<STRING>, e STRING, s ARRAY<ROW<m MAP<STRING, STRING>>>, "
        "a STRING, b INT",
        test_editions.PAYLOADS,
    ),
    "strings": (
        test_editions.TEXTS,
        "s STRING, v STRING, r ARRAY<STRING>, m MAP<STRING, STRING>, n ROW<s STRING>",
        test_editions.TEXT_PAYLOADS,
    ),
    "values": (
        test_values.TEXT,
        "d STRING, v ARRAY<STRING>, m MAP<STRING, STRING>, t ARRAY<TIMESTAMP_LTZ(6)>, "
        "n ARRAY<ROW<d STRING, t TIMESTAMP_LTZ(6)>>, k INT",
        [*test_values.PAYLOADS, *(test_editions.inside(1, DOC_ENTRY) * n for n in (2, 3))],
    ),
}


def define_messages(columns: str, message: str, options: Mapping[str, str]) -> Definition:
    values = {"message-class-name": message, "descriptor-file": str(FILE), **options}
    return define(columns, format="protobuf", **{f"protobuf.{key}": value for key, value in values.items()})


def random_payloads(message: Descriptor, generator: random.Random, count: int) -> list[bytes]:
    """Return messages, some of them with several occurrences of fields."""
    payloads = []
    for _ in range(count):
        parts = [random_message(message, generator, 2) for _ in range(generator.choice((1, 1, 2)))]
        payloads.append(b"".join(part.SerializePartialToString(deterministic=True) for part in parts))
    return payloads


def python_error(definition: Definition, message: bytes) -> str:
    """Return the error of a payload; empty if it has none."""
    errors: list[DecodeError] = []
    decoder = definition.value.create_decoder(arrow_schema(spark_schema(definition)))
    decoder.decode(pa.array([message], pa.binary()), errors)
    return "".join(map(str, errors))


def check_errors(spark: Any, definition: Definition, payloads: Sequence[bytes]) -> set[str]:
    """Compare the errors of single payloads; return their reasons."""
    schema, payload = arrow_schema(spark_schema(definition)), definition.value
    gateway = spark.sparkContext._gateway
    fields, precisions = payload.field_schema(schema), [9] * len(payload.columns)
    java = JavaPayload(gateway, payload, spark_schema(definition), fields, schema, precisions)
    decoder = create_decoder(java, java.formats.ErrorHandling("t", "", "", "fail"))
    topic, reasons = spark._jvm.org.apache.spark.unsafe.types.UTF8String.fromString("t"), set()
    for message in payloads:
        errors: list[DecodeError] = []
        decoded = payload.create_decoder(schema).decode(pa.array([message], pa.binary()), errors)
        try:
            actual = f"{decoder.decode(message, topic, 0, 0).numElements()} rows"
        except DecodeError as e:
            actual = str(e).partition("t[0]@0")[2]
        expected = f"{len(decoded.columns[0])} rows"
        if errors:
            expected = str(errors[0]).partition("record 0 of the buffer")[2]
            reasons.add(errors[0].reason.partition(" (")[0])
        assert actual == expected, message.hex(" ")
    return reasons


@pytest.mark.sample(1)
@pytest.mark.parametrize("options", [{}, {"read-default-values": "true"}])
@pytest.mark.parametrize("name", TABLES)
def test_random_messages(spark: Any, name: str, options: Mapping[str, str]) -> None:
    columns, message = TABLES[name]
    definition = define_messages(columns, message.full_name, options)
    generator = random.Random(1)
    payloads = random_payloads(message, generator, 250)
    malformed = [bytes(damage(bytearray(generator.choice(payloads)), generator)) for _ in range(250)]
    malformed += [generator.randbytes(generator.randrange(20)) for _ in range(50)]
    if name == "others":  # in a message with merged fields, Python also checks fields without a column
        malformed = [m for m in malformed if "Error parsing message with" not in python_error(definition, m)]
    rows, errors = check_format(spark, definition, [*payloads, None, b"", *malformed])
    assert rows > 100
    assert errors > 100
    assert len(check_errors(spark, definition, [*malformed, *payloads[:30]])) >= 4


def test_skipped_errors(spark: Any) -> None:
    definition = define_messages("i INT NOT NULL, s STRING", "shop.Order", {"ignore-parse-errors": "true"})
    assert check_format(spark, definition, [b"\x08\x01", b"\x08", b"\x72\x01\xff", None, b"", b"\x00"]) == (2, 0)


def test_not_null(spark: Any) -> None:
    columns = "lines ARRAY<ROW<sku STRING, qty INT NOT NULL>>, oi INT NOT NULL, ol ROW<qty INT NOT NULL>"
    definition = define_messages(columns, "shop.Order", {})
    messages = [
        {"oi": 0},
        {},
        {"oi": 1, "lines": [{"qty": 1}, {"sku": "x"}]},
        {"lines": [{}], "ol": {"qty": 1}},
        {"oi": 1, "ol": {}},
        {"oi": 1, "ol": {"qty": 0}},
    ]
    order = message_factory.GetMessageClass(ORDER)
    payloads = [order(**message).SerializeToString() for message in messages]  # type: ignore[arg-type]
    assert check_errors(spark, definition, payloads) == {"is null, but declared NOT NULL"}
    assert (
        check_errors(spark, define_messages(columns, "shop.Order", {"read-default-values": "true"}), payloads) == set()
    )


NUMBERS = [
    0.0,
    -0.0,
    1.0,
    -1.5,
    1e15,
    1e16,
    123456789012345680.0,
    1e-4,
    1e-5,
    2e-3,
    2.2250738585072014e-308,
    5e-324,
    1e23,
]
DOCUMENTS = [
    '{"b": [1, null, true, "\\u00e9\\ud83d\\ude00\\u0001/\\u007f\\n"],'
    '"a": {}, "ab": [[], [[]]], "": -0, "\uffff": 1, "\U0001f600": 2}',
    "{}",
    "[]",
    "[1e400, -0.0, 1E5]",
    " null ",
    '"x"',
    "NaN",
]


def test_json_values(spark: Any) -> None:
    definition = define_messages("doc STRING", "shop.Order", {})
    generator = random.Random(2)
    payloads = []
    order = message_factory.GetMessageClass(ORDER)
    for k in range(150):
        message: Any = order()
        numbers = [generator.choice([*NUMBERS, generator.random(), generator.uniform(-1e30, 1e30)]) for _ in range(4)]
        message.doc.update({"é": numbers, '\x1f"\\': [k, None, True, "\x7f\t"], "\U0001f600": {"x": {}}, "\uffff": []})
        payloads.append(
            message.SerializeToString() + (order(doc=message.doc).SerializeToString() if k % 5 == 0 else b"")
        )
    malformed = [payload[:3] + bytes(damage(bytearray(payload[3:]), generator)) for payload in payloads]
    deep = [nested_lists(depth) for depth in (48, 49, 50)]
    not_finite = []
    for number in ("nan", "inf", "-inf"):
        message = order()
        message.doc["x"] = float(number)
        not_finite.append(message.SerializeToString())
    rows, errors = check_format(spark, definition, [*payloads, *malformed, *not_finite, *deep])
    assert rows > 150
    assert errors > 20
    assert len(check_errors(spark, definition, [*malformed, *not_finite, *deep])) >= 4


def nested_lists(depth: int) -> bytes:
    """Return an order whose document has lists in lists."""
    value = b""
    for _ in range(depth):
        elements = b"\x0a" + varint(len(value)) + value
        value = b"\x32" + varint(len(elements)) + elements
    entry = b"\x12" + varint(len(value)) + value
    document = b"\x0a" + varint(len(entry)) + entry
    return b"\xf2\x01" + varint(len(document)) + document


def varint(number: int) -> bytes:
    return bytes([number]) if number < 128 else bytes([number & 127 | 128]) + varint(number >> 7)


def encode_with_both(spark: Any, definition: Definition, rows: Sequence[Mapping[str, Any]]) -> list[bytes]:
    """Return the payloads of rows, which must be the same as those of Java."""
    schema = arrow_schema(spark_schema(definition))
    batch = pa.RecordBatch.from_pylist(list(rows), schema=schema)
    expected = definition.value.create_encoder(schema).encode(batch).to_pylist()
    frame = spark.createDataFrame(pa.Table.from_batches([batch]))
    written = encode_rows(frame, definition, spark_schema(definition)).toArrow()["value"].to_pylist()
    assert written == expected
    return written


def test_encoded_values(spark: Any) -> None:
    options = {"write-null-string-literal": "nil"}
    rows: list[dict[str, Any]] = [
        {"rs": [None, "x"], "ri": [None, 1], "cs": [None, "GREEN", "?"], "m": [("k", None)], "ml": [(1, None)]},
        {"lines": [None, {"sku": "", "price": -0.0, "tags": [], "qty": 0, "inner": {}}], "c": "?", "line": {}},
        {"n": 1, "a": "x"}, {"n": 1, "a": "x", "ol": {"qty": 3}}, {"a": ""}, {"w": 0, "ws": ""}, {},
    ]  # fmt: skip
    rows += [{"doc": text} for text in DOCUMENTS[:2]]
    assert len(encode_with_both(spark, define_messages(ORDERS, "shop.Order", options), rows)) == 9


def test_errors_of_rows(spark: Any) -> None:
    cases: list[tuple[str, str, str]] = [
        ("id BIGINT, y STRING", "shop2.Item", "CAST(NULL AS BIGINT) id, 'x' y"),
        ("ui BIGINT", "shop.Order", "-1L ui"),
        ("fi BIGINT", "shop.Order", "4294967296L fi"),
        ("ul DECIMAL(20, 0)", "shop.Order", "CAST(18446744073709551616 AS DECIMAL(20, 0)) ul"),
        ("id BIGINT, part ROW<code STRING>", "shop2.Item", "1L id, named_struct('code', CAST(NULL AS STRING)) part"),
        ("doc STRING", "shop.Order", "'[1]' doc"),
        ("doc STRING", "shop.Order", "'{}x' doc"),
        ("doc STRING", "shop.Order", '\'{"a": 1, "a": 2}\' doc'),
        ("doc STRING", "shop.Order", '\'{"a": "\\\\ud800"}\' doc'),
    ]
    for columns, message, values in cases:
        definition = define_messages(columns, message, {})
        frame = spark.sql(f"SELECT {values}")
        schema = arrow_schema(spark_schema(definition))
        batch = frame.toArrow().cast(schema).combine_chunks().to_batches()[0]
        with pytest.raises(EncodeError) as expected:
            definition.value.create_encoder(schema).encode(batch)
        text = str(expected.value.with_prefix("Table 't': "))
        reason = text.partition("google.protobuf.Struct: ")[0]  # what follows is that of another parser
        assert encode_error(frame, definition).startswith(reason)


TEXTS = [
    'syntax = "proto3"; message Other { string x = 1; } message Row { int32 id = 1; optional string name = 3;'
    ' Part part = 4; map<string, sint32> counts = 5; message Part { uint32 n = 1; string more = 2;'
    ' message Deep { int64 id = 1; } } }',
    'syntax = "proto2"; message Row { required int64 id = 2; optional Size size = 4; enum Size { S = 1; L = 2; } }',
    'syntax = "proto3"; message Row { string id = 1; }',
]  # fmt: skip
# messages of these schemas, each with its schema, its indexes and its serialized fields
WRITTEN = [
    (0, b"\x02\x02", b"\x08\x07\x1a\x02\xc3\xa9\x22\x02\x08\x05\x2a\x05\x0a\x01k\x10\x03"),
    (0, b"\x02\x02", b"\x22\x02\x08\x05\x22\x03\x12\x01x"),
    (0, b"\x00", b"\x0a\x01x"),
    (0, b"\x02\x00", b"\x0a\x01x"),
    (0, b"\x82\x00\x82\x00", b"\x08\x07"),
    (0, b"\x06\x02\x00\x00", b"\x08\x07"),
    (0, b"\x06\x02\x02\x00", b"\x08\x07"),
    (0, b"\x02\x04", b""),
    (0, b"\x02\x81\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", b""),
    (1, b"\x00", b"\x10\x09\x20\x01"),
    (1, b"\x00", b"\x10\x09\x20\x05"),
    (1, b"\x00", b"\x20\x01"),
    (2, b"\x00", b"\x0a\x01x"),
]
MALFORMED = [b"", b"\0\0", b"{}", b"\0\x7f\xff\xff\xff\0", b"\0\0\0\0\1", b"\0\0\0\0\1\x01", b"\0\0\0\0\1\x80"]
MALFORMED += [b"\0\0\0\0\1\x04\x00", b"\0\0\0\0\1" + b"\x80" * 70, b"\0\0\0\0\1" + b"\xff" * 9 + b"\x01\0"]


@pytest.mark.long
@pytest.mark.sample(1)
@pytest.mark.parametrize("options", [{}, {"read-default-values": "true"}, {"ignore-parse-errors": "true"}])
def test_messages_of_several_schemas(spark: Any, registry: EmbeddedRegistry, options: Mapping[str, str]) -> None:
    columns = "id BIGINT, name STRING, part ROW<n BIGINT, z INT>, counts MAP<STRING, BIGINT>, size STRING"
    options = {"url": registry.url, "subject": "protobuf-several", **options}
    values = {f"protobuf-confluent.{key}": value for key, value in options.items()}
    definition = define(columns, format="protobuf-confluent", **values)
    ids = [register(registry, f"protobuf-{k}", text, schemaType="PROTOBUF") for k, text in enumerate(TEXTS)]
    payloads = [b"\0" + ids[k].to_bytes(4, "big") + indexes + fields for k, indexes, fields in WRITTEN]
    generator = random.Random(4)
    damaged = [payload[:5] + bytes(damage(bytearray(payload[5:]), generator)) for payload in payloads * 20]
    ignores = "ignore-parse-errors" in options
    strict = define(
        columns, format="protobuf-confluent", **{**values, "protobuf-confluent.ignore-parse-errors": "false"}
    )
    damaged = [payload for payload in damaged if "Error parsing message" not in python_error(strict, payload)]
    reasons = check_errors(spark, definition, [*payloads, *MALFORMED, *damaged])
    assert (len(reasons) >= 7) != ignores, reasons
    rows, errors = check_format(spark, definition, [*payloads, None, *MALFORMED, *damaged])
    assert rows > 25
    assert (errors > 60) != ignores
    not_null = define(columns.replace("name STRING", "name STRING NOT NULL"), format="protobuf-confluent", **values)
    check_errors(spark, not_null, payloads)


def test_schemas_that_are_written(spark: Any, registry: EmbeddedRegistry) -> None:
    columns = "id INT NOT NULL, name STRING, ts TIMESTAMP(6), r ROW<x DOUBLE, a ARRAY<BYTES>>, m MAP<BIGINT, BOOLEAN>"
    rows: list[dict[str, Any]] = [
        {"id": 0, "name": "é", "ts": dt.datetime(1960, 1, 1, microsecond=1), "r": {"x": 0.5, "a": [b"", b"\1"]}},
        {"id": 2**31 - 1, "m": [(-1, True), (0, False)], "r": {}},
    ]
    for k, options in enumerate([{}, {"schema": TEXTS[0], "message-class-name": "Row.Part.Deep"}]):
        options |= {"url": registry.url, "subject": f"protobuf-written-{k}"}
        definition = define(
            "id BIGINT" if k else columns,
            format="protobuf-confluent",
            **{f"protobuf-confluent.{key}": value for key, value in options.items()},
        )
        payloads = encode_with_both(spark, definition, [{"id": row["id"]} for row in rows] if k else rows)
        assert payloads[1][5:].startswith(b"\x06\x02\x02\x00\x08" if k else b"\x00\x08")
        check_format(spark, definition, payloads)


def test_json_values_of_other_types(spark: Any, registry: EmbeddedRegistry) -> None:
    text = (
        'syntax = "proto3"; import "google/protobuf/struct.proto"; message Row { google.protobuf.Value v = 1; '
        "google.protobuf.ListValue l = 2; repeated google.protobuf.Value r = 3; "
        "map<string, google.protobuf.Struct> m = 4; }"
    )
    options = {"url": registry.url, "subject": "protobuf-json", "schema": text}
    values = {f"protobuf-confluent.{key}": value for key, value in options.items()}
    definition = define(
        "v STRING, l STRING, r ARRAY<STRING>, m MAP<STRING, STRING>", format="protobuf-confluent", **values
    )
    rows: list[dict[str, Any]] = [{"v": text} for text in DOCUMENTS]
    rows += [{"l": "[]"}, {"l": '[{}, [null], "x"]'}, {"r": DOCUMENTS}, {"m": [("k", '{"a": [1]}'), ("j", None)]}]
    payloads = encode_with_both(spark, definition, rows)
    expected_errors = 3  # numbers that are not finite
    assert check_format(spark, definition, payloads) == (len(rows) - expected_errors, expected_errors)
    assert len(check_errors(spark, definition, payloads)) >= 1


@pytest.mark.parametrize("name", ["enums", "strings", "values"])
def test_messages_of_editions(spark: Any, tmp_path: Path, name: str) -> None:
    """Numbers that closed enums do not have, strings that need not be UTF-8, and values that cannot be converted."""
    text, columns, payloads = EDITIONS[name]
    file = tmp_path / f"{name}.proto"
    file.write_text(text)
    options = {"protobuf.proto-file": str(file), "protobuf.message-class-name": "M"}
    definition = define(columns, format="protobuf", **options)
    rows, errors = check_format(spark, definition, payloads)
    assert rows + errors == len(payloads)
    assert rows > 2
    check_errors(spark, definition, payloads)
