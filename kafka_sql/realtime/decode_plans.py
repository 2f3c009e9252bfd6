"""Send the plans that decode Avro payloads to Java, which carries them out as the compiled loops do.

The schemas of a registry are requested here, on the driver: executors have neither its address nor its credentials.
"""

from __future__ import annotations

import json
import uuid
from typing import Any, Final

import pyarrow as pa
from pyspark.java_gateway import ensure_callback_server_started

from kafka_sql.errors import SchemaRegistryError
from kafka_sql.formats.avro.decoder import AvroReader
from kafka_sql.formats.avro.resolution import DecodePlan
from kafka_sql.formats.confluent.decoder import WireFormatDecoder
from kafka_sql.formats.payload import Payload
from kafka_sql.runtime.continuous_task import serving_continuous_task

_served: Final[dict[tuple[Any, ...], tuple[str, Any]]] = {}  # names and functions that Java calls


def plan_json(plan: DecodePlan) -> str:
    """Return a plan as ``AvroReader.java`` reads it."""
    return json.dumps(
        {
            "operations": plan.operations,
            "jumps": plan.jumps,
            "literals": [
                None if size < 0 else plan.literals[start : start + size].hex() for start, size in plan.literal_ranges
            ],
            "paths": plan.paths,
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
    start_callback_server: Any = ensure_callback_server_started  # untyped in PySpark
    start_callback_server(gateway)
    name, plans = _served.setdefault(key, (str(uuid.uuid4()), Plans(payload, schema)))
    gateway.jvm.kafka_sql.DecodePlans.add(name, plans)  # again, because a new SparkContext may have been started
    return name


class Plans:
    """Returns the plan of a schema id as JSON, the reason that the schema cannot be read, or the registry's error."""

    class Java:
        implements: Final = ["java.util.function.Function"]

    def __init__(self, payload: Payload, schema: pa.Schema) -> None:
        self._payload, self._schema = payload, schema

    def apply(self, schema_id: str) -> str:
        """Return the answer to a request; ``DecodePlans.java`` reads it."""
        decoder = self._payload.create_decoder(self._schema)  # its registry's client has the schemas that are known
        assert isinstance(decoder, WireFormatDecoder)
        try:
            with serving_continuous_task():
                reader = decoder.find_reader(int(schema_id))
        except SchemaRegistryError as e:
            return json.dumps({"error": f"{type(e).__module__}.{type(e).__name__}: {e}"})
        if isinstance(reader, AvroReader):
            return plan_json(reader.plan)
        return json.dumps({"reason": reader})

    def toString(self) -> str:
        """Return a text for Java's logs."""
        return type(self).__name__
