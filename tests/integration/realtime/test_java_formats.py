"""The decoders and encoders in Java return the same rows, errors and payloads as those of the formats."""

from __future__ import annotations

import datetime as dt
import itertools
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark import __version__ as spark_version
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kafka_sql.catalog.catalog_table import spark_schema
from kafka_sql.catalog.data_source import arrow_schema
from kafka_sql.definition import Definition, validate_table
from kafka_sql.embedded import EmbeddedRegistry
from kafka_sql.errors import DecodeError, EncodeError
from kafka_sql.formats.java.charset import Charset
from kafka_sql.realtime.checks import check_source
from kafka_sql.realtime.connector import add_connector
from kafka_sql.realtime.payload_columns import decode_records, encode_rows
from kafka_sql.sql.declarations.create import parse_create
from tests.registry_helpers import encode_avro, register
from tests.unit.formats.columns import comparable_values
from tests.unit.formats.flink_values import load_cases
from tests.unit.kafka.direct.record_batches import varint

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(spark_version < "4.3", reason="real-time mode needs PySpark 4.3"),
]

SCALARS = """b BOOLEAN, i8 TINYINT, i16 SMALLINT, i INT, l BIGINT, f FLOAT, d DOUBLE,
n DECIMAL(10, 2), w DECIMAL(38, 18),
s STRING, x BYTES, day DATE, t TIME(3), ts TIMESTAMP(6), ltz TIMESTAMP_LTZ(6)"""


@pytest.fixture(autouse=True)
def java(spark: Any) -> Iterator[None]:
    """Load the classes, and enable columns of TIME."""
    add_connector(spark.sparkContext, "t")
    spark.conf.set("spark.sql.timeType.enabled", "true")
    yield
    spark.conf.unset("spark.sql.timeType.enabled")


def define(columns: str, **options: str) -> Definition:
    """Return a table that skips undecodable records."""
    values = {"connector": "kafka", "topic": "t", "properties.bootstrap.servers": "h:1"}
    values |= {"error-handling.mode": "ignore", **options}
    with_options = ", ".join("'{}' = '{}'".format(key, value.replace("'", "''")) for key, value in values.items())
    return validate_table(parse_create(f"CREATE TABLE t ({columns}) WITH ({with_options})"))


def decode(spark: Any, definition: Definition, payloads: Sequence[bytes | None], millis: int = 0) -> DataFrame:
    """Return the rows that the decoder in Java returns, of records with a timestamp of ``millis``."""
    count = len(payloads)
    records = pa.table({
        "key": pa.array(payloads, pa.binary()),
        "value": pa.array(payloads, pa.binary()),
        "topic": pa.array(["t"] * count),
        "partition": pa.array([0] * count, pa.int32()),
        "offset": pa.array(range(count), pa.int64()),
        "timestamp": pa.array([millis * 1000] * count, pa.timestamp("us", "UTC")),
        "timestampType": pa.array([0] * count, pa.int32()),
    })  # fmt: skip
    frame = spark.createDataFrame(records).coalesce(1)
    return decode_records(frame, definition, spark_schema(definition))


def check_format(spark: Any, definition: Definition, payloads: Sequence[bytes | None]) -> tuple[int, int]:
    """Compare rows and payloads with those of the format; return the numbers of rows and of undecodable payloads."""
    schema = arrow_schema(spark_schema(definition))
    errors: list[DecodeError] = []
    decoded = definition.value.create_decoder(schema).decode(pa.array(payloads, pa.binary()), errors)
    rows = decode(spark, definition, payloads)
    actual = rows.toArrow().combine_chunks()
    columns = [column.cast(field.type) for column, field in zip(decoded.columns, schema, strict=True)]
    for name, column in zip(schema.names, columns, strict=True):
        assert comparable_values(actual[name].cast(column.type).combine_chunks()) == comparable_values(column), name
    expected = definition.value.create_encoder(schema).encode(pa.RecordBatch.from_arrays(columns, schema=schema))
    written = encode_rows(rows, definition, spark_schema(definition)).toArrow()["value"].combine_chunks()
    if "float" in str(schema) or "double" in str(schema):  # Arrow and Java write them in different forms
        decoder = definition.value.create_decoder(schema)
        again, same = (decoder.decode(payloads.cast(pa.binary()), []) for payloads in (written, expected))
        assert list(map(comparable_values, again.columns)) == list(map(comparable_values, same.columns))
    else:
        assert written.to_pylist() == expected.to_pylist()
    return len(written), len(errors)


def test_records_without_a_timestamp(spark: Any) -> None:
    table = define("s STRING, ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL", format="raw")
    rows = decode(spark, table, [b"a"], -1).union(decode(spark, table, [b"b"], -2))
    assert rows.selectExpr("s", "unix_millis(ts)").collect() == [("a", None), ("b", -2)]


def test_decimals_with_many_digits_and_large_exponents(spark: Any) -> None:
    table = define("n DECIMAL(10, 2), w DECIMAL(38, 18), s STRING", format="json")
    exponents = [0, 5, -2, -30, 40, -2147483646, 2147483647, 2147483648, -2147483648, 10**10, -(10**30)]
    mantissas = ["0", "-7", "1.5", "99999999.995", "0.00000000005", "1.50000", "1" * 500 + ".5", "0." + "0" * 300 + "3"]
    numbers = [f"{mantissa}e{exponent}" for mantissa in mantissas for exponent in exponents]
    payloads = [f'{{"n":"{n}","w":{n}}}'.encode() for n in numbers] + [b'{"s":[%s]}' % n.encode() for n in numbers]
    # 4 exponents do not fit into 32 bits; -2147483646 does not with the digits of 4 fractions
    assert check_format(spark, table, payloads) == (len(payloads) - 72, 2 * (4 * len(mantissas) + 4))


def test_headers_as_a_map(spark: Any) -> None:
    """Of several headers with one name, the last one is kept."""
    table = define("s STRING, h MAP<STRING, BYTES> METADATA FROM 'headers' VIRTUAL", format="raw")
    entries = "array(struct('a', X'01'), struct('b', CAST(NULL AS BINARY)), struct('a', X'02'), struct('', X''))"
    headers = f"CAST({entries} AS ARRAY<STRUCT<key: STRING, value: BINARY>>)"
    records = spark.sql(
        f"""SELECT CAST('x' AS BINARY) value, 't' topic, 0 partition, 0L offset, current_timestamp() timestamp,
        0 timestampType, explode(array({headers}, NULL, slice({headers}, 1, 0))) headers"""
    )
    rows = decode_records(records, table, spark_schema(table)).select("h").collect()
    assert [row.h for row in rows] == [{"b": None, "a": b"\2", "": b""}, {}, {}]


def test_timestamps_outside_of_sparks_range(spark: Any) -> None:
    table = define("a TIMESTAMP(3), b TIMESTAMP_LTZ(3)", format="avro", **{"avro.timestamp_mapping.legacy": "false"})
    largest = 2**63 // 1000
    millis = (0, largest, largest + 1, -largest, -largest - 1, 2**63 - 1, -(2**63), 1_700_000_000_000_000_000)
    payloads = [b"\x02" + varint(n) + b"\x02" + varint(n) for n in millis]
    assert check_format(spark, table, payloads) == (3, 5)


RAW_TEXTS = [
    b"",
    b"a",
    b"a\r\n\nb",
    "é😀".encode(),
    "é😀\n".encode("utf-16"),
    b"\xff\xfea\0",
    b"\xed\xa0\x80x\xc3\n",
    None,
    b"\n",
]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"raw.line-delimiter": "\\n"},
        {"raw.charset": "ISO-8859-1"},
        {"raw.charset": "UTF-16"},
        {"raw.charset": "UTF-16LE", "raw.line-delimiter": "a"},
        {"raw.charset": "windows-1252"},
    ],
)
def test_raw_texts(spark: Any, options: Mapping[str, str]) -> None:
    rows, _ = check_format(spark, define("s STRING", format="raw", **options), RAW_TEXTS)
    assert rows >= len(RAW_TEXTS) - ("raw.line-delimiter" in options)


@pytest.mark.sample(4)
@pytest.mark.parametrize("type", ["BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "BYTES"])
@pytest.mark.parametrize("options", [{}, {"raw.endianness": "little-endian"}])
def test_raw_numbers(spark: Any, type: str, options: Mapping[str, str]) -> None:
    generator = random.Random(1)
    payloads = [generator.randbytes(size) for size in (0, 1, 2, 4, 8, 9) for _ in range(5)]
    rows, errors = check_format(spark, define(f"a {type}", format="raw", **options), [*payloads, None])
    assert rows == (31 if type == "BYTES" else 6)
    assert rows + errors == 31
    rows, errors = check_format(spark, define(f"a {type} NOT NULL", format="raw", **options), [*payloads, None])
    assert rows + errors == 31


@pytest.mark.sample(8)
@pytest.mark.parametrize(
    "codec", ["ascii", "koi8-r", "utf-8", "utf-16", "utf-32", "utf-16-le", "utf-32-be"]
    + [f"iso8859-{i}" for i in (1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 15)] + [f"cp125{i}" for i in range(9)]
)  # fmt: skip
def test_character_sets_are_those_of_python(spark: Any, codec: str) -> None:
    java, charset = spark._jvm.java.nio, Charset(codec)
    java_set = java.charset.Charset.forName(Charset(codec).java_name)
    text = "".join(chr(c) for c in range(0x10400) if not 0xD800 <= c < 0xE000)
    buffer = java_set.encode(text)
    encoded = bytes(buffer.array())[: buffer.limit()]
    assert encoded == charset.encode(text)
    everything = encoded + (bytes(range(256)) if len(charset.encode("a")) == 1 and codec != "utf-8" else b"")
    assert java_set.decode(java.ByteBuffer.wrap(everything)).toString() == charset.decode(everything)


def test_unlike_character_sets_are_not_supported() -> None:
    assert [Charset.from_java_name(name).java_name for name in ("GBK", "Shift_JIS", "Big5")] == [None] * 3


CSV_OPTIONS: list[dict[str, str]] = [
    {},
    {"ignore-parse-errors": "true"},
    {"ignore-parse-errors": "true", "fail-on-missing-columns": "true", "null-literal": "a"},
    {"trim-spaces": "true", "allow-comments": "true", "empty-string-as-null": "true"},
    {"escape-character": "\\", "null-literal": "", "ignore-trailing-unmappable": "true"},
    {"field-delimiter": "|", "quote-character": "'", "escape-character": "#", "allow-trailing-comma": "false"},
    {"field-delimiter": "é", "array-element-delimiter": "1", "ignore-parse-errors": "true"},
    {"field-delimiter": "\\t", "disable-quote-character": "true", "array-element-delimiter": "|"},
    {"write-bigdecimal-in-scientific-notation": "true"},
]


def define_csv(columns: str, options: Mapping[str, str]) -> Definition:
    return define(columns, format="csv", **{f"csv.{key}": value for key, value in options.items()})


@pytest.mark.sample(3)
@pytest.mark.parametrize("options", CSV_OPTIONS)
def test_csv_lines(spark: Any, options: Mapping[str, str]) -> None:
    generator = random.Random(2)
    separator = {"\\t": "\t"}.get(options.get("field-delimiter", ","), options.get("field-delimiter", ","))
    alphabet = f"ab1nrt0. ;\"'|\\#\n\r\té😀{separator}{separator}{separator}"
    texts = ["".join(generator.choices(alphabet, k=generator.randrange(16))) for _ in range(600)]
    payloads = [text.encode() for text in texts]
    payloads += [b"\xff", b"1,\xc3", b"\xef\xbb\xbfa,b", "a,b".encode("utf-16"), "é,b".encode("utf-32-le"), b"\0a\0,"]
    payloads += [b"\xd8\0\0,\0a", b"\0\0\xd8\0\0\0\0a", b"\xff\xfe\0\0a", None, b"", b"a,b,", b"a,b,,", b"x" * 60]
    columns = "s STRING, a ARRAY<STRING>, r ROW<x STRING, y INT>"
    rows, errors = check_format(spark, define_csv(columns, options), payloads)
    assert rows > 20
    assert errors > 20 or options.get("ignore-parse-errors") == "true"
    check_format(spark, define_csv("s STRING NOT NULL, i INT", options), payloads)


VALUES = [
    "",
    " ",
    "1",
    " 1",
    "+1 ",
    "-128",
    "128",
    "1.5 ",
    "0x1p3",
    "NaN",
    "-Infinity",
    "1e400",
    "true",
    " TRUE ",
    "1d",
    "\u0663",
    "2020-02-29",
    "2020-2-30",
    "1582-10-14",
    "1500-02-29",
    "0000-1-1",
    "-000-1-1",
    "12:13",
    "24:00:00",
    "12:13:14.123456",
    "2020-12-30 12:13:14.123456789",
    "2020-02-30 24:00:00",
    "2020-12-30 12:13:14Z",
    "1500-01-01 00:00:00",
    "aGk=",
    "aGk",
    "aGk= aGk=",
    "99999999.995",
    "1e9",
    "-0.004",
    "0.1",
    "7.038531e-26",
    "9223372036854775807",
    "1e-400",
    "123456789012345678.5",
]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"null-literal": "1"},
        {"ignore-parse-errors": "true"},
        {"trim-spaces": "true"},
        {"write-bigdecimal-in-scientific-notation": "true"},
    ],
)
def test_csv_values(spark: Any, options: Mapping[str, str]) -> None:
    for start in range(0, 15, 5):
        names = SCALARS.replace("\n", " ").replace("(10, 2)", "(10;2)").replace("(38, 18)", "(38;18)").split(", ")
        columns = [name.replace(";", ", ") for name in names[start : start + 5]]
        payloads = []
        for i, value in itertools.product(range(5), VALUES):
            others = ["1" if start < 10 else ""] * 5
            payloads.append(",".join([*others[:i], value, *others[i + 1 :]]).encode())
        check_format(spark, define_csv(", ".join(columns), {"ignore-parse-errors": "true"} | dict(options)), payloads)
        check_format(spark, define_csv(columns[0], options), [v.encode() for v in VALUES])


@pytest.mark.long
def test_csv_cases_of_flink(spark: Any) -> None:
    cases = load_cases("csv/flink_csv.jsonl")
    groups = itertools.groupby(sorted(cases, key=lambda c: repr(c[:2])), key=lambda c: (c[0], c[1]))
    for (columns, options), group in groups:
        specs = ", ".join(f"{name} {declared(spec)}" for name, spec in zip("abc", columns, strict=False))
        check_format(spark, define_csv(specs, options), [case[2].encode("latin-1") for case in group])


def declared(spec: list[str]) -> str:
    if spec[0] == "ARRAY":
        return f"ARRAY<{spec[1]}>"
    return (
        f"ROW<{', '.join(f'{n} {t}' for n, t in zip('xy', spec[1:], strict=False))}>" if spec[0] == "ROW" else spec[0]
    )


AVRO_COLUMNS = [
    f"{SCALARS}, a ARRAY<INT>, m MAP<STRING, DOUBLE>, r ROW<p STRING, q ARRAY<ROW<z BIGINT, n DECIMAL(5, 2)>>>",
    "i INT NOT NULL, n DECIMAL(5, 2) NOT NULL, a ARRAY<STRING NOT NULL> NOT NULL, r ROW<p INT NOT NULL> NOT NULL",
    "t TIME(3), ms TIMESTAMP(3), ltz TIMESTAMP_LTZ(3), counts MULTISET<STRING>, s STRING",
]


@pytest.mark.parametrize("columns", AVRO_COLUMNS)
def test_avro_payloads(spark: Any, columns: str) -> None:
    definition = define(columns, format="avro", **{"avro.timestamp_mapping.legacy": "false"})
    schema = arrow_schema(spark_schema(definition))
    generator = random.Random(3)
    nulls = 0.2 if "NOT NULL" not in columns else 0.0  # Arrow's types do not have NOT NULL of elements
    batch = pa.RecordBatch.from_pylist([random_row(schema, generator, nulls) for _ in range(150)], schema=schema)
    payloads = definition.value.create_encoder(schema).encode(batch).to_pylist()
    malformed = [bytes(damage(bytearray(generator.choice(payloads)), generator)) for _ in range(600)]
    malformed += [generator.randbytes(generator.randrange(20)) for _ in range(200)]
    rows, errors = check_format(spark, definition, [*payloads, None, b"", *malformed])
    assert rows > 150
    assert errors > 100


def test_avro_payloads_with_the_legacy_mapping(spark: Any) -> None:
    definition = define("ms TIMESTAMP(3), s STRING", format="avro")
    payloads = [b"\2\x80\x92\xf4\x01\2\2a", b"\2\1\0", b"\0\2\4ab", b"\2" + b"\xff" * 9 + b"\1\0"]
    assert check_format(spark, definition, payloads) == (3, 1)


EVOLVED_COLUMNS = """l BIGINT, d DOUBLE, f FLOAT, s STRING, x BYTES, n DECIMAL(5, 2), ts TIMESTAMP(3),
ltz TIMESTAMP_LTZ(6), t TIME(3), a ARRAY<BIGINT>, m MAP<STRING, INT>, r ROW<p BIGINT, q ARRAY<ROW<z STRING>>>"""
NULLABLE_ROW = {
    "type": "record",
    "name": "Row",
    "fields": [
        {
            "name": "q",
            "type": {
                "type": "array",
                "items": [
                    "null",
                    {
                        "type": "record",
                        "name": "Q",
                        "fields": [{"name": "y", "type": "int"}, {"name": "z", "type": "string"}],
                    },
                ],
            },
        }
    ],
}
LEAF = {"i": -7, "s": "é"}
PAIR = {"a": LEAF, "b": LEAF}
# schemas of writers, as fields and types, each with values
EVOLVED: list[tuple[dict[str, Any], list[dict[str, Any]]]] = [
    ({"l": "int", "d": "float", "f": "long", "n": {"type": "fixed", "name": "F", "size": 3, "logicalType": "decimal",
      "precision": 5, "scale": 2}}, [{"l": -1, "d": 0.5, "f": 2**40, "n": Decimal("-1.23")}]),
    ({"d": "long", "s": {"type": "enum", "name": "E", "symbols": ["a", "b"]}, "x": {"type": "fixed", "name": "F",
      "size": 2}}, [{"d": 2**60, "s": "b", "x": b"\1\2"}, {"d": 1, "s": "a", "x": b"ab"}]),
    ({"other": {"type": "map", "values": {"type": "array", "items": ["null", "string"]}}, "s": ["string", "null"],
      "more": ["null", "int", "double", {"type": "record", "name": "X", "fields": [{"name": "p", "type": "bytes"}]}],
      "nothing": {"type": "array", "items": "null"}, "l": ["null", "long", "string"]},
     [{"other": {"k": [None, "v"]}, "s": None, "more": {"p": b"x"}, "nothing": [None] * 3, "l": 5},
      {"other": {}, "s": "é", "more": 0.5, "nothing": [], "l": "no number"}]),
    ({"ts": {"type": "long", "logicalType": "local-timestamp-micros"}, "ltz": {"type": "long", "logicalType":
      "timestamp-nanos"}, "t": {"type": "long", "logicalType": "time-micros"}},
     [{"ts": 1_700_000_000_123_456, "ltz": -1, "t": 86_399_999_999}, {"ts": -1, "ltz": 2**62, "t": 86_400_000_000}]),
    ({"a": {"type": "array", "items": "int"}, "m": ["null", {"type": "map", "values": ["null", "int"]}], "r": ["null",
      NULLABLE_ROW]}, [{"a": [1, 2], "m": {"k": None, "j": 2}, "r": {"q": [None, {"y": 1, "z": "é"}]}},
                       {"a": [], "m": None, "r": None}]),
    ({"l": "string"}, [{"l": "not readable"}]),
    ({"one": {"type": "record", "name": "Pair", "fields": [{"name": "a", "type": {"type": "record", "name": "Leaf",
      "fields": [{"name": "i", "type": "int"}, {"name": "s", "type": "string"}]}}, {"name": "b", "type": "Leaf"}]},
      "two": "Pair", "three": {"type": "array", "items": ["null", "Leaf"]}, "l": "long",
      "r": [{"type": "record", "name": "A", "fields": [{"name": "p", "type": "int"}, {"name": "x", "type": "Leaf"}]},
            {"type": "record", "name": "B", "fields": [{"name": "x", "type": "Pair"}, {"name": "p", "type": "long"}]}]},
     [{"one": PAIR, "two": PAIR, "three": [None, LEAF, LEAF], "l": 5, "r": ("A", {"p": 1, "x": LEAF})},
      {"one": PAIR, "two": PAIR, "three": [], "l": -5, "r": ("B", {"x": PAIR, "p": 2**40})}]),
    ({"n": {"type": "int", "logicalType": "date"}, "l": "int"}, [{"n": 1, "l": 1}]),
]  # fmt: skip


def encode_evolved(registry: EmbeddedRegistry, subject: str) -> list[bytes]:
    """Return payloads of several schemas of a registry."""
    payloads = []
    for k, (types, rows) in enumerate(EVOLVED):
        schema = {"type": "record", "name": "R", "fields": [{"name": n, "type": t} for n, t in types.items()]}
        number = register(registry, f"{subject}-{k}", schema)
        payloads += [encode_avro(number, schema, row) for row in rows]
    return payloads


def test_avro_confluent_payloads_of_several_schemas(spark: Any, registry: EmbeddedRegistry) -> None:
    definition = define(
        EVOLVED_COLUMNS, format="avro-confluent", **{"avro-confluent.url": registry.url, "avro-confluent.subject": "ev"}
    )
    payloads = encode_evolved(registry, "evolved")
    generator = random.Random(4)
    malformed = [payload[:5] + bytes(damage(bytearray(payload[5:]), generator)) for payload in payloads * 40]
    malformed += [b"", b"\0\0\0", b"{}", b"\1" + payloads[0][1:], b"\0\x7f\xff\xff\xff", payloads[0][:5]]
    repeated_keys = payloads[8][:5] + b"\0" + b"\2\4\2k\0\2k\2\6\0" + b"\0"
    rows, errors = check_format(spark, definition, [*payloads, None, repeated_keys, *malformed])
    assert rows > 60
    assert errors > 60


@pytest.mark.parametrize("columns", AVRO_COLUMNS)
def test_avro_confluent_payloads(spark: Any, registry: EmbeddedRegistry, columns: str) -> None:
    options = {"avro-confluent.url": registry.url, "avro-confluent.subject": f"written-{len(columns)}"}
    definition = define(columns, format="avro-confluent", **options)
    schema = arrow_schema(spark_schema(definition))
    generator = random.Random(3)
    nulls = 0.2 if "NOT NULL" not in columns else 0.0
    batch = pa.RecordBatch.from_pylist([random_row(schema, generator, nulls) for _ in range(150)], schema=schema)
    payloads = definition.value.create_encoder(schema).encode(batch).to_pylist()
    assert check_format(spark, definition, payloads) == (150, 0)


def test_a_schema_in_the_options(spark: Any, registry: EmbeddedRegistry) -> None:
    schema = {"type": "record", "name": "R", "fields": [
        {"name": "i", "type": ["int", "null"]},
        {"name": "s", "type": {"type": "enum", "name": "E", "symbols": ["a", "é"]}},
        {"name": "x", "type": ["null", {"type": "fixed", "name": "F", "size": 2}]},
        {"name": "n", "type": {"type": "fixed", "name": "D", "size": 5, "logicalType": "decimal", "precision": 9,
                               "scale": 2}},
        {"name": "ts", "type": {"type": "long", "logicalType": "timestamp-nanos"}},
        {"name": "t", "type": {"type": "long", "logicalType": "time-micros"}}]}  # fmt: skip
    options = {"avro-confluent.url": registry.url, "avro-confluent.subject": "own-schema"}
    for k, text in enumerate((schema, ["null", schema])):
        options |= {"avro-confluent.schema": json.dumps(text), "avro-confluent.subject": f"own-{k}"}
        columns = "i INT, s STRING, x BYTES, n DECIMAL(9, 2), ts TIMESTAMP(6), t TIME(3)"
        definition = define(columns, format="avro-confluent", **options)
        arrow = arrow_schema(spark_schema(definition))
        base = {"s": "é", "n": Decimal("-1234567.89"), "ts": dt.datetime(1960, 1, 1, microsecond=1), "t": dt.time(1)}
        batch = pa.RecordBatch.from_pylist([{**base, "i": 1}, {**base, "x": b"ab", "n": Decimal("0.01")}], schema=arrow)
        payloads = definition.value.create_encoder(arrow).encode(batch).to_pylist()
        assert check_format(spark, definition, payloads) == (2, 0)
        values = spark.sql(
            "SELECT 1 i, 'z' s, X'01' x, CAST(1 AS DECIMAL(9, 2)) n, TIMESTAMP_NTZ'2020-01-01' ts, TIME'01:00:00' t"
        )
        with pytest.raises(Exception, match=r"'z' is not a symbol of the Avro enum. The symbols are: a, é\."):
            encode_rows(values, definition, spark_schema(definition)).collect()


def test_defaults_of_a_schema_in_the_options(spark: Any, registry: EmbeddedRegistry) -> None:
    decimal = {"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": 2}
    fields: list[tuple[str, Any, Any]] = [
        ("n", decimal, "\u0004\u00d2"), ("w", decimal, "\u00ff" * 4),
        ("day", {"type": "int", "logicalType": "date"}, 7),
        ("x", {"type": "fixed", "name": "F", "size": 2}, "\u00ff\u0001"),
        ("a", {"type": "array", "items": {"type": "array", "items": "int"}}, [[1, 2], [], [3]]),
        ("m", {"type": "map", "values": "string"}, {"k": "v", "é": ""}),
        ("r", {"type": "record", "name": "I", "fields": [{"name": "p", "type": "boolean"}]}, {"p": True}),
    ]  # fmt: skip
    reader = [{"name": name, "type": avro_type, "default": default} for name, avro_type, default in fields]
    schema = {"type": "record", "name": "R", "fields": [{"name": "k", "type": "int"}, *reader]}
    options = {"avro-confluent.url": registry.url, "avro-confluent.subject": "defaults"}
    columns = "k INT, n DECIMAL(20, 2), w DECIMAL(20, 2), day DATE, x BYTES, a ARRAY<ARRAY<INT>>, m MAP<STRING, STRING>"
    definition = define(
        f"{columns}, r ROW<p BOOLEAN>",
        **{"format": "avro-confluent", **options, "avro-confluent.schema": json.dumps(schema)},
    )
    writer = {"type": "record", "name": "R", "fields": [{"name": "k", "type": "int"}]}
    number = register(registry, "defaults-of-older", writer)
    payloads = [encode_avro(number, writer, {"k": k}) for k in (1, 2)]
    assert check_format(spark, definition, payloads) == (2, 0)
    [row, _] = decode(spark, definition, payloads).collect()
    assert (row.n, row.w, row.a, row.m) == (Decimal("12.34"), Decimal("-0.01"), [[1, 2], [], [3]], {"k": "v", "é": ""})


@pytest.mark.parametrize("ignores", ["false", "true"])
def test_json_confluent_payloads(spark: Any, registry: EmbeddedRegistry, ignores: str) -> None:
    options = {"url": registry.url, "subject": "json-written", "ignore-parse-errors": ignores}
    options |= {"timestamp-format.standard": "ISO-8601"}
    definition = define(
        "i INT, s STRING, ts TIMESTAMP(3)",
        format="json-confluent",
        **{f"json-confluent.{key}": value for key, value in options.items()},
    )
    documents = [b'{"i": 1, "s": "x"}', b'[{"i": 2}, {"i": 3}]', b'{"ts": "2020-01-01T00:00:00.5"}', b"{", b"", b"7"]
    payloads = [b"\0\0\0\0\1" + document for document in documents]
    rows, errors = check_format(spark, definition, [*payloads, None, b"", b"\0\0", *documents])
    assert (rows, errors) == (4, 0 if ignores == "true" else 10)


@pytest.mark.parametrize("subject", ["s", None])
def test_metadata_of_a_registry(spark: Any, registry: EmbeddedRegistry, subject: str | None) -> None:
    """The rows of an array have the id of its record; a table of several topics has no subject."""
    options = {"json-confluent.url": registry.url, "topic": "t;u"}
    options |= {} if subject is None else {"json-confluent.subject": subject}
    columns = "i INT, n INT METADATA FROM 'value.schema-id', s STRING METADATA FROM 'value.subject' VIRTUAL"
    definition = define(columns, format="json-confluent", **options)
    check_source(definition)
    payloads = [b'\0\0\0\0\1{"i": 1}', None, b'\0\x7f\0\1\0[{"i": 2}, {"i": 3}]', b"{}", b'\0\xff\xff\xff\xfe{"i": 4}']
    schema, errors = arrow_schema(spark_schema(definition)), list[DecodeError]()
    decoder = definition.value.create_decoder(schema, ("schema-id", "subject"))
    decoded = decoder.decode(pa.array(payloads, pa.binary()), errors)
    expected = zip(*(column.to_pylist() for column in (*decoded.columns, *decoded.metadata)), strict=True)
    rows = [tuple(row) for row in decode(spark, definition, payloads).collect()]
    assert rows == list(expected)
    assert rows == [(1, 1, subject), (2, 0x7F000100, subject), (3, 0x7F000100, subject), (4, -2, subject)]


def damage(payload: bytearray, generator: random.Random) -> bytearray:
    """Change, add or remove some bytes of a payload."""
    for _ in range(generator.randrange(1, 3)):
        place = generator.randrange(len(payload) + 1)
        payload[place : place + generator.randrange(3)] = generator.randbytes(generator.randrange(3))
    return payload


def random_row(schema: pa.Schema, generator: random.Random, nulls: float) -> dict[str, Any]:
    return {field.name: random_value(field.type, generator, nulls) for field in schema}


def random_value(arrow_type: pa.DataType, generator: random.Random, nulls: float) -> Any:
    """Return a random Python value of a type, or null with a probability."""
    if generator.random() < nulls:
        return None
    if pa.types.is_struct(arrow_type):
        return {field.name: random_value(field.type, generator, nulls) for field in arrow_type}
    size = generator.randrange(4)
    if pa.types.is_list(arrow_type):
        element = arrow_type.value_field
        return [random_value(element.type, generator, nulls) for _ in range(size)]
    if pa.types.is_map(arrow_type):
        item = arrow_type.item_field
        return [(f"k{k}é", random_value(item.type, generator, nulls)) for k in range(size)]
    if pa.types.is_decimal(arrow_type):
        return Decimal(generator.randrange(-(10**arrow_type.precision) + 1, 10**arrow_type.precision)).scaleb(
            -arrow_type.scale, Context(prec=38)
        )
    if pa.types.is_time(arrow_type):
        return dt.time(generator.randrange(24), generator.randrange(60), generator.randrange(60), 123000)
    if pa.types.is_timestamp(arrow_type):
        zone = dt.timezone.utc if arrow_type.tz else None
        return dt.datetime(1960, 1, 1, tzinfo=zone) + dt.timedelta(microseconds=generator.randrange(10**16))
    if pa.types.is_date(arrow_type):
        return dt.date.fromordinal(generator.randrange(1, 3_000_000))
    if pa.types.is_integer(arrow_type):
        return generator.randrange(-(2 ** (arrow_type.bit_width - 1)), 2 ** (arrow_type.bit_width - 1))
    if pa.types.is_string(arrow_type):
        return "".join(generator.choices("ab é😀\n", k=size))
    values = {"bool": bool(size % 2), "binary": generator.randbytes(size)}
    return values.get(str(arrow_type), generator.choice([0.0, -1.5, float("inf"), 2.0**100]))


def encode_error(rows: DataFrame, target: Definition) -> str:
    """Return the error that the encoder in Java raises."""
    with pytest.raises(EncodeError) as raised:
        encode_rows(rows, target, spark_schema(target)).collect()
    return str(raised.value)


def test_not_null_columns_are_checked(spark: Any) -> None:
    """The error names the column of the table, even if the field in the key has another name."""
    rows = spark.range(1).select(F.expr("CAST(IF(id = 0, NULL, 1) AS INT) AS k_a"), F.lit(1).alias("b"))
    keys = {"key.fields": "k_a", "key.fields-prefix": "k_", "value.fields-include": "EXCEPT_KEY"}
    for format_ in ("json", "csv", "raw", "avro"):
        target = define("k_a INT NOT NULL, b INT", format="json", **{"key.format": format_, **keys})
        expected = "Table 't': column 'k_a' is declared NOT NULL, but a row has NULL."
        assert encode_error(rows, target) == f"[ENCODE] {expected}"


def test_errors_of_values_are_those_of_the_formats(spark: Any, registry: EmbeddedRegistry) -> None:
    symbols = {"type": "record", "name": "R", "fields": [
        {"name": "r", "type": {"type": "record", "name": "S", "fields": [
            {"name": "s", "type": {"type": "enum", "name": "E", "symbols": ["b", "é", "a"]}},
            {"name": "x", "type": {"type": "fixed", "name": "F", "size": 2}}]}}]}  # fmt: skip
    options = {"format": "avro-confluent", "avro-confluent.url": registry.url, "avro-confluent.subject": "errors"}
    options["avro-confluent.schema"] = json.dumps(symbols)
    record = define("r ROW<s STRING, x BYTES>", **options)
    cases = [
        (record, "named_struct('s', 'z', 'x', X'0102') AS r"),
        (record, "named_struct('s', 'a', 'x', X'01') AS r"),
        (record, "named_struct('s', CAST(NULL AS STRING), 'x', X'0102') AS r"),
        *((define("day DATE", format=name), "DATE'+32768-01-01' AS day") for name in ("json", "csv")),
    ]
    for definition, expression in cases:
        rows, schema = spark.sql(f"SELECT {expression}"), arrow_schema(spark_schema(definition))
        batch = rows.toArrow().cast(schema).combine_chunks().to_batches()[0]
        with pytest.raises(EncodeError) as raised:
            definition.value.create_encoder(schema).encode(batch)
        assert encode_error(rows, definition) == str(raised.value.with_prefix("Table 't': "))


@pytest.mark.parametrize("mode", ["log", "ignore"])
def test_skipped_records_are_logged(spark: Any, mode: str) -> None:
    """A task logs the first ones, and how many there were, as in micro-batches."""
    payloads = [b'{"a": 1}', *[b'{"a": "x"}'] * 12, b'{"a": 2}']
    log4j, lines = spark._jvm.org.apache.logging.log4j, spark._jvm.java.io.StringWriter()
    logger = log4j.LogManager.getLogger("kafka_sql.source")
    appender = log4j.core.appender.WriterAppender.createAppender(None, None, lines, "lines", False, False)
    level = logger.getLevel()
    appender.start()
    logger.addAppender(appender)
    logger.setLevel(log4j.Level.WARN)
    try:
        definition = define("a INT", format="json", **{"error-handling.mode": mode})
        assert decode(spark, definition, payloads).collect() == [(1,), (2,)]
    finally:
        logger.removeAppender(appender)
        logger.setLevel(level)
    errors: list[DecodeError] = []
    definition.value.create_decoder(arrow_schema(spark_schema(definition))).decode(pa.array(payloads), errors)
    logged = [f"table 't': skipped a record: {e.with_location(f't[0]@{e.row}')}" for e in errors[:10]]
    summary = "table 't': 12 records of t[0] between offsets 1 and 12 could not be decoded and were skipped"
    assert lines.toString().splitlines() == [*(logged if mode == "log" else []), summary]
