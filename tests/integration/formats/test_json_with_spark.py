"""JSON compared with Spark's own functions: each reads the values that the other writes."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from kafka_sql.formats.registry import FORMATS
from kafka_sql.options import Options

pytestmark = pytest.mark.integration

# Spark writes all times with the same number of digits; Flink omits trailing zeros
WRITE_OPTIONS = {"timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS", "ignoreNullFields": "false"}
READ_OPTIONS = {"mode": "FAILFAST"}
ISO = {"json.timestamp-format.standard": "ISO-8601"}
TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=8)


def integers(bits: int) -> st.SearchStrategy[int]:
    """Generate integers; often the smallest, the largest or 0."""
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    return st.integers(low, high) | st.sampled_from([low, high, 0])


# for the sign of zero and numbers that are not finite, see docs/formats/json.md
FLOATS = st.floats(allow_nan=False, allow_infinity=False).map(lambda x: x or 0.0)
STRUCTS = st.fixed_dictionaries({"x": st.none() | TEXT, "y": st.none() | integers(64)})
MAPS = st.dictionaries(TEXT, st.none() | integers(32), max_size=3).map(lambda d: list(d.items()))
COLUMNS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "a": (pa.int8(), integers(8)),
    "b": (pa.int16(), integers(16)),
    "c": (pa.int32(), integers(32)),
    "d": (pa.int64(), integers(64)),
    "e": (pa.float64(), FLOATS),
    "f": (pa.float32(), st.floats(width=32, allow_nan=False, allow_infinity=False).map(lambda x: x or 0.0)),
    "g": (pa.string(), TEXT),
    "h": (pa.binary(), st.binary(max_size=7)),
    "i": (pa.bool_(), st.booleans()),
    "j": (pa.date32(), st.dates()),
    "k": (pa.timestamp("us"), st.datetimes()),
    "l": (pa.decimal128(20, 5), st.decimals(-(10**14), 10**14, places=5)),
    "m": (pa.list_(pa.int32()), st.lists(st.none() | integers(32), max_size=3)),
    "n": (pa.struct([("x", pa.string()), ("y", pa.int64())]), STRUCTS),
    "o": (pa.map_(pa.string(), pa.int32()), MAPS),
}
SPARK_TYPES = (
    "a TINYINT, b SMALLINT, c INT, d BIGINT, e DOUBLE, f FLOAT, g STRING, h BINARY, i BOOLEAN, j DATE, "
    "k TIMESTAMP_NTZ, l DECIMAL(20, 5), m ARRAY<INT>, n STRUCT<x: STRING, y: BIGINT>, o MAP<STRING, INT>"
)
SCHEMA = pa.schema([(name, t) for name, (t, _) in COLUMNS.items()])
ROWS = st.lists(
    st.fixed_dictionaries({name: st.none() | values for name, (_, values) in COLUMNS.items()}), min_size=20, max_size=60
)
# each example is a Spark query, so failures are not shrunk
FEW = settings(max_examples=4, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))


def batch_of(rows: list[dict[str, Any]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(rows, SCHEMA)


@FEW
@given(rows=ROWS)
def test_spark_reads_our_json(spark: SparkSession, rows: list[dict[str, Any]]) -> None:
    batch = batch_of(rows)
    written = FORMATS["json"].encoder(SCHEMA, Options(FORMATS["json"].options, ISO)).encode(batch)
    texts = spark.createDataFrame(pa.table({"n": pa.array(range(len(batch))), "text": written.cast(pa.string())}))
    read = (
        texts.select("n", F.from_json("text", SPARK_TYPES, READ_OPTIONS).alias("r"))
        .orderBy("n")
        .select("r.*")
        .toArrow()
    )
    for name in SCHEMA.names:
        actual, expected = read.column(name).to_pylist(), batch.column(name).to_pylist()
        assert actual == expected, name


@FEW
@given(rows=ROWS)
def test_we_read_json_of_spark(spark: SparkSession, rows: list[dict[str, Any]]) -> None:
    batch = batch_of(rows)
    numbered = batch.append_column("#", pa.array(range(len(batch))))
    frame = spark.createDataFrame(pa.Table.from_batches([numbered]), f"{SPARK_TYPES}, `#` BIGINT")
    texts = frame.select("#", F.to_json(F.struct(*SCHEMA.names), WRITE_OPTIONS).alias("text")).orderBy("#").toArrow()
    payloads = texts.column("text").combine_chunks().cast(pa.binary())
    decoded = FORMATS["json"].decoder(SCHEMA, Options(FORMATS["json"].options, ISO)).decode(payloads)
    assert decoded.payload_indices is None
    for name, column in zip(SCHEMA.names, decoded.columns, strict=True):
        actual, expected = column.to_pylist(), batch.column(name).to_pylist()
        assert actual == expected, name
