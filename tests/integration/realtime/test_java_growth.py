"""The decoders in Java take time and memory that are linear in the bytes of a record, as those of the formats do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from pyspark import __version__ as spark_version

from kafka_sql.catalog.catalog_table import spark_schema
from kafka_sql.catalog.data_source import arrow_schema
from kafka_sql.realtime.connector import add_connector
from kafka_sql.realtime.java_formats import JavaPayload, create_decoder
from kafka_sql.spark.jar import java_classes
from tests.integration.realtime.test_java_formats import define
from tests.unit.formats.avro import test_growth as avro_growth
from tests.unit.formats.growth import assert_linear_memory, assert_linear_time
from tests.unit.formats.hostile_documents import VALUES, Bytes, documents, in_all_columns
from tests.unit.formats.hostile_lines import in_all_values, lines
from tests.unit.formats.hostile_texts import NUMBERS, TEXTS
from tests.unit.formats.protobuf import test_growth as protobuf_growth
from tools.build_jar import build_test_jar

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(spark_version < "4.3", reason="real-time mode needs PySpark 4.3"),
]

LARGEST: Final = 1 << 15  # bytes
LARGEST_NUMBER: Final = 1 << 18
SCALARS: Final = """b BOOLEAN, i8 TINYINT, i64 BIGINT, f FLOAT, d DOUBLE, n DECIMAL(10, 2), w DECIMAL(38, 18),
s STRING, y BYTES, day DATE, t TIME(3), ts TIMESTAMP(6), ltz TIMESTAMP_LTZ(6), a ARRAY<DECIMAL(10, 2)>,
r ROW<p DOUBLE, q STRING>"""
NESTED: Final = f"""{SCALARS}, aa ARRAY<ARRAY<STRING>>, ar ARRAY<ROW<p DOUBLE, q ARRAY<STRING>>>,
md MAP<STRING, DOUBLE>, mm MAP<STRING, MAP<STRING, DECIMAL(10, 2)>>"""


@pytest.fixture(scope="module")
def meter(spark: Any) -> Iterator[Any]:
    """Load the classes, and return the object that measures."""
    loader = add_connector(spark.sparkContext, "t")
    spark.conf.set("spark.sql.timeType.enabled", "true")
    loader.addURL(spark._jvm.java.io.File(str(build_test_jar())).toURI().toURL())
    yield java_classes(spark.sparkContext).realtime.GrowthMeter()
    spark.conf.unset("spark.sql.timeType.enabled")


def check(measure: Callable[[Any], str], shapes: dict[str, Callable[[int], Any]], largest: int = LARGEST) -> None:
    """Assert that the costs of all shapes are linear up to a size."""
    for what, make in shapes.items():

        def cost(index: int, make: Callable[[int], Any] = make) -> Callable[[int], float]:
            return lambda size: float(measure(make(size)).split(",")[index])

        seconds = cost(0)
        try:
            assert_linear_time(lambda size, seconds=seconds: seconds(size) / 1e9, largest)
            assert_linear_memory(cost(1), largest)
        except AssertionError as e:
            raise AssertionError(f"{what}: {e}") from e


def decoder(spark: Any, columns: str, **options: str) -> tuple[Any, list[str]]:
    """Return a decoder in Java that skips undecodable records, and the names of its fields."""
    definition = define(columns, **options)
    schema = spark_schema(definition)
    gateway, fields = spark.sparkContext._gateway, arrow_schema(schema)
    java = JavaPayload(gateway, definition.value, schema, fields, fields, [6] * len(fields))
    return create_decoder(java, java.formats.ErrorHandling("t", "", "", "ignore")), fields.names


def check_decoder(meter: Any, decoder: Any, shapes: dict[str, Bytes], largest: int = LARGEST) -> None:
    check(lambda payload: meter.decode(decoder, bytearray(payload)), shapes, largest)


@pytest.mark.sample(1)
@pytest.mark.parametrize("ignores", ["false", "true"])
def test_json(spark: Any, meter: Any, ignores: str) -> None:
    json, names = decoder(spark, NESTED, format="json", **{"json.ignore-parse-errors": ignores})
    check_decoder(meter, json, {name: in_all_columns(names, value) for name, value in VALUES.items()})
    check_decoder(meter, json, documents(b'{"i64":1,"s":"x"}'))


@pytest.mark.sample(2)
@pytest.mark.parametrize("type", ["STRING", "DECIMAL(38, 18)", "DOUBLE", "FLOAT", "BIGINT"])
def test_long_numbers(spark: Any, meter: Any, type: str) -> None:
    """In a STRING beside a DECIMAL, numbers of an array are written as BigDecimals."""
    json, _ = decoder(spark, f"v {type}, n DECIMAL(10, 2)", format="json")
    opening, closing = (b"[", b"]") if type == "STRING" else (b"", b"")
    shapes = {
        name: lambda size, text=text: b'{"v":%s%s%s}' % (opening, text(size).encode(), closing)
        for name, text in NUMBERS.items()
    }
    check_decoder(meter, json, shapes, LARGEST_NUMBER)


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "options", [{}, {"ignore-parse-errors": "true", "escape-character": "\\", "trim-spaces": "true"}]
)
def test_csv(spark: Any, meter: Any, options: dict[str, str]) -> None:
    csv, names = decoder(spark, SCALARS, format="csv", **{f"csv.{key}": value for key, value in options.items()})
    for quoted in (False, True):
        check_decoder(meter, csv, {name: in_all_values(len(names), text, quoted) for name, text in TEXTS.items()})
    check_decoder(meter, csv, lines(len(names)))


def test_raw(spark: Any, meter: Any) -> None:
    shapes = {name: lambda size, text=text: text(size).encode() for name, text in TEXTS.items()}
    for options in ({}, {"raw.line-delimiter": "x"}, {"raw.charset": "UTF-16"}):
        raw, _ = decoder(spark, "s STRING", format="raw", **options)
        check_decoder(meter, raw, shapes)


AVRO_ELEMENTS: Final = {
    "INT": b"\x02",
    "BIGINT": b"\xff" * 9 + b"\x01",
    "STRING": b"\x02x",
    "BYTES": b"\x02\xff",
    "DECIMAL(9, 0)": b"\x28" + b"\1" * 20,
    "ARRAY<INT NOT NULL>": b"\x02\x02\0",
    "MAP<STRING, INT NOT NULL>": b"\x02\x02k\x02\0",
    "ROW<i INT NOT NULL, s STRING NOT NULL>": b"\x02\0",
}


def test_avro(spark: Any, meter: Any) -> None:
    for element_type, element in AVRO_ELEMENTS.items():
        avro, _ = decoder(spark, f"v ARRAY<{element_type} NOT NULL> NOT NULL", format="avro")
        check_decoder(meter, avro, avro_growth.arrays(element))
    text, _ = decoder(spark, "v STRING NOT NULL", format="avro")
    check_decoder(meter, text, avro_growth.VALUES[0][2])
    pairs, _ = decoder(spark, "v MAP<STRING, INT NOT NULL> NOT NULL", format="avro")
    check_decoder(meter, pairs, avro_growth.VALUES[4][2])


MESSAGE: Final = "ROW<s STRING, i INT, n ARRAY<ROW<t STRING>>>"
MESSAGES: Final = f"""i INT, s STRING, b BYTES, packed ARRAY<INT>, unpacked ARRAY<BIGINT>, strings ARRAY<STRING>,
enums ARRAY<STRING>, m MAP<STRING, INT>, closed MAP<INT, STRING>, messages MAP<STRING, {MESSAGE}>, n {MESSAGE},
ns ARRAY<{MESSAGE}>, d STRING, v ARRAY<STRING>, t ARRAY<TIMESTAMP(6)>, w STRING, rs ARRAY<ROW<i INT>>, o100 INT"""


def test_protobuf(spark: Any, meter: Any, tmp_path: Path) -> None:
    file = tmp_path / "m.proto"
    file.write_text(protobuf_growth.TEXT)
    options = {"protobuf.proto-file": str(file), "protobuf.message-class-name": "M"}
    messages, _ = decoder(spark, MESSAGES, format="protobuf", **options)
    for shapes in protobuf_growth.SHAPES.values():
        check_decoder(meter, messages, shapes)


def test_headers(meter: Any) -> None:
    shapes = {
        "distinct names": lambda size: ",".join(map(str, range(size // 6))),
        "one name": lambda size: ",".join(["k"] * (size // 2)),
        "a long name": lambda size: "k" * size,
        "long names": lambda size: ",".join([f"{'k' * 200}{i}" for i in range(size // 200)]),
    }
    check(meter.convertHeaders, shapes)
