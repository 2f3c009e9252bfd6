"""Measure the CPU time per record of each format, compared with a library for that format.

``python -m benchmarks.formats``. One process, one thread, without Kafka and Spark. Values are compared before the
measurement. Rows have the nine fields of ``SCHEMA``. The minimum of all rounds is reported, to exclude other load.
"""

from __future__ import annotations

import argparse
import io
import json
import platform
import random
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import fastavro
import numpy as np
import orjson
import pyarrow as pa
import pyarrow.csv
import pyarrow.json
from google.protobuf import message_factory

from kafka_sql.formats.avro.decoder import AvroReader
from kafka_sql.formats.avro.encoder import AvroWriter
from kafka_sql.formats.avro.resolution import resolve_schemas
from kafka_sql.formats.avro.schema import parse_schema
from kafka_sql.formats.avro.schema_from_table import derive_schema
from kafka_sql.formats.columnar.arrow_buffers import bytes_and_offsets
from kafka_sql.formats.confluent.wire_format import HEADER_SIZE, encode_header, schema_ids
from kafka_sql.formats.protobuf.decoder import ProtobufReader as MessageReader
from kafka_sql.formats.protobuf.encoder import ProtobufWriter as MessageWriter
from kafka_sql.formats.protobuf_confluent.schema_descriptors import compile_schema
from kafka_sql.formats.protobuf_confluent.schema_from_table import derive_schema as derive_proto
from kafka_sql.formats.registry import FORMATS
from kafka_sql.options import Options

SCHEMA = pa.schema(
    [
        ("order_id", pa.int64()),
        ("user_id", pa.int64()),
        ("product", pa.string()),
        ("price", pa.float64()),
        ("quantity", pa.int32()),
        ("status", pa.string()),
        ("country", pa.string()),
        ("paid", pa.bool_()),
        ("ts", pa.int64()),
    ]
)


class FormatComparison(NamedTuple):
    """This project and a library doing the same work."""

    name: str
    ours: Callable[[], Any]
    peer: str
    theirs: Callable[[], Any]


def main() -> int:
    """Measure, and print a line per comparison."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=15)
    arguments = parser.parse_args()
    batch = rows(arguments.records)
    print(f"Python {platform.python_version()}, pyarrow {pa.__version__}, {arguments.records:,} records of 9 fields;")
    print("microseconds of CPU time per record:")
    for comparison in [*compare_json(batch), *compare_csv(batch), *compare_avro(batch), *compare_confluent(batch),
                    *compare_protobuf(batch)]:  # fmt: skip
        ours, theirs = measure(comparison, arguments.rounds)
        scale = 1e6 / arguments.records
        print(
            f"  {comparison.name:<22} {ours * scale:6.3f}   {comparison.peer:<32} {theirs * scale:7.3f}   "
            f"{ours / theirs:.2f} of its time"
        )
    return 0


def rows(count: int) -> pa.RecordBatch:
    """Return orders."""
    rng = random.Random(1)
    orders = [
        (
            i,
            rng.randrange(100_000),
            f"product-{rng.randrange(1000)}",
            rng.randrange(50_000) / 100,
            rng.randrange(1, 10),
            rng.choice(["new", "paid", "shipped", "done"]),
            rng.choice(["DE", "FR", "US", "CN", "BR"]),
            rng.random() < 0.5,
            1_700_000_000_000 + i,
        )
        for i in range(count)
    ]
    return pa.RecordBatch.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in orders], SCHEMA)


def measure(comparison: FormatComparison, rounds: int) -> tuple[float, float]:
    """Return the minimum CPU seconds of both, run alternately."""
    measured: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds + 1):  # the first round is a warm-up
        for run, times in zip((comparison.ours, comparison.theirs), measured, strict=True):
            started = time.process_time()
            run()
            times.append(time.process_time() - started)
    return min(measured[0][1:]), min(measured[1][1:])


def codec_of(name: str) -> tuple[Any, Any]:
    """Return decoder and encoder of a format with default options."""
    format = FORMATS[name]
    options = Options(format.options, {})
    return format.decoder(SCHEMA, options), format.encoder(SCHEMA, options)


def check(columns: list[pa.Array], batch: pa.RecordBatch) -> None:
    """Exit if the columns differ from the batch."""
    if not pa.RecordBatch.from_arrays(columns, schema=SCHEMA).equals(batch):
        sys.exit("FAILED: the decoded rows differ from the encoded rows")


def compare_json(batch: pa.RecordBatch) -> list[FormatComparison]:
    """Compare with pyarrow reading one joined buffer, and with orjson, which reads and writes objects."""
    decoder, encoder = codec_of("json")
    payloads = encoder.encode(batch)
    texts = payloads.to_pylist()
    check(decoder.decode(payloads).columns, batch)
    joined = b"\n".join(texts) + b"\n"
    options = pyarrow.json.ReadOptions(use_threads=False, block_size=len(joined) + 1)
    parse_options = pyarrow.json.ParseOptions(explicit_schema=SCHEMA)
    read = pyarrow.json.read_json
    objects = batch.to_pylist()
    return [
        FormatComparison(
            "json read",
            lambda: decoder.decode(payloads),
            "pyarrow.json, no error handling",
            lambda: read(pa.BufferReader(joined), read_options=options, parse_options=parse_options),
        ),
        FormatComparison(
            "json read",
            lambda: decoder.decode(payloads),
            "orjson, into columns",
            lambda: pa.RecordBatch.from_pylist([orjson.loads(text) for text in texts], SCHEMA),
        ),
        FormatComparison(
            "json write", lambda: encoder.encode(batch), "orjson", lambda: [orjson.dumps(o) for o in objects]
        ),
    ]


def compare_csv(batch: pa.RecordBatch) -> list[FormatComparison]:
    """Compare with pyarrow reading and writing one file."""
    decoder, encoder = codec_of("csv")
    payloads = encoder.encode(batch)
    check(decoder.decode(payloads).columns, batch)
    joined = b"\n".join(payloads.to_pylist()) + b"\n"
    options = pyarrow.csv.ReadOptions(column_names=SCHEMA.names, use_threads=False, block_size=len(joined) + 1)
    convert = pyarrow.csv.ConvertOptions(column_types=SCHEMA)
    write_options = pyarrow.csv.WriteOptions(include_header=False)
    return [
        FormatComparison(
            "csv read",
            lambda: decoder.decode(payloads),
            "pyarrow.csv, no error handling",
            lambda: pyarrow.csv.read_csv(pa.BufferReader(joined), read_options=options, convert_options=convert),
        ),
        FormatComparison(
            "csv write",
            lambda: encoder.encode(batch),
            "pyarrow.csv, one file",
            lambda: pyarrow.csv.write_csv(batch, io.BytesIO(), write_options),
        ),
    ]


def compare_avro(batch: pa.RecordBatch) -> list[FormatComparison]:
    """Compare with fastavro, which handles single records, including conversion from and to columns."""
    decoder, encoder = codec_of("avro")
    payloads = encoder.encode(batch)
    check(decoder.decode(payloads).columns, batch)
    schema = fastavro.parse_schema(json.loads(derive_schema(SCHEMA, legacy=True)))
    texts = payloads.to_pylist()

    def read() -> pa.RecordBatch:
        return pa.RecordBatch.from_pylist(
            [fastavro.schemaless_reader(io.BytesIO(text), schema, None) for text in texts], SCHEMA
        )

    def write() -> list[bytes]:
        encoded = []
        for row in batch.to_pylist():
            out = io.BytesIO()
            fastavro.schemaless_writer(out, schema, row)
            encoded.append(out.getvalue())
        return encoded

    check(read().columns, batch)
    if write() != texts:
        sys.exit("FAILED: fastavro writes different bytes")
    return [
        FormatComparison("avro read", lambda: decoder.decode(payloads), "fastavro", read),
        FormatComparison("avro write", lambda: encoder.encode(batch), "fastavro", write),
    ]


def compare_confluent(batch: pa.RecordBatch) -> list[FormatComparison]:
    """Compare the wire format with plain Avro. The schemas of the registry are already known."""
    decoder, encoder = codec_of("avro")
    payloads = encoder.encode(batch)
    schema = parse_schema(derive_schema(SCHEMA, legacy=True, lenient=True))
    reader, writer = AvroReader(resolve_schemas(schema, schema, SCHEMA), HEADER_SIZE), AvroWriter(SCHEMA, schema)
    framed = writer.encode(batch, encode_header(7))
    rows_ = pa.compute.indices_nonzero(framed.is_valid()).to_numpy().astype("int64")

    def read() -> list[pa.Array]:
        data, offsets = bytes_and_offsets(framed)
        if not (schema_ids(data, offsets, rows_) == 7).all():
            sys.exit("FAILED: wrong schema id")
        bounds = offsets.astype("int64")
        return reader.read(data, bounds[:-1] + HEADER_SIZE, bounds[1:], rows_)[0]

    check(read(), batch)
    return [
        FormatComparison("avro-confluent read", read, "avro", lambda: decoder.decode(payloads)),
        FormatComparison(
            "avro-confluent write",
            lambda: writer.encode(batch, encode_header(7)),
            "avro",
            lambda: encoder.encode(batch),
        ),
    ]


def compare_protobuf(batch: pa.RecordBatch) -> list[FormatComparison]:
    """Compare with the protobuf library, which handles single messages, including conversion from and to columns."""
    descriptor = compile_schema(derive_proto(SCHEMA)).message_types_by_name["Record"]
    message: Any = message_factory.GetMessageClass(descriptor)
    reader = MessageReader(SCHEMA, descriptor, read_defaults=False, ignore_errors=False)
    writer = MessageWriter(SCHEMA, descriptor)
    payloads = writer.encode(batch)
    data, offsets = bytes_and_offsets(payloads)
    starts, rows_ = offsets.astype("int64"), np.arange(len(payloads))
    texts = payloads.to_pylist()

    def read() -> pa.RecordBatch:
        messages = [message.FromString(text) for text in texts]
        return pa.RecordBatch.from_arrays(
            [pa.array([getattr(m, f.name) for m in messages], f.type) for f in SCHEMA], schema=SCHEMA
        )

    def write() -> list[bytes]:
        return [message(**row).SerializeToString() for row in batch.to_pylist()]

    check(reader.read(data, starts[:-1], starts[1:], rows_)[0], batch)
    check(read().columns, batch)
    if write() != texts:
        sys.exit("FAILED: the protobuf library writes different bytes")
    return [
        FormatComparison(
            "protobuf read", lambda: reader.read(data, starts[:-1], starts[1:], rows_), "google.protobuf", read
        ),
        FormatComparison("protobuf write", lambda: writer.encode(batch), "google.protobuf", write),
    ]


if __name__ == "__main__":
    sys.exit(main())
