"""Each format by itself, reading and writing buffers of records, next to a library of its own: CPU time a record.

``python -m benchmarks.formats``. One process, one thread, no Kafka and no Spark. Values are compared before anything
is measured. Rows are of the nine fields of benchmarks/read_json.py; the least of all rounds counts, as the machine is
not alone.
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
from kafka_sql.formats.protobuf_confluent.protoc import compile_schema
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


class Contest(NamedTuple):
    """Two ways to the same thing."""

    name: str
    ours: Callable[[], Any]
    peer: str
    theirs: Callable[[], Any]


def main() -> int:
    """Measure and print a line a contest."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=15)
    arguments = parser.parse_args()
    batch = rows(arguments.records)
    print(f"Python {platform.python_version()}, pyarrow {pa.__version__}, {arguments.records:,} records of 9 fields;")
    print("microseconds of CPU a record:")
    for contest in [*json_contests(batch), *csv_contests(batch), *avro_contests(batch), *confluent_contests(batch),
                    *protobuf_contests(batch)]:  # fmt: skip
        ours, theirs = measure(contest, arguments.rounds)
        scale = 1e6 / arguments.records
        print(
            f"  {contest.name:<22} {ours * scale:6.3f}   {contest.peer:<32} {theirs * scale:7.3f}   "
            f"{ours / theirs:.2f} of its time"
        )
    return 0


def rows(count: int) -> pa.RecordBatch:
    """Orders."""
    rng = random.Random(1)
    found = [
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
    return pa.RecordBatch.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in found], SCHEMA)


def measure(contest: Contest, rounds: int) -> tuple[float, float]:
    """The least seconds of CPU of each, in alternation."""
    taken: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds + 1):  # the first one warms up
        for run, times in zip((contest.ours, contest.theirs), taken, strict=True):
            began = time.process_time()
            run()
            times.append(time.process_time() - began)
    return min(taken[0][1:]), min(taken[1][1:])


def of(name: str) -> tuple[Any, Any]:
    """Decoder and encoder of a format with its defaults."""
    found = FORMATS[name]
    options = Options(found.options, {})
    return found.decoder(SCHEMA, options), found.encoder(SCHEMA, options)


def check(columns: list[pa.Array], batch: pa.RecordBatch) -> None:
    """What was read is what was written."""
    if not pa.RecordBatch.from_arrays(columns, schema=SCHEMA).equals(batch):
        sys.exit("FAILED: what was read is not what was written")


def json_contests(batch: pa.RecordBatch) -> list[Contest]:
    """Against pyarrow's reader of one joined buffer, and orjson, which is given objects and gives objects."""
    decoder, encoder = of("json")
    payloads = encoder.encode(batch)
    texts = payloads.to_pylist()
    check(decoder.decode(payloads).columns, batch)
    joined = b"\n".join(texts) + b"\n"
    options = pyarrow.json.ReadOptions(use_threads=False, block_size=len(joined) + 1)
    parse_options = pyarrow.json.ParseOptions(explicit_schema=SCHEMA)
    read = pyarrow.json.read_json
    objects = batch.to_pylist()
    return [
        Contest(
            "json read",
            lambda: decoder.decode(payloads),
            "pyarrow.json, no guard",
            lambda: read(pa.BufferReader(joined), read_options=options, parse_options=parse_options),
        ),
        Contest(
            "json read",
            lambda: decoder.decode(payloads),
            "orjson, into columns",
            lambda: pa.RecordBatch.from_pylist([orjson.loads(text) for text in texts], SCHEMA),
        ),
        Contest("json write", lambda: encoder.encode(batch), "orjson", lambda: [orjson.dumps(o) for o in objects]),
    ]


def csv_contests(batch: pa.RecordBatch) -> list[Contest]:
    """Against pyarrow's reader and writer of one file."""
    decoder, encoder = of("csv")
    payloads = encoder.encode(batch)
    check(decoder.decode(payloads).columns, batch)
    joined = b"\n".join(payloads.to_pylist()) + b"\n"
    options = pyarrow.csv.ReadOptions(column_names=SCHEMA.names, use_threads=False, block_size=len(joined) + 1)
    convert = pyarrow.csv.ConvertOptions(column_types=SCHEMA)
    plain = pyarrow.csv.WriteOptions(include_header=False)
    return [
        Contest(
            "csv read",
            lambda: decoder.decode(payloads),
            "pyarrow.csv, no guard",
            lambda: pyarrow.csv.read_csv(pa.BufferReader(joined), read_options=options, convert_options=convert),
        ),
        Contest(
            "csv write",
            lambda: encoder.encode(batch),
            "pyarrow.csv, one file",
            lambda: pyarrow.csv.write_csv(batch, io.BytesIO(), plain),
        ),
    ]


def avro_contests(batch: pa.RecordBatch) -> list[Contest]:
    """Against fastavro, record by record, into columns and out of them."""
    decoder, encoder = of("avro")
    payloads = encoder.encode(batch)
    check(decoder.decode(payloads).columns, batch)
    schema = fastavro.parse_schema(json.loads(derive_schema(SCHEMA, legacy=True)))
    texts = payloads.to_pylist()

    def read() -> pa.RecordBatch:
        return pa.RecordBatch.from_pylist(
            [fastavro.schemaless_reader(io.BytesIO(text), schema, None) for text in texts], SCHEMA
        )

    def write() -> list[bytes]:
        found = []
        for row in batch.to_pylist():
            out = io.BytesIO()
            fastavro.schemaless_writer(out, schema, row)
            found.append(out.getvalue())
        return found

    check(read().columns, batch)
    if write() != texts:
        sys.exit("FAILED: fastavro writes other bytes")
    return [
        Contest("avro read", lambda: decoder.decode(payloads), "fastavro", read),
        Contest("avro write", lambda: encoder.encode(batch), "fastavro", write),
    ]


def confluent_contests(batch: pa.RecordBatch) -> list[Contest]:
    """The wire format against plain Avro; what a registry says is known."""
    decoder, encoder = of("avro")
    payloads = encoder.encode(batch)
    own = parse_schema(derive_schema(SCHEMA, legacy=True, lenient=True))
    reader, writer = AvroReader(resolve_schemas(own, own, SCHEMA)), AvroWriter(SCHEMA, own)
    framed = writer.write(batch, encode_header(7))
    every = pa.compute.indices_nonzero(framed.is_valid()).to_numpy().astype("int64")

    def read() -> list[pa.Array]:
        data, offsets = bytes_and_offsets(framed)
        if not (schema_ids(data, offsets, every) == 7).all():
            sys.exit("FAILED: another id")
        return reader.read(data, offsets, every, HEADER_SIZE)[0]

    check(read(), batch)
    return [
        Contest("avro-confluent read", read, "avro", lambda: decoder.decode(payloads)),
        Contest(
            "avro-confluent write", lambda: writer.write(batch, encode_header(7)), "avro", lambda: encoder.encode(batch)
        ),
    ]


def protobuf_contests(batch: pa.RecordBatch) -> list[Contest]:
    """Against protobuf's own library, record by record, into columns and out of them."""
    kind = compile_schema(derive_proto(SCHEMA)).message_types_by_name["Record"]
    message: Any = message_factory.GetMessageClass(kind)
    reader = MessageReader(SCHEMA, kind, read_defaults=False, ignore_errors=False)
    writer = MessageWriter(SCHEMA, kind)
    payloads = writer.write(batch)
    data, offsets = bytes_and_offsets(payloads)
    places, every = offsets.astype("int64"), np.arange(len(payloads))
    texts = payloads.to_pylist()

    def read() -> pa.RecordBatch:
        many = [message.FromString(text) for text in texts]
        return pa.RecordBatch.from_arrays(
            [pa.array([getattr(one, f.name) for one in many], f.type) for f in SCHEMA], schema=SCHEMA
        )

    def write() -> list[bytes]:
        return [message(**row).SerializeToString() for row in batch.to_pylist()]

    check(reader.read(data, places[:-1], places[1:], every)[0], batch)
    check(read().columns, batch)
    if write() != texts:
        sys.exit("FAILED: protobuf's library writes other bytes")
    return [
        Contest("protobuf read", lambda: reader.read(data, places[:-1], places[1:], every), "google.protobuf", read),
        Contest("protobuf write", lambda: writer.write(batch), "google.protobuf", write),
    ]


if __name__ == "__main__":
    sys.exit(main())
