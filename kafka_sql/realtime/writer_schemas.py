"""Send the schemas that records were written with to Java, which decodes the records.

The schemas of a registry are requested here, on the driver: executors have neither its address nor its credentials.
"""

from __future__ import annotations

import json
import uuid
from base64 import b64encode
from functools import partial
from typing import Any, Final

import pyarrow as pa

from kafka_sql.errors import SchemaRegistryError
from kafka_sql.formats.payload import Payload
from kafka_sql.runtime.continuous_task import serving_continuous_task
from kafka_sql.spark.callback_server import serve_requests

_names: Final[dict[tuple[Any, ...], str]] = {}  # that Java uses


def serve_schemas(gateway: Any, payload: Payload, schema: pa.Schema) -> str:
    """Let Java request the schemas of a payload's records; return the name under which it does.

    Args:
        gateway: py4j's gateway to the session's JVM.
        schema: the table's columns.

    Raises:
        UnsupportedSqlError: see ``serve_requests``.
    """
    options = tuple(sorted(payload.raw_options.items()))
    key = (id(gateway), payload.format.identifier, options, payload.columns, schema.serialize().to_pybytes())
    name = _names.setdefault(key, str(uuid.uuid4()))
    # again, because a new SparkContext may have been started
    serve_requests(gateway, name, partial(answer_request, payload, schema))
    return name


def answer_request(payload: Payload, schema: pa.Schema, request: str) -> str:
    """Return a schema, the reason that it cannot be read, or the registry's error: a JSON object for Java's decoders.

    Args:
        schema: the table's columns.
        request: the id of a schema; in protobuf-confluent followed by the encoded indexes of the message.
    """
    # the client of the decoder's registry has the schemas that are known
    decoder, (schema_id, *indexes) = payload.create_decoder(schema), request.split(" ")
    try:
        with serving_continuous_task():
            if indexes:
                answer = _message(decoder, int(schema_id), bytes.fromhex(indexes[0]))
            else:
                answer = _avro_schema(decoder, int(schema_id))
    except SchemaRegistryError as e:
        answer = {"error": f"{type(e).__module__}.{type(e).__name__}: {e}"}
    return json.dumps(answer)


def _avro_schema(decoder: Any, schema_id: int) -> dict[str, Any]:
    reader = decoder.find_reader(schema_id)
    if isinstance(reader, str):
        return {"reason": reader}
    registered = decoder.registry.schema_by_id(schema_id)
    return {"schemas": [*registered.reference_texts, registered.text]}


def _message(decoder: Any, schema_id: int, indexes: bytes) -> dict[str, Any]:
    from kafka_sql.formats.protobuf.descriptors import message_files
    from kafka_sql.formats.protobuf_confluent.schema_descriptors import decode_indexes

    reader = decoder.find_reader(schema_id, decode_indexes(indexes)[0])
    if isinstance(reader, str):
        return {"reason": reader}
    return {"files": b64encode(message_files(reader.message)).decode(), "message": reader.message.full_name}
