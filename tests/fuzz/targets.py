"""List all fuzz targets by name."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, Final

from kafka_sql.embedded import EmbeddedRegistry
from tests.fuzz import broker, fetched, options, references, registry, statements, stores
from tests.fuzz.decoders import fuzz_decoder
from tests.fuzz.harness import InputTarget
from tests.integration.formats.confluent.test_bad_records import FRAMED, fuzz_with_registry
from tests.unit.formats.avro import test_format as test_avro
from tests.unit.formats.csv import test_decoder as test_csv
from tests.unit.formats.json import test_mutated as test_json
from tests.unit.formats.protobuf import test_mutated as test_protobuf
from tests.unit.formats.raw import test_raw
from tests.unit.formats.test_reported_errors import FUZZED_FORMATS

Batch = Callable[[int, int], Any]

# name -> creates a function that processes one input
INPUT_TARGETS: Final[dict[str, Callable[[], InputTarget]]] = {
    "statements": lambda: statements.fuzz_statement,
    "options": lambda: options.fuzz_options,
    "offsets": lambda: options.fuzz_offsets,
    "jaas": lambda: options.fuzz_jaas,
    "references": references.make,
    "stores": stores.make,
    "responses": broker.make_responses,
    "conversations": broker.make_conversations,
    "writes": broker.make_writes,
    "reads": fetched.make_reads,
    "registry": registry.make,
}

# decoders, which process whole buffers; arguments: number of records, seed
DECODERS: Final[dict[str, Batch]] = {
    "decoder-csv": test_csv.fuzz,
    "decoder-json": test_json.fuzz,
    "decoder-debezium": test_json.fuzz_changes,
    "decoder-protobuf": test_protobuf.fuzz,
    "decoder-raw": test_raw.fuzz,
    "decoder-avro": test_avro.fuzz,
    "decoder-avro-json": lambda records, seed: test_avro.fuzz(records, seed, "json"),
    **{f"reported-{name}": lambda records, seed, name=name: _reported(name, records, seed) for name in FUZZED_FORMATS},
    **{f"framed-{name}": lambda records, seed, name=name: _framed(name, records, seed) for name in FRAMED},
}


def _reported(name: str, records: int, seed: int) -> tuple[int, int]:
    decoder, valid = FUZZED_FORMATS[name]()
    return fuzz_decoder(decoder, valid, range(20), records, seed)


def _framed(name: str, records: int, seed: int) -> tuple[int, int]:
    with ExitStack() as stack:
        return fuzz_with_registry(stack.enter_context(EmbeddedRegistry()), name, records, seed)
