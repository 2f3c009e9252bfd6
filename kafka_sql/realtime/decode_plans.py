"""Send the plans that decode payloads of a registry's schemas to Java, which carries them out as the compiled loops do.

The schemas of a registry are requested here, on the driver: executors have neither its address nor its credentials.
"""

from __future__ import annotations

import json
import uuid
from typing import Any, Final

import pyarrow as pa

from kafka_sql.errors import SchemaRegistryError
from kafka_sql.formats.avro.decode_plan import AvroDecodePlan
from kafka_sql.formats.avro.decoder import AvroReader
from kafka_sql.formats.confluent.decoder import PayloadReader, WireFormatDecoder
from kafka_sql.formats.payload import Payload
from kafka_sql.formats.protobuf_confluent.options import READ_DEFAULT_VALUES
from kafka_sql.runtime.continuous_task import serving_continuous_task
from kafka_sql.spark.callback_server import start_callback_server

_served: Final[dict[tuple[Any, ...], tuple[str, Any]]] = {}  # names and functions that Java calls


def plan_json(plan: AvroDecodePlan) -> str:
    """Return a plan as ``AvroReader.java`` reads it."""
    return json.dumps(
        {
            "operations": plan.operations,
            "jumps": plan.jumps,
            "literals": [
                None if size < 0 else plan.literals[start : start + size].hex() for start, size in plan.literal_ranges
            ],
            "paths": plan.paths,
            "subroutine_cells": plan.subroutine_cells,
            "cell_count": plan.cell_count,
            "reasons": plan.reasons,
        }
    )


def serve_plans(gateway: Any, payload: Payload, schema: pa.Schema) -> str:
    """Let Java request the plans of a payload's schemas; return the name under which it does.

    Args:
        gateway: py4j's gateway to the session's JVM.
        schema: the table's columns.
    """
    options = tuple(sorted(payload.raw_options.items()))
    key = (id(gateway), payload.format.identifier, options, payload.columns, schema.serialize().to_pybytes())
    start_callback_server(gateway)
    name, plans = _served.setdefault(key, (str(uuid.uuid4()), Plans(payload, schema)))
    gateway.jvm.io.github.kafkasql.realtime.DecodePlans.add(
        name, plans
    )  # again, because a new SparkContext may have been started
    return name


class Plans:
    """Returns the plan of a schema as JSON, the reason that the schema cannot be read, or the registry's error."""

    class Java:
        implements: Final = ["java.util.function.Function"]

    def __init__(self, payload: Payload, schema: pa.Schema) -> None:
        self._payload, self._schema = payload, schema

    def apply(self, schema: str) -> str:
        """Return the answer to a request; ``DecodePlans.java`` reads it.

        Args:
            schema: the schema's id; in protobuf-confluent followed by the encoded indexes of the message.
        """
        # the client of the decoder's registry has the schemas that are known
        decoder, (schema_id, *indexes) = self._payload.create_decoder(self._schema), schema.split(" ")
        try:
            with serving_continuous_task():
                if isinstance(decoder, WireFormatDecoder):
                    return _avro_plan(decoder.find_reader(int(schema_id)))
                return self._protobuf_plan(decoder, int(schema_id), bytes.fromhex(indexes[0]))
        except SchemaRegistryError as e:
            return json.dumps({"error": f"{type(e).__module__}.{type(e).__name__}: {e}"})

    def _protobuf_plan(self, decoder: Any, schema_id: int, indexes: bytes) -> str:
        from kafka_sql.formats.protobuf_confluent.message_indexes import decode_indexes
        from kafka_sql.realtime.protobuf_plans import message_plan_json

        reader = decoder.find_reader(schema_id, decode_indexes(indexes)[0])
        if isinstance(reader, str):
            return _unreadable(reader)
        fields, read_defaults = self._payload.field_schema(self._schema), self._payload.options[READ_DEFAULT_VALUES]
        return message_plan_json(fields, reader.message, read_defaults, allow_evolution=True)

    def toString(self) -> str:
        """Return a text for Java's logs."""
        return type(self).__name__


def _avro_plan(reader: PayloadReader | str) -> str:
    return plan_json(reader.plan) if isinstance(reader, AvroReader) else _unreadable(reader)


def _unreadable(reason: object) -> str:
    return json.dumps({"reason": reason})
